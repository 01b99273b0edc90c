package results

import (
	"cmp"
	"fmt"
	"io"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/pipeline"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/schedule"
)

// measurements returns the figures of the valid runs. It leaves out the least values of figures that are unknown otherwise.
func measurements(runs []*archive.Run) []pipeline.Measurement {
	var all []pipeline.Measurement
	for _, run := range runs {
		for _, phase := range run.Phases {
			for _, direction := range figure.Directions() {
				m := pipeline.Measurement{RunID: run.RunID, Environment: run.Environment, Phase: phase.Name, Direction: direction, Runs: 1, Values: map[v1alpha1.Metric]float64{}}
				for _, metric := range figure.Metrics() {
					if f, ok := run.Figure(phase.Name, metric, direction); ok && !f.AtLeast {
						m.Values[metric] = f.Value
					}
				}
				if run.State == v1alpha1.RunValid && len(m.Values) > 0 {
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// writeGate writes the expectations of a benchmark as JUnit XML. One whose outcome is Unknown is an error: pipelines show a skipped
// case as green, and a gate must not open without an answer.
func writeGate(w io.Writer, b *v1alpha1.CephBenchmark) error {
	state := object.StateOf(b)
	switch {
	case len(b.Spec.Expectations) == 0:
		return exit.UsageErrorf("-o junit has a case for each expectation, but %s has none", b.Name)
	case !state.Ended():
		return fmt.Errorf("benchmark %s has not ended: %s", b.Name, state.Now())
	case schedule.Edited(b): // Otherwise an old outcome might pass a new limit.
		return fmt.Errorf("benchmark %s was edited after its latest execution began, so its expectations may be newer than the outcomes: wait for the next execution", b.Name)
	}
	var cases []pipeline.Case
	for i, e := range b.Spec.Expectations {
		c := pipeline.Case{Name: report.FigureName(e.MetricReference) + " " + report.Limit(e), State: pipeline.Error, Message: cmp.Or(b.Status.Summary, state.Ready().Message)}
		if i < len(b.Status.Expectations) {
			r := b.Status.Expectations[i]
			c.Message, c.Text = fmt.Sprintf("%s: %s", r.Outcome, cmp.Or(figure.HumanDecimal(r.Metric, r.Value), "no figure")), b.Status.Summary
			switch r.Outcome {
			case v1alpha1.ExpectationMet:
				c.State = pipeline.Passed
			case v1alpha1.ExpectationMissed:
				c.State = pipeline.Failed
			default:
			}
		}
		cases = append(cases, c)
	}
	return pipeline.JUnit(terminal.ForFile(w), b.Namespace+"/"+b.Name, cases)
}
