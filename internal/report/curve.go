package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
		parts = append(parts, Part{Plot: curvePlot([]curveOf{k})}, Part{Table: curveTable(k)})
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
	side   string // of a comparison, or the configuration of a session
	run    int32  // 0 in a session
	phase  v1alpha1.PhaseName
	course *curve.Course
}

// curvesOf returns the curves in the archived runs.
func curvesOf(runs []*archive.Run) []curveOf {
	var all []curveOf
	for _, run := range runs {
		for _, phase := range run.Phases {
			if o := phase.Observation; o != nil && o.Curve != nil {
				all = append(all, curveOf{run: run.Number, phase: phase.Name, course: o.Curve})
			}
		}
	}
	return all
}

// sentence says which rate keeps the limit, or why none is known.
func (k curveOf) sentence() string {
	text := k.course.Knee.Reason
	if k.run > 0 {
		text = fmt.Sprintf("Run %d, %s: %s", k.run, k.phase, text)
	}
	if k.side != "" {
		text = k.side + ": " + text
	}
	return text
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

// CurvesTogether shows two curves of one phase in one plot. It returns false unless each side has a run with a curve of that
// phase; of several, the first counts.
func CurvesTogether(names [2]string, sides [2][]*archive.Run, phase v1alpha1.PhaseName) (Part, bool) {
	var both []curveOf
	for i, runs := range sides {
		all := curvesOf(runs)
		first := slices.IndexFunc(all, func(k curveOf) bool { return k.phase == phase })
		if first < 0 {
			return Part{}, false
		}
		all[first].side = names[i]
		both = append(both, all[first])
	}
	return Part{Plot: curvePlot(both)}, true
}

// curvePlot shows the limited percentile of each step against its rate, the limit, and the rate that keeps it, of one curve or
// of two; nil if no step has a latency.
func curvePlot(curves []curveOf) *Plot {
	var rates, seconds []float64
	latencies := 0
	for _, k := range curves {
		rates, seconds = append(rates, k.course.ClosedLoopPerSecond), append(seconds, k.course.Question.LimitSeconds)
		for _, s := range k.course.Steps {
			rates = append(rates, s.OfferedPerSecond)
			if s.PercentileSeconds > 0 {
				seconds = append(seconds, s.PercentileSeconds)
				latencies++
			}
		}
	}
	if latencies == 0 {
		return nil
	}
	var names, captions, limits []string
	var colours []int
	for i, k := range curves {
		names, colours, limits = append(names, cmp.Or(k.side, "steps")), append(colours, i+1), append(limits, latency(k.course.Question.LimitSeconds))
		captions = append(captions, k.sentence())
	}
	caption := strings.Join(captions, " ") + " The horizontal line is the limit of " + strings.Join(slices.Compact(limits), " and ") + ", the band the interval of the rate that keeps it; the dashed " +
		"line is the rate of the closed loop; crosses are steps without a latency."
	return drawn(fmt.Sprintf("Latency of %s against the rate of operations", curves[0].phase), caption, func(c *canvas) {
		x, y := c.within(scale{high: 1.05 * slices.Max(rates)}, spanning(seconds, true), 20, 300)
		c.leftAxis(y, v1alpha1.MetricLatencyP99)
		c.line("axis", x.from, y.from, x.to, y.from)
		c.bottomAxis(y.from+18, x.marks(iops))
		for i, k := range curves {
			k.draw(c, i+1, x, y)
		}
		c.legend(names, colours, x.from, y.from+46)
	})
}

// draw draws a curve in its colour.
func (k curveOf) draw(c *canvas, colour int, x, y scale) {
	top, bottom := y.to, y.from
	q := k.course.Question
	if rate, ok := k.course.Sustainable(); ok {
		c.rect("band", x.position(rate.LowPerSecond), top, x.position(min(rate.HighPerSecond, x.high))-x.position(rate.LowPerSecond), bottom-top, "95 % interval of the rate that keeps the limit")
		c.line(fmt.Sprintf("stroke c%d", colour), x.position(rate.PerSecond), top, x.position(rate.PerSecond), bottom)
	}
	c.line("mark", x.from, y.position(q.LimitSeconds), x.to, y.position(q.LimitSeconds))
	c.line(fmt.Sprintf("stroke c%d dashed", colour), x.position(k.course.ClosedLoopPerSecond), top, x.position(k.course.ClosedLoopPerSecond), bottom)
	for _, s := range k.course.Steps {
		outcome := q.Outcome(s)
		title := fmt.Sprintf("%s offered: %s", iops(s.OfferedPerSecond), outcome)
		if outcome == curve.Kept || outcome == curve.Exceeded {
			c.marker("dot", colour, x.position(s.AchievedPerSecond), y.position(s.PercentileSeconds), title+", "+latency(s.PercentileSeconds))
		} else {
			c.cross(x.position(s.OfferedPerSecond), top+4, title)
		}
	}
}
