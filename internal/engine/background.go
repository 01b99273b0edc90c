package engine

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// backgroundName is the name of the phase that a background load becomes.
const backgroundName = "background"

// BackgroundOf returns the Load of a background load. The tasks of this Load run until they are cancelled,
// for at most [load.Endless]. The error names a field that is missing or out of range. A background load that
// was admitted and has its defaults causes no error.
func BackgroundOf(b v1alpha1.BackgroundLoad) (Load, error) {
	phase := b.AsPhase()
	phase.Name = backgroundName
	spec, made := SpecOf(phase.DeepCopy()), background{}
	if spec != nil {
		made.operationBytes = spec.RunUntilStopped()
	}
	var err error
	if made.Load, err = loadOf(spec); err != nil {
		return nil, fmt.Errorf("background: %w", err)
	}
	return made, nil
}

// background is a Load whose tasks run until they are cancelled.
type background struct {
	Load

	operationBytes int64
}

// Task implements [Load].
func (b background) Task(p place.Place, run Run) (task.Task, error) {
	made, err := b.Load.Task(p, run)
	if err != nil {
		return task.Task{}, err
	}
	measure := *made.Measure
	measure.UntilCancelled, measure.OperationBytes = true, b.operationBytes
	measure.RequestedSeconds, measure.RequestedBytes, measure.MinimumSeconds = 0, 0, 0
	made.Measure, made.MeasureTimeoutSeconds = &measure, load.Endless.Seconds()
	return made, nil
}

// Timing implements [Load]. It returns zero, because a background load runs as long as the phases.
func (background) Timing() Timing { return Timing{} }
