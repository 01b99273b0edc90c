package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
)

// trace is one line of a plot.
type trace struct {
	name   string
	number int
	points []point
}

// point is a value with its interval. Without an interval, low and high equal the value, or are 0 in plots
// that draw no intervals.
type point struct {
	x, value, low, high float64
}

func latencies() []v1alpha1.Metric {
	return []v1alpha1.Metric{
		v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999, v1alpha1.MetricLatencyMax,
	}
}

// latencyParts returns a plot of the percentiles of all phases, and a plot of the histogram of each phase
// that has one.
func latencyParts(phases []v1alpha1.PhaseResult, runs []*archive.Run) []Part {
	parts := []Part{{Plot: percentilePlot(phases)}}
	for _, p := range phases {
		if h, err := figure.Histogram(v1alpha1.DirectionTotal, archive.Observations(runs, p.Name)); err == nil && h != nil {
			parts = append(parts, Part{Plot: histogramPlot(p.Name, h)})
		}
	}
	return parts
}

// percentilePlot shows the percentiles and the maximum of latencies. It has a trace for each phase and
// direction with at least two of these values; nil without a trace.
func percentilePlot(phases []v1alpha1.PhaseResult) *Plot {
	var traces []trace
	var values []float64
	for _, p := range phases {
		for _, direction := range figure.Directions() {
			k := trace{name: string(p.Name), number: len(traces) + 1}
			if direction != v1alpha1.DirectionTotal {
				k.name += " " + string(direction)
			}
			for i, metric := range latencies() {
				if m, ok := pointOf(p, metric, direction); ok {
					m.x = float64(i)
					k.points = append(k.points, m)
					values = append(values, m.low, m.high)
				}
			}
			if len(k.points) > 1 { // A single value, such as LatencyMax, appears only in the table.
				traces = append(traces, k)
			}
		}
	}
	if len(traces) == 0 {
		return nil
	}
	const caption = "The time within which a share of all operations completed, on a logarithmic scale. Bars are 95 % intervals of a typical run. Without an offered rate " +
		"(mark ClosedLoop), clients send less while the cluster is slow, so these percentiles show too few of the slow operations."
	return drawn("Percentiles of latency", caption, func(c *canvas) {
		x, y := c.within(scale{low: -0.4, high: float64(len(latencies())) - 0.6}, spanning(values, true), 20, 300)
		c.leftAxis(y, v1alpha1.MetricLatencyP99)
		c.line("axis", x.from, y.from, x.to, y.from)
		var marks []mark
		for i, label := range []string{"50 %", "95 %", "99 %", "99.9 %", "longest"} {
			marks = append(marks, mark{x.position(float64(i)), label})
		}
		c.bottomAxis(y.from+18, marks)
		c.traces(traces, x, y, v1alpha1.MetricLatencyP99)
	})
}

func pointOf(p v1alpha1.PhaseResult, metric v1alpha1.Metric, direction v1alpha1.Direction) (point, bool) {
	for _, m := range p.Metrics {
		if m.Metric != metric || cmp.Or(string(m.Direction), string(v1alpha1.DirectionTotal)) != string(direction) {
			continue
		}
		v, err := figure.ParseDecimal(m.Value)
		if err != nil || v <= 0 {
			return point{}, false
		}
		k := point{value: v, low: v, high: v}
		if low, err := figure.ParseDecimal(m.Low); err == nil && low > 0 {
			k.low = low
		}
		if high, err := figure.ParseDecimal(m.High); err == nil {
			k.high = high
		}
		return k, true
	}
	return point{}, false
}

// traces draws lines with their intervals, below them their legend, and for a metric a marker at each point.
func (c *canvas) traces(all []trace, x, y scale, metric v1alpha1.Metric) {
	names, numbers := make([]string, len(all)), make([]int, len(all))
	for i, k := range all {
		names[i], numbers[i] = k.name, k.number
		class := fmt.Sprintf("stroke c%d", k.number%colours)
		line := make([][2]float64, len(k.points))
		for j, p := range k.points {
			line[j] = [2]float64{x.position(p.x), y.position(p.value)}
			if p.low < p.high {
				c.line(class, x.position(p.x), y.position(p.low), x.position(p.x), y.position(p.high))
			}
		}
		c.path(class, line)
		for _, p := range k.points {
			if metric != "" {
				c.marker("dot", k.number, x.position(p.x), y.position(p.value), k.name+": "+figure.Human(metric, p.value))
			}
		}
	}
	c.legend(names, numbers, x.from, y.from+46)
}

// barsPerDecade is the number of bars for each factor of ten in latency.
const barsPerDecade = 20

// histogramPlot shows the share of operations by latency.
func histogramPlot(phase v1alpha1.PhaseName, h *result.Histogram) *Plot {
	counts := map[int]int64{}
	first, last, total, most := math.MaxInt, math.MinInt, int64(0), int64(0)
	for _, bin := range h.Bins {
		if bin.Count == 0 {
			continue
		}
		i := int(math.Floor(math.Log10(max(float64(bin.Nanoseconds), 1)) * barsPerDecade))
		counts[i] += bin.Count
		first, last, total, most = min(first, i), max(last, i), total+bin.Count, max(most, counts[i])
	}
	if total == 0 {
		return nil
	}
	seconds := func(i int) float64 { return math.Pow(10, float64(i)/barsPerDecade) / 1e9 }
	caption := fmt.Sprintf("%s: the shares of operations by latency, over all valid runs. The scale of latencies is logarithmic.", phase)
	return drawn("Histogram of latencies of "+string(phase), caption, func(c *canvas) {
		x, y := c.within(scale{low: seconds(first - 1), high: seconds(last + 2), log: true}, scale{high: 110 * float64(most) / float64(total)}, 20, 220)
		for _, m := range y.marks(func(v float64) string { return fmt.Sprintf("%g %%", v) }) {
			c.line("grid", x.from, m.position, x.to, m.position)
			c.text("soft", "end", x.from-8, m.position+4, m.text)
		}
		for i := first; i <= last; i++ {
			share := 100 * float64(counts[i]) / float64(total)
			from, to := x.position(seconds(i)), x.position(seconds(i+1))
			c.rect("bar c1", from, y.position(share), to-from-1, y.from-y.position(share), fmt.Sprintf("%s to %s: %.2f %%", latency(seconds(i)), latency(seconds(i+1)), share))
		}
		c.line("axis", x.from, y.from, x.to, y.from)
		c.bottomAxis(y.from+18, x.marks(latency))
		c.height = y.from + 30
	})
}

// mainMetric returns the metric to draw for a phase. The present spec may lack the phase, because it may
// have changed since the execution in status.
func mainMetric(b *v1alpha1.CephBenchmark, p v1alpha1.PhaseResult) v1alpha1.Metric {
	for i := range b.Spec.Template.Phases {
		if phase := &b.Spec.Template.Phases[i]; phase.Name == p.Name {
			return figure.MainMetric(phase, p)
		}
	}
	return v1alpha1.MetricIOPS
}

// runPlots returns a plot for each phase whose main metric has a figure in at least two runs.
func runPlots(b *v1alpha1.CephBenchmark, phases []v1alpha1.PhaseResult, runs []*archive.Run) []Part {
	var parts []Part
	for i, p := range phases {
		parts = append(parts, Part{Plot: phaseRuns(p, mainMetric(b, p), i+1, runs)})
	}
	return parts
}

func phaseRuns(p v1alpha1.PhaseResult, metric v1alpha1.Metric, number int, runs []*archive.Run) *Plot {
	all, hasAll := pointOf(p, metric, v1alpha1.DirectionTotal)
	var values []float64
	for _, run := range runs {
		if f, ok := run.Figure(p.Name, metric, v1alpha1.DirectionTotal); ok {
			values = append(values, f.Value)
		}
	}
	if len(values) < 2 {
		return nil
	}
	if hasAll {
		values = append(values, all.low, all.high)
	}
	caption := fmt.Sprintf("%s, %s of each run%s. The band is the 95 %% interval of a typical run. Hollow marks are invalid runs, and a cross at the bottom "+
		"is a run without a figure.", p.Name, metric, spanning(values, false).beginning())
	return drawn(fmt.Sprintf("%s of each run of %s", metric, p.Name), caption, func(c *canvas) {
		x, y := c.within(scale{high: float64(len(runs) + 1)}, spanning(values, false), 16, 176)
		c.leftAxis(y, metric)
		if hasAll && all.low < all.high {
			c.rect("band", x.from, y.position(all.high), x.to-x.from, y.position(all.low)-y.position(all.high), "95 % interval of a typical run")
		}
		c.line("axis", x.from, y.from, x.to, y.from)
		marks := make([]mark, len(runs))
		for i, run := range runs {
			marks[i] = mark{x.position(float64(i + 1)), fmt.Sprintf("run %d", run.Number)}
			c.run(p.Name, metric, number, run, marks[i].position, y)
		}
		c.bottomAxis(y.from+18, marks)
		c.height = y.from + 28
	})
}

// run draws the figure of a run in a phase, at a position of the horizontal axis.
func (c *canvas) run(phase v1alpha1.PhaseName, metric v1alpha1.Metric, number int, run *archive.Run, position float64, y scale) {
	f, ok := run.Figure(phase, metric, v1alpha1.DirectionTotal)
	if !ok {
		c.cross(position, y.from-8, fmt.Sprintf("run %d: %s", run.Number, run.State))
		return
	}
	class := "dot"
	if run.State != v1alpha1.RunValid {
		class = "hollow"
	}
	c.marker(class, number%colours, position, y.position(f.Value), fmt.Sprintf("run %d, %s: %s", run.Number, run.State, figure.Human(metric, f.Value)))
}

// coursePlots returns a plot for each phase and direction. Each plot has a trace for each run: the rate of
// all clients together over time, without the ramp.
func coursePlots(runs []*archive.Run) []Part {
	var parts []Part
	for _, name := range archive.PhaseNames(runs) {
		for _, direction := range []result.DirectionName{result.Read, result.Write, result.Mixed} {
			parts = append(parts, Part{Plot: coursePlot(name, direction, runs)})
		}
	}
	return parts
}

func coursePlot(name v1alpha1.PhaseName, direction result.DirectionName, runs []*archive.Run) *Plot {
	metric, longest, highest := v1alpha1.MetricBandwidth, 0.0, 0.0
	var traces []trace
	for _, run := range runs {
		s := seriesOf(run, name, direction)
		if s == nil || s.Len() < 2 {
			continue
		}
		rates := s.BytesPerSecond
		if rates == nil {
			metric, rates = v1alpha1.MetricIOPS, s.OperationsPerSecond
		}
		if rates == nil {
			continue
		}
		k := trace{name: fmt.Sprintf("run %d", run.Number), number: int(run.Number) % colours}
		for i, rate := range rates {
			k.points = append(k.points, point{x: (s.StartSeconds[i] + s.EndSeconds[i]) / 2, value: rate})
			longest, highest = max(longest, s.EndSeconds[i]), max(highest, rate)
		}
		traces = append(traces, k)
	}
	if len(traces) == 0 || highest <= 0 {
		return nil
	}
	caption := fmt.Sprintf("%s, %s: all clients together, since their ramp ended. Seconds that not all clients cover are left out.", name, direction)
	return drawn(fmt.Sprintf("Rate over time: %s, %s", name, direction), caption, func(c *canvas) {
		x, y := c.within(scale{high: longest}, scale{high: 1.1 * highest}, 16, 236)
		c.leftAxis(y, metric)
		c.bottomAxis(y.from+18, x.marks(inWholeSeconds))
		c.traces(traces, x, y, "")
	})
}

func seriesOf(run *archive.Run, name v1alpha1.PhaseName, direction result.DirectionName) *result.Series {
	o := run.Observation(name)
	if o == nil || o.Result == nil {
		return nil
	}
	if d := o.Result.Direction(direction); d != nil {
		return d.Series
	}
	return nil
}
