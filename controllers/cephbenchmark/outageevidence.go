package cephbenchmark

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// expectedOutage returns the part of the run's outage that explains observations.
func (f facts) expectedOutage(run int32) *quiescence.Outage {
	d := f.memory.outage
	wanted, has := f.outagePlan()
	if !has || d.run != run {
		return nil
	}
	return wanted.Expected(d.so, d.status)
}

// forgotten returns a reason if this process knows nothing about the outage in a phase that has
// begun; "" otherwise.
func (f facts) forgotten(run int32, name v1alpha1.PhaseName) string {
	if d := f.memory.outage; d.run == run && !d.so.Start.IsZero() {
		return ""
	}
	return fmt.Sprintf("Phase %s: the manager restarted during it, so the outage was not measured", name)
}

// forgottenOutage adds to the reason for aborting a run that a restarted manager cannot
// attribute observations to the outage.
func (f facts) forgottenOutage(run int32) string {
	d := f.spec.Template.Outage
	if d == nil || !f.tasks.Any(workload.TaskID(run, d.Phase), isMeasuring) {
		return ""
	}
	if f.forgotten(run, d.Phase) == "" {
		return ""
	}
	return fmt.Sprintf("Phase %s: the manager restarted during it. ", d.Phase)
}

func isMeasuring(s task.State) bool { return s == task.Measuring }

// outageOf returns the result of a run's outage; nil for phases without the outage. It also
// returns why the run is invalid; "" if it is valid.
func (f facts) outageOf(run int32, name v1alpha1.PhaseName, e *phaseEvidence) string {
	if !f.hasOutage(name) {
		return ""
	}
	if why := f.forgotten(run, name); why != "" {
		return why
	}
	d := f.memory.outage
	evidence := outage.Evidence{
		Progress: d.so, Samples: f.Samples, Before: d.recovered, After: d.recoveredLast, Ramp: f.outageRamp(),
	}
	if e.observation != nil {
		// The rate changes because of the outage, not because of a warm-up.
		e.observation.Marks = slices.DeleteFunc(e.observation.Marks, func(m v1alpha1.ResultMark) bool { return m == v1alpha1.MarkNotSteady })
		if e.observation.Result != nil {
			evidence.Total, _ = e.observation.Result.Total() // If this fails, there are no windows.
		}
	}
	e.outage = outage.Measure(evidence)
	if e.observation != nil {
		e.observation.Figures = append(e.observation.Figures, outage.Figures(d.so, e.outage)...)
	}
	switch {
	case d.so.Failed != "":
		return fmt.Sprintf("Phase %s: the outage: %s", name, d.so.Failed)
	case d.so.Clean.IsZero():
		return fmt.Sprintf("Phase %s ended before its outage did", name)
	}
	return ""
}

// outageEnd is the outcome of a run's outage, in one word, and its cost.
type outageEnd struct {
	outcome string // "" if there was no outage, or it had not begun
	cost    *archive.Outage
}

func (f facts) outageEnd(e runEvidence) outageEnd {
	d := f.memory.outage
	switch {
	case d.run != e.number || !d.refused && d.so.Begin.IsZero():
		return outageEnd{}
	case d.refused:
		return outageEnd{outcome: exporter.OutageRefused}
	case e.wrong != "":
		return outageEnd{outcome: exporter.OutageFailed}
	}
	end := outageEnd{outcome: exporter.OutageMeasured}
	for _, p := range e.phases {
		end.cost = cmp.Or(end.cost, p.outage)
	}
	return end
}
