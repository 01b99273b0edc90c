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
	return slices.DeleteFunc(References(spec), func(ref v1alpha1.MetricReference) bool {
		return variesLoad(spec, []v1alpha1.PhaseName{ref.Phase}, v1alpha1.WorkloadRateIOPS) != "" || !figure.InClosedLoop(&spec.Template, ref)
	})
}

// closedLoopRefusals refuses a percentile of a closed loop that the spec does not accept by its field closedLoop.
// The API server refuses such a sweep, too, except for one that was created under earlier rules.
func closedLoopRefusals(spec *Spec) []string {
	accepted := []bool{spec.Objective.ClosedLoop}
	for _, c := range spec.Constraints {
		accepted = append(accepted, c.ClosedLoop)
	}
	var all []string
	for i, ref := range References(spec) {
		if !accepted[i] && slices.Contains(ClosedLoop(spec), ref) {
			all = append(all, fmt.Sprintf("%s is a percentile of a closed loop, which hides stalls: set rateIOPS in the phase, or closedLoop: true.", referenceName(ref)))
		}
	}
	return all
}

// closedLoopNote returns a warning about the figures of ClosedLoop, for readers of a plan or a verdict. It
// returns "" if there are no such figures.
func closedLoopNote(spec *Spec) string {
	figures := ClosedLoop(spec)
	if len(figures) == 0 {
		return ""
	}
	names, phases := make([]string, len(figures)), make([]v1alpha1.PhaseName, len(figures))
	for i, ref := range figures {
		names[i], phases[i] = string(ref.Phase)+" "+string(ref.Metric), ref.Phase
	}
	slices.Sort(names)
	note := fmt.Sprintf("ClosedLoop: without an offered rate, a percentile hides stalls, and falls when fewer operations are in flight: %s. Set rateIOPS (--rate-iops) to compare latencies at one load.",
		strings.Join(slices.Compact(names), " and "))
	if deep := variesLoad(spec, phases, v1alpha1.WorkloadClients, v1alpha1.WorkloadNumJobs, v1alpha1.WorkloadIODepth); deep != "" {
		note += fmt.Sprintf(" Parameter %s varies the number of operations in flight: a lower value alone lowers the latency.", deep)
	}
	return note
}
