package sweepspec

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/stats"
)

func TestTheBaselineIsBestUntilSomethingIsProvenBetter(t *testing.T) {
	kept, broken, unknown := stats.ConstraintResult{State: stats.Kept}, stats.ConstraintResult{State: stats.Broken}, stats.ConstraintResult{State: stats.Unknown}
	for name, c := range map[string]struct {
		assessment  stats.Assessment
		constraints []stats.ConstraintResult
		best        string
		effect      v1alpha1.Effect
	}{
		"better":                         {stats.Assessment{Verdict: stats.Superior, Ratio: 1.2}, nil, "cap=4", "+20.0%"},
		"a little better":                {stats.Assessment{Verdict: stats.Better, Ratio: 1.04}, []stats.ConstraintResult{kept}, "cap=4", "+4.0%"},
		"better, but breaks a limit":     {stats.Assessment{Verdict: stats.Superior, Ratio: 1.2}, []stats.ConstraintResult{kept, broken}, "baseline", ""},
		"better, but perhaps at a limit": {stats.Assessment{Verdict: stats.Superior, Ratio: 1.2}, []stats.ConstraintResult{unknown}, "baseline", ""},
		"not decided":                    {stats.Assessment{Verdict: stats.Inconclusive, Ratio: 1.9}, nil, "baseline", ""},
		"equivalent":                     {stats.Assessment{Verdict: stats.Equivalent, Ratio: 1.01}, nil, "baseline", ""},
		"not comparable":                 {stats.Assessment{Verdict: stats.Invalid}, nil, "baseline", ""},
		"worse":                          {stats.Assessment{Verdict: stats.Inferior, Ratio: 0.892}, nil, "baseline", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Outcome{Configurations: []v1alpha1.ConfigurationResult{{Name: "baseline"}, {Index: 1, Name: "cap=4"}}}
			if o.lead(1, c.assessment, c.constraints); o.Best != c.best || o.Effect != c.effect {
				t.Errorf("best %q %s", o.Best, o.Effect)
			}
		})
	}
}
