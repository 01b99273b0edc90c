package sweepspec

import (
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
)

// Outline is a rough estimate of the cost of one benchmark run.
type Outline struct {
	// Duration is the time of the whole run, with the pods, the scratch pool, the prefill and the phases.
	Duration time.Duration
	// BytesWritten is the number of bytes that all clients and the background load write, before replication.
	// It includes the prefill.
	BytesWritten int64
	// BytesPrefilled is the number of bytes of the prefill.
	BytesPrefilled int64
}

// OutlineOf estimates the cost of one benchmark run. The argument datasetBytes is the size of each client's
// dataset.
func OutlineOf(t v1alpha1.BenchmarkTemplate, datasetBytes int64) (Outline, error) {
	e := &estimator{facts: Facts{DatasetBytes: datasetBytes}}
	duration, bytes, err := e.ofTemplate(t)
	if err != nil {
		return Outline{}, err
	}
	duration += podsTime
	if t.Target.ScratchPool != nil {
		duration += poolTime
	}
	return Outline{Duration: duration.Round(time.Second), BytesWritten: bytes, BytesPrefilled: PrefillBytes(t, datasetBytes)}, nil
}

// PhaseTiming returns the ramp and the measured duration of a phase.
func PhaseTiming(phase v1alpha1.Phase) (ramp, measured time.Duration, err error) {
	load, err := engine.LoadOf(phase)
	if err != nil {
		return 0, 0, refuse("%v", err)
	}
	timing := load.Timing()
	return seconds(timing.RampSeconds), seconds(timing.MeasuredSeconds), nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
