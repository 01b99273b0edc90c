// Package load defines the interfaces that engines implement. The main one is Load, which makes the
// command lines of a phase for one client. Package engine cannot define these interfaces, because it imports
// the engines.
package load

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Load is a phase, ready to be turned into command lines. A Load is immutable, and the same arguments always
// give the same commands. An invalid place (see [place.Place.Validate]) gives no commands.
type Load interface {
	// Datasets returns the data that must exist before the phase runs. Datasets with the same key are one
	// dataset, even in different phases.
	Datasets(p place.Place) []Dataset
	// Task returns the task that runs the phase once on one client. The task has the ID of the run. The error
	// says which value of the place, the run or the phase is invalid.
	Task(p place.Place, run Run) (task.Task, error)
	// Tidy returns commands that remove the data that runs of the phase wrote, except datasets, so that every
	// run starts in the same state. The commands can be repeated, and also work after a failed run.
	Tidy(p place.Place, run Run) []task.Command
	// Timing returns how long the measurement takes.
	Timing() Timing
	// Namespaces returns the RADOS namespaces in which the phase or its datasets have objects outside of
	// images; "" is the default namespace.
	Namespaces(p place.Place) []string
}

// Piloted is a Load that ends after a number of bytes. If the phase does not set that number, pilots (short
// runs) determine it.
type Piloted interface {
	Load
	// NeedsPilot reports whether the phase does not set the number of bytes, so that pilots have to determine
	// [Run.IOTotalBytes].
	NeedsPilot() bool
	// NextPilot returns the number of bytes per client for the next pilot or, if done, for the measurement.
	// The result depends only on the previous pilots and their order.
	NextPilot(pilots []Pilot) (bytes int64, done bool)
	// PilotTask returns the task of a pilot with the given number of bytes. A pilot is valid even if it ends
	// very soon.
	PilotTask(p place.Place, run Run, bytes int64) (task.Task, error)
}

// Curved is a Load that can offer any rate, to find the highest one that keeps a limit of latency.
type Curved interface {
	Load
	// Curve returns what the phase asks for; nil if it asks for no curve.
	Curve() *v1alpha1.Curve
	// Step returns the task in which one client offers a rate: perSecond operations a second, reads and writes
	// together, as independent arrivals.
	Step(p place.Place, run Run, perSecond float64) (task.Task, error)
}

// Growing is a Load that may write new objects for as long as it runs. The free space may limit it.
type Growing interface {
	Load
	// BoundByRoom reports whether the free space holds fewer objects than the phase may write, so that the
	// phase may end early.
	BoundByRoom(p place.Place) bool
}

// Pilot is the outcome of a short run that measures how fast the clients are.
type Pilot struct {
	// Bytes is the number of bytes requested from each client. Seconds is the time of the slowest client.
	Bytes   int64
	Seconds float64
}

// Run is one run of a phase. In other packages, a run is one of all phases.
type Run struct {
	// ID is unique in an execution. It has at most 48 lower-case letters, digits and dashes, and no dash at
	// either end.
	ID string
	// IOTotalBytes is the number of bytes that rbd bench moves if the phase does not set one.
	IOTotalBytes int64
	// Windows requests the latency histogram of each five seconds. An engine ignores the request if it has
	// no such histograms, if a job has no rate, or if the phase is too long.
	Windows bool
	// Switched says that settings are switched during the run. The engine then has to report its
	// work each second, with latencies if it can.
	Switched bool
	// Again is how often the run has begun again, to measure another window. Each time has other random offsets:
	// with the same ones, a window would find in caches what the one before has read.
	Again int
}

// Seed returns the text from which engines derive their random seeds.
func (r Run) Seed() string {
	if r.Again == 0 {
		return r.ID
	}
	return r.ID + "/" + strconv.Itoa(r.Again)
}

// Validate returns an error if the ID does not have the required form.
func (r Run) Validate() error {
	if !runID.MatchString(r.ID) {
		return fmt.Errorf("the ID of the run, %.60q, must match %s", r.ID, runID)
	}
	return nil
}

// These are the forms of run IDs and of words. Every pass of the controller checks them.
var (
	runID    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$`)
	wordForm = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?)?$`)
)

// CheckWord returns an error unless the word is empty or has at most 32 lower-case letters, digits and
// dashes, without a dash at either end. The error begins with the given name.
func CheckWord(name, word string) error {
	if !wordForm.MatchString(word) {
		return fmt.Errorf("%s, %.60q, must match %s", name, word, wordForm)
	}
	return nil
}

// Dataset is data that is written before the runs, without being measured. Any number of runs then read it or
// overwrite it in place. If all clients share one image, only client 0 has Bytes and commands.
type Dataset struct {
	// Key identifies the data. It consists of lower-case letters, digits and dashes.
	Key string
	// If Shared is set, other runs use the dataset too, and teardown of this run keeps it. If There is set,
	// an earlier run has written the dataset.
	Shared, There bool
	// Bytes is the number of bytes that this client writes, and the maximum space that the written data
	// takes.
	Bytes int64
	// Commands write the dataset. They can be repeated.
	Commands []task.Command
	// Rollback returns the data to the state after Commands. It is nil if the dataset does not consist of
	// images, if the place does not request rollbacks, or if runs do not overwrite the dataset. It can be
	// repeated.
	Rollback []task.Command
	// Warm reads the whole dataset once; nil if the engine cannot do that.
	Warm []task.Command
	// Remove removes the dataset; nil for a block device, on which the data stays. The commands can be
	// repeated, and succeed if the dataset does not exist.
	// Ceph counts an image as open for half a minute after its client was killed. In that time the commands
	// fail, and have to be repeated.
	Remove []task.Command
}

// Seconds returns how long the whole phase takes, at most.
func (t Timing) Seconds() float64 { return t.RampSeconds + t.MeasuredSeconds + t.CurveSeconds }

// Timing is how long a measurement takes, in seconds.
type Timing struct {
	// RampSeconds is the time at the beginning that is not measured. If Cut is set, the engine's output
	// includes that time, and the ramp has to be cut from the time series.
	RampSeconds float64
	Cut         bool
	// MeasuredSeconds is the planned time of the measurement after the ramp.
	MeasuredSeconds float64
	// CurveSeconds is how long the steps of a curve take after the measurement, at most.
	CurveSeconds float64
}
