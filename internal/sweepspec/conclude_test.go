package sweepspec

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/stats"
)

func TestTheBaselineIsBestIfEveryOtherConfigurationIsWorse(t *testing.T) {
	for name, c := range map[string]struct {
		assessment stats.Assessment
		best       string
		effect     v1alpha1.Effect
		leads      bool
	}{
		"better":         {stats.Assessment{Verdict: stats.Superior, Ratio: 1.2}, "cap=4", "+20.0%", true},
		"not decided":    {stats.Assessment{Verdict: stats.Inconclusive, Ratio: 0.95}, "cap=4", "-5.0%", true},
		"not comparable": {stats.Assessment{Verdict: stats.Invalid}, "cap=4", "", true},
		"worse":          {stats.Assessment{Verdict: stats.Inferior, Ratio: 0.892}, "baseline", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := Outcome{Configurations: []v1alpha1.ConfigurationResult{{Name: "baseline"}, {Index: 1, Name: "cap=4"}}}
			if leads := o.lead(1, c.assessment); leads != c.leads || o.Best != c.best || o.Effect != c.effect {
				t.Errorf("%t, best %q %s", leads, o.Best, o.Effect)
			}
		})
	}
}
