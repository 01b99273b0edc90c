package cephtuningsweep

import (
	"cmp"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweep"
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
	// stepYield leaves the lock to the sweep that has to restore settings.
	stepYield step = "Yield"
	// stepRestoreOther restores the orphaned changes of another sweep.
	stepRestoreOther step = "RestoreOther"
	// stepPlan looks at the cluster and makes the plan.
	stepPlan step = "Plan"
	// stepApply sets the values of the next configuration in Ceph.
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
	// stepRehearse proves a configuration of a session at rest.
	stepRehearse step = "Rehearse"
	// stepBeginSession makes the benchmark of a session.
	stepBeginSession step = "BeginSession"
	// stepWatchSession switches settings under a load, and looks after the cluster.
	stepWatchSession step = "WatchSession"
	// stepEnterSession enters a session into the ledger.
	stepEnterSession step = "EnterSession"
	// stepRemoveSession waits until the benchmark of a session has removed what it has made.
	stepRemoveSession step = "RemoveSession"
	// stepKeep proves that the winner has effect and has it stay.
	stepKeep step = "Keep"
	// stepGiveUpKeeping leaves the winner to people.
	stepGiveUpKeeping step = "GiveUpKeeping"
	// stepFail gives the run up; what follows is stepRestore.
	stepFail step = "Fail"
	// stepRestore ends the current run and restores everything.
	stepRestore step = "Restore"
)

// plan is the decision of a pass, and its message for the user.
type plan struct {
	rule     string // the name of the rule that made it
	step     step
	outcome  kstatus.Outcome
	progress string        // what goes on, in a few words
	again    time.Duration // when to look again at the latest; 0 for never

	// patience is how long the same plan may be made without getting on.
	patience reconcile.Patience
	// then is what follows stepRestore.
	then ending
}

// ending is what follows the restore.
type ending string

const (
	endsComplete ending = "Complete" // with a verdict
	endsFailed   ending = "Failed"   // without
	endsPaused   ending = "Paused"   // until it is resumed
	endsClosed   ending = "Closed"   // until the window opens
	endsVoid     ending = "Void"     // with the next session
	endsReplaced ending = "Replaced" // with another run
	endsDeleted  ending = "Gone"     // with the object
)

// rule decides, if it applies.
type rule = reconcile.Rule[facts, plan]

// rules decide in this order: the first one that applies. Reading the list is reading the
// behaviour. The last one always applies.
func rules() []rule {
	return []rule{
		{Name: "leaveDeletedAlone", Func: leaveDeletedAlone},     // nothing is left of it
		{Name: "restoreDeleted", Func: restoreDeleted},           // the finalizer keeps it until then
		{Name: "leaveEndedAlone", Func: leaveEndedAlone},         // until the run ID changes
		{Name: "acknowledgeEnded", Func: acknowledgeEnded},       // changes that ask for no run
		{Name: "restoreReplaced", Func: restoreReplaced},         // before another run begins
		{Name: "restoreFailing", Func: restoreFailing},           // what it changed comes first
		{Name: "restoreSuspended", Func: restoreSuspended},       // and waits
		{Name: "idleSuspended", Func: idleSuspended},             // until it is resumed
		{Name: "failAfterEdit", Func: failAfterEdit},             // whose ledger is of another spec
		{Name: "restoreConcluded", Func: restoreConcluded},       // the planner has a verdict, which nothing takes away
		{Name: "restoreVoidSession", Func: restoreVoidSession},   // before the next one
		{Name: "stallOnSettings", Func: stallOnSettings},         // what the administrator does not allow
		{Name: "stallInNamespace", Func: stallInNamespace},       // where benchmarks may not run
		{Name: "stallAbandoned", Func: stallAbandoned},           // which would restore nothing
		{Name: "begin", Func: begin},                             // a new run ID, or one that was suspended
		{Name: "protect", Func: protect},                         // before anything is changed
		{Name: "failInOtherCluster", Func: failInOtherCluster},   // of the same name
		{Name: "waitForCluster", Func: waitForCluster},           // a CephCluster that is not there
		{Name: "failAfterTrouble", Func: failAfterTrouble},       // a Ceph that no longer answers
		{Name: "failAfterUpgrade", Func: failAfterUpgrade},       // whose runs would be of two clusters
		{Name: "makePlanOnly", Func: makePlanOnly},               // which changes nothing, and needs no lock
		{Name: "restoreOutOfWindow", Func: restoreOutOfWindow},   // after the run under way
		{Name: "waitForWindow", Func: waitForWindow},             // nothing begins outside
		{Name: "yieldToOther", Func: yieldToOther},               // which needs the lock to restore
		{Name: "takeLock", Func: takeLock},                       // one at a time
		{Name: "restoreOrphaned", Func: restoreOrphaned},         // what a sweep has left that is gone
		{Name: "makePlan", Func: makePlan},                       // from what the cluster is like
		{Name: "failWithoutPlan", Func: failWithoutPlan},         // what cannot be carried out
		{Name: "removeSessions", Func: removeSessions},           // that have ended: there is one scratch pool
		{Name: "keepWinner", Func: keepWinner},                   // if that was asked for
		{Name: "failOutOfRoom", Func: failOutOfRoom},             // which the fastest would be cut off by
		{Name: "enterSession", Func: enterSession},               // a session that has ended, or whose loop is gone
		{Name: "watchSession", Func: watchSession},               // one that goes on
		{Name: "beginSession", Func: beginSession},               // with what was rehearsed
		{Name: "enterRun", Func: enterRun},                       // a benchmark that has ended
		{Name: "watchRun", Func: watchRun},                       // one that goes on
		{Name: "applyConfiguration", Func: applyConfiguration},   // written down before
		{Name: "settleConfiguration", Func: settleConfiguration}, // by looking, not by waiting
		{Name: "restartOSDs", Func: restartOSDs},                 // for what they take only when they start
		{Name: "rehearse", Func: rehearse},                       // what is to be switched
		{Name: "measure", Func: measure},                         // what is left: the cluster has the configuration
	}
}

// decide names the next step. It is pure: no client, no clock, no randomness.
func decide(seen facts) plan {
	p, name, _ := reconcile.First(rules(), seen)
	p = seen.orGiveUp(p)
	p.rule = name
	return p
}

// decision is what the log has of the plan.
func (p plan) decision(seen facts) reconcile.Decision {
	status := seen.sweep.Status
	d := reconcile.Decision{
		RunID: cmp.Or(string(status.ObservedRunID), string(seen.sweep.Spec.RunID)), Rule: p.rule, Step: string(p.step),
		Detail: string(p.then), Reason: p.outcome.Reason, Rests: p.step == stepNone,
	}
	if seen.atWork() && seen.next.Action == sweep.RunSlot && !seen.unplanned() {
		d.Run = seen.run()
	}
	return d
}

// renews reports whether the plan only renews a lock, as it is done again and again in between.
func (p plan) renews(seen facts) bool {
	return p.step == stepLock && seen.memory != nil && seen.memory.lock != nil
}

// orGiveUp ends a step that made no progress within its deadline.
func (f facts) orGiveUp(p plan) plan {
	if f.memory == nil || !p.patience.IsOver(f.memory.waits, f.now) {
		return p
	}
	if f.keeps() {
		return plan{step: stepGiveUpKeeping, again: reconcile.AtOnce}
	}
	return fail(p.patience.Late.Reason, p.patience.Late.Message)
}

// atMost limits how long the plan may be repeated for the same thing; late is the outcome after
// that.
func (p plan) atMost(within time.Duration, what string, late kstatus.Outcome) plan {
	p.patience = reconcile.Patience{For: what, Within: within, Late: late}
	return p
}

func waiting(reason, message string, again time.Duration) plan {
	return plan{step: stepWait, outcome: kstatus.Outcome{Reason: reason, Message: message}, again: again}
}

func preparing(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: message}
}

func fail(reason, message string) plan {
	return plan{step: stepFail, outcome: kstatus.Outcome{Reason: reason, Message: message}, again: reconcile.AtOnce}
}
