package load

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/parse"
)

// Engine describes an engine to package engine.
type Engine struct {
	// Formats lists the formats of the engine's output.
	Formats []parse.Format
	// Spec returns the part of a phase that belongs to the engine; nil for a phase of another engine. A
	// change of the Spec changes the phase.
	Spec func(phase *v1alpha1.Phase) Spec
}

// Spec is the part of a phase that belongs to one engine. Only its engine knows its fields.
type Spec interface {
	// Load returns the load. The error names a field that is missing or out of range.
	Load() (Load, error)
	// Traits returns the properties of the load. It accepts a phase that was not admitted.
	Traits() Traits
	// Words describes the load for users, without its duration.
	Words() []string
	// Field returns the value, or else the default, of a field that a sweep may vary. It returns false if the
	// field has neither, or if the engine does not have the field.
	Field(field v1alpha1.WorkloadField) (value string, ok bool)
	// SetField sets a field that a sweep may vary. It ignores a field that the engine does not have, because
	// admission refuses such a field.
	SetField(field v1alpha1.WorkloadField, value FieldValue)
	// Lengthen multiplies the duration and the ramp by the factor, up to the API's maxima. It also multiplies
	// the total bytes of rbd bench, if set. The ramp is included because a run that did not become steady
	// also needs a longer warm-up.
	Lengthen(factor int)
	// RunFor sets the duration: with a curve, that of each step. It returns false if the engine cannot run for a given time.
	RunFor(duration time.Duration) bool
	// SkipRamp removes the ramp, for a load that begins again to measure another window.
	SkipRamp()
	// RunUntilStopped replaces the limit of time or bytes by one that almost no run reaches, and removes the
	// ramp. It returns the size of an operation if the engine does not report bytes when it is stopped, and
	// otherwise 0.
	RunUntilStopped() (operationBytes int64)
}

// Endless is the duration of a load that runs until it is stopped, such as a background load during all phases
// of a run. The phases of most runs take less time, but the API allows more than 16 days: 16 phases of a day
// each, with their ramps and rests.
const Endless = 7 * 24 * time.Hour

// FieldValue is the value of a field that a sweep varies: a number or a size.
type FieldValue struct {
	Number int64
	Size   resource.Quantity
}

// Count returns Number, limited to the range from 0 to the maximum of int32.
func (v FieldValue) Count() int32 { return int32(min(max(v.Number, 0), math.MaxInt32)) }

// Traits are the properties of a load that other packages need to know.
type Traits struct {
	// BlockBytes is the phase's field blockSize or ioSize.
	// OperationBytes is the blockSize of the first job if that job sets one, and otherwise BlockBytes.
	BlockBytes, OperationBytes int64
	// Ramp is the time at the beginning that is not measured.
	Ramp time.Duration
	// Reads says that the load, or at least one of its jobs, reads data.
	Reads bool
	// WriteShare is the share of the load's operations that write, from 0 to 1. With several jobs, it is the
	// largest share of any job.
	WriteShare float64
	// NewObjectBytes is the object size of a load that keeps writing new objects, and so needs more space the
	// longer it runs. It is 0 for any other load.
	NewObjectBytes int64
	// OnImages says that the load works on RBD images, unless the target is a claim.
	OnImages bool
	// OfferedIOPS or OfferedBytesPerSecond is the rate that one client offers in each direction. Both are 0
	// for a load without a rate, or with a list of jobs.
	OfferedIOPS, OfferedBytesPerSecond float64
	// ClosedLoop says that the engine reports percentiles, and that the load or one of its jobs offers no
	// rate. The percentiles of such a load improve when fewer operations are in flight.
	ClosedLoop bool
	// Curve says that the load looks for the highest rate that keeps a limit of latency.
	Curve bool
	// Windows says that the engine reports its work each second and runs as long as requested, so that its
	// run can be divided into windows. Percentiles says that the engine also reports a histogram of latencies
	// each second.
	Windows, Percentiles bool
	// BeginsAgain says that the load can begin again in each window: its offsets are random, so that no window finds in
	// caches what the one before has read, and it holds no rows back that would be lost at its end.
	BeginsAgain bool
}

// WriteShare returns [Traits.WriteShare] of a load. The argument writes is true for a load that writes, and the
// argument mixed for a load that both reads and writes. Without readPercent, half of the operations of a mixed
// load write.
func WriteShare(writes, mixed bool, readPercent *int32) float64 {
	const percent = 100
	switch {
	case !writes:
		return 0
	case mixed && readPercent != nil:
		return float64(percent-*readPercent) / percent
	case mixed:
		return 0.5
	}
	return 1
}

// These are the maxima in the API's schema.
const (
	maxDuration = 24 * time.Hour
	maxRamp     = time.Hour
)

// LongerDuration multiplies a duration, up to the maximum in the API's schema.
func LongerDuration(d metav1.Duration, factor int) metav1.Duration {
	return metav1.Duration{Duration: longer(d.Duration, factor, maxDuration)}
}

// Timed implements the methods of [Spec] that set the time, for an engine with a duration and a ramp.
type Timed struct {
	duration *metav1.Duration
	ramp     **metav1.Duration
}

// TimedBy returns a Timed that sets these fields of a phase.
func TimedBy(duration *metav1.Duration, ramp **metav1.Duration) Timed {
	return Timed{duration: duration, ramp: ramp}
}

// Lengthen implements [Spec].
func (t Timed) Lengthen(factor int) {
	*t.duration = LongerDuration(*t.duration, factor)
	if ramp := *t.ramp; ramp != nil {
		*t.ramp = &metav1.Duration{Duration: longer(ramp.Duration, factor, maxRamp)}
	}
}

// RunFor implements [Spec].
func (t Timed) RunFor(duration time.Duration) bool {
	t.duration.Duration = duration
	return true
}

// SkipRamp implements [Spec].
func (t Timed) SkipRamp() { *t.ramp = nil }

// RunUntilStopped implements [Spec], for an engine that reports bytes even if it is stopped.
func (t Timed) RunUntilStopped() int64 {
	t.duration.Duration, *t.ramp = Endless, nil
	return 0
}

func longer(d time.Duration, factor int, most time.Duration) time.Duration {
	return max(d, min(time.Duration(factor)*d, most))
}

// OfSize returns the words for a size. It returns nothing for an unset size, as in a file without the API
// server's defaults.
func OfSize(size resource.Quantity) []string {
	if size.IsZero() {
		return nil
	}
	return []string{"of " + size.String()}
}
