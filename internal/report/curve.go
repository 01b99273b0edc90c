package report

import (
	"cmp"
	"fmt"
	"math"
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
	`between steps. Late is the 99th percentile of how late the load's own generators were.`

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

// Curve is a curve in words, as a picture for a terminal, and as a table of its steps.
type Curve struct {
	Sentence       string
	Picture, Steps *Table
}

// Curves returns each run's curves; nil without a curve.
func Curves(runs []*archive.Run) []Curve {
	var all []Curve
	for _, k := range curvesOf(runs) {
		all = append(all, Curve{Sentence: k.sentence(), Picture: k.picture(), Steps: curveTable(k)})
	}
	return all
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
	return text + k.closedLoop()
}

// closedLoop says what the closed loop would have claimed; "" if that is unknown.
func (k curveOf) closedLoop() string {
	c := k.course
	if c.ClosedLoopSeconds <= 0 {
		return ""
	}
	claim := "exceeds"
	if c.ClosedLoopSeconds <= c.Question.LimitSeconds {
		claim = "seems to keep"
	}
	return fmt.Sprintf(" The closed loop %s the limit at %s, with %s: it sends nothing while it waits.", claim, iops(c.ClosedLoopPerSecond), latency(c.ClosedLoopSeconds))
}

// The width of the picture for a terminal, and the place of the limit in it.
const (
	pictureWidth = 30
	pictureLimit = 15
)

// picture shows the limited percentile of each step as a bar, from the lowest rate to the highest. The bars are linear, and end
// at twice the limit.
func (k curveOf) picture() *Table {
	q := k.course.Question
	t := &Table{Header: []string{"Offered", fmt.Sprintf("%g %%", q.Percent), fmt.Sprintf("%*s", pictureLimit+1, "limit│"), "Outcome"}}
	steps := slices.SortedStableFunc(slices.Values(k.course.Steps), func(a, b curve.Step) int { return cmp.Compare(a.OfferedPerSecond, b.OfferedPerSecond) })
	for _, s := range steps {
		outcome, seconds := q.Outcome(s), 0.0
		if outcome == curve.Kept || outcome == curve.Exceeded {
			seconds = s.PercentileSeconds
		}
		t.Rows = append(t.Rows, []string{iops(s.OfferedPerSecond), latency(seconds), bar(seconds / q.LimitSeconds), string(outcome)})
	}
	if seconds := k.course.ClosedLoopSeconds; seconds > 0 {
		t.Rows = append(t.Rows, []string{iops(k.course.ClosedLoopPerSecond), latency(seconds), bar(seconds / q.LimitSeconds), "Closed loop"})
	}
	return t
}

// bar draws a value relative to the limit.
func bar(value float64) string {
	cells := []rune(strings.Repeat("·", pictureLimit) + "│" + strings.Repeat("·", pictureWidth-pictureLimit-1))
	filled := min(int(math.Round(value*pictureLimit)), pictureWidth)
	for i := range filled {
		if i != pictureLimit {
			cells[i] = '█'
		}
	}
	if value > float64(pictureWidth)/pictureLimit {
		cells[pictureWidth-1] = '▶'
	}
	return string(cells)
}

func iops(v float64) string { return figure.Human(v1alpha1.MetricIOPS, v) }

func latency(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return figure.Human(v1alpha1.MetricLatencyP99, seconds)
}

func curveTable(k curveOf) *Table {
	t := &Table{Header: []string{"Step", "Offered", "Achieved", "Median", "95 %", "99 %", "99.9 %", "In flight", "Late", "Outcome"}}
	for i, s := range k.course.Steps {
		inFlight := ""
		if s.MostInFlight > 0 {
			inFlight = strconv.FormatInt(s.MostInFlight, 10)
		}
		outcome := k.course.Question.Outcome(s)
		cells := []string{strconv.Itoa(i + 1), iops(s.OfferedPerSecond), "", "", "", "", "", inFlight, latency(s.LateP99Seconds), string(outcome)}
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
		if k.course.ClosedLoopSeconds > 0 {
			seconds = append(seconds, k.course.ClosedLoopSeconds)
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
		"line is the rate of the closed loop, with its latency as a circle; crosses are steps without a latency."
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
	if seconds := k.course.ClosedLoopSeconds; seconds > 0 {
		c.marker("hollow", colour, x.position(k.course.ClosedLoopPerSecond), y.position(seconds), "closed loop, "+latency(seconds))
	}
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
