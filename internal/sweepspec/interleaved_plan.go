package sweepspec

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/switchback"
)

// LabelSession marks the child of a session. It measures no configuration: settings change
// under it. Its value is the number of the session.
const LabelSession = "cephtune.dev/switching-session"

const (
	// maxSwitched is how many configurations a session switches between, beside the baseline.
	maxSwitched = 6
	// sessionMargin is how much longer the load of a session goes on than its windows may.
	sessionMargin = 2 * time.Minute
	// assumedSessionNoise is by how much an effect is assumed to differ between sessions.
	assumedSessionNoise = 0.02
)

// design fixes how configurations are compared, and refuses what sessions cannot do.
func design(spec *Spec, facts Facts, configurations int, plan *v1alpha1.SweepPlan) {
	plan.Design = v1alpha1.DesignBlocks
	if spec.Strategy.Design != v1alpha1.DesignInterleaved {
		return
	}
	maySwitch := facts.MaySwitch
	if maySwitch == nil {
		maySwitch = func(v1alpha1.ConfigParameter) bool { return false }
	}
	reasons := NotInterleaved(spec, maySwitch)
	if candidates := configurations - 1; candidates > maxSwitched {
		reasons = append(reasons, fmt.Sprintf("There are %d configurations in addition to the baseline: a session compares %d at most.", candidates, maxSwitched))
	}
	if len(spec.Constraints) > 0 {
		reasons = append(reasons, "There are constraints, which sessions do not judge.")
	}
	if len(reasons) == 0 {
		plan.Design = v1alpha1.DesignInterleaved
	}
	for _, r := range reasons {
		plan.Refusals = append(slices.Clip(plan.Refusals), "strategy.design Interleaved is not possible: "+r)
	}
}

// IsInterleaved reports whether a plan has the design Interleaved.
func IsInterleaved(plan *v1alpha1.SweepPlan) bool {
	return plan != nil && plan.Design == v1alpha1.DesignInterleaved
}

// IsSession reports whether a benchmark is that of a session.
func IsSession(b *v1alpha1.CephBenchmark) bool {
	owner := metav1.GetControllerOf(b)
	return owner != nil && owner.Kind == "CephTuningSweep" && b.Labels[LabelSession] != ""
}

// NextRun is the number of the run, or the session, of a sweep that is next or under way.
func NextRun(s *v1alpha1.CephTuningSweep) int {
	if !IsInterleaved(s.Status.Plan) {
		return len(s.Status.Runs) + 1
	}
	next := 1
	entries, err := ReadSessions(s.Status.Runs)
	if err != nil {
		return len(s.Status.Runs) + 1 // Another version wrote them.
	}
	for _, e := range entries {
		next = max(next, e.Session+1)
	}
	return next
}

// LedgerOf is the ledger of runs of a sweep. That of an interleaved sweep has sessions instead.
func LedgerOf(s *v1alpha1.CephTuningSweep) ([]Entry, error) {
	if IsInterleaved(s.Status.Plan) {
		return nil, nil
	}
	return ReadLedger(s.Status.Runs)
}

// fixSessions puts into the plan what its sessions are like, and what one takes.
func (e *estimator) fixSessions(plan *v1alpha1.SweepPlan) {
	wanted := e.spec.Strategy.Interleaved
	window := session.DefaultWindow
	if wanted.Window != nil {
		window = wanted.Window.Duration
	}
	plan.Sessions, plan.Pairs, plan.Window = wanted.Sessions, wanted.Pairs, &metav1.Duration{Duration: window}
	if plan.Sessions == 0 {
		plan.Sessions = switchback.DefaultSessions
	}
	if plan.Pairs == 0 {
		plan.Pairs = switchback.DefaultPairs
		if plan.Sessions == 1 {
			plan.Pairs = switchback.LastLook
		}
	}
	settle := askTime + settleFor
	if own := e.spec.Guardrails.SettleFor; own != nil {
		settle = askTime + own.Duration
	}
	candidates := len(e.configurations) - 1
	measured := time.Duration(candidates+1) * time.Duration(plan.Pairs) * (window + 2*time.Second)
	bytes := int64(0)
	if phase, ok := sessionPhase(e.spec); ok {
		if load, err := engine.LoadOf(phase); err == nil {
			measured += time.Duration(load.Timing().RampSeconds * float64(time.Second))
		}
		bytes = int64(measured.Seconds() * writtenPerSecond(phase, e.spec.Template.Clients.Count))
	}
	bytes += PrefillBytes(e.spec.Template, e.facts.DatasetBytes)
	each := measured + podsTime + time.Duration(candidates+1)*settle
	if e.spec.Template.Target.ScratchPool != nil {
		each += poolTime + e.removal()
	}
	plan.RunDuration = &metav1.Duration{Duration: each.Round(time.Second)}
	plan.RestoreDuration = &metav1.Duration{Duration: (restoreTime + settle).Round(time.Second)}
	plan.RunBytesWritten = wholeQuantity(bytes)
}

// describeSessions adds what sessions take and can prove.
func describeSessions(spec *Spec, plan *v1alpha1.SweepPlan, fixed sweep.Settings) error {
	plan.MinimumRuns, plan.MaximumRuns = min(plan.Sessions, switchback.DefaultSessions), plan.Sessions
	each, runs := fixed.Expected, int64(plan.MaximumRuns)
	plan.EstimatedDuration = &metav1.Duration{Duration: (time.Duration(runs)*each.Time + fixed.Budget.Reserve).Round(time.Second)}
	plan.EstimatedBytesWritten = wholeQuantity(runs * each.Bytes)
	s := &Sessions{spec: spec, plan: plan}
	q, err := s.Question()
	if err != nil {
		return err
	}
	ratio, err := q.SmallestProvable(AssumedNoise, assumedSessionNoise, int(plan.Pairs))
	if err != nil {
		return err
	}
	plan.SmallestEffect = percentOf(max(ratio-1, 1-ratio))
	smallest := sweep.Estimate{Runs: int(plan.MinimumRuns), Time: time.Duration(plan.MinimumRuns) * each.Time, Bytes: int64(plan.MinimumRuns) * each.Bytes}
	plan.Refusals = boundedRefusals(append(slices.Clip(plan.Refusals), budgetRefusals(fixed.Budget, smallest)...))
	return nil
}

// sessionPhase is the phase of the objective.
func sessionPhase(spec *Spec) (v1alpha1.Phase, bool) {
	at := slices.IndexFunc(spec.Template.Phases, func(p v1alpha1.Phase) bool { return p.Name == spec.Objective.Phase })
	if at < 0 {
		return v1alpha1.Phase{}, false
	}
	return *spec.Template.Phases[at].DeepCopy(), true
}

// writesInSession reports whether the load of a session writes, and so may put work off.
func writesInSession(spec *Spec) bool {
	phase, ok := sessionPhase(spec)
	return ok && writtenPerSecond(phase, 1) > 0
}

// Ramp is how long the load of a session warms up.
func Ramp(spec *Spec) time.Duration {
	phase, _ := sessionPhase(spec)
	if load, err := engine.LoadOf(phase); err == nil {
		return time.Duration(load.Timing().RampSeconds * float64(time.Second))
	}
	return 0
}

// SessionPlan is the order of a session, and its timing.
func SessionPlan(plan *v1alpha1.SweepPlan, number int) (session.Plan, error) {
	seed := uint64(*plan.Seed) //nolint:gosec // At least 0 by its schema.
	if plan.Sessions == 1 {
		return session.Quick(seed, number, int(plan.Configurations), int(plan.Pairs), plan.Window.Duration)
	}
	return session.General(seed, number, int(plan.Configurations), int(plan.Pairs), plan.Window.Duration)
}

// SessionBenchmark is the CephBenchmark of a session: the phase of the objective alone, for
// as long as the windows may take.
func SessionBenchmark(c Child) (*v1alpha1.CephBenchmark, error) {
	b, err := c.Benchmark()
	if err != nil {
		return nil, err
	}
	phase, ok := sessionPhase(&c.Sweep.Spec)
	if !ok {
		return nil, refuse("there is no phase %s", c.Sweep.Spec.Objective.Phase)
	}
	plan := c.Sweep.Status.Plan
	order, err := SessionPlan(plan, c.Run)
	if err != nil {
		return nil, err
	}
	lasts := metav1.Duration{Duration: order.Lasts() + sessionMargin}
	switch {
	case phase.RadosBench != nil:
		phase.RadosBench.Duration = lasts
	case phase.Fio != nil:
		phase.Fio.Duration = lasts
	default:
		return nil, refuse("phase %s cannot be cut into windows", phase.Name)
	}
	b.Spec.Template.Phases = []v1alpha1.Phase{phase}
	b.Spec.RunID = v1alpha1.RunID(fmt.Sprintf("session-%d", c.Run))
	b.Labels[LabelSession] = strconv.Itoa(c.Run)
	return b, nil
}
