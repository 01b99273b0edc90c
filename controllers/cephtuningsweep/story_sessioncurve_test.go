package cephtuningsweep

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

// Stories of sessions that draw two curves in turns.
func sessionCurveStories() map[string]story {
	return map[string]story{
		"two curves in turns":                            curvesInTurns,
		"killed between two steps":                       killedBetweenSteps,
		"curves that saturate":                           curvesThatSaturate,
		"a curve without a knee":                         curveWithoutKnee,
		"curves with late clients":                       curvesWithLateClients,
		"curves of three configurations, and by default": curvesOfThree,
	}
}

const curveSpec = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: read, fio: {engine: RBD, pattern: RandRead, blockSize: 4Ki, ioDepth: 16, ramp: 0s, duration: 30s, curve: {atMost: 10ms}}}
parameters:
- {name: cap, config: {option: osd_client_message_cap}, values: ["16"]}
baseline: {values: {cap: "256"}}
objective: {phase: read, metric: SustainableIOPS}
strategy: {interleaved: {sessions: 1}, seed: 11}
`

// withKnees sets the rate that keeps the limit with the candidate, and allows curves on existing pools. That of the baseline is 1,000.
func (w *world) withKnees(candidate, full float64) {
	w.allowed.Clusters[0].SaturateExisting = true
	w.load.set(func(l *load) {
		l.knee = func(value string) float64 { return map[string]float64{"256": 1000, "16": candidate}[value] }
		l.full = full
	})
}

func curvesInTurns(w *world) {
	w.withKnees(1500, 1.5)
	before := w.state()
	s := w.create("curves", curveSpec)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	p := s.Status.Plan
	if p.Design != v1alpha1.DesignInterleaved || p.Pairs != 21 || s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Scope != v1alpha1.ScopeWindows || s.Status.Best != "cap=16" {
		w.t.Errorf("design %s, %s, %d pairs, verdict %s of %s, %s, sessions %q: %s", p.Design, p.DesignReason, p.Pairs, s.Status.Verdict, s.Status.Best, s.Status.Scope, validities(s), s.Status.Summary)
	}
	for _, part := range []string{"Keep 256 until whole curves confirm the gain.", "by 21 pairs of steps of 10s", "1.5", "use design: Blocks (--design blocks)."} {
		if !strings.Contains(s.Status.Summary, part) {
			w.t.Errorf("%q lacks %q", s.Status.Summary, part)
		}
	}
	w.wantReplayed(s, 1)
	found, err := archive.SessionsIn(s, w.windows())
	if err != nil || len(found) != 1 || len(found[0].Evidence.Courses) != 2 || found[0].Counted == nil || len(found[0].Evidence.Courses[0].Steps) < 21 {
		w.t.Fatalf("%d sessions are kept, %v", len(found), err)
	}
	if first := found[0].Evidence.Courses[0]; first.Question.Seed == found[0].Evidence.Courses[1].Question.Seed || first.ClosedLoopPerSecond != 1500 {
		w.t.Errorf("courses %+v", found[0].Evidence.Courses)
	}
}

func killedBetweenSteps(w *world) {
	w.withKnees(700, 1.5)
	before := w.state()
	s := w.create("curves", curveSpec)
	w.await(s, "made steps", func(*v1alpha1.CephTuningSweep) bool {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		return w.load.steps > 6
	})
	w.restart()
	w.wantDrawnAgain(s, before, v1alpha1.TrialInterrupted)
}

// curvesThatSaturate keep the limit up to the rate that the storage cannot take.
func curvesThatSaturate(w *world) {
	w.withKnees(700, 0.98)
	before := w.state()
	s := w.create("curves", curveSpec)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Best != sweep.BaselineName {
		w.t.Errorf("verdict %s, sessions %q: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
}

// curveWithoutKnee has a candidate with which no rate keeps the limit.
func curveWithoutKnee(w *world) {
	w.withKnees(1, 1e9)
	before := w.state()
	s := w.create("curves", curveSpec)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	row, says := s.Status.Configurations[1], "The curve of cap=16 does not show which rate keeps the limit"
	if s.Status.Verdict != v1alpha1.VerdictInconclusive || row.Reason != "NoRate" || row.Ratio != "" || trialsThatAre(s, v1alpha1.TrialValid) != 1 || !strings.Contains(s.Status.Summary, says) {
		w.t.Errorf("verdict %s, reason %s, ratio %s, sessions %q: %s", s.Status.Verdict, row.Reason, row.Ratio, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
}

// curvesWithLateClients shows that clients that do not keep up with the rates end a sweep in minutes: no other session helps.
func curvesWithLateClients(w *world) {
	w.withKnees(1500, 1.5)
	w.load.set(func(l *load) { l.late = "the generator did not follow its schedule" })
	before := w.state()
	s := w.create("curves", curveSpec)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if s.Status.Verdict != v1alpha1.VerdictInconclusive || s.Status.Configurations[1].Reason != "NoRate" || len(s.Status.Trials) != 1 || w.load.steps > 20 {
		w.t.Errorf("verdict %s after %d steps, sessions %q: %s", s.Status.Verdict, w.load.steps, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
	found, err := archive.SessionsIn(s, w.windows())
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%d sessions are kept, %v", len(found), err)
	}
	if knee := found[0].Evidence.JudgedCourses()[0].Knee; !strings.Contains(knee.Reason, "the generator did not follow its schedule") {
		w.t.Errorf("the curve says %q", knee.Reason)
	}
}

func curvesOfThree(w *world) {
	w.withKnees(1500, 1.5)
	two := w.create("two", strings.NewReplacer(`["16"]`, `["16", "512"]`, "strategy: {", "strategy: {design: Interleaved, ").Replace(curveSpec))
	w.await(two, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(two, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "two curves are drawn in turns, so keep one")
	automatic := w.create("automatic", strings.Replace(curveSpec, "strategy: {interleaved: {sessions: 1}, ", "strategy: {", 1))
	w.await(automatic, "planned", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.Plan != nil })
	if p := automatic.Status.Plan; p.Design != v1alpha1.DesignBlocks || !strings.Contains(p.DesignReason, "sessions: 1 draws two in turns") {
		w.t.Errorf("design %s, %q", p.Design, p.DesignReason)
	}
}
