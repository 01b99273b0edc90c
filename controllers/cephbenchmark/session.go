package cephbenchmark

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/masterkey"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
)

// sessionPrefix begins the names of all sessions.
const sessionPrefix = scratchpool.ImagePrefix

// session is the execution of one run ID. It determines the names of everything that the
// execution creates, and depends only on the object.
type session struct {
	// name is the name of the Job and the Secret, and begins the names of images and objects. It
	// has 19 characters, because rados bench truncates host names after 29. Such a short name
	// allows a user to find a run ID with the name of another session. So the name proves
	// nothing, and no key is derived from it.
	name string
	// uid and runID identify the owner and the run ID of the session.
	uid   types.UID
	runID v1alpha1.RunID
	// keyedByName says that an earlier manager, which derived keys from names, has started the
	// session.
	keyedByName bool
}

// sessionOf returns the session of a benchmark's run ID.
func sessionOf(uid types.UID, runID v1alpha1.RunID) session {
	sum := sha256.Sum256([]byte(string(uid) + "/" + string(runID)))
	return session{name: sessionPrefix + hex.EncodeToString(sum[:5]), uid: uid, runID: runID}
}

func (s session) id() string { return string(s.uid) + "/" + string(s.runID) }

// key returns the secret that the manager shares with the session's runners. It is derived, so
// that after a restart the manager need not read a Secret in a benchmark's namespace.
func (s session) key(master []byte) ([]byte, error) { return s.derive(master, "session") }

// derive returns the session's key for one role.
func (s session) derive(master []byte, role string) ([]byte, error) {
	if !s.keyedByName {
		return masterkey.Derive(master, role, string(s.uid), string(s.runID))
	}
	key, err := hkdf.Key(sha256.New, master, nil, "cephtune "+role+" "+s.name, runner.KeyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s of session %s: %w", role, s.name, err)
	}
	return key, nil
}
