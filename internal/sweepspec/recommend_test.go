package sweepspec

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

func TestRecommendation(t *testing.T) {
	row := func(verdict v1alpha1.SweepVerdict, reason string, ratio, low, high v1alpha1.Decimal) v1alpha1.ConfigurationResult {
		return v1alpha1.ConfigurationResult{Verdict: verdict, Reason: reason, Ratio: ratio, Low: low, High: high}
	}
	const superior, better, equal, inferior, open, invalid = v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter, v1alpha1.VerdictEquivalent,
		v1alpha1.VerdictInferior, v1alpha1.VerdictInconclusive, v1alpha1.VerdictInvalid
	for name, c := range map[string]struct {
		metric         v1alpha1.Metric
		rows           []v1alpha1.ConfigurationResult // of 512, 1, 2, 4
		leader, winner int
		scope          v1alpha1.SweepScope
		want           string
	}{
		"nothing proven": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(open, "EffectOpen", "0.98", "0.87", "1.11"), row(inferior, "LossShown", "0.34", "0.3", "0.4")},
			1, 0, v1alpha1.ScopeWindows,
			"Keep 256. 512: no difference proven (IOPS −13 % to +11 %). 1: 66 % slower.",
		},
		"a latency": {
			v1alpha1.MetricLatencyP99,
			[]v1alpha1.ConfigurationResult{row(open, "EffectOpen", "0.656", "0.148", "2.912"), row(inferior, "LossShown", "1.66", "1.4", "2")},
			1, 0, v1alpha1.ScopeWindows,
			"Keep 256. 512: no difference proven (LatencyP99 −85 % to +191 %). 1: 66 % slower.",
		},
		"the leader comes first": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(inferior, "LossShown", "0.9", "0.85", "0.951"), row(superior, "ThresholdExceeded", "1.23", "1.12", "1.35")},
			2, 2, v1alpha1.ScopePools,
			"Use 1: 23 % faster (IOPS +12 % to +35 %). 512: 10 % slower.",
		},
		"only in switched windows": {
			v1alpha1.MetricLatencyP99,
			[]v1alpha1.ConfigurationResult{row(superior, "ThresholdExceeded", "0.512", "0.301", "0.873")},
			1, 1, v1alpha1.ScopeWindows,
			"Keep 256 until long windows confirm the gain. 512: 49 % faster (LatencyP99 −70 % to −13 %).",
		},
		"only on one pool": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(superior, "ThresholdExceeded", "1.23", "1.12", "1.35")},
			1, 1, v1alpha1.ScopePool,
			"Keep 256 until several pools confirm the gain. 512: 23 % faster (IOPS +12 % to +35 %).",
		},
		"for this cluster": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(superior, "ThresholdExceeded", "1.23", "1.12", "1.35")},
			1, 1, v1alpha1.ScopeCluster,
			"Use 512: 23 % faster (IOPS +12 % to +35 %).",
		},
		"a starved trial": {
			v1alpha1.MetricLatencyP99,
			[]v1alpha1.ConfigurationResult{row(open, "Starved", "0.512", "0.301", "0.873")},
			1, 0, v1alpha1.ScopeWindows,
			"Keep 256. 512: not proven, because CPU was short (LatencyP99 −70 % to −13 %).",
		},
		"a small gain": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(better, "GainIsSmall", "1.042", "1.011", "1.062")},
			1, 0, v1alpha1.ScopePools,
			"Keep 256. 512: 4.2 % faster (IOPS +1.1 % to +6.2 %), less than minimumEffect.",
		},
		"a broken constraint": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(superior, "ConstraintBroken", "1.23", "1.12", "1.35")},
			1, 0, v1alpha1.ScopePools,
			"Keep 256. 512: 23 % faster (IOPS +12 % to +35 %), but it breaks a constraint.",
		},
		"alike": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(equal, "WithinEquivalence", "1.001", "0.98", "1.02")},
			1, 0, v1alpha1.ScopePools,
			"Keep 256. 512: no relevant difference (IOPS −2.0 % to +2.0 %).",
		},
		"no interval": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{row(open, "TooFewRuns", "1.3", "", ""), row(open, "CandidateBeaten", "0.5", "", ""), row(invalid, "Inert", "", "", "")},
			1, 0, v1alpha1.ScopePools,
			"Keep 256. 512: no difference proven. 1: beaten in the race. 2: no verdict.",
		},
		"many": {
			v1alpha1.MetricIOPS,
			[]v1alpha1.ConfigurationResult{
				row(open, "NotConfirmed", "1.3", "1.2", "1.4"), row(inferior, "LossShown", "0.5", "", ""), row(inferior, "LossShown", "0.5", "", ""), row(inferior, "LossShown", "0.5", "", ""),
			},
			1, 0, v1alpha1.ScopePools,
			"Keep 256. 512: not confirmed (IOPS +20 % to +40 %). 1: 50 % slower. 2 others: see the table.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &Spec{Objective: v1alpha1.Objective{MetricReference: v1alpha1.MetricReference{Metric: c.metric}}, Parameters: []v1alpha1.Parameter{{Name: "cap"}}}
			r := recommendation{spec: spec, rows: append([]v1alpha1.ConfigurationResult{{}}, c.rows...), leader: c.leader, winner: c.winner, scope: c.scope}
			for _, value := range []string{"256", "512", "1", "2", "4"} {
				r.configurations = append(r.configurations, sweep.Configuration{Name: "cap=" + value, Values: map[string]cephvalue.Value{"cap": cephvalue.Of(value)}})
			}
			if got := r.String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if words := len(strings.Fields(r.String())); words > 25 {
				t.Errorf("%d words", words)
			}
			r.spec.Parameters = append(r.spec.Parameters, v1alpha1.Parameter{Name: "other"})
			if got := r.String(); !strings.Contains(got, "cap=512: ") || c.winner == 0 && !strings.HasPrefix(got, "Keep the baseline. ") {
				t.Errorf("with several parameters: %s", got)
			}
		})
	}
}

func TestASummaryBeginsWithItsRecommendation(t *testing.T) {
	long := strings.Repeat("name", 16)
	spec := &Spec{Parameters: []v1alpha1.Parameter{{Name: "a"}, {Name: "b"}}}
	r := recommendation{spec: spec, rows: make([]v1alpha1.ConfigurationResult, 5)}
	for range r.rows {
		r.configurations = append(r.configurations, sweep.Configuration{Name: long})
	}
	notes := (marked{all: 3, starved: 3}).notes(true, "session")
	summary := summaryOf(r, strings.Repeat("sentence ", 60), notes)
	line, _, _ := strings.Cut(summary, "\n")
	if !strings.HasPrefix(line, "Keep the baseline. "+long) || !strings.HasSuffix(summary, notes) {
		t.Errorf("summary %q", summary)
	}
	if all := summaryOf(r, "a sentence", strings.Repeat("note ", 100)); len(all) > maxSummary-roomForRestored {
		t.Errorf("%d bytes with long notes: %q", len(all), all)
	}
	restored := WithRestored(summary, "Restored.")
	if !strings.HasPrefix(restored, line+" Restored.\n") || len(restored) > maxSummary {
		t.Errorf("%d bytes: %q", len(restored), restored)
	}
	if again := WithRestored(restored, "Restored."); again != restored {
		t.Errorf("twice: %q", again)
	}
	for _, alone := range []string{"", "one line"} {
		if got := WithRestored(alone, "Restored."); got != alone {
			t.Errorf("%q became %q", alone, got)
		}
	}
}

func TestLongNotesFitInASummary(t *testing.T) {
	r := recommendation{
		spec: &Spec{}, rows: make([]v1alpha1.ConfigurationResult, 1), configurations: []sweep.Configuration{{Name: "256"}},
	}
	for _, length := range []int{0, 100, maxSummary - 60, 2 * maxSummary} {
		got := summaryOf(r, strings.Repeat("s", maxSummary), strings.Repeat("n", length))
		if len(got) > maxSummary || !strings.Contains(got, "\n") {
			t.Errorf("with %d bytes of notes, the summary has %d: %q", length, len(got), got)
		}
	}
}

func TestTheRateIsTooHighIfTheBaselineMissesIt(t *testing.T) {
	const advice = "lower the rate"
	for name, c := range map[string]struct {
		marks []fitness.Mark // of the baseline's trials
		want  bool
	}{
		"none":               {nil, false},
		"it reaches it":      {[]fitness.Mark{"", "", ""}, false},
		"once of three":      {[]fitness.Mark{"", fitness.BelowRate, ""}, false},
		"twice of three":     {[]fitness.Mark{fitness.BelowRate, fitness.BelowRate, ""}, true},
		"always":             {[]fitness.Mark{fitness.BelowRate}, true},
		"only without CPU":   {[]fitness.Mark{fitness.Starved, fitness.Throttled}, false},
		"also with CPU":      {[]fitness.Mark{fitness.Starved, fitness.BelowRate}, true},
		"starved and not so": {[]fitness.Mark{fitness.Starved, "", fitness.BelowRate}, false},
	} {
		var m marked
		m.add(fitness.BelowRate, false) // A candidate that misses it is an outcome.
		for _, mark := range c.marks {
			m.add(mark, true)
		}
		if got := m.notes(false, "run"); strings.Contains(got, advice) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
