package sweepspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestTypicalFigures(t *testing.T) {
	block := func(configuration int32, objective v1alpha1.Decimal) v1alpha1.Trial {
		return v1alpha1.Trial{State: v1alpha1.TrialValid, Configuration: new(configuration), Objective: objective}
	}
	session := func(windows v1alpha1.TrialWindows, before v1alpha1.Decimal, after ...v1alpha1.Decimal) v1alpha1.Trial {
		trial := v1alpha1.Trial{State: v1alpha1.TrialValid, Windows: windows, BaselineObjective: before}
		for i, d := range after {
			trial.Comparisons = append(trial.Comparisons, v1alpha1.TrialComparison{Configuration: int32(i + 1), Objective: d})
		}
		return trial
	}
	invalid, saturated := block(1, "1"), block(1, "10")
	invalid.State, saturated.Mark = v1alpha1.TrialInvalid, v1alpha1.TrialSaturated
	for name, c := range map[string]struct {
		metric v1alpha1.Metric
		trials []v1alpha1.Trial
		want   map[int]string
	}{
		"blocks":                    {v1alpha1.MetricIOPS, []v1alpha1.Trial{block(0, "100"), block(0, "400"), block(1, "300"), invalid}, map[int]string{0: "200 IOPS", 1: "300 IOPS"}},
		"the median of percentiles": {v1alpha1.MetricLatencyP99, []v1alpha1.Trial{block(0, "0.001"), block(0, "0.002"), block(0, "0.9")}, map[int]string{0: "2ms"}},
		"short windows": {
			v1alpha1.MetricBandwidth,
			[]v1alpha1.Trial{session(v1alpha1.WindowsShort, "1048576", "2097152", "3145728")},
			map[int]string{0: "1 MiB/s", 1: "2 MiB/s", 2: "3 MiB/s"},
		},
		"long windows replace short": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.Trial{session(v1alpha1.WindowsShort, "10", "11", "12"), session(v1alpha1.WindowsLong, "20", "22")},
			map[int]string{0: "20 IOPS", 1: "22 IOPS", 2: "12 IOPS"},
		},
		"trials of an earlier version": {v1alpha1.MetricIOPS, []v1alpha1.Trial{session(v1alpha1.WindowsShort, "", "")}, map[int]string{}},
		"a latency that has no number": {v1alpha1.MetricLatencyMean, []v1alpha1.Trial{block(0, "0.001"), saturated}, map[int]string{0: "1ms"}},
		"a session without any trial":  {v1alpha1.MetricIOPS, nil, map[int]string{}},
	} {
		spec := &Spec{Objective: v1alpha1.Objective{MetricReference: v1alpha1.MetricReference{Metric: c.metric}}}
		if diff := cmp.Diff(c.want, typicalOf(spec, c.trials)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeadlines(t *testing.T) {
	for want, c := range map[string]struct {
		metric                  v1alpha1.Metric
		before, after, interval string
	}{
		"41.2k → 52k IOPS, higher is better":                         {v1alpha1.MetricIOPS, "41.2k IOPS", "52k IOPS", ""},
		"41.2k → 52k IOPS (+14 % to +38 %), higher is better":        {v1alpha1.MetricIOPS, "41.2k IOPS", "52k IOPS", " (+14 % to +38 %)"},
		"LatencyP99 3.1ms → 2.2ms (−32 % to −24 %), lower is better": {v1alpha1.MetricLatencyP99, "3.1ms", "2.2ms", " (−32 % to −24 %)"},
		"": {v1alpha1.MetricIOPS, "", "52k IOPS", ""},
	} {
		if got := headlineOf(c.metric, c.before, c.after, c.interval); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The table of kubectl get has 60 characters for a result.
func TestResultsInOneLine(t *testing.T) {
	for want, s := range map[string]v1alpha1.CephTuningSweepStatus{
		"Superior: pg_num=64, 378 → 541 MiB/s (+14 % to +68 %)": {
			Verdict: v1alpha1.VerdictSuperior, Best: "pg_num=64", Effect: "+38.7%", Headline: "378 → 541 MiB/s (+14 % to +68 %), higher is better",
		},
		"Superior: LatencyP99 12.2ms → 8.58ms (−32 % to −24 %)": {
			Verdict: v1alpha1.VerdictSuperior, Best: "osd_mclock_profile=high_client_ops", Effect: "-28.0%", Headline: "LatencyP99 12.2ms → 8.58ms (−32 % to −24 %), lower is better",
		},
		"Better: pg_num=64":             {Verdict: v1alpha1.VerdictBetter, Best: "pg_num=64", Effect: "+7.0%"},
		"Inconclusive: 401 → 407k IOPS": {Verdict: v1alpha1.VerdictInconclusive, Best: "baseline", Headline: "401 → 407k IOPS, higher is better"},
		"Invalid":                       {Verdict: v1alpha1.VerdictInvalid},
	} {
		if got := ResultLine(&s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOldTrialsAgreeWithTheirEvidence(t *testing.T) {
	old := v1alpha1.Trial{Number: 1, Comparisons: []v1alpha1.TrialComparison{{Configuration: 1, Ratio: "1.1"}}}
	again := *old.DeepCopy()
	again.BaselineObjective, again.Comparisons[0].Objective = "100", "110"
	if diff := cmp.Diff(old, withoutFigures(again)); diff != "" || again.Comparisons[0].Objective != "110" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
