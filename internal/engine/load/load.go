// Package load defines the interface that each engine implements for a phase: command lines for
// one client. It is separate from package engine because that imports the engines.
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
	// Datasets returns the data that must exist before the phase. Datasets with the same key are
	// one dataset, even in different phases.
	Datasets(p place.Place) []Dataset
	// Task returns the task that runs the phase once on one client. The task has the ID of the
	// run. The error says what to change in place, run or phase.
	Task(p place.Place, run Run) (task.Task, error)
	// Tidy returns commands that remove the data that one run of the phase has written, except
	// datasets, so that every run starts in the same state. The commands can be repeated, also
	// after a failed run.
	Tidy(p place.Place, run Run) []task.Command
	// Timing is how long the measurement takes.
	Timing() Timing
	// Namespaces returns the RADOS namespaces in which the phase or its datasets have objects;
	// "" is the default namespace.
	Namespaces(p place.Place) []string
}

// Piloted is a Load that ends after a number of bytes. If the phase does not set that number, pilots
// (short runs) determine it.
type Piloted interface {
	Load
	// NeedsPilot reports whether the phase leaves its size to [Run.IOTotalBytes].
	NeedsPilot() bool
	// NextPilot returns the bytes of the pilot to run next on each client, or, when done, the bytes
	// to measure with. The result depends only on the pilots so far, in order.
	NextPilot(pilots []Pilot) (bytes int64, done bool)
	// PilotTask is Task for a pilot of the given number of bytes. A pilot is valid however soon it
	// ends.
	PilotTask(p place.Place, run Run, bytes int64) (task.Task, error)
}

// Growing is a Load that writes new objects for as long as it runs. The free space may limit it.
type Growing interface {
	Load
	// BoundByRoom reports whether the phase ends early because the free space holds fewer objects
	// than it may write.
	BoundByRoom(p place.Place) bool
}

// Pilot is a short run that measures how fast a client is.
type Pilot struct {
	// Bytes is the amount requested from each client. Seconds is the time of the slowest client.
	Bytes   int64
	Seconds float64
}

// Run is one execution of a phase.
type Run struct {
	// ID is unique in a session and safe in names: lower-case letters, digits and
	// dashes, at most 48 of them.
	ID string
	// IOTotalBytes is how many bytes rbd bench moves if the phase does not say.
	IOTotalBytes int64
	// EveryOperation requests a log of the latency of each operation instead of the mean of each
	// second. It applies if the engine can do that, and the phase's rates and duration keep the log
	// small enough.
	EveryOperation bool
	// Switched says that settings are switched during the run. The engine then has to report its
	// work each second, with latencies if it can.
	Switched bool
}

// Validate returns an error if the ID is not safe in names.
func (r Run) Validate() error {
	if pattern := `^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$`; !regexp.MustCompile(pattern).MatchString(r.ID) {
		return fmt.Errorf("the ID of the run, %.60q, must match %s", r.ID, pattern)
	}
	return nil
}

// CheckWord returns an error unless the word is empty or allowed by the API.
func CheckWord(name, word string) error {
	if pattern := `^([a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?)?$`; !regexp.MustCompile(pattern).MatchString(word) {
		return fmt.Errorf("%s, %.60q, must match %s", name, word, pattern)
	}
	return nil
}

// Dataset is data that is written once, unmeasured, and then read or overwritten in place by any
// number of runs.
type Dataset struct {
	// Key identifies the data. It consists of lower-case letters, digits and dashes.
	Key string
	// Shared says that other runs use the dataset too, so teardown of this run keeps it. There
	// says that an earlier run has written it.
	Shared, There bool
	// Bytes is how much this client writes, and an upper bound of the space that its data takes.
	Bytes int64
	// Commands write the dataset. They can be repeated.
	Commands []task.Command
	// Rollback restores the data that Commands wrote. It is nil if the place does not request
	// rollbacks, or nothing overwrites the dataset. It can be repeated.
	Rollback []task.Command
	// Warm reads the whole dataset once; nil if the engine cannot do that.
	Warm []task.Command
	// Remove removes the dataset. The commands can be repeated, and succeed if it does not
	// exist. Ceph counts an image as open for half a minute after its client was killed; until
	// then the commands fail and have to be repeated.
	Remove []task.Command
}

// Timing is how long a measurement takes, in seconds.
type Timing struct {
	// RampSeconds is the time at the beginning that is not measured. If Cut is set, the engine
	// counts that time nevertheless, and the reader has to cut it from the time series.
	RampSeconds float64
	Cut         bool
	// MeasuredSeconds is the planned time of the measurement after the ramp.
	MeasuredSeconds float64
}
