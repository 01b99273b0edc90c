package history

import (
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/pipeline"
	"github.com/cephtune/cephtune/internal/history"
)

// measurements returns the nights of each phase with its present workload, like [history.Judge]; of one metric, if given.
func measurements(phases []v1alpha1.Phase, nights []history.Night, metric v1alpha1.Metric) []pipeline.Measurement {
	digests := map[v1alpha1.PhaseName]string{}
	for _, n := range nights {
		for _, f := range n.Figures {
			digests[f.Phase] = f.SpecDigest
		}
	}
	var all []pipeline.Measurement
	for _, n := range nights {
		for i := range phases {
			m := pipeline.Measurement{RunID: n.RunID, Environment: n.Environment, Phase: phases[i].Name, Direction: v1alpha1.DirectionTotal, Values: map[v1alpha1.Metric]float64{}}
			for _, f := range n.Figures {
				if f.Phase == m.Phase && f.SpecDigest == digests[m.Phase] && (metric == "" || f.Metric == metric) {
					m.Values[f.Metric], m.Runs = f.Value, f.Runs
				}
			}
			if len(m.Values) > 0 {
				all = append(all, m)
			}
		}
	}
	return all
}

// cases returns a case for each figure. One with too few nights is skipped, not an error: a new history would be red for twelve
// nights.
func cases(all []history.Series) []pipeline.Case {
	var out []pipeline.Case
	for _, s := range all {
		c := pipeline.Case{Name: s.Name(), Message: s.Sentence()}
		switch {
		case s.Regressed:
			latest := s.Changes[len(s.Changes)-1]
			c.State, c.Text = pipeline.Failed, "What differs since then, which need not be the cause:\n"+strings.Join(latest.Differences, "\n")
			if len(latest.Sweeps) > 0 {
				c.Text += "\nSweeps that would test these settings, with a load on scratch pools:\n" + strings.Join(latest.Sweeps, "\n")
			}
		case s.TooFew != "":
			c.State = pipeline.Skipped
		}
		out = append(out, c)
	}
	return out
}
