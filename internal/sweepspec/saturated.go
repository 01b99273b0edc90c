package sweepspec

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
)

// saturation counts, for each configuration, the runs that count, and those of them that are Saturated.
type saturation struct{ saturated, all map[int]int }

// saturationOf returns nil if no run is Saturated, or if the objective is no latency.
func saturationOf(spec *Spec, ledger []Entry) *saturation {
	s := saturation{saturated: map[int]int{}, all: map[int]int{}}
	for _, e := range ledger {
		if e.Counts() {
			s.all[e.Configuration]++
			if e.Mark == fitness.Mark(v1alpha1.TrialSaturated) {
				s.saturated[e.Configuration]++
			}
		}
	}
	if len(s.saturated) == 0 || !figure.IsLatency(spec.Objective.Metric) {
		return nil
	}
	return &s
}

// mark removes the numbers from rows that Saturated runs have, because the latency of these runs is no number. If
// runs of both the candidate and the baseline are Saturated, there is no verdict either.
func (s *saturation) mark(rows []v1alpha1.ConfigurationResult) {
	if s == nil {
		return
	}
	for c := 1; c < len(rows); c++ {
		row := &rows[c]
		if s.saturated[c] == 0 && s.saturated[0] == 0 || row.Runs == 0 {
			continue
		}
		row.Ratio, row.Low, row.High = "", "", ""
		if row.Reason != string(sweep.ConstraintBroken) {
			row.Reason = string(stats.Saturated)
		}
		if s.saturated[c] > 0 && s.saturated[0] > 0 && row.Verdict != "" {
			row.Verdict = v1alpha1.VerdictInconclusive
		}
	}
}

// sentence states the outcome for the best candidate; "" if neither its runs nor those of the baseline are Saturated.
func (s *saturation) sentence(best int, row v1alpha1.ConfigurationResult) string {
	if s == nil || s.saturated[best] == 0 && s.saturated[0] == 0 {
		return ""
	}
	share := func(c int) string { return fmt.Sprintf("%d of %s", s.saturated[c], plural(s.all[c], "run")) }
	text := fmt.Sprintf("%s is %s: the storage could not take the rate in %s with it, and in %s of the baseline (Saturated).",
		row.Name, row.Verdict, share(best), share(0))
	if s.saturated[0] > 0 {
		text += " The rate is too high for the baseline: lower it."
	}
	return text
}

// saturatedFinding says what was found out about a candidate whose runs, or those of the baseline, are Saturated.
func saturatedFinding(verdict v1alpha1.SweepVerdict) string {
	switch verdict {
	case v1alpha1.VerdictInferior:
		return "cannot take the rate"
	case v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter:
		return "takes the rate, which the baseline cannot"
	case v1alpha1.VerdictEquivalent, v1alpha1.VerdictInconclusive, v1alpha1.VerdictInvalid:
	}
	return "no difference proven, because the storage could not take the rate"
}
