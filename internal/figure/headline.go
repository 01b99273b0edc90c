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
	metrics := []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS}
	if engine.TraitsOf(phase).OperationBytes <= smallBlock {
		metrics[0], metrics[1] = metrics[1], metrics[0]
	}
	for _, metric := range metrics {
		if m, ok := findResult(figures, metric, v1alpha1.DirectionTotal); ok {
			if value, err := ParseDecimal(m.Value); err == nil {
				return string(phase.Name) + " " + Human(metric, value)
			}
		}
	}
	return ""
}

func findResult(r v1alpha1.PhaseResult, metric v1alpha1.Metric, direction v1alpha1.Direction) (v1alpha1.MetricResult, bool) {
	for _, m := range r.Metrics {
		if m.Metric == metric && m.Direction == direction {
			return m, true
		}
	}
	return v1alpha1.MetricResult{}, false
}
