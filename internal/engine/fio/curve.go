package fio

import (
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// stepRamp is how long a step of a curve offers its rate before it measures, in seconds: connections and caches of the
// client settle in it.
const stepRamp = 2

// betweenSteps is about how long it takes from one step to the next, in seconds.
const betweenSteps = 2

// checkCurve returns an error for what a curve cannot have: its steps are open loops.
func (f *phase) checkCurve() error {
	if len(f.spec.Jobs) > 0 || f.spec.RateIOPS != nil || f.spec.RateBandwidth != nil {
		return errors.New("a curve finds its rates: leave out rateIOPS, rateBandwidth and jobs")
	}
	return checkOpenLoop(&f.spec)
}

// Curve implements [load.Curved].
func (f *phase) Curve() *v1alpha1.Curve { return f.spec.Curve }

// Step implements [load.Curved]. All copies of the job share the rate.
func (f *phase) Step(p place.Place, run load.Run, perSecond float64) (task.Task, error) {
	if f.spec.Curve == nil {
		return task.Task{}, errors.New("the phase has no curve")
	}
	if err := errors.Join(f.validate(p), run.Validate()); err != nil {
		return task.Task{}, err
	}
	step := *f
	step.seconds, step.ramp = f.spec.Curve.StepDuration.Seconds(), stepRamp
	clones := step.clones(p)
	measure, err := step.generateAt(p, run, clones, func(c *openloop.Copy, s section) {
		c.IOPS, c.Poisson = perSecond/float64(len(clones)), true
		if s.reads && s.writes {
			c.ReadShare = float64(s.readPercent) / 100
		}
	})
	if err != nil {
		return task.Task{}, fmt.Errorf("offer %.6g operations a second: %w", perSecond, err)
	}
	return step.task(run, clones, measure)
}
