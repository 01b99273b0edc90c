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

// session is the execution of one run ID: its pods, and the names of everything
// that it makes. It follows from the object alone.
type session struct {
	// name is that of the Job and the Secret, and the first part of the names of
	// images and objects: 19 characters, because rados bench cuts host names after 29. That is
	// so short that a user may find a run ID with the name of another session. So the name
	// proves nothing, and no key follows from it.
	name string
	// uid and runID are whose session it is.
	uid   types.UID
	runID v1alpha1.RunID
	// keyedByName says that an earlier manager has started the session, whose keys followed
	// from its name.
	keyedByName bool
}

// sessionOf returns the session of a benchmark's run ID.
func sessionOf(uid types.UID, runID v1alpha1.RunID) session {
	sum := sha256.Sum256([]byte(string(uid) + "/" + string(runID)))
	return session{name: sessionPrefix + hex.EncodeToString(sum[:5]), uid: uid, runID: runID}
}

func (s session) id() string { return string(s.uid) + "/" + string(s.runID) }

// key is the secret that the manager shares with the session's runners. It is
// derived, so the manager reads no Secret of a benchmark's namespace to have it
// again after a restart.
func (s session) key(master []byte) ([]byte, error) { return s.derive(master, "session") }

// derive is the session's key for one role.
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
