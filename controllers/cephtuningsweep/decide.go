package cephtuningsweep

import (
	"cmp"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// step names one action of the controller. With reconcile.StepWait, a sweep waits for the CephCluster or until
// spec.maintenanceWindow opens, or the observation has failed.
type step = reconcile.Step

const (
	// stepYield leaves the lock to the sweep that has to restore settings.
	stepYield step = "Yield"
	// stepRestoreOther restores the settings that another sweep left changed.
	stepRestoreOther step = "RestoreOther"
	// stepPlan reads the state of the cluster and makes the plan.
	stepPlan step = "Plan"
	// stepApply sets the values of the next configuration in Ceph.
	stepApply step = "Apply"
	// stepSettle checks that the cluster has the values of the configuration and is quiescent.
	stepSettle step = "Settle"
	// stepRestart restarts all OSDs, one by one, if they take a varied option only when they start.
	stepRestart step = "Restart"
	// stepMeasure proves that daemons run with the values, and creates the benchmark of the run.
	stepMeasure step = "Measure"
	// stepWatch checks the cluster while the benchmark runs.
	stepWatch step = "Watch"
	// stepEnter proves the values again, and enters the run into the ledger.
	stepEnter step = "Enter"
	// stepProve proves, without load, that an applied configuration of a session has taken effect.
	stepProve step = "Prove"
	// stepBeginSession creates the benchmark of a session.
	stepBeginSession step = "BeginSession"
	// stepWatchSession starts the loop that switches settings under load, and checks the cluster.
	stepWatchSession step = "WatchSession"
	// stepEnterSession enters a session into the ledger.
	stepEnterSession step = "EnterSession"
	// stepRemoveBenchmarks deletes benchmarks that must not be there during the next run or session, and waits
	// for their teardown.
	stepRemoveBenchmarks step = "RemoveBenchmarks"
	// stepRename gives the benchmark of the next run or session another name.
	stepRename step = "Rename"
	// stepKeep proves that the winner's settings have taken effect, and keeps them.
	stepKeep step = "Keep"
	// stepGiveUpKeeping records that the winner's settings cannot be kept.
	stepGiveUpKeeping step = "GiveUpKeeping"
	// stepRestore ends the current run or session, and restores everything.
	stepRestore step = "Restore"
)

// plan is the decision of a pass, and its message for the user. It is not the sweep's plan in status.plan.
type plan = reconcile.Plan[detail]

// detail has what a restore and a session need.
type detail struct {
	// summary is the progress of the current session in a few words; "" leaves that of the sweep.
	summary string
	// then is the ending that follows stepRestore: how the sweep continues. part is the part of the restore
	// that comes next.
	then ending
	part part
}

// ending says how a sweep continues after the restore.
type ending string

const (
	endsComplete ending = "Complete" // the sweep ends with a verdict
	endsFailed   ending = "Failed"   // the sweep ends without a verdict
	endsPaused   ending = "Paused"   // the sweep waits until it is resumed
	endsClosed   ending = "Closed"   // the sweep waits until spec.maintenanceWindow opens
	endsInvalid  ending = "Invalid"  // the session is invalid, and the next one begins
	endsReplaced ending = "Replaced" // another run ID begins
	endsDeleted  ending = "Gone"     // the object is deleted
)

// rule is a named function that returns a plan, and whether the rule applies.
type rule = reconcile.Rule[facts, plan]

// rules returns the rules in order: the first rule that applies decides. The list describes the whole
// behaviour of a sweep, except for waits that take too long (see giveUp). The last rule always applies.
func rules() []rule {
	return []rule{
		{Name: "restoreDeleted", Func: restoreDeleted},               // the finalizer keeps the deleted object until the restore is done
		{Name: "stallOnSchedule", Func: stallOnSchedule},             // spec.schedule names no times
		{Name: "leaveEndedAlone", Func: leaveEndedAlone},             // an ended sweep changes nothing until its run ID changes
		{Name: "acknowledgeEnded", Func: acknowledgeEnded},           // the spec of an ended sweep changed, but not its run ID
		{Name: "restoreReplaced", Func: restoreReplaced},             // restore before another run ID begins
		{Name: "restoreFailing", Func: restoreFailing},               // restore before the failed sweep ends
		{Name: "restoreSuspended", Func: restoreSuspended},           // restore, then wait
		{Name: "idleSuspended", Func: idleSuspended},                 // wait until the sweep is resumed
		{Name: "failAfterEdit", Func: failAfterEdit},                 // the ledger belongs to the previous spec
		{Name: "restoreConcluded", Func: restoreConcluded},           // the planner has a verdict, which later failures do not change
		{Name: "restoreInvalidSession", Func: restoreInvalidSession}, // restore before the next session
		{Name: "stallOnSettings", Func: stallOnSettings},             // the administrator does not allow the spec
		{Name: "stallOnRefusal", Func: stallOnRefusal},               // benchmarks may not run in the namespace, or not on these claims
		{Name: "stallAbandoned", Func: stallAbandoned},               // the abandon annotation is set, so a restore would be abandoned
		{Name: "awaitTime", Func: awaitTime},                         // the first run is not due yet
		{Name: "begin", Func: begin},                                 // a new run ID, or a resumed sweep
		{Name: "protect", Func: protect},                             // add the finalizer before the first change
		{Name: "waitInLine", Func: waitInLine},                       // others are ahead in the queue
		{Name: "failInOtherCluster", Func: failInOtherCluster},       // the CephCluster is now another Ceph cluster
		{Name: "waitForCluster", Func: waitForCluster},               // the CephCluster does not exist or is not usable
		{Name: "failAfterTrouble", Func: failAfterTrouble},           // steps have failed for too long
		{Name: "failAfterUpgrade", Func: failAfterUpgrade},           // runs before and after an upgrade are not comparable
		{Name: "makePlanOnly", Func: makePlanOnly},                   // a plan changes nothing and needs no lock
		{Name: "restoreOutOfWindow", Func: restoreOutOfWindow},       // spec.maintenanceWindow has closed, and no run is being measured
		{Name: "waitForWindow", Func: waitForWindow},                 // nothing begins while spec.maintenanceWindow is closed
		{Name: "yieldToOther", Func: yieldToOther},                   // another sweep needs the lock to restore
		{Name: "takeLock", Func: takeLock},                           // one holder at a time per Ceph cluster
		{Name: "restoreOrphaned", Func: restoreOrphaned},             // another sweep has left changes and does not restore them
		{Name: "makePlan", Func: makePlan},                           // plan from the state of the cluster
		{Name: "failWithoutPlan", Func: failWithoutPlan},             // the plan has refusals, or the planner cannot use it
		{Name: "removeBenchmarks", Func: removeBenchmarks},           // wait for the teardown of ended sessions, and of a benchmark that does not count any more
		{Name: "keepWinner", Func: keepWinner},                       // the spec asks to apply the winner
		{Name: "failOutOfRoom", Func: failOutOfRoom},                 // a run had too little space; without this rule, the fastest configurations, which write most, would drop out
		{Name: "renameBenchmark", Func: renameBenchmark},             // another object has the name of the next benchmark
		{Name: "enterSession", Func: enterSession},                   // the session has ended, or the loop that switches its settings is gone
		{Name: "watchSession", Func: watchSession},                   // the session is running
		{Name: "beginSession", Func: beginSession},                   // all configurations are proven
		{Name: "enterRun", Func: enterRun},                           // the benchmark has ended
		{Name: "watchRun", Func: watchRun},                           // the benchmark is running
		{Name: "applyConfiguration", Func: applyConfiguration},       // write the journal, then change Ceph
		{Name: "settleConfiguration", Func: settleConfiguration},     // poll until the cluster has settled
		{Name: "restartOSDs", Func: restartOSDs},                     // some options take effect only when an OSD starts
		{Name: "proveConfiguration", Func: proveConfiguration},       // prove a configuration without load, before the session
		{Name: "measure", Func: measure},                             // prove the configuration, then create the benchmark
	}
}

// decide returns the plan for the next step. It uses no client, no clock and no randomness.
func decide(seen facts) plan {
	p := reconcile.Decide(rules(), seen, seen.headway, seen.now, giveUp)
	if p.Step == stepRestore {
		p.Detail.part, _, _ = reconcile.First(restoreParts(), seen)
	}
	return p
}

// describe returns the plan in the form that is logged. Renewals of the lock recur between other steps.
func (f facts) describe(p plan) reconcile.Decision {
	status := f.sweep.Status
	d := reconcile.Decision{
		RunID: cmp.Or(string(status.ObservedRunID), string(f.sweep.Spec.RunID)), Rule: p.Rule, Step: string(p.Step),
		Detail: strings.TrimSuffix(string(p.Detail.then)+": "+string(p.Detail.part), ": "), Reason: p.Outcome.Reason, Rests: p.Step == reconcile.StepNone,
		Renews: p.Step == reconcile.StepLock && f.memory.lock != nil,
	}
	if f.atWork() && f.next.Action == sweep.RunTrial && !f.unplanned() {
		d.Run = f.run()
	}
	return d
}

// giveUp returns the plan after a wait that took too long: it ends the sweep, or no longer keeps the winner.
func giveUp(seen facts, late kstatus.Outcome) plan {
	if seen.keeps() {
		return plan{Step: stepGiveUpKeeping, Again: reconcile.AtOnce}
	}
	return fail(late.Reason, late.Message)
}

func waiting(reason, message string, again time.Duration) plan {
	return plan{Step: reconcile.StepWait, Outcome: kstatus.Outcome{Reason: reason, Message: message}, Again: again}
}

func preparing(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: message}
}

func fail(reason, message string) plan {
	return plan{Step: reconcile.StepFail, Outcome: kstatus.Outcome{Reason: reason, Message: message}}
}
