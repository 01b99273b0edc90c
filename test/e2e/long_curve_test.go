//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// A curve offers several rates to Ceph. Whether the rate that keeps the limit is found depends on the machine; the steps
// and what is said about them do not.
func TestLongCurve(t *testing.T) {
	c := forTest(t)
	percent := int32(70)
	b := c.benchmark("curve", c.replicatedScratch(), fioPhase("mixed", v1alpha1.Fio{
		Pattern: v1alpha1.FioRandReadWrite, ReadPercent: &percent, IODepth: 4,
		Curve: &v1alpha1.Curve{Metric: v1alpha1.MetricLatencyP50, AtMost: "20ms", StepDuration: metav1.Duration{Duration: 10 * time.Second}, MaxSteps: 8},
	}))

	c.runTo(t, v1alpha1.ConditionComplete, b)

	documents := c.wantRuns(t, b)
	if len(documents) != 1 || len(documents[0].Phases) != 1 || documents[0].Phases[0].Observation == nil {
		t.Fatalf("documents %+v", documents)
	}
	if result := b.Status.Phases[0].Curve; result == nil || result.Reason == "" {
		t.Errorf("the curve is %+v in status", result)
	}
	wantCourse(t, documents[0].Phases[0].Observation.Curve)
}

// wantCourse checks the steps of a curve of at most eight steps, and that they give the same answer again.
func wantCourse(t *testing.T, course *curve.Course) {
	t.Helper()
	if course == nil || len(course.Steps) < 2 || len(course.Steps) > 8 || !(course.ClosedLoopPerSecond > 0) {
		t.Fatalf("the curve is %+v", course)
	}
	for i, step := range course.Steps {
		// A step that is not saturated does what it offers. Arrivals are random: 10 s of them scatter by some percent.
		if off := step.AchievedPerSecond / step.OfferedPerSecond; step.Fault == "" && !step.Saturated && (off < 0.7 || off > 1.3 || step.Count == 0) {
			t.Errorf("step %d offered %.0f/s, and did %.0f/s: %+v", i+1, step.OfferedPerSecond, step.AchievedPerSecond, step)
		}
	}
	if again := course.Judged(); again.Knee != course.Knee {
		t.Errorf("its steps now say %+v, want %+v", again.Knee, course.Knee)
	}
}

// Two curves in turns need a pool of their own, and restore the option. Whether their rates are known depends on the machine;
// the steps, and that the archive gives the same verdict again, do not.
func TestLongCurvesInTurns(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.sweep("turns", c.replicatedScratch(), messageCap("4"))
	s.Spec.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"message_cap": "256"}}
	s.Spec.Template.Phases[0] = fioPhase("writes", v1alpha1.Fio{
		Pattern: v1alpha1.FioRandWrite, IODepth: 8, Curve: &v1alpha1.Curve{Metric: v1alpha1.MetricLatencyP50, AtMost: "20ms"},
	})
	s.Spec.Objective.MetricReference = v1alpha1.MetricReference{Phase: "writes", Metric: v1alpha1.MetricSustainableIOPS}
	s.Spec.Strategy = v1alpha1.Strategy{Design: v1alpha1.DesignInterleaved, Interleaved: v1alpha1.Interleaved{Sessions: 1}, Seed: new(int64(5))}
	c.createSweep(t, s)

	c.awaitVerdict(t, s, before)

	if s.Status.Plan.Pairs != session.CurvePairs || s.Status.Scope != v1alpha1.ScopeWindows {
		t.Errorf("%d pairs, scope %s", s.Status.Plan.Pairs, s.Status.Scope)
	}
	sessions, err := results.Sessions(t.Context(), c, s)
	if err != nil || len(sessions) == 0 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	last := sessions[len(sessions)-1]
	for i, course := range last.Evidence.JudgedCourses() {
		if len(course.Steps) < session.CurvePairs && !last.Evidence.SpoiltCurve() {
			t.Errorf("the curve of configuration %d has %d steps", i, len(course.Steps))
		}
		t.Logf("configuration %d: %s", i, course.Knee.Reason)
	}
	again, err := sweepspec.Replay(s, sessions)
	if err != nil || again.Outcome.Verdict != s.Status.Verdict {
		t.Errorf("the archive says %+v, %v; want %s", again, err, s.Status.Verdict)
	}
}
