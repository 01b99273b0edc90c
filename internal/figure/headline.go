package figure

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
)

// smallBlock is the largest block size, in bytes, for which the headline shows operations
// instead of bytes.
const smallBlock = 64 << 10

// Headline returns the main figure of a phase with its name, such as "write-4m 412 MiB/s" or, for blocks up
// to 64 KiB, "randread-4k 12.3k IOPS". It returns "" without a figure.
func Headline(phase *v1alpha1.Phase, figures v1alpha1.PhaseResult) string {
	for _, metric := range mainMetrics(phase) {
		if m, ok := FindResult(figures, metric, v1alpha1.DirectionTotal); ok {
			if value, err := ParseDecimal(m.Value); err == nil {
				return string(phase.Name) + " " + Human(metric, value)
			}
		}
	}
	return ""
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
	case traits.OperationBytes <= smallBlock:
		return []v1alpha1.Metric{v1alpha1.MetricIOPS, v1alpha1.MetricBandwidth}
	}
	return []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS}
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
