package cephtuningsweep

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// step is one thing to do.
type step string

const (
	// stepNone leaves the object alone, status included.
	stepNone step = "None"
	// stepIdle waits for a change of the spec that is expected to come.
	stepIdle step = "Idle"
	// stepStall waits for a change of the spec or of the operator.
	stepStall step = "Stall"
	// stepAcknowledge notes a change of the spec that asks for no run.
	stepAcknowledge step = "Acknowledge"
	// stepWait waits for something that comes by itself.
	stepWait step = "Wait"
	// stepBegin starts the run that the spec asks for, or goes on with one that was
	// suspended.
	stepBegin step = "Begin"
	// stepProtect adds the finalizer.
	stepProtect step = "Protect"
	// stepLock takes or renews the lock of the Ceph cluster.
	stepLock step = "Lock"
	// stepYield leaves the lock to the sweep that has to put something back.
	stepYield step = "Yield"
	// stepRestoreOther puts back what a sweep has left that is gone.
	stepRestoreOther step = "RestoreOther"
	// stepPlan looks at the cluster and makes the plan.
	stepPlan step = "Plan"
	// stepApply tells Ceph the values of the configuration that is next.
	stepApply step = "Apply"
	// stepSettle looks whether the cluster has them and is at rest.
	stepSettle step = "Settle"
	// stepRestart restarts OSDs that take a setting only when they start.
	stepRestart step = "Restart"
	// stepMeasure proves that they have effect and starts the benchmark.
	stepMeasure step = "Measure"
	// stepWatch looks after the cluster while the benchmark runs.
	stepWatch step = "Watch"
	// stepEnter proves them again and enters the run into the ledger.
	stepEnter step = "Enter"
	// stepKeep proves that the winner has effect and has it stay.
	stepKeep step = "Keep"
	// stepGiveUpKeeping leaves the winner to people.
	stepGiveUpKeeping step = "GiveUpKeeping"
	// stepFail gives the run up; what follows is stepStandDown.
	stepFail step = "Fail"
	// stepStandDown ends what goes on and puts everything back.
	stepStandDown step = "StandDown"
)

// plan is what a pass decided, and what to tell the user about it.
type plan struct {
	step     step
	outcome  kstatus.Outcome
	progress string        // what goes on, in a few words
	again    time.Duration // when to look again at the latest; 0 for never

	// patience is how long the same plan may be made without getting on.
	patience patience
	// then is what follows stepStandDown.
	then ending
}

// patience is how long something is waited for that is expected to come by itself, and
// what is said when it has not.
type patience struct {
	what   string // tells it from other things that are waited for
	within time.Duration
	late   kstatus.Outcome
}

// ending is what follows, once everything is put back.
type ending string

const (
	endsComplete ending = "Complete" // with a verdict
	endsFailed   ending = "Failed"   // without
	endsPaused   ending = "Paused"   // until it is resumed
	endsClosed   ending = "Closed"   // until the window opens
	endsReplaced ending = "Replaced" // with another run
	endsGone     ending = "Gone"     // with the object
)

// rule decides, if it applies.
type rule func(facts) (plan, bool)

// decide names the next step. It is pure: no client, no clock, no randomness.
// The first rule that applies decides; reading the list is reading the behaviour.
func decide(seen facts) plan {
	for _, apply := range []rule{
		leaveDeletedAlone,    // nothing is left of it
		standDownDeleted,     // the finalizer keeps it until then
		leaveEndedAlone,      // until the run ID changes
		acknowledgeEnded,     // changes that ask for no run
		standDownReplaced,    // before another run begins
		standDownFailing,     // what it changed comes first
		standDownSuspended,   // and waits
		idleSuspended,        //
		failAfterEdit,        // whose ledger is of another spec
		standDownConcluded,   // the planner has a verdict, which nothing takes away
		stallOnSettings,      // what the administrator does not allow
		stallInNamespace,     // where benchmarks may not run
		stallAbandoned,       // which would put nothing back
		begin,                // a new run ID, or one that was suspended
		protect,              // before anything is changed
		failInOtherCluster,   // of the same name
		waitForCluster,       // a CephCluster that is not there
		failAfterTrouble,     // a Ceph that does not answer any more
		failAfterUpgrade,     // whose runs would be of two clusters
		makePlanOnly,         // which changes nothing, and needs no lock
		standDownOutOfWindow, // after the run under way
		waitForWindow,        // nothing begins outside
		yieldToOther,         // which needs the lock to put back
		takeLock,             // one at a time
		restoreOther,         // what a sweep has left that is gone
		makePlan,             // from what the cluster is like
		failWithoutPlan,      // what cannot be carried out
		keepWinner,           // if that was asked for
		failOutOfRoom,        // which the fastest would be cut off by
		enterRun,             // a benchmark that has ended
		watchRun,             // one that goes on
		applyConfiguration,   // written down before
		settleConfiguration,  // by looking, not by waiting
		restartOSDs,          // for what they take only when they start
	} {
		if p, applies := apply(seen); applies {
			return seen.orGiveUp(p)
		}
	}
	return seen.orGiveUp(measure(seen))
}

// orGiveUp ends what has not got on for too long.
func (f facts) orGiveUp(p plan) plan {
	if p.patience.within == 0 || f.memory.waitsFor != p.patience.what || f.now.Sub(f.memory.waitsSince) <= p.patience.within {
		return p
	}
	if f.keeps() {
		return plan{step: stepGiveUpKeeping, again: time.Millisecond}
	}
	return fail(p.patience.late.Reason, p.patience.late.Message)
}

func leaveDeletedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, seen.deleted() && !controllerutil.ContainsFinalizer(seen.sweep, Finalizer)
}

func standDownDeleted(seen facts) (plan, bool) {
	return seen.standDown(endsGone, "Putting everything back, because the sweep is deleted."), seen.deleted()
}

func leaveEndedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, seen.ended() && !seen.replaced() && seen.sweep.Status.ObservedGeneration == seen.sweep.Generation
}

func acknowledgeEnded(seen facts) (plan, bool) {
	return plan{step: stepAcknowledge}, seen.ended() && !seen.replaced()
}

func standDownReplaced(seen facts) (plan, bool) {
	return seen.standDown(endsReplaced, fmt.Sprintf("Putting everything back before run %s begins.", seen.sweep.Spec.RunID)), seen.atWork() && seen.replaced()
}

func standDownFailing(seen facts) (plan, bool) {
	failing := seen.failing()
	if !seen.atWork() || failing == nil {
		return plan{}, false
	}
	return seen.standDown(endsFailed, "Putting everything back. "+failing.Message), true
}

func standDownSuspended(seen facts) (plan, bool) {
	return seen.standDown(endsPaused, "Putting everything back, because the sweep is suspended."),
		seen.atWork() && (seen.sweep.Spec.Suspend || seen.memory.pauses == endsPaused) // What was begun is ended, or half of it stays.
}

func idleSuspended(seen facts) (plan, bool) {
	return plan{step: stepIdle, outcome: suspended()}, seen.sweep.Spec.Suspend
}

// failAfterEdit ends a sweep whose spec was changed under its runID: admission does not see a
// runID that is changed and changed back while the sweep is suspended.
func failAfterEdit(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonSpecChanged, "The spec was changed, and runID is that of the run that was planned with another one. Change runID to a new value to start afresh with this spec."),
		seen.atWork() && seen.edited
}

func suspended() kstatus.Outcome {
	return kstatus.Outcome{
		Reason:  v1alpha1.ReasonSuspended,
		Message: "The sweep does not run while spec.suspend is true. Set it to false to go on.",
	}
}

func stallOnSettings(seen facts) (plan, bool) {
	problem := notAllowed(seen.sweep.Spec, seen.settings)
	if problem == "" {
		return plan{}, false
	}
	o := kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: problem}
	if seen.atWork() {
		return plan{step: stepFail, outcome: o}, true
	}
	return plan{step: stepStall, outcome: o}, true
}

// namespaceAgain is when to ask again whether benchmarks may run in a namespace: nothing
// tells that a Role was made.
const namespaceAgain = time.Minute

func stallInNamespace(seen facts) (plan, bool) {
	return plan{
		step: stepStall, again: namespaceAgain, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: seen.refused},
	}, seen.refused != ""
}

// stallAbandoned keeps a run from changing what nobody would put back: the annotation stays
// on a sweep until somebody takes it off.
func stallAbandoned(seen facts) (plan, bool) {
	return plan{step: stepStall, outcome: stillAbandoned(seen.sweep)}, !seen.atWork() && seen.saysAbandoned()
}

func stillAbandoned(s *v1alpha1.CephTuningSweep) kstatus.Outcome {
	return kstatus.Outcome{
		Reason: v1alpha1.ReasonAbandoned,
		Message: fmt.Sprintf("Putting back was given up with the annotation %[1]s, which would hold for this run as well. Take it off first: "+
			"`kubectl -n %s annotate cephsweep %s %[1]s-`.", v1alpha1.AnnotationAbandonRestore, s.Namespace, s.Name),
	}
}

func begin(seen facts) (plan, bool) {
	return plan{step: stepBegin, outcome: preparing("Looking at the cluster.")}, !seen.atWork()
}

func protect(seen facts) (plan, bool) {
	return plan{step: stepProtect}, !controllerutil.ContainsFinalizer(seen.sweep, Finalizer)
}

// failInOtherCluster ends a sweep whose CephCluster was replaced by one of the same name.
func failInOtherCluster(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClusterChanged, seen.otherCeph+". Change runID to start afresh on it."), seen.otherCeph != ""
}

func waitForCluster(seen facts) (plan, bool) {
	if seen.rookErr == nil {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonClusterUnreachable, seen.rookErr.Error(), retryAtMost)
	return p.atMost(seen.sweep.Spec.Quiescence.Timeout.Duration, "cluster", p.outcome), true
}

// failAfterTrouble ends a sweep whose steps have failed for too long: it would hold the
// lock and its settings for as long as Ceph is away. One that has its verdict keeps that,
// and tries on to put everything back.
func failAfterTrouble(seen facts) (plan, bool) {
	if seen.next.Action == sweep.Conclude {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonClusterUnreachable, seen.noHeadway()), seen.stuck()
}

// stuck reports whether steps have failed for too long.
func (f facts) stuck() bool {
	since := f.memory.troubledSince
	return !since.IsZero() && f.now.Sub(since) > f.sweep.Spec.Quiescence.Timeout.Duration
}

func (f facts) noHeadway() string {
	return fmt.Sprintf("The sweep did not get on for %v: %v", f.sweep.Spec.Quiescence.Timeout.Duration, errors.Join(f.memory.trouble, f.rookErr))
}

// failAfterUpgrade ends a sweep during which Rook or Ceph was upgraded, or begins to be,
// unless all runs of its verdict were before that.
func failAfterUpgrade(seen facts) (plan, bool) {
	before := seen.sweep.Status.Environment
	if before == nil || seen.unplanned() || seen.next.Action == sweep.Conclude {
		return plan{}, false
	}
	var change string
	switch now := seen.rook; {
	case now.Image != "" && now.RunningImage != "" && now.Image != now.RunningImage:
		change = fmt.Sprintf("Ceph is being upgraded from image %s to %s", now.RunningImage, now.Image)
	case before.RookVersion != "" && now.RookVersion != "" && now.RookVersion != before.RookVersion:
		change = fmt.Sprintf("Rook was upgraded from %s to %s", before.RookVersion, now.RookVersion)
	case before.CephVersion != "" && before.CephVersion != "mixed" && len(now.CephVersions) > 0 && (len(now.CephVersions) > 1 || now.CephVersions[before.CephVersion] == 0):
		change = fmt.Sprintf("Ceph was at version %s, and its daemons are at %s now", before.CephVersion, strings.Join(slices.Sorted(maps.Keys(now.CephVersions)), " and "))
	default:
		return plan{}, false
	}
	return fail(v1alpha1.ReasonClusterChanged, change+": what was measured before cannot be compared with what would be measured after. Change runID to start afresh when that is over."), true
}

// unplanned reports whether the plan is still to be made, of which a child of an earlier
// pass would be a sign.
func (f facts) unplanned() bool {
	return f.sweep.Status.Plan == nil || f.sweep.Status.Plan.Seed == nil
}

func makePlanOnly(seen facts) (plan, bool) {
	return seen.planning(), seen.unplanned() && seen.sweep.Spec.Mode == v1alpha1.SweepModePlan
}

func takeLock(seen facts) (plan, bool) {
	return plan{step: stepLock, again: time.Millisecond}, !seen.locked && seen.sweep.Spec.Mode != v1alpha1.SweepModePlan
}

// yieldToOther leaves the lock to a sweep that has changed the cluster: without it that
// could not put anything back, and both would wait for ever. It may have lost the lock
// because the manager was away for longer than it lasts.
func yieldToOther(seen facts) (plan, bool) {
	if !seen.otherIsThere || seen.sweep.Spec.Mode == v1alpha1.SweepModePlan {
		return plan{}, false
	}
	return plan{step: stepYield, again: seen.pace.Settle, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonQueued, Message: fmt.Sprintf("Sweep %s has not put everything back yet.", seen.journal.Sweep),
	}}, true
}

// restoreOther puts back what a sweep has left whose finalizer was taken off: nobody else
// will, and what is measured now would be measured with its values.
func restoreOther(seen facts) (plan, bool) {
	if !seen.leftByGone() {
		return plan{}, false
	}
	return plan{step: stepRestoreOther, again: seen.pace.Settle, outcome: kstatus.Outcome{
		Reason:  v1alpha1.ReasonRestoring,
		Message: fmt.Sprintf("Putting back what sweep %s has changed, which had the Ceph cluster before.", seen.journal.Sweep),
	}}, true
}

// leftByGone reports whether a sweep that is gone has not put everything back.
func (f facts) leftByGone() bool {
	return f.journal != nil && f.journal.Sweep != f.self() && !f.otherIsThere
}

func makePlan(seen facts) (plan, bool) { return seen.planning(), seen.unplanned() }

// planning makes a plan, for which a cluster that is not healthy or quiet is waited for.
func (f facts) planning() plan {
	p := plan{step: stepPlan, progress: "planning", again: f.pace.Settle, outcome: preparing("Looking at the cluster.")}
	limit := f.sweep.Spec.Quiescence.Timeout.Duration
	late := kstatus.Outcome{
		Reason: v1alpha1.ReasonClusterUnreachable, Message: fmt.Sprintf("The sweep could not be planned within %v: %s", limit, messageOf(f.sweep)),
	}
	if reasonOf(f.sweep) == v1alpha1.ReasonWaitingForQuiet {
		late = kstatus.Outcome{
			Reason: v1alpha1.ReasonWaitingForQuiet, Message: fmt.Sprintf("The cluster did not become quiet within %v: %s", limit, messageOf(f.sweep)),
		}
	}
	return p.atMost(limit, "plan", late)
}

func failWithoutPlan(seen facts) (plan, bool) {
	switch refusals := seen.sweep.Status.Plan.Refusals; {
	case len(refusals) > 0:
		return fail(v1alpha1.ReasonNotPossible, strings.Join(refusals, " ")), true
	case seen.planErr == nil:
		return plan{}, false
	case errors.Is(seen.planErr, sweep.ErrPlan) && int(seen.sweep.Status.Plan.PlannerVersion) != sweep.Version:
		return fail(v1alpha1.ReasonPlannerChanged, fmt.Sprintf(
			"The sweep was begun by an operator whose planner has version %d, and this one's has %d: the runs so far stay in status. Change runID to start afresh.",
			seen.sweep.Status.Plan.PlannerVersion, sweep.Version)), true
	}
	return fail(v1alpha1.ReasonNotPossible, seen.planErr.Error()), true
}

func standDownConcluded(seen facts) (plan, bool) {
	p := seen.standDown(endsComplete, "The verdict is in status. Putting everything back.")
	refused := seen.sweep.Status.Plan != nil && len(seen.sweep.Status.Plan.Refusals) > 0 // Such as a budget that does not hold the first run.
	return p, seen.atWork() && seen.next.Action == sweep.Conclude && !refused && !seen.keeps()
}

// keepWinner brings the cluster into the winning configuration and leaves it there.
func keepWinner(seen facts) (plan, bool) {
	switch {
	case !seen.keeps():
		return plan{}, false
	case seen.stuck():
		return plan{step: stepGiveUpKeeping, again: time.Millisecond}, true
	}
	for _, apply := range []rule{applyConfiguration, settleConfiguration, restartOSDs} {
		if p, applies := apply(seen); applies {
			return p, true
		}
	}
	return plan{step: stepKeep, again: seen.pace.Settle, progress: "keeping the winner", outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Leaving %s applied, which has won.", seen.configuration().Name),
	}}, true
}

// keeps reports whether the winner is to be applied still, and may be: before the verdict is
// in status, which follows upon it, also for a sweep that was suspended in the middle of it.
func (f facts) keeps() bool {
	if f.next.Action != sweep.Conclude || f.sweep.Spec.OnCompletion != v1alpha1.CompletionKeepBest ||
		f.next.Conclusion.Winner == 0 || f.memory.cannotKeep || f.sweep.Status.Verdict != "" || !sweepspec.ChangesCeph(&f.sweep.Spec) ||
		f.otherCeph != "" || notAllowed(f.sweep.Spec, f.settings) != "" {
		return false
	}
	return f.journal == nil || !slices.ContainsFunc(f.journal.Entries, func(e tuning.Entry) bool { return e.State == tuning.Kept })
}

// failOutOfRoom ends a sweep whose run had no room for what it wrote. The faster a
// configuration writes, the sooner it gets there: a sweep that went on without the runs that
// did would call the slow ones better.
func failOutOfRoom(seen facts) (plan, bool) {
	if seen.child == nil {
		return plan{}, false
	}
	condition := meta.FindStatusCondition(seen.child.Status.Conditions, v1alpha1.ConditionFailed)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != v1alpha1.ReasonOutOfRoom {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonOutOfRoom, fmt.Sprintf("Run %d, %s: %s", seen.run(), seen.configuration().Name, condition.Message)), true
}

func enterRun(seen facts) (plan, bool) {
	return plan{step: stepEnter, again: seen.pace.Settle, progress: seen.doing("proving"), outcome: seen.running()}, seen.child != nil && childHasEnded(seen.child)
}

func watchRun(seen facts) (plan, bool) {
	p := plan{step: stepWatch, again: seen.pace.Watch, progress: seen.doing("measuring"), outcome: seen.running()}
	if seen.child != nil && hasOutcome(seen.child) {
		says := kstatus.Told(seen.child.Status.Conditions).Message
		p = p.atMost(removedWithin, fmt.Sprintf("run %d to be removed: %s", seen.run(), says), kstatus.Outcome{
			Reason:  v1alpha1.ReasonCleaningUp,
			Message: fmt.Sprintf("Benchmark %s has ended, and has not got on with removing what it has made for %v: %s", seen.child.Name, removedWithin, says),
		})
	}
	return p, seen.child != nil
}

// removedWithin is how long a benchmark may say the same while it removes what it has made. It
// is more than its clients have for that.
const removedWithin = time.Hour

func standDownOutOfWindow(seen facts) (plan, bool) {
	if seen.openErr != nil {
		return fail(v1alpha1.ReasonNotPossible, seen.openErr.Error()), true
	}
	return seen.standDown(endsClosed, "The window for changes has closed. Putting everything back."),
		seen.outOfWindow() && seen.underWay() || seen.memory.pauses == endsClosed
}

// outOfWindow reports whether nothing may begin. What has begun ends.
func (f facts) outOfWindow() bool {
	return !f.open && f.child == nil && f.next.Action != sweep.Conclude && f.sweep.Spec.Mode != v1alpha1.SweepModePlan
}

// underWay reports whether something would have to be held until the window opens again:
// settings, the lock, or a block of which a part is measured.
func (f facts) underWay() bool {
	_, begun := sweepspec.Interrupt(f.next)
	return f.changedCeph() || f.memory.lock != nil || begun
}

func waitForWindow(seen facts) (plan, bool) {
	return plan{
		step: stepWait, again: seen.opens.Sub(seen.now) + time.Second, progress: "waiting for the window",
		outcome: kstatus.Outcome{
			Reason:  v1alpha1.ReasonWaitingForWindow,
			Message: fmt.Sprintf("Changes may start from %s on.", seen.opens.UTC().Format(time.RFC3339)),
		},
	}, seen.outOfWindow()
}

func applyConfiguration(seen facts) (plan, bool) {
	known := seen.memory.slot.run == seen.run() && seen.memory.slot.want != nil
	return plan{
		step: stepApply, again: time.Millisecond, progress: seen.doing("changing settings"), outcome: seen.settling("Changing settings."),
	}, !known
}

func settleConfiguration(seen facts) (plan, bool) {
	return plan{
		step: stepSettle, again: seen.pace.Settle, progress: seen.doing("settling"), outcome: seen.settling("Waiting for the cluster to settle."),
	}, !seen.memory.slot.settled
}

func restartOSDs(seen facts) (plan, bool) {
	return plan{
		step: stepRestart, again: seen.pace.Settle, progress: seen.doing("restarting OSDs"), outcome: seen.settling("Restarting OSDs."),
	}, seen.mayRestart() && !seen.memory.slot.started
}

// measure is what is left: the cluster has the configuration.
func measure(seen facts) plan {
	return plan{step: stepMeasure, again: seen.pace.Settle, progress: seen.doing("proving"), outcome: seen.running()}
}

func (f facts) doing(what string) string {
	return fmt.Sprintf("run %d, %s: %s", f.run(), f.configuration().Name, what)
}

func (f facts) running() kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d: %s.", f.run(), f.configuration().Name)}
}

func (f facts) settling(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Run %d: %s. %s", f.run(), f.configuration().Name, message)}
}

func (f facts) standDown(then ending, message string) plan {
	return plan{step: stepStandDown, then: then, again: f.pace.Settle, progress: "restoring", outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRestoring, Message: message,
	}}
}

// atMost limits how long the plan may be made again and again, for the same thing, and
// says what is told then.
func (p plan) atMost(within time.Duration, what string, late kstatus.Outcome) plan {
	p.patience = patience{what: what, within: within, late: late}
	return p
}

func waiting(reason, message string, again time.Duration) plan {
	return plan{step: stepWait, outcome: kstatus.Outcome{Reason: reason, Message: message}, again: again}
}

func preparing(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: message}
}

func fail(reason, message string) plan {
	return plan{step: stepFail, outcome: kstatus.Outcome{Reason: reason, Message: message}, again: time.Millisecond}
}
