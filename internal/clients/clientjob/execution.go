package clientjob

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/signature"
)

// executionPrefix begins the names of all executions.
const executionPrefix = scratchpool.ImagePrefix

// Execution is all runs with one run ID. It determines the names of everything that the execution
// creates.
type Execution struct {
	// Name is the name of the Job, and begins the names of the Secret, images and objects. It
	// has 19 characters (22 for a background load), because it begins the host names of pods, which rados
	// bench truncates after 29 characters. A name is so short that a user can find a run ID that yields the
	// name of another execution. So keys are not derived from the name.
	Name string
	// UID is the UID of the owner, and RunID the run ID of the execution. Both are empty for a
	// background load.
	UID   types.UID
	RunID v1alpha1.RunID
}

// ExecutionOf returns the execution of a benchmark's run ID.
func ExecutionOf(uid types.UID, runID v1alpha1.RunID) Execution {
	sum := sha256.Sum256([]byte(string(uid) + "/" + string(runID)))
	return Execution{Name: executionPrefix + hex.EncodeToString(sum[:5]), UID: uid, RunID: runID}
}

// ID returns a text that is unique among executions, except for background loads.
func (s Execution) ID() string { return string(s.UID) + "/" + string(s.RunID) }

// Key returns the secret that the manager shares with the execution's runners. The secret is derived from
// the manager's, so a restarted manager need not read a Secret in a benchmark's namespace. Another name of the role would make another key,
// and the runners of an earlier version would refuse it.
func (s Execution) Key(master []byte) ([]byte, error) {
	return signature.Derive(master, "session", string(s.UID), string(s.RunID))
}

// Background returns the execution of the background load, whose Job needs another name. The name of s
// begins the names of everything that the load creates, so the teardown of s finds and removes it.
func (s Execution) Background() Execution { return Execution{Name: s.Name + "-bg"} }

// SecretName returns the name of the Secret. The nonce makes it differ from the name of any other Secret, such as
// that of a Job that the operator has replaced.
func SecretName(s Execution, nonce string) string { return s.Name + "-" + nonce }
