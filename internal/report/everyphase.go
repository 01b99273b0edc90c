package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Runs has a sweep's benchmarks by the number of their run. Benchmarks that historyLimit has deleted are
// missing.
type Runs map[int]*v1alpha1.CephBenchmark

// RunsOf returns the benchmarks that belong to the current run ID of a sweep. A benchmark belongs to it by its status,
// which users cannot write. An earlier version of the operator wrote no trial into status: its benchmarks belong to the
// sweep by their name and owner.
func RunsOf(s *v1alpha1.CephTuningSweep, all []*v1alpha1.CephBenchmark) Runs {
	runs := Runs{}
	for _, b := range all {
		for i := range sweepspec.NextTrial(s) - 1 {
			earlier := b.Status.Trial == nil && metav1.IsControlledBy(b, s) && b.Name == sweepspec.ChildName(s, i+1)
			if trial.IsOfRun(b, s, i+1) || earlier {
				runs[i+1] = b
			}
		}
	}
	return runs
}

const everyPhaseText = `The change of every figure except LatencyMax against the baseline, with %s intervals: reads and writes can change in opposite directions. ` +
	`"better" and "worse" mean that the whole interval is on that side, and "by %s" that the whole interval is beyond the minimum effect. ` +
	`A verdict rests on the objective and the constraints alone, because about one in %d of these intervals misses the true value by chance. ` +
	`These intervals allow neither for the number of configurations nor for looking early, so they may be narrower than those above. ` +
	`Bandwidth, IOPS and mean latency of a closed loop are one observation, not three.`

// everyPhase compares every figure of every phase, except LatencyMax, with the baseline. It mentions the
// number of valid runs whose benchmarks were deleted.
func everyPhase(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry, runs Runs) []Part {
	if len(runs) == 0 {
		return nil
	}
	observed := observations{}
	counted, missing := 0, 0
	for i, e := range ledger {
		if !e.Counts() {
			continue
		}
		counted++
		b, there := runs[i+1]
		if !there {
			missing++
			continue
		}
		observed.add(e, b.Status.Phases)
	}
	table := observed.table(s)
	if table == nil {
		return nil
	}
	confidence := confidenceOf(s)
	parts := []Part{text(everyPhaseText, Percent(confidence), minimumEffect(s), int(math.Round(1/(1-confidence))))}
	if missing > 0 {
		parts = append(parts, text("%d of %d valid runs are not in the table, because their benchmarks were deleted (historyLimit).", missing, counted))
	}
	return append(parts, Part{Table: table})
}

// observations has the figures of valid runs, by metric reference and by configuration.
type observations map[v1alpha1.MetricReference]map[int][]stats.Observation

func (o observations) add(e sweepspec.Entry, phases []v1alpha1.PhaseResult) {
	for _, phase := range phases {
		for _, m := range phase.Metrics {
			value, err := figure.ParseDecimal(m.Value)
			if err != nil || !(value > 0) || m.Metric == v1alpha1.MetricLatencyMax {
				continue // LatencyMax describes only one operation.
			}
			reference := v1alpha1.MetricReference{Phase: phase.Name, Metric: m.Metric, Direction: m.Direction}
			if o[reference] == nil {
				o[reference] = map[int][]stats.Observation{}
			}
			o[reference][e.Configuration] = append(o[reference][e.Configuration], stats.Observation{Block: strconv.Itoa(e.Block), Value: value})
		}
	}
}

// table returns a row for each figure and a column for each configuration; nil if nothing
// can be compared.
func (o observations) table(s *v1alpha1.CephTuningSweep) *Table {
	table := &Table{Header: []string{"Figure", "Baseline"}}
	var candidates []int
	for _, c := range s.Status.Configurations {
		if c.Index != 0 {
			candidates = append(candidates, int(c.Index))
			table.Header = append(table.Header, c.Name)
		}
	}
	for _, reference := range o.references(s) {
		base := o[reference][0]
		row := []string{FigureName(reference), typical(reference.Metric, base)}
		for _, index := range candidates {
			row = append(row, change(s, reference.Metric, base, o[reference][index]))
		}
		if len(base) > 0 {
			table.Rows = append(table.Rows, row)
		}
	}
	if len(candidates) == 0 || len(table.Rows) == 0 {
		return nil
	}
	return table
}

// references returns the figures in the order of phases, directions and metrics.
func (o observations) references(s *v1alpha1.CephTuningSweep) []v1alpha1.MetricReference {
	order := figure.Metrics()
	phaseOf := func(r v1alpha1.MetricReference) int {
		return slices.IndexFunc(s.Spec.Template.Phases, func(p v1alpha1.Phase) bool { return p.Name == r.Phase })
	}
	all := make([]v1alpha1.MetricReference, 0, len(o))
	for reference := range o {
		all = append(all, reference)
	}
	slices.SortFunc(all, func(a, b v1alpha1.MetricReference) int {
		switch {
		case phaseOf(a) != phaseOf(b):
			return phaseOf(a) - phaseOf(b)
		case a.Direction != b.Direction:
			return strings.Compare(string(a.Direction), string(b.Direction))
		default:
			return slices.Index(order, a.Metric) - slices.Index(order, b.Metric)
		}
	})
	return all
}

func typical(metric v1alpha1.Metric, runs []stats.Observation) string {
	var values []float64
	for _, run := range runs {
		values = append(values, run.Value)
	}
	if len(values) == 0 {
		return ""
	}
	return figure.Human(metric, stats.GeometricMean(values))
}

// change compares the candidate with the baseline of the same blocks, in words. Without an interval it
// returns only the estimate. It returns "" if no block has runs of both configurations.
func change(s *v1alpha1.CephTuningSweep, metric v1alpha1.Metric, baseline, candidate []stats.Observation) string {
	pairs, _, err := stats.MakePairs(baseline, candidate)
	if err != nil || len(pairs) == 0 {
		return ""
	}
	contrast, err := stats.PairedLogRatio(pairs)
	if err != nil {
		return ""
	}
	estimate := signed(math.Exp(contrast.LogRatio) - 1)
	if !contrast.HasNoise() {
		return estimate
	}
	bounds := contrast.RatioInterval(confidenceOf(s))
	words := fmt.Sprintf("%s (%s to %s)", estimate, signed(bounds.Low-1), signed(bounds.High-1))
	return strings.TrimSpace(words + " " + outcome(metric, bounds, fraction(s.Spec.Objective.MinimumEffect, defaultMinimumEffect)))
}

// outcome says whether an interval is on the better or the worse side of 1, and whether it is beyond the
// minimum effect. It returns "" if the interval contains 1.
func outcome(metric v1alpha1.Metric, bounds stats.Bounds, least float64) string {
	above, below := "better", "worse"
	if metric.LowerIsBetter() {
		above, below = below, above
	}
	switch {
	case bounds.Low > 1+least:
		return above + " by " + Percent(least)
	case bounds.High < 1-least:
		return below + " by " + Percent(least)
	case bounds.Low > 1:
		return above
	case bounds.High < 1:
		return below
	}
	return ""
}

func signed(fraction float64) string {
	return fmt.Sprintf("%+.1f%%", 100*fraction)
}

func minimumEffect(s *v1alpha1.CephTuningSweep) string {
	return cmp.Or(string(s.Spec.Objective.MinimumEffect), "10%")
}

func confidenceOf(s *v1alpha1.CephTuningSweep) float64 {
	v, err := sweepspec.Confidence(&s.Spec)
	if err != nil {
		return 0.95 // This is the schema's default.
	}
	return v
}
