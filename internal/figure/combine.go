package figure

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

const (
	// Confidence is the confidence level of all intervals.
	Confidence = 0.95
	// MinimumRuns is the smallest number of runs from which an interval is computed: an interval from two
	// runs would span more than ten standard deviations.
	MinimumRuns = 3
)

// Combine combines the observations of a phase in all valid runs into one result.
//
// Rates, mean latencies and TimeToClean are geometric means of the runs. Their intervals are Student's, on
// the logarithms of the runs' values. LatencyMax is the maximum over all runs. It has no interval, because it
// says nothing about the next run. With fewer than [MinimumRuns] runs, no figure has an interval.
//
// Percentiles of a whole phase are never averaged. Such a percentile comes from the sum of the histograms of
// all runs, so runs with more operations weigh more. With several runs, it is absent if a histogram is
// missing. Its interval describes the percentile of a typical run instead: it is Student's, on the logarithms
// of the runs' own percentiles. If the percentile is outside of that interval, Combine widens the interval to
// include it.
//
// A percentile in a window of an outage is the median of the runs, because the histograms of windows are not
// kept. Their sum would also favour the run with the longest recovery.
//
// A figure is absent if a run lacks it or has only a lower bound, or if the runs' latencies are of different
// kinds. LatencyMin and LatencyStdDev are always absent.
func Combine(phase v1alpha1.PhaseName, runs []Observation) (v1alpha1.PhaseResult, error) {
	out := v1alpha1.PhaseResult{Name: phase, ValidRuns: int32(min(len(runs), 1<<20))}
	for _, run := range runs {
		out.Marks = union(out.Marks, run.Marks)
	}
	for _, direction := range Directions() {
		merged, err := Histogram(direction, runs)
		if err != nil {
			return v1alpha1.PhaseResult{}, fmt.Errorf("phase %s: %w", phase, err)
		}
		for _, metric := range Metrics() {
			values := valuesOf(metric, direction, runs)
			if values == nil || metric == LatencyMin || metric == LatencyStdDev {
				continue
			}
			m, ok, err := combineMetric(metric, values, merged)
			if err != nil {
				return v1alpha1.PhaseResult{}, fmt.Errorf("phase %s: %s: %w", phase, metric, err)
			}
			if ok {
				if metric == v1alpha1.MetricSustainableIOPS && len(values) < MinimumRuns {
					m.Low, m.High = boundsOfCurves(runs)
				}
				if m.Direction = direction; direction == v1alpha1.DirectionTotal { // Status has no room for more.
					m.Text = textOf(m)
				}
				out.Metrics = append(out.Metrics, m)
			}
		}
	}
	return out, nil
}

// boundsOfCurves returns the interval that covers those of all curves. One curve has many steps, so it has an interval
// of its own.
func boundsOfCurves(runs []Observation) (low, high v1alpha1.Decimal) {
	var lowest, highest float64
	for i, run := range runs {
		knee, ok := run.Curve.Sustainable()
		if !ok {
			return "", "" // An earlier version has kept only the figure.
		}
		if highest = max(highest, knee.HighPerSecond); i == 0 || knee.LowPerSecond < lowest {
			lowest = knee.LowPerSecond
		}
	}
	return Decimal(lowest), Decimal(highest)
}

// valuesOf returns the value of a figure in each run. It returns nil if a run lacks the figure or has only a
// lower bound, or if the runs' latencies are of different kinds.
func valuesOf(metric v1alpha1.Metric, direction v1alpha1.Direction, runs []Observation) []float64 {
	var values []float64
	var kind result.LatencyKind
	for i, run := range runs {
		f, ok := Find(run.Figures, metric, direction)
		if !ok || f.AtLeast || i > 0 && f.LatencyKind != kind {
			return nil
		}
		kind = f.LatencyKind
		values = append(values, f.Value)
	}
	return values
}

// Find returns the figure with the given metric and direction.
func Find(figures []Figure, metric v1alpha1.Metric, direction v1alpha1.Direction) (Figure, bool) {
	for _, f := range figures {
		if f.Metric == metric && f.Direction == direction {
			return f, true
		}
	}
	return Figure{}, false
}

// combineMetric combines the values of one metric. It returns false if the figure is absent.
func combineMetric(metric v1alpha1.Metric, values []float64, merged *result.Histogram) (v1alpha1.MetricResult, bool, error) {
	value := stats.GeometricMean(values)
	percent, isPercentile := percentiles()[metric]
	switch {
	case metric == v1alpha1.MetricLatencyMax:
		for _, v := range values {
			value = max(value, v)
		}
		return v1alpha1.MetricResult{Metric: metric, Value: Decimal(value)}, true, nil
	case OfWindow(metric):
		value = stats.GeometricMedian(values)
	case isPercentile && len(values) > 1:
		if merged == nil {
			return v1alpha1.MetricResult{}, false, nil
		}
		p, ok := merged.Percentile(percent)
		if !ok || p.AtLeast {
			return v1alpha1.MetricResult{}, false, nil
		}
		value = p.Seconds
	}
	m := v1alpha1.MetricResult{Metric: metric, Value: Decimal(value)}
	if len(values) < MinimumRuns {
		return m, true, nil
	}
	interval, err := stats.GeometricInterval(values, Confidence)
	if err != nil {
		return v1alpha1.MetricResult{}, false, err
	}
	m.Low, m.High = Decimal(min(interval.Low, value)), Decimal(max(interval.High, value))
	return m, true, nil
}

// textOf returns a figure for people, such as "412 MiB/s (400 MiB/s to 420 MiB/s)".
func textOf(m v1alpha1.MetricResult) string {
	text := HumanDecimal(m.Metric, m.Value)
	if m.Low != "" {
		text += fmt.Sprintf(" (%s to %s)", HumanDecimal(m.Metric, m.Low), HumanDecimal(m.Metric, m.High))
	}
	return ellipsis.Cut(text, 64)
}

// Typical returns the typical figure of runs: their geometric mean or, for a latency other than the mean, the figure of
// the median run. Percentiles cannot be averaged, so of an even number of runs the slower of the two middle ones counts.
func Typical(metric v1alpha1.Metric, runs []float64) float64 {
	if IsMedian(metric) {
		return middle(runs)
	}
	return stats.GeometricMean(runs)
}

// TypicalOfWindows is Typical for windows of one load, whose arithmetic mean includes windows without any operation.
func TypicalOfWindows(metric v1alpha1.Metric, windows []float64) float64 {
	if IsMedian(metric) {
		return middle(windows)
	}
	return stat.Mean(windows, nil)
}

// IsMedian reports whether the typical figure of a metric is a median.
func IsMedian(metric v1alpha1.Metric) bool {
	return IsLatency(metric) && metric != v1alpha1.MetricLatencyMean
}

func middle(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// Histogram adds up the histograms of all runs; nil if a run lacks its histogram.
func Histogram(direction v1alpha1.Direction, runs []Observation) (*result.Histogram, error) {
	sum := &result.Histogram{}
	for _, run := range runs {
		if run.Result == nil {
			return nil, nil //nolint:nilnil // The docstring documents nil.
		}
		d, err := selectDirection(run.Result, direction)
		if err != nil || d == nil {
			return nil, err
		}
		latency, _ := latencyOf(d)
		if latency == nil || latency.Histogram == nil {
			return nil, nil //nolint:nilnil // The docstring documents nil.
		}
		if sum, err = result.AddHistograms(sum, latency.Histogram); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
