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
func ratioPlot(s *v1alpha1.CephTuningSweep, width float64) *Plot {
	all := estimates(s)
	if len(all) == 0 {
		return nil
	}
	o := s.Spec.Objective
	margin, equal := 1+fraction(o.MinimumEffect, defaultMinimumEffect), 1+fraction(o.Equivalence, defaultEquivalence)
	if o.Metric.LowerIsBetter() {
		margin = 1 - fraction(o.MinimumEffect, defaultMinimumEffect)
	}
	return &Plot{
		SVG: ratioCanvas(all, margin, equal, width).svg("Ratio of each configuration to the baseline, with its interval"),
		Caption: fmt.Sprintf("Ratio to the baseline, on a logarithmic scale. The solid line is the baseline, the dashed one the minimum effect (%s). %s The grey band is the equivalence margin.",
			strconv.FormatFloat(margin, 'g', 4, 64), sweepspec.WordsOf(&s.Spec, s.Status.Plan).Superior),
	}
}

// ratioCanvas draws ratios. A wide picture has the names on the left, and the verdicts on the right; a narrow one has
// both above the interval.
func ratioCanvas(all []Estimate, margin, equal, width float64) *canvas {
	left, right, row := 300.0, width-190, 30.0
	if width < wideScreen {
		left, right, row = plotRight, width-plotRight, 50
	}
	c := &canvas{width: width, height: row*float64(len(all)) + 60}
	bottom := c.height - 32
	values := []float64{margin, equal, 1 / equal}
	for _, e := range all {
		// An interval of very few runs is so wide that it would leave no room on the axis for the other
		// intervals.
		values = append(values, e.Ratio, max(e.Low, e.Ratio/4), min(e.High, e.Ratio*4))
		values = append(values, e.Blocks...)
	}
	x := spanning(values, left, right, true)
	c.rect("band", x.position(1/equal), 14, x.position(equal)-x.position(1/equal), bottom-14, "within the equivalence margin")
	var marks []mark
	for _, v := range x.ticks(1) {
		c.line("grid", x.position(v), 14, x.position(v), bottom)
		marks = append(marks, mark{x.position(v), strconv.FormatFloat(v, 'g', 3, 64)})
	}
	c.bottomAxis(bottom+16, marks)
	c.line("axis", x.position(1), 14, x.position(1), bottom)
	c.line("mark", x.position(margin), 14, x.position(margin), bottom)
	for i, e := range all {
		c.estimate(e, x, row*float64(i+1)-(row-30)/2)
	}
	return c
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
func runPlot(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry, width float64) *Plot {
	var values []float64
	for _, e := range ledger {
		if len(e.Values) > 0 {
			values = append(values, e.Values[0])
		}
	}
	if len(values) == 0 {
		return nil
	}
	const left, top, bottom = plotLeft, 24, 330
	c := &canvas{width: width, height: bottom + 60}
	metric := s.Spec.Objective.Metric
	x := scale{low: 0, high: float64(len(ledger) + 1), from: left, to: width - plotRight}
	y := spanning(values, bottom, top, false)
	c.leftAxis(y, metric)
	drawBlocks(c, ledger, x, top, bottom)
	var baseline [][2]float64
	for i, e := range ledger {
		if e.Configuration == 0 && e.Counts() && len(e.Values) > 0 {
			baseline = append(baseline, [2]float64{x.position(float64(i + 1)), y.position(e.Values[0])})
		}
	}
	c.path("drift", baseline)
	names, numbers := drawRuns(c, s, ledger, x, y)
	c.height = c.legend(names, numbers, left, bottom+44)
	return &Plot{
		SVG: c.svg("Every trial in the order of time"),
		Caption: fmt.Sprintf("%s of every trial, in the order in which they were made%s. Vertical lines separate blocks, and attempts at a block. The grey "+
			"line joins the valid trials of the baseline: where it slopes, the cluster drifted. Hollow marks are invalid trials, and a cross at the bottom is a trial without a figure.",
			FigureName(s.Spec.Objective.MetricReference), y.beginning()),
	}
}

// drawBlocks draws the horizontal axis, and a vertical line between attempts at blocks. It labels the blocks.
func drawBlocks(c *canvas, ledger []sweepspec.Entry, x scale, top, bottom float64) {
	c.line("axis", x.from, bottom, x.to, bottom)
	var marks []mark
	for i, e := range ledger {
		if i > 0 && e.Block == ledger[i-1].Block && e.Attempt == ledger[i-1].Attempt {
			continue
		}
		position := x.position(float64(i) + 0.5)
		if i > 0 {
			c.line("grid", position, top, position, bottom)
		}
		name := fmt.Sprintf("block %d", e.Block)
		marks = append(marks, mark{position + 3 + widthOf(name)/2, name})
	}
	c.bottomAxis(bottom+16, marks)
}

// drawRuns draws the runs. It returns the names and indices of their configurations, for the legend.
func drawRuns(c *canvas, s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry, x, y scale) (names []string, numbers []int) {
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
