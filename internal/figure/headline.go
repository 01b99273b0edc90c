package figure

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
)

// smallBlock is the largest block size, in bytes, for which the headline shows operations
// instead of bytes.
const smallBlock = 64 << 10

// Headline returns the main figure of a phase with its name, such as "write-4m 412 MiB/s" or,
// for blocks up to 64 KiB, "randread-4k 12.3k IOPS". It is empty if there is no figure.
func Headline(phase *v1alpha1.Phase, figures v1alpha1.PhaseResult) string {
	metrics := []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS}
	if blockBytes(phase) <= smallBlock {
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

// blockBytes returns the size of the operations of a phase, or of its first job.
func blockBytes(phase *v1alpha1.Phase) int64 {
	switch {
	case phase.RadosBench != nil:
		return phase.RadosBench.BlockSize.Value()
	case phase.RBDBench != nil:
		return phase.RBDBench.IOSize.Value()
	case phase.Fio == nil:
		return 0
	case len(phase.Fio.Jobs) > 0 && phase.Fio.Jobs[0].BlockSize != nil:
		return phase.Fio.Jobs[0].BlockSize.Value()
	}
	return phase.Fio.BlockSize.Value()
}

func findResult(r v1alpha1.PhaseResult, metric v1alpha1.Metric, direction v1alpha1.Direction) (v1alpha1.MetricResult, bool) {
	for _, m := range r.Metrics {
		if m.Metric == metric && m.Direction == direction {
			return m, true
		}
	}
	return v1alpha1.MetricResult{}, false
}
