package sweepspec

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
)

// A configuration with which the storage cannot take the rate is the worst one. It is not measured again and again.
func TestConfigurationThatCannotTakeTheRate(t *testing.T) {
	for name, c := range map[string]struct {
		saturated [2]bool // the baseline, the candidate
		verdict   v1alpha1.SweepVerdict
		summary   []string
		best      string
	}{
		"the candidate": {[2]bool{false, true}, v1alpha1.VerdictInferior, []string{"Keep 8. 16: cannot take the rate.", "pg_num=16 is Inferior: the storage could not take the rate in 4 " +
			"of 4 runs with it, and in 0 of 4 runs of the baseline (Saturated)."}, "baseline"},
		"both": {
			[2]bool{true, true},
			v1alpha1.VerdictInconclusive,
			[]string{"no difference proven, because the storage could not take the rate", "The rate is too high for the baseline: lower it."},
			"baseline",
		},
		"the baseline": {[2]bool{true, false}, v1alpha1.VerdictSuperior, []string{"takes the rate, which the baseline cannot", "The rate is too high for the baseline: lower it."}, "pg_num=16"},
		"neither":      {[2]bool{false, false}, v1alpha1.VerdictEquivalent, []string{"no relevant difference"}, "baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			object := specOf(t, `{template: {phases: [{name: write, fio: {pattern: RandWrite, rateIOPS: 500}}]}, objective: {phase: write, metric: LatencyP99},
				parameters: [{name: pg_num, poolOption: {option: pg_num}, values: ["16"]}], baseline: {values: {pg_num: "8"}}, strategy: {design: Blocks}}`)
			plan, planner := draft(t, &object.Spec, Facts{Present: Present{}})
			if len(plan.Refusals) > 0 {
				t.Fatal(plan.Refusals)
			}
			out, runs := concludeWith(t, &object.Spec, planner, func(trial sweep.Trial) bool { return c.saturated[trial.Configuration] })
			if out.Verdict != c.verdict || out.Best != c.best || out.Configurations[1].Verdict != c.verdict {
				t.Errorf("%s of %+v, best %s", out.Verdict, out.Configurations[1], out.Best)
			}
			for _, want := range c.summary {
				if !strings.Contains(out.Summary, want) {
					t.Errorf("%q is not in %q", want, out.Summary)
				}
			}
			if number := out.Configurations[1].Ratio != ""; number != (name == "neither") {
				t.Errorf("the ratio is %q", out.Configurations[1].Ratio)
			}
			if runs > 40 {
				t.Errorf("it took %d runs", runs)
			}
		})
	}
}

// concludeWith measures until the end of a sweep. A run has a p99 of about 10 ms, or is Saturated.
func concludeWith(t *testing.T, spec *Spec, planner *sweep.Planner, saturated func(sweep.Trial) bool) (Outcome, int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var ledger []Entry
	for {
		next, err := planner.Next(Runs(ledger))
		if err != nil {
			t.Fatal(err)
		}
		if ledger, err = ReadLedger(&v1alpha1.CephTuningSweepStatus{Trials: WriteLedger(ledger, next)}); err != nil {
			t.Fatal(err)
		}
		if next.Action == sweep.Conclude {
			out, err := Conclude(spec, planner, ledger, next.Conclusion, nil)
			if err != nil {
				t.Fatal(err)
			}
			return out, len(ledger)
		}
		phase := v1alpha1.PhaseResult{Name: "write", ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
			{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: figure.Decimal(0.01 + 1e-5*rng.NormFloat64())},
		}}
		if saturated(next.Trial) {
			phase.Metrics, phase.Marks = nil, []v1alpha1.ResultMark{v1alpha1.MarkBelowRate, v1alpha1.MarkSaturated}
		}
		child := &v1alpha1.CephBenchmark{Status: v1alpha1.CephBenchmarkStatus{
			Runs: []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunValid}}, Phases: []v1alpha1.PhaseResult{phase},
		}}
		entry, reason := Observe(spec, next.Trial, Evidence{Child: child, Seconds: 60})
		if reason != "" {
			t.Fatal(reason)
		}
		ledger = append(ledger, entry)
	}
}
