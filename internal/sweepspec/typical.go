package sweepspec

import (
	"fmt"
	"strings"
	"unicode/utf8"

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

// TypicalFigures returns what Typical returns, as numbers in the base unit of the objective.
func TypicalFigures(s *v1alpha1.CephTuningSweep) map[int]float64 {
	trials, err := Trials(&s.Status)
	if err != nil {
		return nil
	}
	return typicalFigures(&s.Spec, trials)
}

// maxFigure is the maximum length of a figure in status, in bytes. Only impossible figures are longer.
const maxFigure = 19

// typicalOf returns the typical figures of the valid trials, with their unit.
func typicalOf(spec *Spec, trials []v1alpha1.Trial) map[int]string {
	typical := map[int]string{}
	for configuration, value := range typicalFigures(spec, trials) {
		typical[configuration] = ellipsis.Cut(figure.Human(spec.Objective.Metric, value), maxFigure)
	}
	return typical
}

// typicalFigures returns the typical figures of the valid trials. If a configuration has long windows, only these count,
// as for its verdict. A configuration with a Saturated trial has no figure: its latency has no number.
func typicalFigures(spec *Spec, trials []v1alpha1.Trial) map[int]float64 {
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
	typical := map[int]float64{}
	for _, values := range []map[int][]float64{all, long} {
		for configuration, runs := range values {
			if !unknown[configuration] {
				typical[configuration] = figure.Typical(spec.Objective.Metric, runs)
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
	if leader > 0 && leader < len(o.Configurations) {
		o.Headline = headlineOf(spec.Objective.Metric, typical[0], typical[leader], reach(o.Configurations[leader], ""))
	}
}

// headlineOf returns two figures of the objective, the interval of the difference, and which way is better; "" if a figure is
// unknown.
func headlineOf(metric v1alpha1.Metric, before, after, interval string) string {
	if before == "" || after == "" {
		return ""
	}
	name := ""
	if figure.IsLatency(metric) {
		name = string(metric) + " "
	}
	return fmt.Sprintf("%s%s → %s%s, %s is better", name, withoutUnit(before, after), after, interval, BetterWord(metric))
}

// withoutUnit removes the unit of a figure if it is that of the next figure.
func withoutUnit(text, next string) string {
	number, unit, ok := strings.Cut(text, " ")
	if _, same, _ := strings.Cut(next, " "); ok && unit == same {
		return number
	}
	return text
}

// wideResult is the most characters of a result in the table of kubectl get, if its parts allow.
const wideResult = 60

// ResultLine returns the outcome of a sweep in a few words, such as "Superior: pg_num=64, 378 → 541 MiB/s (+14 % to +68 %)". It
// leaves a winner's name out if it is long.
func ResultLine(s *v1alpha1.CephTuningSweepStatus) string {
	line, _, _ := strings.Cut(s.Headline, ", ")
	if s.Effect != "" {
		if named := strings.TrimSuffix(s.Best+", "+line, ", "); line == "" || utf8.RuneCountInString(named) <= wideResult-len(s.Verdict) {
			line = named
		}
	}
	return strings.TrimSuffix(string(s.Verdict)+": "+line, ": ")
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
	if HasWindows(s.Status.Plan) {
		figures = strings.ReplaceAll(figures, "trial", "window")
	}
	return fmt.Sprintf("Figures are %s; %s is better. Ratios compare neighbours in time, so they may differ from the quotient of two figures.", figures, BetterWord(metric))
}
