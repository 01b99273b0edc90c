package sweepspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
)

// ClosedLoop lists the latency percentiles that a sweep compares in phases without an offered rate. A phase in
// which one job has no offered rate is such a phase too. The objective's percentile comes first. Such a
// percentile improves whenever fewer operations are in flight, so it may favour a slower configuration.
func ClosedLoop(spec *Spec) []v1alpha1.MetricReference {
	return slices.DeleteFunc(references(spec), func(ref v1alpha1.MetricReference) bool {
		return variesRate(spec, ref.Phase) || !figure.InClosedLoop(&spec.Template, ref)
	})
}

// variesRate reports whether a parameter varies the offered rate of a phase.
func variesRate(spec *Spec, phase v1alpha1.PhaseName) bool {
	return slices.ContainsFunc(spec.Parameters, func(p v1alpha1.Parameter) bool {
		return p.Workload != nil && p.Workload.Phase == phase && p.Workload.Field == v1alpha1.WorkloadRateIOPS
	})
}

// closedLoopNote returns a warning about the figures of ClosedLoop, for readers of a plan or a verdict. It
// returns "" if there are no such figures.
func closedLoopNote(spec *Spec) string {
	figures := ClosedLoop(spec)
	if len(figures) == 0 {
		return ""
	}
	names := make([]string, len(figures))
	for i, ref := range figures {
		names[i] = string(ref.Phase) + " " + string(ref.Metric)
	}
	slices.Sort(names)
	note := fmt.Sprintf("ClosedLoop: without an offered rate, a percentile falls when fewer operations are in flight: %s. Set rateIOPS to compare latencies at one load.",
		strings.Join(slices.Compact(names), " and "))
	if deep := variesInFlight(spec, figures); deep != "" {
		note += fmt.Sprintf(" Parameter %s varies the number of operations in flight: a lower value alone lowers the latency.", deep)
	}
	return note
}

// variesInFlight returns the first parameter that varies the number of operations in flight in a phase of these
// figures; "" if no parameter does.
func variesInFlight(spec *Spec, figures []v1alpha1.MetricReference) v1alpha1.ParameterName {
	fields := []v1alpha1.WorkloadField{v1alpha1.WorkloadNumJobs, v1alpha1.WorkloadIODepth}
	for _, p := range spec.Parameters {
		of := p.Workload
		if of == nil {
			continue
		}
		inPhase := slices.ContainsFunc(figures, func(ref v1alpha1.MetricReference) bool { return ref.Phase == of.Phase })
		if of.Field == v1alpha1.WorkloadClients || inPhase && slices.Contains(fields, of.Field) {
			return p.Name
		}
	}
	return ""
}
