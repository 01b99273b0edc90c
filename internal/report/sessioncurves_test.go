package report_test

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/report"
)

// A report shows both curves of a session, although one of them gives no rate.
func TestCurvesInTurnsAreShown(t *testing.T) {
	q := curve.Question{Percent: 99, LimitSeconds: 0.01, Confidence: 0.95, HalfWidth: 0.1, MaxSteps: 21, StepSeconds: 10, InTurns: true}
	e := session.Evidence{Plan: session.Plan{Number: 2, Candidates: 1, Curves: true}, Courses: []curve.Course{
		{Question: q, ClosedLoopPerSecond: 1500}, {Question: q, ClosedLoopPerSecond: 1500},
	}}
	for i := range 12 {
		share := 0.7 + 0.05*float64(i)
		over := int64(1000 * share * share * share * share * share * share)
		e.Courses[0].Steps = append(e.Courses[0].Steps, curve.Step{OfferedPerSecond: 1000 * share, AchievedPerSecond: 1000 * share, Count: 100_000, Over: over, PercentileSeconds: 0.01 * share})
		e.Courses[1].Steps = append(e.Courses[1].Steps, curve.Step{OfferedPerSecond: 30, AchievedPerSecond: 30, Count: 300, Over: 300, PercentileSeconds: 0.05})
		e.Record.Switches = append(e.Record.Switches, switchback.Switch{Treatment: 0, Proven: true}, switchback.Switch{Treatment: 1, Proven: true})
	}
	s := winner(t)
	s.Status.Plan = &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved, Sessions: 1}
	s.Spec.Objective.Metric = v1alpha1.MetricSustainableIOPS
	d, err := report.Sweep(s, report.Runs{}, &archive.SwitchedSession{Configurations: []string{"cap=256", "cap=16"}, Evidence: e})
	if err != nil {
		t.Fatal(err)
	}
	text := string(d.Markdown())
	for _, part := range []string{"cap=256 in session 2: The limit of p99 ≤ 10 ms is kept up to", "cap=16 in session 2: No rate keeps the limit", "Exceeded", "Zou and Donner"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
}
