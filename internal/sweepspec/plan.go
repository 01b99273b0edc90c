package sweepspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/stats"
)

// Facts are the inputs of a plan besides the spec.
type Facts struct {
	// Present has the current values of the parameters that AskedOfCeph lists.
	Present Present
	// Alike reports whether OSDs act alike with two values of a setting. If it is nil, different values count as
	// different.
	Alike Alike
	// OSDs has all OSDs of the cluster.
	OSDs []ceph.OSD
	// DatasetBytes is the dataset size of each client, if a phase needs a dataset.
	DatasetBytes int64
	// NeedRestart lists the parameters that OSDs read only when they start.
	NeedRestart []v1alpha1.ParameterName
	// MaySwitch reports whether an option may be switched under a running load. The operator config has to
	// allow the switch, and OSDs have to apply the option at run time. If MaySwitch is nil, no option may be
	// switched.
	MaySwitch func(v1alpha1.ConfigParameter) bool
	// MaySwitchPools reports whether the tuner's key may set the varied options of scratch pools.
	MaySwitchPools bool
	// NotStanding says why the scratch pools of all configurations cannot stand at once; "" if they can.
	NotStanding string
	// Drawn is a random number. It becomes the seed of a sweep whose spec sets no seed.
	Drawn uint64
	// Refusals are the reasons to refuse the sweep that preflight, the check of the cluster, has found: one
	// sentence each.
	Refusals []string
}

// AssumedNoise is the coefficient of variation that a plan assumes before the first measurement: between runs
// or, in the design Interleaved, between windows of one setting.
const AssumedNoise = 0.05

const (
	maxRefusals   = 8
	maxRefusal    = 512 // bytes
	maxPlanReason = 88  // bytes, of designReason and datasetReason
)

// Draft returns the plan of a sweep that has not begun, for status.plan. The plan has the choices that stay
// fixed, rough estimates of the cost, and the reasons why the sweep cannot run, called refusals. Draft fails
// only for a spec from which no plan can be made, and if facts lack the current value of a parameter. The error
// then wraps ErrSpec or sweep.ErrPlan.
func Draft(spec *Spec, facts Facts) (*v1alpha1.SweepPlan, error) {
	baseline, err := Baseline(spec, facts.Present, facts.Alike)
	if err != nil {
		return nil, err
	}
	seed := Seed(spec, facts.Drawn)
	digest, err := Digest(spec)
	if err != nil {
		return nil, err
	}
	plan := &v1alpha1.SweepPlan{PlannerVersion: sweep.Version, SpecDigest: digest, Seed: &seed, Baseline: baseline, Refusals: append(slices.Clip(facts.Refusals), closedLoopRefusals(spec)...)}
	planner, err := PlannerOf(spec, plan)
	if err != nil {
		return nil, err
	}
	e, err := newEstimator(spec, facts, planner)
	if err != nil {
		return nil, err
	}
	design(spec, facts, len(planner.Configurations()), plan)
	method := methodOf(plan)
	method.fix(e, plan)
	planned, err := PlanOf(spec, plan)
	if err != nil {
		return nil, err
	}
	if planner, err = sweep.New(planned); err != nil {
		return nil, err
	}
	return plan, method.describe(e, plan, planner, planned.Settings)
}

// describeBlocks adds to the plan the planner's estimates, and the refusals that follow from the estimates.
func describeBlocks(e *estimator, plan *v1alpha1.SweepPlan, planner *sweep.Planner, fixed sweep.Settings) error {
	smallest, largest := planner.Estimate()
	plan.Configurations = int32(len(planner.Configurations()) - 1) //nolint:gosec // At most 64.
	plan.MinimumRuns = int32(smallest.Runs)                        //nolint:gosec // At most MaxLedger.
	plan.MaximumRuns = int32(min(largest.Runs, sweep.MaxLedger))   //nolint:gosec // At most MaxLedger.
	each, runs := fixed.Expected, int64(plan.MaximumRuns)
	plan.EstimatedDuration = &metav1.Duration{Duration: (time.Duration(runs*int64(each.Time)) + fixed.Budget.Reserve).Round(time.Second)}
	plan.EstimatedBytesWritten = wholeQuantity(runs * each.Bytes)
	plan.PlacementGroupChanges, plan.OSDRestarts = e.totalPGs, int32(min(e.maxRuns*e.restarts(), math.MaxInt32)) //nolint:gosec // Bounded.
	ratio, err := planner.SmallestProvableRatio(stats.Noise{StdDev: stats.LogStdDev(AssumedNoise)}, 0)
	if err != nil {
		return err
	}
	plan.ScratchPoolPer, plan.DatasetPer, plan.DatasetReason = scratchPoolPer(e.spec), e.datasetPer, ellipsis.Cut(e.datasetReason, maxPlanReason)
	plan.SmallestEffect = percentOf(math.Abs(ratio - 1))
	plan.Refusals = boundedRefusals(slices.Concat(plan.Refusals, budgetRefusals(fixed.Budget, smallest)))
	return nil
}

// Strength says in one sentence which effect a plan can prove; "" for a plan without an estimate. With few
// blocks and a high confidence, a plan can prove only huge effects. The sentence then says how to prove
// smaller effects.
func Strength(plan *v1alpha1.SweepPlan) string {
	switch plan.SmallestEffect {
	case "":
		return ""
	case percentOf(1):
		return "Even carried out in full, the plan would not prove that a configuration is twice as good: allow more blocks " +
			"(strategy.blocks.max, strategy.confirmationBlocks) or a lower confidence."
	}
	return fmt.Sprintf("Carried out in full, the plan proves improvements of %s and more, four times out of five, at the assumed noise.", plan.SmallestEffect)
}

func budgetRefusals(b sweep.Budget, smallest sweep.Estimate) []string {
	var all []string
	if !(sweep.Budget{Time: b.Time, Reserve: b.Reserve}).Affordable(smallest) {
		all = append(all, fmt.Sprintf("budget.duration %v is too short: it has to suffice for at least %s and the restore, about %v.",
			b.Time, plural(smallest.Runs, "run"), (smallest.Time+b.Reserve).Round(time.Minute)))
	}
	if !(sweep.Budget{Bytes: b.Bytes}).Affordable(smallest) {
		all = append(all, fmt.Sprintf("budget.bytesWritten %s is too small: it has to suffice for at least %s, about %s.",
			resource.NewQuantity(b.Bytes, resource.BinarySI), plural(smallest.Runs, "run"), wholeQuantity(smallest.Bytes)))
	}
	return all
}

// wholeQuantity rounds to whole Mi, or to whole Gi from 10 Gi on, because other quantities are displayed in
// smaller units, usually in bytes.
func wholeQuantity(bytes int64) *resource.Quantity {
	unit := int64(1 << 20)
	if bytes >= 10<<30 {
		unit = 1 << 30
	}
	return resource.NewQuantity((bytes+unit/2)/unit*unit, resource.BinarySI)
}

// boundedRefusals truncates the list of refusals and each refusal to fit into status. It adds the number of
// omitted refusals.
func boundedRefusals(all []string) []string {
	if more := len(all) - maxRefusals; more > 0 {
		all = append(slices.Clone(all[:maxRefusals-1]), fmt.Sprintf("And %d more.", more+1))
	}
	out := make([]string, 0, len(all))
	for _, r := range all {
		out = append(out, ellipsis.Cut(r, maxRefusal))
	}
	return out
}

// percentOf formats a fraction as a percentage with at most two decimals. A fraction above 1 becomes 100 %,
// and one below 0 becomes 0 %.
func percentOf(fraction float64) v1alpha1.Percent {
	percent := math.Round(min(max(fraction, 0), 1)*1e4) / 100
	return v1alpha1.Percent(strconv.FormatFloat(percent, 'f', -1, 64) + "%")
}
