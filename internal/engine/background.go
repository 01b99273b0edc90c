package engine

import (
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// backgroundName is the name of the phase that a background load becomes.
const backgroundName = "background"

// errNoPhase is the error of a background load of an older version, which had the load within it.
var errNoPhase = errors.New("backgroundLoad.phase names no phase: write the background load as an entry of phases, and its name into backgroundLoad.phase; before, the load was within backgroundLoad")

// BackgroundOf returns the Load of a template's background load; nil if it has none. The tasks of this Load run until
// they are cancelled, for at most [load.Endless]. The error names a field that is missing or out of range. A background
// load that was admitted by this version and has its defaults causes no error.
func BackgroundOf(t *v1alpha1.BenchmarkTemplate) (Load, error) {
	phase := t.Background()
	switch {
	case t.BackgroundLoad == nil:
		return nil, nil //nolint:nilnil // The doc comment explains nil.
	case phase == nil:
		return nil, errNoPhase
	}
	phase = phase.DeepCopy()
	phase.Name = backgroundName
	spec, made := SpecOf(phase), background{}
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
