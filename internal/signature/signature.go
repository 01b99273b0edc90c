// Package signature proves that the operator made an object. In a benchmark namespace, users may write any name,
// label, annotation and owner reference, so none of these shows who made an object. A signature does: only the
// manager has the master key from which the signing keys are derived.
//
// The same master key gives the keys of executions. So a restarted manager can talk to existing runners without
// reading their Secrets.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Annotation has the signature of an object.
const Annotation = "cephtune.dev/signature"

// version begins each signature. A change of what a signature covers needs another version.
const version = "v3:"

// Statement is what a signature covers: everything on which the manager relies when it trusts an object.
type Statement struct {
	// Purpose says what the object is for, such as "benchmark of a sweep". Signatures of different purposes
	// have different keys.
	Purpose string
	// Owner is the UID of the object for which the operator made this one.
	Owner types.UID
	// Namespace and Name are those of the signed object.
	Namespace, Name string
	// Nonce is the random text that the owner's status recorded before the object was made. It distinguishes
	// two objects that were made for the same purpose and owner one after the other.
	Nonce string
	// Content has all else that matters, such as run numbers and digests (see [Digest]), in a fixed order.
	Content []string
}

// Sign returns the signature of the statement: at most 80 characters.
func (s Statement) Sign(master []byte) (string, error) {
	key, err := Derive(master, "signature", s.Purpose, string(s.Owner))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{s.Namespace, s.Name, s.Nonce, s.Content})
	if err != nil {
		return "", fmt.Errorf("encode the statement to sign: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return version + hex.EncodeToString(mac.Sum(nil)), nil
}

// Verify reports whether a signature is that of the statement. A signature that was made with another master
// key, or by an earlier version of the operator, is not.
func (s Statement) Verify(master []byte, signature string) (bool, error) {
	want, err := s.Sign(master)
	return err == nil && hmac.Equal([]byte(want), []byte(signature)), err
}

// Digest returns the SHA-256 of a value's JSON in hexadecimal digits.
func Digest(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode the value to sign: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// NewNonce returns a random text of 26 characters, in which only characters occur that names of Kubernetes
// allow.
func NewNonce() string { return strings.ToLower(rand.Text()) }
