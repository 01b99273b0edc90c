package sweepspec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/settings"
)

// LabelSession marks the benchmark of a session; its value is the session's number. Such a benchmark measures
// several configurations, because settings change during its run.
const LabelSession = "cephtune.dev/switching-session"

const (
	// maxSwitched is the maximum number of candidates in a session.
	maxSwitched = settings.MaxTargets - 1
	// sessionMargin is added to the duration of a session's load, so that the load does not end before the
	// session's last window ends.
	sessionMargin = 2 * time.Minute
	// assumedSessionNoise is the assumed standard deviation of an effect between sessions, as a fraction of
	// the baseline.
	assumedSessionNoise = 0.02
	// drawPairs is the default number of pairs of windows in each of several sessions with fresh targets. With three candidates, a
	// session then takes 5 minutes.
	drawPairs = 4
)

// design writes the design into the plan. Auto becomes Interleaved unless notInterleaved or NotAutomatic
// gives a reason against it. If the spec requires Interleaved but notInterleaved gives reasons, the plan
// refuses the sweep.
func design(spec *Spec, facts Facts, configurations int, plan *v1alpha1.SweepPlan) {
	plan.Design = v1alpha1.DesignBlocks
	if spec.Strategy.Design == v1alpha1.DesignBlocks {
		return
	}
	obstacles := notInterleaved(spec, facts, configurations)
	auto := spec.Strategy.Design != v1alpha1.DesignInterleaved
	if reason := NotAutomatic(spec); auto && reason != "" {
		obstacles = append(obstacles, reason)
	}
	switch {
	case len(obstacles) == 0:
		plan.Design = v1alpha1.DesignInterleaved
	case auto:
		plan.DesignReason = ellipsis.Cut(obstacles[0], maxPlanReason)
	default:
		for _, o := range obstacles {
			plan.Refusals = append(slices.Clip(plan.Refusals), "strategy.design Interleaved is not possible: "+o)
		}
	}
}

// notInterleaved returns the reasons why a plan cannot have the design Interleaved.
func notInterleaved(spec *Spec, facts Facts, configurations int) []string {
	reasons := NotInterleaved(spec, facts)
	switch candidates := configurations - 1; {
	case DrawsCurves(spec) && candidates > 1:
		reasons = append(reasons, fmt.Sprintf("There are %d configurations in addition to the baseline: two curves are drawn in turns, so keep one.", candidates))
	case candidates > maxSwitched:
		reasons = append(reasons, fmt.Sprintf("There are %d configurations in addition to the baseline: a session compares %d at most.", candidates, maxSwitched))
	}
	return reasons
}

// IsSession reports whether a benchmark belongs to a session of a sweep.
func IsSession(b *v1alpha1.CephBenchmark) bool {
	return b.Status.Trial != nil && b.Status.Trial.Design == v1alpha1.DesignInterleaved
}

// NextTrial returns the number of the first trial of a sweep that is not in the ledger yet. It may be in progress.
func NextTrial(s *v1alpha1.CephTuningSweep) int {
	trials, err := Trials(&s.Status)
	if err != nil {
		return len(s.Status.Runs) + 1 // Another version of the operator wrote the entries.
	}
	return len(trials) + 1
}

// LedgerOf returns the ledger of a sweep of the design Blocks, and nil for an interleaved sweep.
func LedgerOf(s *v1alpha1.CephTuningSweep) ([]Entry, error) {
	if HasWindows(s.Status.Plan) {
		return nil, nil
	}
	return ReadLedger(&s.Status)
}

// fixSessions writes into the plan the number of sessions, the number of pairs in each, the length of windows,
// the cost of one session, and the time of the restore.
func (e *estimator) fixSessions(plan *v1alpha1.SweepPlan) {
	configurations := len(e.configurations)
	e.fixWindows(plan)
	window := plan.Window.Duration
	template := sessionTemplate(e.spec)
	prefill, started := PrefillBytes(template, e.facts.DatasetBytes), e.startOf(template)
	proofs := configurations
	if Aims(e.spec) {
		proofs = 1
	}
	unmeasured, pair := podsTime+started+time.Duration(proofs)*e.settle(), time.Duration(configurations)*(window+switchTime)
	if e.spec.Template.Target.ScratchPool != nil {
		unmeasured += poolTime + e.removal()
	}
	if others, err := OtherTargets(e.spec, e.configurations); err == nil { // Another check reports the error.
		unmeasured += time.Duration(len(others)) * (started + morePoolTime)
		prefill *= int64(1 + len(others))
	}
	ramp, restore := Ramp(e.spec), (restoreTime + e.settle()).Round(time.Second)
	cost := func(pairs int32) sweep.Cost {
		measured := ramp + time.Duration(pairs)*pair
		c := sweep.Cost{Time: (measured + unmeasured).Round(time.Second), Bytes: prefill}
		for _, phase := range template.Measured() {
			c.Bytes += int64(measured.Seconds() * writtenPerSecond(phase, template.Clients.Count))
		}
		if b := template.Background(); b != nil {
			c.Bytes += int64((measured + backgroundRamp(template)).Seconds() * writtenPerSecond(*b, 1))
		}
		return c
	}
	if plan.Pairs == 0 {
		plan.Pairs = switchback.DefaultPairs
		if plan.Sessions == 1 {
			plan.Pairs = lastLook(e.spec.Budget, restore, cost)
		}
	}
	planned := cost(plan.Pairs)
	plan.RunDuration = &metav1.Duration{Duration: planned.Time}
	plan.RestoreDuration = &metav1.Duration{Duration: restore}
	plan.RunBytesWritten = wholeQuantity(planned.Bytes)
}

// fixWindows writes into the plan the number of sessions, the number of pairs in each if it is known, and the length of windows.
func (e *estimator) fixWindows(plan *v1alpha1.SweepPlan) {
	wanted, window, around := e.spec.Strategy.Interleaved, session.DefaultWindow, time.Duration(0)
	if DrawsCurves(e.spec) {
		window, around, wanted.Pairs = session.StepTime, session.AroundStep, max(wanted.Pairs, session.CurvePairs)
	}
	if wanted.Window != nil {
		window = wanted.Window.Duration
	}
	plan.Configurations = int32(len(e.configurations) - 1) //nolint:gosec // At most 6.
	plan.Sessions, plan.Pairs, plan.Window = wanted.Sessions, wanted.Pairs, &metav1.Duration{Duration: window + around}
	if plan.Sessions == 0 {
		plan.Sessions = switchback.DefaultSessions
	}
	draws := Draws(e.spec, plan)
	if draws && plan.Pairs == 0 {
		plan.Pairs = drawPairs
	}
	if plan.Sessions > 1 && plan.Configurations == 1 && !draws { // There are no short windows.
		plan.Pairs, plan.Window = 1, &metav1.Duration{Duration: longWindowOf(e.spec)}
	}
}

// sessionTemplate returns the template of a session, which has only the phase of the objective and the background load.
func sessionTemplate(spec *Spec) v1alpha1.BenchmarkTemplate {
	t := *spec.Template.DeepCopy()
	t.Phases = besideBackground(&t, []v1alpha1.Phase{sessionPhase(spec)})
	return t
}

// besideBackground returns phases, and behind them that of the template's background load, if any.
func besideBackground(t *v1alpha1.BenchmarkTemplate, phases []v1alpha1.Phase) []v1alpha1.Phase {
	if b := t.Background(); b != nil {
		return append(phases, *b.DeepCopy())
	}
	return phases
}

// startOf returns how long a run of a template takes from the start of its clients to its first phase.
func (e *estimator) startOf(t v1alpha1.BenchmarkTemplate) time.Duration {
	rest := time.Duration(0)
	if t.Rest != nil {
		rest = t.Rest.Duration
	}
	moved := PrefillBytes(t, e.facts.DatasetBytes) + warmBytes(t, e.facts.DatasetBytes)
	return rest + backgroundRamp(t) + time.Duration(moved/writeRate)*time.Second
}

// lastLook returns the number of pairs at the last look that the budget allows to a single session. A look is
// an evaluation after a fixed number of pairs of windows: the session may end with a verdict there. The
// function cost returns the cost of a session with the given number of pairs, without the restore. If the
// budget allows no look, lastLook returns the number of pairs at the first look, and describeSessions refuses
// the sweep, unless rounding the bytes of the plan makes the session fit.
func lastLook(budget v1alpha1.Budget, restore time.Duration, cost func(pairs int32) sweep.Cost) int32 {
	looks := switchback.QuickLooks(switchback.LastLook)
	for _, look := range slices.Backward(looks) {
		c := cost(int32(look)) //nolint:gosec // At most 60.
		inTime := budget.Duration == nil || c.Time+restore <= budget.Duration.Duration
		if limit := budget.BytesWritten.Value(); inTime && (limit == 0 || c.Bytes <= limit) {
			return int32(look) //nolint:gosec // At most 60.
		}
	}
	return int32(looks[0]) //nolint:gosec // It is 8.
}

// describeSessions adds to the plan the cost of all sessions, the smallest effect that they can prove, and
// the refusals that follow from the budget.
func describeSessions(e *estimator, plan *v1alpha1.SweepPlan, _ *sweep.Planner, fixed sweep.Settings) error {
	least := min(plan.Sessions, switchback.LeastSessions)
	plan.MaximumRuns = int32(plannedSessions(e.spec, plan)) //nolint:gosec // At most 13.
	plan.MinimumRuns = plan.MaximumRuns - plan.Sessions + least
	s := &Sessions{spec: e.spec, plan: plan, leader: 1}
	smallest, most := sessionsCost(s, least), sessionsCost(s, plan.Sessions)
	apart := time.Duration(0)
	if s.Daily() {
		apart = time.Duration(plan.Sessions-1) * betweenDays
	}
	plan.EstimatedDuration = &metav1.Duration{Duration: (most.Time + apart + fixed.Budget.Reserve).Round(time.Second)}
	plan.EstimatedBytesWritten = wholeQuantity(most.Bytes)
	q, err := s.Question()
	if err != nil {
		return err
	}
	between := assumedSessionNoise
	if s.Draws() { // Fresh targets differ as much as runs do, which have fresh targets, too.
		between = AssumedNoise * math.Sqrt2
	}
	ratio, err := q.SmallestProvable(AssumedNoise, between, int(plan.Pairs))
	if err != nil {
		return err
	}
	plan.SmallestEffect = percentOf(max(ratio-1, 1-ratio))
	first := sweep.Estimate{Runs: int(plan.MinimumRuns), Time: smallest.Time, Bytes: smallest.Bytes}
	refusals := append(slices.Clip(plan.Refusals), budgetRefusals(fixed.Budget, first)...)
	if !s.isKept() {
		refusals = append(refusals, fmt.Sprintf("A session of %d clients would have more figures than the manager keeps: use fewer clients, pairs or configurations, or shorter windows.",
			e.spec.Template.Clients.Count))
	}
	plan.Refusals = boundedRefusals(refusals)
	return nil
}

// isKept reports whether the manager can keep the clients' figures for each second of each planned session.
func (s *Sessions) isKept() bool {
	planned := []int{1} // the candidates of long windows
	switch {
	case s.Quick(), s.Draws():
		planned = []int{0}
	case s.plan.Configurations > 1:
		planned = []int{0, 1}
	}
	most := session.MaxClientTime / time.Duration(max(s.spec.Template.Clients.Count, 1))
	return !slices.ContainsFunc(planned, func(long int) bool {
		one := Sessions{Long: long, spec: s.spec, plan: s.plan}
		order, err := one.SessionPlan()
		return err != nil || order.Lasts() > most
	})
}

// plannedSessions returns the largest number of valid sessions, of short and of long windows.
func plannedSessions(spec *Spec, plan *v1alpha1.SweepPlan) int {
	if plan.Sessions > 1 && plan.Configurations > 1 && !Draws(spec, plan) {
		return int(plan.Sessions) + 1
	}
	return int(plan.Sessions)
}

// sessionsCost returns the cost of a sweep with the given number of sessions, without that of short windows which
// select the leader.
func sessionsCost(s *Sessions, sessions int32) sweep.Cost {
	var all sweep.Cost
	add := func(n int32, c sweep.Cost) {
		all.Time, all.Bytes = all.Time+time.Duration(n)*c.Time, all.Bytes+int64(n)*c.Bytes
	}
	if s.Quick() {
		add(1, expectedOf(s.plan))
		return all
	}
	if s.plan.Configurations > 1 && !s.Draws() {
		add(1, expectedOf(s.plan))
	}
	add(sessions, s.costOfNext(s.leader))
	return all
}

// longWindowOf returns the length of a long window.
func longWindowOf(spec *Spec) time.Duration {
	if w := spec.Strategy.Interleaved.LongWindow; w != nil {
		return w.Duration
	}
	return session.DefaultLongWindow
}

// switchTime is the estimated time between two windows.
const switchTime = 2 * time.Second

// windowOf returns the planned length of a window. A plan may lack the length if a person has edited it, for
// example in an export. Then windowOf returns the default.
func windowOf(plan *v1alpha1.SweepPlan) time.Duration {
	if plan.Window == nil {
		return session.DefaultWindow
	}
	return plan.Window.Duration
}

// underLoad returns how long the planned windows and switches of a session take.
func underLoad(plan *v1alpha1.SweepPlan) time.Duration {
	return time.Duration(plan.Configurations+1) * time.Duration(plan.Pairs) * (windowOf(plan) + switchTime)
}

// longUnderLoad returns how long the windows and switches of a session of long windows take.
func longUnderLoad(spec *Spec) time.Duration { return 2 * (longWindowOf(spec) + switchTime) }

// restoreOf returns the planned time of the restore; 0 for a plan without this time.
func restoreOf(plan *v1alpha1.SweepPlan) time.Duration {
	if plan.RestoreDuration == nil {
		return 0
	}
	return plan.RestoreDuration.Duration
}

// firstLook returns how long a sweep of a single session takes if its first look decides. It returns 0 for the
// design Blocks, for a sweep of several sessions, for a session with a single look, and for a plan without an
// estimated duration.
func firstLook(plan *v1alpha1.SweepPlan) time.Duration {
	first := switchback.QuickLooks(switchback.LastLook)[0]
	if plan.Sessions != 1 || int(plan.Pairs) <= first || plan.EstimatedDuration == nil {
		return 0
	}
	after := *plan
	after.Pairs = int32(first) //nolint:gosec // At most 60.
	return plan.EstimatedDuration.Duration - underLoad(plan) + underLoad(&after)
}

// costOf returns the cost of a session. The argument named lasts is the total duration of its windows. The bytes of
// the result are an upper bound. For a shorter time than planned, they stay as planned.
// For a longer time, costOf also scales the bytes of the prefill, which do not depend on the time.
func costOf(plan *v1alpha1.SweepPlan, lasts time.Duration) sweep.Cost {
	e, planned := expectedOf(plan), underLoad(plan)
	if planned > 0 {
		e.Bytes = int64(float64(e.Bytes) * max(1, lasts.Seconds()/planned.Seconds()))
	}
	e.Time += lasts - planned
	return e
}

// sessionPhase returns a copy of the objective's phase. Admission refuses a template without it; the copy then has no load.
func sessionPhase(spec *Spec) v1alpha1.Phase {
	return *cmp.Or(spec.Template.Phase(spec.Objective.Phase), &v1alpha1.Phase{Name: spec.Objective.Phase}).DeepCopy()
}

// writesInSession reports whether the load of a session writes.
func writesInSession(spec *Spec) bool {
	return writtenPerSecond(sessionPhase(spec), 1) > 0
}

// offeredInSession returns the rate that all clients of a session together have to reach.
func offeredInSession(spec *Spec) session.Offered {
	phase := sessionPhase(spec)
	traits, clients := engine.TraitsOf(&phase), float64(max(1, spec.Template.Clients.Count))
	return session.Offered{IOPS: clients * traits.OfferedIOPS, BytesPerSecond: clients * traits.OfferedBytesPerSecond}
}

// Ramp returns the warm-up time of a session's load. Before curves, it includes their closed loop.
func Ramp(spec *Spec) time.Duration {
	ramp, measured, _ := PhaseTiming(sessionPhase(spec)) // 0 for a phase that admission would have refused
	if DrawsCurves(spec) {
		return ramp + measured
	}
	return ramp
}

// ClosedLoopBytes returns how many bytes the closed loop before curves writes at a rate of operations a second.
func (s *Sessions) ClosedLoopBytes(perSecond float64) int64 {
	phase := sessionPhase(s.spec)
	traits := engine.TraitsOf(&phase)
	return int64(perSecond * Ramp(s.spec).Seconds() * traits.WriteShare * float64(traits.OperationBytes))
}

// SessionPlan returns the order and the timing of the settings in the next session.
func (s *Sessions) SessionPlan() (session.Plan, error) {
	seed := uint64(*s.plan.Seed) //nolint:gosec // The schema requires at least 0.
	candidates, pairs, window := int(s.plan.Configurations), int(s.plan.Pairs), windowOf(s.plan)
	var p session.Plan
	var err error
	switch {
	case DrawsCurves(s.spec):
		p, err = session.Curves(seed, s.Number(), pairs, window)
	case s.Long > 0:
		p, err = session.Long(seed, s.Number(), candidates, s.Long, longWindowOf(s.spec))
	case s.Quick():
		p, err = session.Quick(seed, s.Number(), candidates, pairs, window)
	default:
		p, err = session.Screen(seed, s.Number(), candidates, pairs, window)
	}
	if s.Aims() {
		p = p.WithTargets()
	}
	return p, err
}

// Aims reports whether sessions aim their clients at standing targets or other loads, and do not change Ceph.
func (s *Sessions) Aims() bool { return Aims(s.spec) }

// OtherTargets returns the targets of the configurations behind the baseline, which stand beside it in a session. It returns
// nil if all configurations have the same target.
func OtherTargets(spec *Spec, configurations []sweep.Configuration) ([]v1alpha1.Target, error) {
	if !Aims(spec) || len(configurations) == 0 {
		return nil, nil
	}
	var all []v1alpha1.Target
	for _, c := range configurations {
		template, err := Template(spec, c.Values, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, template.Target)
	}
	same := func(t v1alpha1.Target) bool { return equality.Semantic.DeepEqual(t, all[0]) }
	if !slices.ContainsFunc(all, func(t v1alpha1.Target) bool { return !same(t) }) {
		return nil, nil
	}
	return all[1:], nil
}

// Load returns the load of a configuration: the phase of the objective, which runs sessionMargin longer than all windows
// may take.
func (s *Sessions) Load(c sweep.Configuration) (v1alpha1.Phase, error) {
	template, err := Template(s.spec, c.Values, 1)
	if err != nil {
		return v1alpha1.Phase{}, err
	}
	changed := *s.spec
	changed.Template = template
	phase := sessionPhase(&changed)
	order, err := s.SessionPlan()
	if err != nil {
		return phase, err
	}
	lasts := order.Lasts() + sessionMargin
	if order.Curves {
		lasts = order.Window - session.AroundStep // of a step
	}
	if load := engine.SpecOf(&phase); load == nil || !load.RunFor(lasts) {
		return phase, refuse("phase %s cannot be cut into windows", phase.Name)
	}
	return phase, nil
}

// Benchmark implements [Design]. The only phase is the load of the configuration.
func (s *Sessions) Benchmark(c Child) (*v1alpha1.CephBenchmark, error) {
	b, err := c.Benchmark()
	if err != nil {
		return nil, err
	}
	phase, err := s.Load(c.Configuration)
	if err != nil {
		return nil, err
	}
	b.Spec.Template.Phases = besideBackground(&b.Spec.Template, []v1alpha1.Phase{phase})
	if b.Spec.OtherTargets, err = OtherTargets(s.spec, s.Configurations()); err != nil {
		return nil, err
	}
	// The session itself sets the options that the sweep varies. If the CephBlockPool contained these options,
	// Rook could set them again at any time.
	for _, change := range OwnChanges(&c.Sweep.Spec, nil) {
		if !s.Aims() { // A standing target keeps its options.
			delete(b.Spec.Template.Target.ScratchPool.Parameters, change.Setting.Option)
		}
	}
	b.Spec.RunID = v1alpha1.RunID(fmt.Sprintf("session-%d", c.Run))
	b.Labels[LabelSession] = strconv.Itoa(c.Run)
	return b, nil
}
