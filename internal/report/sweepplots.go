package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

func estimates(s *v1alpha1.CephTuningSweep) []Estimate {
	var all []Estimate
	for _, c := range s.Status.Configurations {
		e := Estimate{Name: c.Name, Index: int(c.Index), Verdict: string(c.Verdict)}
		var err error
		if e.Ratio, err = figure.ParseDecimal(c.Ratio); err != nil || e.Ratio <= 0 {
			continue
		}
		e.Low, e.High = e.Ratio, e.Ratio
		if low, err := figure.ParseDecimal(c.Low); err == nil && low > 0 {
			e.Low = low
		}
		if high, err := figure.ParseDecimal(c.High); err == nil && high > 0 {
			e.High = high
		}
		all = append(all, e)
	}
	return all
}

// These are the schema's defaults.
const defaultMinimumEffect, defaultEquivalence = 0.1, 0.05

// fraction parses a percentage such as 10%. It returns its second argument for a text that is
// neither a percentage nor a number.
func fraction(p v1alpha1.Percent, otherwise float64) float64 {
	v, err := strconv.ParseFloat(strings.TrimSuffix(string(p), "%"), 64)
	if err != nil {
		return otherwise
	}
	return v / 100
}

// ratioPlot shows each configuration's ratio to the baseline with its interval.
func ratioPlot(s *v1alpha1.CephTuningSweep) *Plot {
	all := estimates(s)
	if len(all) == 0 {
		return nil
	}
	o := s.Spec.Objective
	margin, equal := 1+fraction(o.MinimumEffect, defaultMinimumEffect), 1+fraction(o.Equivalence, defaultEquivalence)
	if o.Metric.LowerIsBetter() {
		margin = 1 - fraction(o.MinimumEffect, defaultMinimumEffect)
	}
	caption := fmt.Sprintf("Ratio to the baseline, on a logarithmic scale. The solid line is the baseline, the dashed one the minimum effect (%s). %s The grey band is the equivalence margin.",
		strconv.FormatFloat(margin, 'g', 4, 64), sweepspec.WordsOf(&s.Spec, s.Status.Plan).Superior)
	return drawn(ratioName, caption, func(c *canvas) { c.ratios(all, margin, equal) })
}

// ratioName is the name of a picture of ratios.
const ratioName = "Ratio of each configuration to the baseline, with its interval"

// ratios draws ratios. A wide picture has the names on the left, and the verdicts on the right; a narrow one has
// both above the interval.
func (c *canvas) ratios(all []Estimate, margin, equal float64) {
	left, right, row := 300.0, c.width-190, 30.0
	if c.width < wideScreen {
		left, right, row = plotRight, c.width-plotRight, 50
	}
	c.height = row*float64(len(all)) + 60
	bottom := c.height - 32
	values := []float64{margin, equal, 1 / equal}
	for _, e := range all {
		// An interval of very few runs is so wide that it would leave no room on the axis for the other
		// intervals.
		values = append(values, e.Ratio, max(e.Low, e.Ratio/4), min(e.High, e.Ratio*4))
		values = append(values, e.Blocks...)
	}
	x := spanning(values, true)
	x.from, x.to = left, right
	c.rect("band", x.position(1/equal), 14, x.position(equal)-x.position(1/equal), bottom-14, "within the equivalence margin")
	marks := x.marks(func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
	for _, m := range marks {
		c.line("grid", m.position, 14, m.position, bottom)
	}
	c.bottomAxis(bottom+16, marks)
	c.line("axis", x.position(1), 14, x.position(1), bottom)
	c.line("mark", x.position(margin), 14, x.position(margin), bottom)
	for i, e := range all {
		c.estimate(e, x, row*float64(i+1)-(row-30)/2)
	}
}

// estimate draws one ratio, at a height of the picture.
func (c *canvas) estimate(e Estimate, x scale, y float64) {
	interval := ""
	if e.Low < e.High {
		interval = fmt.Sprintf(" (%.3f to %.3f)", e.Low, e.High)
	}
	c.line(fmt.Sprintf("stroke c%d", e.Index%colours), max(x.position(e.Low), x.from), y, min(x.position(e.High), x.to), y)
	c.marker("dot", e.Index, x.position(e.Ratio), y, fmt.Sprintf("%s: %.3f%s, %s", e.Name, e.Ratio, interval, e.Verdict))
	for _, ratio := range e.Blocks {
		c.marker("hollow", 0, x.position(ratio), y+9, fmt.Sprintf("a block: %.3f", ratio))
	}
	outcome := fmt.Sprintf("%.3f  %s", e.Ratio, e.Verdict)
	if c.width < wideScreen {
		c.text("soft", "end", x.to, y-14, outcome)
		c.text("", "start", x.from, y-14, clipped(e.Name, int((x.to-x.from-widthOf(outcome)-8)/widthOf(" "))))
		return
	}
	c.text("", "end", x.from-14, y+4, clipped(e.Name, 40))
	c.text("soft", "start", x.to+14, y+4, outcome)
}

// runPlot shows every run in chronological order.
func runPlot(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) *Plot {
	var values []float64
	for _, e := range ledger {
		if len(e.Values) > 0 {
			values = append(values, e.Values[0])
		}
	}
	if len(values) == 0 {
		return nil
	}
	caption := fmt.Sprintf("%s of every trial, in the order in which they were made%s. Vertical lines separate blocks, and attempts at a block. The grey "+
		"line joins the valid trials of the baseline: where it slopes, the cluster drifted. Hollow marks are invalid trials, and a cross at the bottom is a trial without a figure.",
		FigureName(s.Spec.Objective.MetricReference), spanning(values, false).beginning())
	return drawn("Every trial in the order of time", caption, func(c *canvas) {
		x, y := c.within(scale{high: float64(len(ledger) + 1)}, spanning(values, false), 24, 330)
		c.leftAxis(y, s.Spec.Objective.Metric)
		c.drawBlocks(ledger, x, y)
		var baseline [][2]float64
		for i, e := range ledger {
			if e.Configuration == 0 && e.Counts() && len(e.Values) > 0 {
				baseline = append(baseline, [2]float64{x.position(float64(i + 1)), y.position(e.Values[0])})
			}
		}
		c.path("drift", baseline)
		names, numbers := c.drawRuns(s, ledger, x, y)
		c.legend(names, numbers, x.from, y.from+44)
	})
}

// drawBlocks draws the horizontal axis, and a vertical line between attempts at blocks. It labels the blocks.
func (c *canvas) drawBlocks(ledger []sweepspec.Entry, x, y scale) {
	c.line("axis", x.from, y.from, x.to, y.from)
	var marks []mark
	for i, e := range ledger {
		if i > 0 && e.Block == ledger[i-1].Block && e.Attempt == ledger[i-1].Attempt {
			continue
		}
		position := x.position(float64(i) + 0.5)
		if i > 0 {
			c.line("grid", position, y.to, position, y.from)
		}
		name := fmt.Sprintf("block %d", e.Block)
		marks = append(marks, mark{position + 3 + widthOf(name)/2, name})
	}
	c.bottomAxis(y.from+16, marks)
}

// drawRuns draws the runs. It returns the names and indices of their configurations, for the legend.
func (c *canvas) drawRuns(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry, x, y scale) (names []string, numbers []int) {
	seen := map[int]bool{}
	for i, e := range ledger {
		name := nameOf(s, e.Configuration)
		seen[e.Configuration] = true
		position := x.position(float64(i + 1))
		title := fmt.Sprintf("trial %d, block %d: %s, %s", i+1, e.Block, name, e.Validity())
		if len(e.Values) == 0 {
			c.cross(position, y.from-8, title)
			continue
		}
		class := "dot"
		if !e.Counts() {
			class = "hollow"
		}
		c.marker(class, e.Configuration, position, y.position(e.Values[0]), title+", "+figure.Human(s.Spec.Objective.Metric, e.Values[0]))
	}
	for _, index := range slices.Sorted(maps.Keys(seen)) {
		names, numbers = append(names, nameOf(s, index)), append(numbers, index)
	}
	return names, numbers
}
