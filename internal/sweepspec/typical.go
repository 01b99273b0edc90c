package sweepspec

import (
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
)

// Typical returns the typical figure of the objective with its unit, for each configuration that has one. The verdict
// does not depend on it.
func Typical(s *v1alpha1.CephTuningSweep) map[int]string {
	trials, err := Trials(&s.Status)
	if err != nil {
		return nil // Another version wrote the trials.
	}
	return typicalOf(&s.Spec, trials)
}

// maxFigure is the maximum length of a figure in status, in bytes. Only impossible figures are longer.
const maxFigure = 19

// typicalOf returns the typical figures of the valid trials. If a configuration has long windows, only these count, as
// for its verdict. A configuration with a Saturated trial has no figure: its latency has no number.
func typicalOf(spec *Spec, trials []v1alpha1.Trial) map[int]string {
	all, long, unknown := map[int][]float64{}, map[int][]float64{}, map[int]bool{}
	for i := range trials {
		t := &trials[i]
		if t.State != v1alpha1.TrialValid {
			continue
		}
		figures := all
		if t.Windows == v1alpha1.WindowsLong {
			figures = long
		}
		for configuration, d := range objectivesOf(t) {
			v, err := figure.ParseDecimal(d)
			unknown[configuration] = unknown[configuration] || err != nil || figure.IsLatency(spec.Objective.Metric) && t.Mark == v1alpha1.TrialSaturated
			figures[configuration] = append(figures[configuration], v)
		}
	}
	typical := map[int]string{}
	for _, values := range []map[int][]float64{all, long} {
		for configuration, runs := range values {
			if !unknown[configuration] {
				typical[configuration] = ellipsis.Cut(figure.Human(spec.Objective.Metric, figure.Typical(spec.Objective.Metric, runs)), maxFigure)
			}
		}
	}
	return typical
}

// objectivesOf returns the figures of the objective in a valid trial, by configuration. A figure is "" if the trial
// lacks it.
func objectivesOf(t *v1alpha1.Trial) map[int]v1alpha1.Decimal {
	if t.Configuration != nil {
		return map[int]v1alpha1.Decimal{int(*t.Configuration): t.Objective}
	}
	figures := map[int]v1alpha1.Decimal{0: t.BaselineObjective}
	for _, c := range t.Comparisons {
		figures[int(c.Configuration)] = c.Objective
	}
	return figures
}

// trialsOf returns the entries of a ledger in the form of status.
func trialsOf(ledger []Entry) []v1alpha1.Trial {
	trials := make([]v1alpha1.Trial, len(ledger))
	for i, e := range ledger {
		trials[i] = e.Trial(i + 1)
	}
	return trials
}

// figures fills in the typical figures of all configurations, and the headline about the leader. Without a leader, the
// headline is about the only candidate.
func (o *Outcome) figures(spec *Spec, trials []v1alpha1.Trial, leader int) {
	typical := typicalOf(spec, trials)
	for i := range o.Configurations {
		o.Configurations[i].Figure = typical[int(o.Configurations[i].Index)]
	}
	if leader == 0 && len(o.Configurations) == 2 {
		leader = 1
	}
	if leader > 0 {
		o.Headline = headlineOf(spec.Objective.Metric, typical[0], typical[leader])
	}
}

// headlineOf returns two figures of the objective, and which way is better; "" if a figure is unknown.
func headlineOf(metric v1alpha1.Metric, before, after string) string {
	if before == "" || after == "" {
		return ""
	}
	name := ""
	if figure.IsLatency(metric) {
		name = string(metric) + " "
	}
	return fmt.Sprintf("%s%s → %s, %s is better", name, before, after, BetterWord(metric))
}

// BetterWord returns higher or lower: which way a metric is better.
func BetterWord(metric v1alpha1.Metric) string {
	if metric.LowerIsBetter() {
		return "lower"
	}
	return "higher"
}

// TypicalNote explains the figures of a table of configurations.
func TypicalNote(s *v1alpha1.CephTuningSweep) string {
	metric := s.Spec.Objective.Metric
	figures := "means of valid trials"
	if figure.IsMedian(metric) {
		figures = "those of the median trial"
	}
	if WordsOf(s.Status.Plan).Windows {
		figures = strings.ReplaceAll(figures, "trial", "window")
	}
	return fmt.Sprintf("Figures are %s; %s is better. Ratios compare neighbours in time, so they may differ from the quotient of two figures.", figures, BetterWord(metric))
}
