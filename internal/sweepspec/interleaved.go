package sweepspec

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/engine"
)

// NotInterleaved returns the reasons why a sweep's settings cannot be switched under a running load, one
// sentence each. It returns nil if the settings can be switched.
func NotInterleaved(spec *Spec, facts Facts) []string {
	var reasons []string
	because := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for _, p := range spec.Parameters {
		reason := kindOf(p).notSwitched
		if Aims(spec) {
			reason = kindOf(p).notAimed
		}
		if text := reason(spec, facts); text != "" {
			reasons = append(reasons, text)
		}
	}
	if spec.Template.Outage != nil {
		because("The benchmark has an outage.")
	}
	phase := sessionPhase(spec)
	traits := engine.TraitsOf(&phase)
	cut := traits.Windows
	for _, r := range References(spec) {
		switch {
		case traits.Curve: // See notInTurns.
		case r.Phase != spec.Objective.Phase:
			because("A constraint is about phase %s, and the objective about phase %s.", r.Phase, spec.Objective.Phase)
		case cut && !inWindows(phase, r.Metric):
			because("%s of phase %s is not reported for each second.", r.Metric, r.Phase)
		}
	}
	switch {
	case traits.Curve:
		reasons = append(reasons, notInTurns(spec)...)
	case !cut:
		because("Phase %s cannot be cut into windows: only fio can, and rados bench in modes Rand and Write, without reuseObjects.", phase.Name)
	}
	return reasons
}

// DrawsCurves reports whether a session draws curves in turns, because the objective is what a curve gives.
func DrawsCurves(spec *Spec) bool { return spec.Objective.Metric == v1alpha1.MetricSustainableIOPS }

// notInTurns says why two curves cannot be drawn in turns.
func notInTurns(spec *Spec) (reasons []string) {
	set := spec.Strategy.Interleaved
	switch {
	case !DrawsCurves(spec):
		reasons = append(reasons, "Only the objective SustainableIOPS draws curves in turns.")
	case set.Sessions != 1:
		reasons = append(reasons, "Each run draws a whole curve. Faster: sessions: 1 draws two in turns.")
	case len(spec.Constraints) > 0:
		reasons = append(reasons, "Two curves in turns have other rates, so constraints cannot compare them: leave constraints out.")
	case set.Pairs != 0 && set.Pairs < session.CurvePairs:
		reasons = append(reasons, fmt.Sprintf("Two curves in turns need %d pairs of steps: leave pairs out, or use 28, 40 or 60.", session.CurvePairs))
	}
	return reasons
}

// Aims reports whether sessions of a sweep aim their clients at standing targets or other loads, and do not change Ceph.
func Aims(spec *Spec) bool {
	return slices.ContainsFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return kindOf(p).aims(spec) })
}

// Draws reports whether each of several sessions compares all configurations in short windows, with fresh targets: how CRUSH
// places a pool is a draw, which more windows on the same pool would not average.
func Draws(spec *Spec, plan *v1alpha1.SweepPlan) bool { return plan.Sessions > 1 && Aims(spec) }

// notStanding says why the scratch pools of all configurations cannot stand at once, or cannot be loaded in turn; "" if they
// can.
func (k anyKind) notStanding(spec *Spec, facts Facts) string {
	switch pool := spec.Template.Target.ScratchPool; {
	case pool == nil:
		return k.notSwitched(spec, facts)
	case pool.OSDSelection != nil:
		return "Pools on chosen OSDs do not stand at once."
	case facts.NotStanding != "":
		return facts.NotStanding
	}
	return notInTurn(spec)
}

// notInTurn says why clients cannot load several targets in turn; "" if they can.
func notInTurn(spec *Spec) string {
	if spec.Template.BackgroundLoad != nil {
		return "The background load would go to one of the targets only."
	}
	return notBegunAgain(spec)
}

// notBegunAgain says why the load cannot begin again in each window; "" if it can.
func notBegunAgain(spec *Spec) string {
	if phase := sessionPhase(spec); !engine.TraitsOf(&phase).BeginsAgain {
		return fmt.Sprintf("Phase %s cannot begin again: use random fio on images or volumes, without a rate.", phase.Name)
	}
	return ""
}

// NotAutomatic returns the first reason why design Auto chooses Blocks although settings can be switched
// under a load. It returns "" without such a reason. Each reason is a choice in the spec that a session would
// not follow: a session has no blocks, runs only the phase of the objective, and prepares the caches of OSDs
// only once, for all its windows.
func NotAutomatic(spec *Spec) string {
	s := spec.Strategy
	defaults := v1alpha1.Blocks{Min: defaultMinBlocks, Max: defaultMaxBlocks}
	switch {
	case s.Blocks != (v1alpha1.Blocks{}) && s.Blocks != defaults, s.ConfirmationBlocks != 0 && s.ConfirmationBlocks != defaultConfirmationBlocks:
		return "The spec sets a number of blocks."
	case len(spec.Template.Measured()) > 1:
		return fmt.Sprintf("The benchmark has %d phases.", len(spec.Template.Measured()))
	case spec.Template.OSDCaches != "" && spec.Template.OSDCaches != v1alpha1.OSDCachesKeep:
		return "Caches of OSDs are prepared before each phase."
	case Aims(spec) && s.Interleaved.Sessions != 1:
		return "By default, each run is fresh. With sessions: 1, windows compare standing targets."
	}
	return ""
}

// The defaults of the schema. A different value in a spec shows that the user has set it.
// TestDefaultsOfTheSchema compares these constants with the schema.
const (
	defaultMinBlocks          = 4
	defaultMaxBlocks          = 12
	defaultConfirmationBlocks = 8
)

// inWindows reports whether a metric can be computed for windows of a few seconds. All engines whose load can
// be cut into windows count operations, bytes and the sum of latencies. Some also count latencies in
// histograms, which give percentiles. The maximum latency of a window does not follow from counts.
func inWindows(p v1alpha1.Phase, m v1alpha1.Metric) bool {
	switch m {
	case v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS, v1alpha1.MetricLatencyMean:
		return true
	case v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999:
		return engine.TraitsOf(&p).Percentiles
	default:
		return false
	}
}
