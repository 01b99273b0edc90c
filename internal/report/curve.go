package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/figure"
)

const curveMethod = `Each step offers a rate as independent arrivals, and latency counts from when an operation was due. Steps are in random order. A step is Saturated if the ` +
	`target did not keep up: it has no latency, and counts as above the limit. SustainableIOPS is the highest rate that keeps the limit, with a 95 % interval from the differences ` +
	`between steps. The closed loop, which waits for each answer, has no such limit: its latencies are those of fewer requests.`

// curveParts shows the curve of each run: its steps, and a plot.
func curveParts(runs []*archive.Run) []Part {
	var parts []Part
	for _, k := range curvesOf(runs) {
		parts = append(parts, Part{Plot: drawn(func(width float64) *Plot { return curvePlot(k, width) })}, Part{Table: curveTable(k)})
	}
	if len(parts) == 0 {
		return nil
	}
	return append(parts, Part{Text: curveMethod})
}

// CurveTables returns the steps of each run's curves, and a sentence about each; nil without a curve.
func CurveTables(runs []*archive.Run) (tables []*Table, sentences []string) {
	for _, k := range curvesOf(runs) {
		tables, sentences = append(tables, curveTable(k)), append(sentences, k.sentence())
	}
	return tables, sentences
}

type curveOf struct {
	run    int32
	phase  v1alpha1.PhaseName
	course *curve.Course
	// closed has the latencies of the closed loop.
	closed []figure.Figure
}

// curvesOf returns the curves in the archived runs.
func curvesOf(runs []*archive.Run) []curveOf {
	var all []curveOf
	for _, run := range runs {
		for _, phase := range run.Phases {
			if o := phase.Observation; o != nil && o.Curve != nil {
				all = append(all, curveOf{run.Number, phase.Name, o.Curve, o.Figures})
			}
		}
	}
	return all
}

// sentence says which rate keeps the limit, or why none is known.
func (k curveOf) sentence() string {
	return fmt.Sprintf("Run %d, %s: %s", k.run, k.phase, k.course.Knee.Reason)
}

func iops(v float64) string { return figure.Human(v1alpha1.MetricIOPS, v) }

func latency(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return figure.Human(v1alpha1.MetricLatencyP99, seconds)
}

func curveTable(k curveOf) *Table {
	t := &Table{Header: []string{"Step", "Offered", "Achieved", "Median", "95 %", "99 %", "99.9 %", "In flight", "Outcome"}}
	for i, s := range k.course.Steps {
		inFlight := ""
		if s.MostInFlight > 0 {
			inFlight = strconv.FormatInt(s.MostInFlight, 10)
		}
		outcome := k.course.Question.Outcome(s)
		cells := []string{strconv.Itoa(i + 1), iops(s.OfferedPerSecond), "", "", "", "", "", inFlight, string(outcome)}
		if s.AchievedPerSecond > 0 {
			cells[2] = iops(s.AchievedPerSecond)
		}
		if outcome == curve.Kept || outcome == curve.Exceeded {
			cells[3], cells[4], cells[5], cells[6] = latency(s.P50Seconds), latency(s.P95Seconds), latency(s.P99Seconds), latency(s.P999Seconds)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// curvePlot shows the limited percentile of each step against its rate, the limit, and the rate that keeps it; nil if no
// step has a latency.
func curvePlot(k curveOf, width float64) *Plot {
	q := k.course.Question
	rates, seconds := []float64{k.course.ClosedLoopPerSecond}, []float64{q.LimitSeconds}
	latencies := 0
	for _, s := range k.course.Steps {
		rates = append(rates, s.OfferedPerSecond)
		if s.PercentileSeconds > 0 {
			seconds = append(seconds, s.PercentileSeconds)
			latencies++
		}
	}
	if latencies == 0 {
		return nil
	}
	const left, top, bottom = plotLeft, 20, 300
	c := &canvas{width: width}
	x, y := scale{high: 1.05 * slices.Max(rates), from: left, to: width - plotRight}, spanning(seconds, bottom, top, true)
	c.leftAxis(y, v1alpha1.MetricLatencyP99)
	c.line("axis", left, bottom, width-plotRight, bottom)
	var marks []mark
	for _, v := range x.ticks(1) {
		marks = append(marks, mark{x.position(v), iops(v)})
	}
	c.bottomAxis(bottom+18, marks)
	if rate, ok := k.course.Sustainable(); ok {
		c.rect("band", x.position(rate.LowPerSecond), top, x.position(min(rate.HighPerSecond, x.high))-x.position(rate.LowPerSecond), bottom-top, "95 % interval of the rate that keeps the limit")
		c.line("axis", x.position(rate.PerSecond), top, x.position(rate.PerSecond), bottom)
	}
	c.line("mark", left, y.position(q.LimitSeconds), width-plotRight, y.position(q.LimitSeconds))
	c.line("stroke c0 dashed", x.position(k.course.ClosedLoopPerSecond), top, x.position(k.course.ClosedLoopPerSecond), bottom)
	numbers := map[curve.Outcome]int{curve.Kept: 1, curve.Exceeded: 2}
	for _, s := range k.course.Steps {
		outcome := q.Outcome(s)
		title := fmt.Sprintf("%s offered: %s", iops(s.OfferedPerSecond), outcome)
		if number, ok := numbers[outcome]; ok {
			c.marker("dot", number, x.position(s.AchievedPerSecond), y.position(s.PercentileSeconds), title+", "+latency(s.PercentileSeconds))
		} else {
			c.cross(x.position(s.OfferedPerSecond), top+4, title)
		}
	}
	c.height = c.legend([]string{"keeps the limit", "exceeds it", "rate of the closed loop"}, []int{1, 2, 0}, left, bottom+46)
	return &Plot{
		SVG:     c.svg(fmt.Sprintf("Latency of %s against the rate of operations", k.phase)),
		Caption: k.sentence() + fmt.Sprintf(" The dashed line is the limit of %s; crosses are steps without a latency.", latency(q.LimitSeconds)),
	}
}
