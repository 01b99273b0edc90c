package cephbenchmark

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/disruption"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
)

// expectedDisruption is what the disruption of a run explains of what is seen.
func (f facts) expectedDisruption(run int32) *quiescence.Disruption {
	d := f.memory.disruption
	wanted, has := f.disruptionPlan()
	if !has || d.run != run {
		return nil
	}
	return wanted.Expected(d.so, d.status)
}

// forgotten says that this process knows nothing of the disruption in a phase that has begun;
// "" if it does.
func (f facts) forgotten(run int32, name v1alpha1.PhaseName) string {
	if d := f.memory.disruption; d.run == run && !d.so.Start.IsZero() {
		return ""
	}
	return fmt.Sprintf("Phase %s: the manager was restarted during it, and knows nothing of the disruption", name)
}

// forgottenDisruption is why a run that has to be aborted may look worse than it is: what a
// disruption explains, nobody who has forgotten it can explain.
func (f facts) forgottenDisruption(run int32) string {
	d := f.spec.Template.Disruption
	if d == nil || !f.tasks.any(taskID(run, d.Phase), isMeasuring) {
		return ""
	}
	if f.forgotten(run, d.Phase) == "" {
		return ""
	}
	return fmt.Sprintf("Phase %s: the manager was restarted during it. ", d.Phase)
}

func isMeasuring(s task.State) bool { return s == task.Measuring }

// disruptionOf is what came of the disruption of a run, for its phase; nil if it is that of
// another phase. It says why the run is no evidence; "" if it is.
func (f facts) disruptionOf(run int32, name v1alpha1.PhaseName, e *phaseEvidence) string {
	if !f.isDisrupted(name) {
		return ""
	}
	if why := f.forgotten(run, name); why != "" {
		return why
	}
	d := f.memory.disruption
	evidence := disruption.Evidence{
		Progress: d.so, Samples: f.samples, Before: d.recovered, After: d.recoveredLast, Ramp: f.disruptedRamp(),
	}
	if e.observation != nil {
		// Its course changes because of the disruption, and not because of a warm-up.
		e.observation.Marks = slices.DeleteFunc(e.observation.Marks, func(m v1alpha1.ResultMark) bool { return m == v1alpha1.MarkNotSteady })
		if e.observation.Result != nil {
			evidence.Total, _ = e.observation.Result.Total() // Without it, there are no windows.
		}
	}
	e.disruption = disruption.Measure(evidence)
	if e.observation != nil {
		e.observation.Figures = append(e.observation.Figures, disruption.Figures(d.so, e.disruption)...)
	}
	switch {
	case d.so.Failed != "":
		return fmt.Sprintf("Phase %s: the disruption: %s", name, d.so.Failed)
	case d.so.Clean.IsZero():
		return fmt.Sprintf("Phase %s: it ended before the disruption did", name)
	}
	return ""
}

// disruptionEnd is what came of the disruption of a run, in one word, and what it has cost.
type disruptionEnd struct {
	outcome string // "" if there was none, or it had not begun
	cost    *archive.Disruption
}

func (f facts) disruptionEnd(e runEvidence) disruptionEnd {
	d := f.memory.disruption
	switch {
	case d.run != e.number || !d.refused && d.so.Begin.IsZero():
		return disruptionEnd{}
	case d.refused:
		return disruptionEnd{outcome: exporter.DisruptionRefused}
	case e.wrong != "":
		return disruptionEnd{outcome: exporter.DisruptionFailed}
	}
	end := disruptionEnd{outcome: exporter.DisruptionMeasured}
	for _, p := range e.phases {
		end.cost = cmp.Or(end.cost, p.disruption)
	}
	return end
}
