// Package load is the interface that each engine implements for a phase: command lines for one client.
// It is apart from package engine, which imports the engines.
package load

import (
	"fmt"
	"regexp"

	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Load is a phase, ready to be turned into command lines. It is immutable, and the
// same arguments always give the same commands. An invalid place (see [place.Place.Validate])
// gives no commands.
type Load interface {
	// Datasets must exist before the phase. Datasets with the same key are one
	// dataset, also in several phases.
	Datasets(p place.Place) []Dataset
	// Task returns the task that runs the phase once on one client. Its ID is that
	// of the run. The error says what to change in place, run or phase.
	Task(p place.Place, run Run) (task.Task, error)
	// Tidy removes the data that one run of the phase has written, except datasets, so
	// that the next run starts alike. It can be repeated, also after a failed run.
	Tidy(p place.Place, run Run) []task.Command
	// Timing is how long the measurement takes.
	Timing() Timing
	// Namespaces are the RADOS namespaces that the phase has objects in, those of
	// its datasets included; "" is the default one.
	Namespaces(p place.Place) []string
}

// Piloted is a Load that is bounded by bytes, whose number pilots may have to find.
type Piloted interface {
	Load
	// NeedsPilot reports whether the phase leaves its size to [Run.IOTotalBytes].
	NeedsPilot() bool
	// NextPilot returns the bytes of the pilot to run next on each client, or, when
	// done, those to measure with. It is a function of the pilots so far, in order.
	NextPilot(pilots []Pilot) (bytes int64, done bool)
	// PilotTask is Task for a pilot of that many bytes, however short it is.
	PilotTask(p place.Place, run Run, bytes int64) (task.Task, error)
}

// Pilot is a short run that was made to see how fast a client is.
type Pilot struct {
	// Bytes are what each client was asked for, and Seconds what the slowest took.
	Bytes   int64
	Seconds float64
}

// Run is one execution of a phase.
type Run struct {
	// ID is unique in a session and safe in names: lower-case letters, digits and
	// dashes, at most 48 of them.
	ID string
	// IOTotalBytes is what rbd bench is to move where the phase does not say.
	IOTotalBytes int64
	// EveryOperation has the latency of each operation logged, and not only their mean
	// of each second, where the tool can do that and there are not too many.
	EveryOperation bool
	// Switched says that settings are switched meanwhile, so the engine has to report its work
	// each second, with latencies if it can.
	Switched bool
}

// Validate returns an error if the ID is not safe in names.
func (r Run) Validate() error {
	if pattern := `^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$`; !regexp.MustCompile(pattern).MatchString(r.ID) {
		return fmt.Errorf("the ID of the run, %.60q, must match %s", r.ID, pattern)
	}
	return nil
}

// CheckWord returns an error unless the word is empty or one that the API admits.
func CheckWord(name, word string) error {
	if pattern := `^([a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?)?$`; !regexp.MustCompile(pattern).MatchString(word) {
		return fmt.Errorf("%s, %.60q, must match %s", name, word, pattern)
	}
	return nil
}

// Dataset is data that is written once, unmeasured, and then used by any number of
// runs: read, or written over in place.
type Dataset struct {
	// Key is the same for the same data: lower-case letters, digits and dashes.
	Key string
	// Shared says that other runs use it too, so teardown of this run keeps it. There says
	// that an earlier run has written it.
	Shared, There bool
	// Bytes is how much this client writes, and an upper bound of the space that its data take.
	Bytes int64
	// Commands write it. They can be repeated.
	Commands []task.Command
	// Rollback restores the state after Commands, whatever was overwritten since. It is nil if
	// the place does not ask for it, or nothing overwrites the dataset. It can be repeated.
	Rollback []task.Command
	// Warm reads all of it once; nil where the tool cannot.
	Warm []task.Command
	// Remove removes it. They can be repeated, and succeed if it does not exist.
	// After a client was killed, Ceph counts the image as open for half a minute, and they
	// have to be repeated until then.
	Remove []task.Command
}

// Timing is how long a measurement takes, in seconds.
type Timing struct {
	// RampSeconds are at the beginning and not measured. Where Cut is set the tool
	// counts them nevertheless, and they have to be cut from its course.
	RampSeconds float64
	Cut         bool
	// MeasuredSeconds follow, by plan.
	MeasuredSeconds float64
}
