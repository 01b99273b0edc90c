package figure

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
)

// smallBlock is the largest block size, in bytes, for which the headline shows operations
// instead of bytes.
const smallBlock = 64 << 10

// maxHeadline is the maximum length of the headline in status, in bytes.
const maxHeadline = 96

// Headline returns the main figure of a phase with its name, such as "write-4m 412 MiB/s", and its interval, if it has one.
// The 99th percentile follows, or at a rate the operations per second:
// "randread-4k 12.3k IOPS (11.8k–12.9k), closed-loop p99 5.8ms". It returns "" without a figure.
func Headline(phase *v1alpha1.Phase, figures v1alpha1.PhaseResult) string {
	metric := MainMetric(phase, figures)
	text := inHeadline(figures, metric)
	if text == "" {
		return ""
	}
	text, second := string(phase.Name)+" "+text, v1alpha1.MetricLatencyP99
	if metric == second {
		second = v1alpha1.MetricIOPS
	}
	if more := inHeadline(figures, second); more != "" && len(text)+len(", ")+len(more) <= maxHeadline {
		text += ", " + more
	}
	return ellipsis.Cut(text, maxHeadline)
}

// inHeadline returns a figure with its interval; "" if the figure is unknown.
func inHeadline(figures v1alpha1.PhaseResult, metric v1alpha1.Metric) string {
	m, ok := FindResult(figures, metric, v1alpha1.DirectionTotal)
	f, err := readMetric(m)
	switch {
	case !ok || err != nil:
		return ""
	case metric != v1alpha1.MetricLatencyP99:
		return f.brief(metric)
	case slices.Contains(figures.Marks, v1alpha1.MarkClosedLoop):
		return "closed-loop p99 " + f.brief(metric)
	}
	return "p99 " + f.brief(metric)
}

// MainMetric returns the metric of [Headline]; IOPS if the phase has no figure.
func MainMetric(phase *v1alpha1.Phase, figures v1alpha1.PhaseResult) v1alpha1.Metric {
	for _, metric := range mainMetrics(phase) {
		if _, ok := FindResult(figures, metric, v1alpha1.DirectionTotal); ok {
			return metric
		}
	}
	return v1alpha1.MetricIOPS
}

// mainMetrics returns the metrics to show for a phase, the preferred one first.
func mainMetrics(phase *v1alpha1.Phase) []v1alpha1.Metric {
	switch traits := engine.TraitsOf(phase); {
	case traits.Curve:
		return []v1alpha1.Metric{v1alpha1.MetricSustainableIOPS}
	case traits.OfferedIOPS+traits.OfferedBytesPerSecond > 0:
		// Operations per second are those that were offered, unless they were too many: then there are no latencies.
		return []v1alpha1.Metric{v1alpha1.MetricLatencyP99, v1alpha1.MetricIOPS, v1alpha1.MetricBandwidth}
	case traits.OperationBytes <= smallBlock:
		return []v1alpha1.Metric{v1alpha1.MetricIOPS, v1alpha1.MetricBandwidth}
	}
	return []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS}
}

// Objective returns the metric that a benchmark is made for: that of its first expectation or, without expectations, the
// main metric of its first phase.
func Objective(spec *v1alpha1.CephBenchmarkSpec) v1alpha1.Metric {
	if len(spec.Expectations) > 0 {
		return spec.Expectations[0].Metric
	}
	for _, phase := range spec.Template.Measured() {
		return mainMetrics(&phase)[0]
	}
	return ""
}

// FindResult returns the result of a phase for a metric and a direction, or false.
func FindResult(r v1alpha1.PhaseResult, metric v1alpha1.Metric, direction v1alpha1.Direction) (v1alpha1.MetricResult, bool) {
	for _, m := range r.Metrics {
		if m.Metric == metric && m.Direction == direction {
			return m, true
		}
	}
	return v1alpha1.MetricResult{}, false
}
