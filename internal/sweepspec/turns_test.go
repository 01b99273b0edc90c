package sweepspec

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
)

var turnsPatch = `{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}]` + curved("SustainableIOPS", "sessions: 1") + "}"

// curvesTrial returns the trial of a session whose curves have a ratio; without one if it is 0.
func curvesTrial(ratio float64) v1alpha1.Trial {
	e := switchback.Entry{Candidate: 1, Blocks: 21, Unknown: ratio == 0}
	s := session.Summary{Typical: map[int]float64{0: 1000}}
	if ratio > 0 {
		e.Mean, e.StdDev, e.StdDevAbove = math.Log(ratio), 0.1, 0.2
		s.Typical[1] = 1000 * ratio
	}
	s.Objective = []switchback.Entry{e}
	t, _ := NewSessionTrial(nounSetting, 1, false, s, true, nil, SessionCost{Seconds: 800, MiB: 7})
	return t
}

func TestPlanOfCurvesInTurns(t *testing.T) {
	spec, plan, _ := sessionPlan(t, turnsPatch)
	if plan.Design != v1alpha1.DesignInterleaved || plan.Pairs != 21 || plan.Window.Duration != 13*time.Second || plan.MaximumRuns != 1 || len(plan.Refusals) > 0 {
		t.Fatalf("%+v", plan)
	}
	windows := 42 * 15 * time.Second
	if got := plan.RunDuration.Duration; got < windows+time.Minute || got > windows+6*time.Minute {
		t.Errorf("a session takes %v", got)
	}
	if words := WordsOf(spec, plan); !strings.Contains(words.Name, "two curves") || strings.Contains(words.Time, "first look") {
		t.Errorf("%+v", words)
	}
}

func TestBenchmarkOfCurvesInTurns(t *testing.T) {
	spec, plan, planner := sessionPlan(t, turnsPatch)
	s, err := SessionsOf(spec, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if order, err := s.SessionPlan(); err != nil || !order.Curves || order.Window != plan.Window.Duration || order.PairsOfBlock() != 1 {
		t.Errorf("%+v, %v", order, err)
	}
	owner := &v1alpha1.CephTuningSweep{Spec: *spec, Status: v1alpha1.CephTuningSweepStatus{Plan: plan}}
	b, err := s.Benchmark(Child{Sweep: owner, Trial: sweep.Trial{LengthFactor: 1}, Run: 1, Configuration: planner.Configurations()[0]})
	if err != nil {
		t.Fatal(err)
	}
	if fio := b.Spec.Template.Phases[0].Fio; fio.Duration.Minutes() != 1 || fio.Curve.StepDuration.Seconds() != 10 || fio.Curve.MaxSteps != 40 {
		t.Errorf("the closed loop takes %v, and the curve is %+v", fio.Duration, fio.Curve)
	}
	if spec.Template.Phases[0].Fio.Curve.MaxSteps != 21 || spec.Template.Phases[0].Fio.Curve.StepDuration.Seconds() != 20 {
		t.Error("the spec of the sweep was changed")
	}
}

func TestCurvesOfSeveralCandidatesAreRefused(t *testing.T) {
	two := strings.Replace(turnsPatch, `["1"]`, `["1", "16"]`, 1)
	_, plan, _ := sessionPlan(t, two)
	if plan.Design != v1alpha1.DesignBlocks || !strings.HasPrefix(plan.DesignReason, "There are 2 configurations in addition to the baseline") {
		t.Errorf("%s, %q", plan.Design, plan.DesignReason)
	}
	_, plan, _ = sessionPlan(t, strings.Replace(two, "strategy: {", "strategy: {design: Interleaved, ", 1))
	if len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0], "two curves are drawn in turns, so keep one.") {
		t.Errorf("%q", plan.Refusals)
	}
}

// A ledger must give the interval that the curves gave, also if its sides differ.
func TestTrialsOfCurvesAreReadAsTheyWereWritten(t *testing.T) {
	for _, ratio := range []float64{0, 1.5} {
		trial := curvesTrial(ratio)
		got, err := summaryOfTrial(&trial, 0, true)
		if err != nil || len(got.Objective) != 1 || got.Objective[0].Unknown != (ratio == 0) {
			t.Fatalf("%+v, %v", got, err)
		}
		if e := got.Objective[0]; ratio > 0 && (e.StdDev != 0.1 || e.StdDevAbove != 0.2 || e.Blocks != 21 || math.Abs(e.Mean-math.Log(1.5)) > 1e-6 || trial.Comparisons[0].Randomization != nil) {
			t.Errorf("%+v", e)
		}
	}
	trial := curvesTrial(0)
	if _, err := summaryOfTrial(&trial, 0, false); err == nil {
		t.Error("a trial of windows without comparisons was read")
	}
}

func TestVerdictsOnCurves(t *testing.T) {
	none := InvalidSession(1, v1alpha1.TrialInterrupted, SessionCost{Seconds: 10})
	for name, c := range map[string]struct {
		trial   v1alpha1.Trial
		verdict v1alpha1.SweepVerdict
		reason  string
		says    string
	}{
		"a gain":           {curvesTrial(1.5), v1alpha1.VerdictSuperior, "ThresholdExceeded", "1.500 times the baseline (1.433 to 1.643; higher is better), by 21 pairs of steps of 10s."},
		"a loss":           {curvesTrial(0.6), v1alpha1.VerdictInferior, "LossShown", "use design: Blocks (--design blocks)."},
		"an open gain":     {curvesTrial(1.12), v1alpha1.VerdictInconclusive, "GainSizeOpen", "More pairs, or a longer window, make the interval narrower."},
		"no difference":    {curvesTrial(1), v1alpha1.VerdictInconclusive, "EffectRuledOut", "A gain or a loss of 10% is ruled out"},
		"without a rate":   {curvesTrial(0), v1alpha1.VerdictInconclusive, "NoRate", "16: no verdict, because a curve gives no rate."},
		"before a session": {none, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := sessionsInStatus(t, strings.Replace(turnsPatch, `["1"]`, `["16"]`, 1), []v1alpha1.Trial{c.trial})
			row := out.Configurations[1]
			if diff := cmp.Diff([]string{string(c.verdict), c.reason}, []string{string(out.Verdict), row.Reason}); diff != "" {
				t.Errorf("%s: -want +got:\n%s", out.Summary, diff)
			}
			if !strings.Contains(out.Summary, c.says) || strings.Contains(out.Summary, "Stalls for up to") {
				t.Errorf("%q lacks %q", out.Summary, c.says)
			}
			if s.Winner() > 0 && len(out.Patches) > 0 {
				t.Error("a verdict of an hour has a patch")
			}
		})
	}
}
