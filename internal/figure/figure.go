// Package figure turns the reports of a benchmark's clients into figures and marks, and judges the
// benchmark's expectations.
//
//	reports of one phase of one run → Observe → Observation, with its Figures
//	observations of all valid runs  → Combine → a PhaseResult for status
//	phase results                   → Expect  → a verdict with its reason
//
// The package does no I/O. Figures are in base units: bytes per second, operations per second, seconds. A
// figure that the engine did not report is absent, never 0.
package figure

import (
	"fmt"
	"math"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

// These metrics are archived but cannot have expectations.
const (
	// LatencyMin is the shortest latency, in seconds.
	LatencyMin v1alpha1.Metric = "LatencyMin"
	// LatencyStdDev is the standard deviation of the latencies, in seconds.
	LatencyStdDev v1alpha1.Metric = "LatencyStdDev"
)

// Figure is one number that describes a phase of a run.
type Figure struct {
	Metric    v1alpha1.Metric    `json:"metric"`
	Direction v1alpha1.Direction `json:"direction"`
	// Value is in the base unit of the metric, above 0 and finite.
	Value float64 `json:"value"`
	// AtLeast says that Value is a lower bound: it comes from fio's last histogram bin, which has no upper
	// end.
	AtLeast bool `json:"atLeast,omitempty"`
	// LatencyKind says which part of an operation a latency covers. Latencies of different kinds
	// are not comparable.
	LatencyKind result.LatencyKind `json:"latencyKind,omitempty"`
}

// percentiles maps each metric that is a percentile to its percentage.
func percentiles() map[v1alpha1.Metric]float64 {
	return map[v1alpha1.Metric]float64{
		v1alpha1.MetricLatencyP50:  50,
		v1alpha1.MetricLatencyP95:  95,
		v1alpha1.MetricLatencyP99:  99,
		v1alpha1.MetricLatencyP999: 99.9,
	}
}

// Percent returns the percentage of a metric that is a percentile of a whole phase; false for other metrics.
func Percent(metric v1alpha1.Metric) (float64, bool) {
	percent, ok := percentiles()[metric]
	return percent, ok
}

// Metrics lists all metrics in the order of tables.
func Metrics() []v1alpha1.Metric {
	return []v1alpha1.Metric{
		v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS, v1alpha1.MetricLatencyMean, LatencyStdDev, LatencyMin,
		v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999,
		v1alpha1.MetricLatencyMax, v1alpha1.MetricSustainableIOPS, v1alpha1.MetricTimeToClean,
		v1alpha1.MetricP50Before, v1alpha1.MetricP99Before, v1alpha1.MetricP50Outage, v1alpha1.MetricP99Outage,
		v1alpha1.MetricP50Recovery, v1alpha1.MetricP99Recovery, v1alpha1.MetricP50After, v1alpha1.MetricP99After,
	}
}

// OfWindow reports whether a metric is a percentile in one window of an outage, such as P99Recovery.
func OfWindow(metric v1alpha1.Metric) bool {
	index := slices.Index(Metrics(), metric)
	return index > slices.Index(Metrics(), v1alpha1.MetricTimeToClean)
}

// Directions lists all directions in the order of tables.
func Directions() []v1alpha1.Direction {
	return []v1alpha1.Direction{v1alpha1.DirectionTotal, v1alpha1.DirectionRead, v1alpha1.DirectionWrite}
}

// Figures computes the figures of all operations of a result. If the result has reads and writes, Figures
// also computes the figures of each.
//
// All latencies of a direction are of one kind: total latencies, unless these are missing or only completion
// latencies have percentiles. Percentiles of reads and writes together come from the merged histograms, so
// they are absent if a histogram is missing. Figures fails only if a sum of counts exceeds 63 bits.
func Figures(res *result.Result) ([]Figure, error) {
	var all []Figure
	for _, name := range Directions() {
		d, err := selectDirection(res, name)
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, figuresOf(name, d)...)
		}
	}
	return all, nil
}

// selectDirection returns the part of a result in one direction. It returns nil for reads and for writes
// unless the result has both, because otherwise the total has the same figures. It also returns nil for the
// total of a result without directions.
func selectDirection(res *result.Result, name v1alpha1.Direction) (*result.Direction, error) {
	mixed := res.Read != nil && res.Write != nil
	switch {
	case name == v1alpha1.DirectionTotal:
		total, err := res.Total()
		if err != nil {
			return nil, fmt.Errorf("figures: %w", err)
		}
		return total, nil
	case mixed && name == v1alpha1.DirectionRead:
		return res.Read, nil
	case mixed && name == v1alpha1.DirectionWrite:
		return res.Write, nil
	}
	return nil, nil //nolint:nilnil // The docstring documents nil.
}

func figuresOf(name v1alpha1.Direction, d *result.Direction) []Figure {
	values := map[v1alpha1.Metric]Figure{
		v1alpha1.MetricBandwidth: {Value: d.BytesPerSecond()},
		v1alpha1.MetricIOPS:      {Value: d.OperationsPerSecond()},
	}
	if latency, kind := latencyOf(d); latency != nil {
		for metric, f := range latencyFigures(latency) {
			f.LatencyKind = kind
			values[metric] = f
		}
	}
	var figures []Figure
	for _, metric := range Metrics() {
		// A value of 0 has no logarithm and cannot be compared. It comes from an engine's
		// rounding or a load of zero bytes.
		if f, ok := values[metric]; ok && f.Value > 0 && !math.IsInf(f.Value, 1) {
			f.Metric, f.Direction = metric, name
			figures = append(figures, f)
		}
	}
	return figures
}

// latencyOf chooses the kind of latency for all figures of a direction.
func latencyOf(d *result.Direction) (*result.Latency, result.LatencyKind) {
	total, completion := d.Latency, d.CompletionLatency
	switch {
	case total == nil && completion == nil:
		return nil, ""
	case total == nil, !hasPercentiles(total) && hasPercentiles(completion):
		return completion, result.CompletionLatency
	}
	return total, result.TotalLatency
}

func hasPercentiles(l *result.Latency) bool {
	return l != nil && (l.Histogram != nil || len(l.Percentiles) > 0)
}

func latencyFigures(l *result.Latency) map[v1alpha1.Metric]Figure {
	values := map[v1alpha1.Metric]Figure{v1alpha1.MetricLatencyMean: {Value: l.Moments.MeanSeconds}}
	if deviation, ok := l.Moments.StddevSeconds(); ok {
		values[LatencyStdDev] = Figure{Value: deviation}
	}
	if shortest := l.Moments.MinSeconds; shortest != nil {
		values[LatencyMin] = Figure{Value: *shortest}
	}
	if longest := l.Moments.MaxSeconds; longest != nil {
		values[v1alpha1.MetricLatencyMax] = Figure{Value: *longest}
	}
	for metric, percent := range percentiles() {
		if p, ok := l.Percentile(percent); ok {
			values[metric] = Figure{Value: p.Seconds, AtLeast: p.AtLeast}
		}
	}
	return values
}
