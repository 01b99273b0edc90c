package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// These limits for an engine that runs until it is stopped exceed any run.
const (
	// endless is the longest time that a runner lets a tool run.
	endless = 7 * 24 * time.Hour
	// endlessBytes is for rbd bench, which counts bytes and not seconds: a week at 190 GB a
	// second.
	endlessBytes = 100 << 50
)

// backgroundName is the name of fio's job for a background load.
const backgroundName = "background"

// BackgroundOf returns the Load of a background load that was admitted and has its defaults. Its
// tasks end only when they are cancelled. The error names a field that is missing or out of
// range, in case it was not admitted.
func BackgroundOf(b v1alpha1.BackgroundLoad) (Load, error) {
	phase := v1alpha1.Phase{Name: backgroundName}
	made := background{}
	switch {
	case b.RadosBench != nil:
		phase.RadosBench = b.RadosBench.DeepCopy()
		phase.RadosBench.Duration.Duration, phase.RadosBench.Ramp = endless, nil
		made.operationBytes = phase.RadosBench.BlockSize.Value()
	case b.RBDBench != nil:
		phase.RBDBench = b.RBDBench.DeepCopy()
		phase.RBDBench.IOTotal = resource.NewQuantity(endlessBytes, resource.BinarySI)
	case b.Fio != nil:
		phase.Fio = b.Fio.DeepCopy()
		phase.Fio.Duration, phase.Fio.Ramp = metav1.Duration{Duration: endless}, nil
	}
	load, err := makeLoad(phase)
	if err != nil {
		return nil, fmt.Errorf("background: %w", err)
	}
	made.Load = load
	return made, nil
}

// background is the load of a phase without an end.
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
	made.Measure, made.MeasureTimeoutSeconds = &measure, endless.Seconds()
	return made, nil
}

// Timing implements [Load]. It is zero: the phases decide how long a background load runs.
func (background) Timing() Timing { return Timing{} }
