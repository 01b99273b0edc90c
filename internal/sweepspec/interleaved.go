package sweepspec

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// NotInterleaved says why the settings of a sweep cannot be switched under a running load, one
// sentence for each reason; none if they can. maySwitch tells whether the administrator allows
// an option to be switched, and whether OSDs take it while they run.
func NotInterleaved(spec *Spec, maySwitch func(v1alpha1.OptionName) bool) []string {
	var reasons []string
	because := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for _, p := range spec.Parameters {
		switch {
		case p.Config == nil:
			because("Parameter %s is no option of OSDs.", p.Name)
		case !maySwitch(p.Config.Option):
			because("Option %s may not be switched under a load.", p.Config.Option)
		}
	}
	if spec.Template.Disruption != nil {
		because("The benchmark has a disruption.")
	}
	of := append([]v1alpha1.MetricReference{spec.Objective.MetricReference}, constrained(spec)...)
	for _, r := range of {
		if r.Phase != spec.Objective.Phase {
			because("A constraint is about phase %s, and the objective about phase %s.", r.Phase, spec.Objective.Phase)
		}
		if !inWindows(r.Metric) {
			because("%s of phase %s is not known by the second.", r.Metric, r.Phase)
		}
	}
	at := slices.IndexFunc(spec.Template.Phases, func(p v1alpha1.Phase) bool { return p.Name == spec.Objective.Phase })
	if at < 0 || !cutInWindows(spec.Template.Phases[at]) {
		because("Phase %s cannot be cut into windows: so far only rados bench in modes Write and Rand can.", spec.Objective.Phase)
	}
	return reasons
}

func constrained(spec *Spec) []v1alpha1.MetricReference {
	references := make([]v1alpha1.MetricReference, 0, len(spec.Constraints))
	for _, c := range spec.Constraints {
		references = append(references, c.MetricReference)
	}
	return references
}

// inWindows reports whether a figure of a few seconds follows from operations, bytes and the sum
// of latencies.
func inWindows(m v1alpha1.Metric) bool {
	return m == v1alpha1.MetricBandwidth || m == v1alpha1.MetricIOPS || m == v1alpha1.MetricLatencyMean
}

// cutInWindows reports whether the engine of a phase counts by the second, and goes on for as long as
// it is told: mode Seq ends when it has read all objects.
func cutInWindows(p v1alpha1.Phase) bool {
	return p.RadosBench != nil && p.RadosBench.Mode != v1alpha1.RadosBenchSeq && !p.RadosBench.ReuseObjects
}
