package signature

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SecretName names the Secret with the key, in the manager's namespace.
	SecretName = "cephtune-session-keys" //nolint:gosec // This is a name, not a secret.

	field = "master"
	// bytes is the length of the key, and of each derived key.
	bytes = 32
)

// LoadOrCreate returns the key, and creates it if it does not exist. The client must not read
// from a cache.
func LoadOrCreate(ctx context.Context, c client.Client, namespace string) ([]byte, error) {
	key, err := load(ctx, c, namespace)
	if !apierrors.IsNotFound(err) {
		return key, err
	}
	made := make([]byte, bytes)
	if _, err := rand.Read(made); err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	immutable := true
	err = c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: SecretName},
		Immutable:  &immutable,
		Data:       map[string][]byte{field: made},
	})
	switch {
	case apierrors.IsAlreadyExists(err): // Another manager has just created the key.
		return load(ctx, c, namespace)
	case err != nil:
		return nil, fmt.Errorf("store the key of executions in Secret %s/%s: %w", namespace, SecretName, err)
	}
	return made, nil
}

// Derive returns the key of 32 bytes for a role and some words. Keys for other roles or words reveal
// nothing about this key. The words "a" and "b" give a different key than the single word "ab".
func Derive(master []byte, role string, words ...string) ([]byte, error) {
	var input strings.Builder
	for _, word := range append([]string{"cephtune", role}, words...) {
		fmt.Fprintf(&input, "%d:%s,", len(word), word)
	}
	key, err := hkdf.Key(sha256.New, master, nil, input.String(), bytes)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s: %w", role, err)
	}
	return key, nil
}

func load(ctx context.Context, c client.Client, namespace string) ([]byte, error) {
	var secret corev1.Secret
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: SecretName}, &secret); err != nil {
		return nil, fmt.Errorf("read the key of executions: %w", err)
	}
	if len(secret.Data[field]) != bytes {
		return nil, fmt.Errorf("read the key of executions: Secret %s/%s has no %s of %d bytes; delete the Secret, and the manager creates a new one", namespace, SecretName, field, bytes)
	}
	return secret.Data[field], nil
}
