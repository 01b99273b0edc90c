package cephtuningsweep

import (
	"cmp"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweep"
)

type step string

const (
	// stepNone leaves the object alone, status included.
	stepNone step = "None"
	// stepIdle waits until spec.suspend is false.
	stepIdle step = "Idle"
	// stepStall waits until a person changes the spec, an annotation, the operator config, or the
	// permissions in the namespace.
	stepStall step = "Stall"
	// stepAcknowledge records a change of the spec that does not change the run ID.
	stepAcknowledge step = "Acknowledge"
	// stepWait waits for the CephCluster or until spec.window opens, or records that the observation failed. It
	// changes only status.
	stepWait step = "Wait"
	// stepBegin begins the run ID in the spec, or continues a suspended or stalled run ID.
	stepBegin step = "Begin"
	// stepProtect adds the finalizer.
	stepProtect step = "Protect"
	// stepLock takes or renews the lock of the Ceph cluster.
	stepLock step = "Lock"
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
	// stepRehearse proves, without load, that an applied configuration of a session has taken effect.
	stepRehearse step = "Rehearse"
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
	// stepFail records why the sweep ends without a verdict. stepRestore follows.
	stepFail step = "Fail"
	// stepRestore ends the current run or session, and restores everything.
	stepRestore step = "Restore"
)

// plan is the decision of a pass, and its message for the user. It is not the sweep's plan in status.plan.
type plan struct {
	rule     string // the name of the rule that made it
	step     step
	outcome  kstatus.Outcome
	progress string        // the current activity in a few words
	again    time.Duration // the longest time until the next pass; 0 if only an event starts one

	// patience limits how long the sweep may wait for the same event.
	patience reconcile.Patience
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
	endsClosed   ending = "Closed"   // the sweep waits until spec.window opens
	endsVoid     ending = "Void"     // the session is void, and the next one begins
	endsReplaced ending = "Replaced" // another run ID begins
	endsDeleted  ending = "Gone"     // the object is deleted
)

// rule is a named function that returns a plan, and whether the rule applies.
type rule = reconcile.Rule[facts, plan]

// rules returns the rules in order: the first rule that applies decides. The list describes the whole
// behaviour of a sweep, except for waits that take too long (see orGiveUp). The last rule always applies.
func rules() []rule {
	return []rule{
		{Name: "leaveDeletedAlone", Func: leaveDeletedAlone},     // the finalizer is gone, normally after the restore
		{Name: "restoreDeleted", Func: restoreDeleted},           // the finalizer keeps the deleted object until the restore is done
		{Name: "leaveEndedAlone", Func: leaveEndedAlone},         // an ended sweep changes nothing until its run ID changes
		{Name: "acknowledgeEnded", Func: acknowledgeEnded},       // the spec of an ended sweep changed, but not its run ID
		{Name: "restoreReplaced", Func: restoreReplaced},         // restore before another run ID begins
		{Name: "restoreFailing", Func: restoreFailing},           // restore before the failed sweep ends
		{Name: "restoreSuspended", Func: restoreSuspended},       // restore, then wait
		{Name: "idleSuspended", Func: idleSuspended},             // wait until the sweep is resumed
		{Name: "failAfterEdit", Func: failAfterEdit},             // the ledger belongs to the previous spec
		{Name: "restoreConcluded", Func: restoreConcluded},       // the planner has a verdict, which later failures do not change
		{Name: "restoreVoidSession", Func: restoreVoidSession},   // restore before the next session
		{Name: "stallOnSettings", Func: stallOnSettings},         // the administrator does not allow the spec
		{Name: "stallOnRefusal", Func: stallOnRefusal},           // benchmarks may not run in the namespace, or not on these claims
		{Name: "stallAbandoned", Func: stallAbandoned},           // the abandon annotation is set, so a restore would be abandoned
		{Name: "begin", Func: begin},                             // a new run ID, or a resumed sweep
		{Name: "protect", Func: protect},                         // add the finalizer before the first change
		{Name: "failInOtherCluster", Func: failInOtherCluster},   // the CephCluster is now another Ceph cluster
		{Name: "waitForCluster", Func: waitForCluster},           // the CephCluster does not exist or is not usable
		{Name: "failAfterTrouble", Func: failAfterTrouble},       // steps have failed for too long
		{Name: "failAfterUpgrade", Func: failAfterUpgrade},       // runs before and after an upgrade are not comparable
		{Name: "makePlanOnly", Func: makePlanOnly},               // a plan changes nothing and needs no lock
		{Name: "restoreOutOfWindow", Func: restoreOutOfWindow},   // spec.window has closed, and no run is being measured
		{Name: "waitForWindow", Func: waitForWindow},             // nothing begins while spec.window is closed
		{Name: "yieldToOther", Func: yieldToOther},               // another sweep needs the lock to restore
		{Name: "takeLock", Func: takeLock},                       // one holder at a time per Ceph cluster
		{Name: "restoreOrphaned", Func: restoreOrphaned},         // another sweep has left changes and does not restore them
		{Name: "makePlan", Func: makePlan},                       // plan from the state of the cluster
		{Name: "failWithoutPlan", Func: failWithoutPlan},         // the plan has refusals, or the planner cannot use it
		{Name: "removeBenchmarks", Func: removeBenchmarks},       // wait for the teardown of ended sessions, and of a benchmark that does not count any more
		{Name: "keepWinner", Func: keepWinner},                   // the spec asks to apply the winner
		{Name: "failOutOfRoom", Func: failOutOfRoom},             // a run had too little space; without this rule, the fastest configurations, which write most, would drop out
		{Name: "renameBenchmark", Func: renameBenchmark},         // another object has the name of the next benchmark
		{Name: "enterSession", Func: enterSession},               // the session has ended, or the loop that switches its settings is gone
		{Name: "watchSession", Func: watchSession},               // the session is running
		{Name: "beginSession", Func: beginSession},               // all configurations are rehearsed
		{Name: "enterRun", Func: enterRun},                       // the benchmark has ended
		{Name: "watchRun", Func: watchRun},                       // the benchmark is running
		{Name: "applyConfiguration", Func: applyConfiguration},   // write the journal, then change Ceph
		{Name: "settleConfiguration", Func: settleConfiguration}, // poll until the cluster has settled
		{Name: "restartOSDs", Func: restartOSDs},                 // some options take effect only when an OSD starts
		{Name: "rehearse", Func: rehearse},                       // prove a configuration without load, before the session
		{Name: "measure", Func: measure},                         // prove the configuration, then create the benchmark
	}
}

// decide returns the plan for the next step. It uses no client, no clock and no randomness.
func decide(seen facts) plan {
	p, name, _ := reconcile.First(rules(), seen)
	p = seen.orGiveUp(p)
	p.rule = name
	if p.step == stepRestore {
		p.part, _, _ = reconcile.First(restoreParts(), seen)
	}
	return p
}

// decision returns the plan in the form for the log.
func (p plan) decision(seen facts) reconcile.Decision {
	status := seen.sweep.Status
	d := reconcile.Decision{
		RunID: cmp.Or(string(status.ObservedRunID), string(seen.sweep.Spec.RunID)), Rule: p.rule, Step: string(p.step),
		Detail: strings.TrimSuffix(string(p.then)+": "+string(p.part), ": "), Reason: p.outcome.Reason, Rests: p.step == stepNone,
	}
	if seen.atWork() && seen.next.Action == sweep.RunSlot && !seen.unplanned() {
		d.Run = seen.run()
	}
	return d
}

// renews reports whether the pass only renews the lock. Renewals recur between other steps.
func (p plan) renews(seen facts) bool {
	return p.step == stepLock && seen.memory != nil && seen.memory.lock != nil
}

// orGiveUp returns p. If p has waited longer than its patience allows, orGiveUp returns a plan that ends the
// sweep, or that no longer keeps the winner.
func (f facts) orGiveUp(p plan) plan {
	if f.memory == nil || !p.patience.IsOver(f.memory.waits, f.now) {
		return p
	}
	if f.keeps() {
		return plan{step: stepGiveUpKeeping, again: reconcile.AtOnce}
	}
	return fail(p.patience.Late.Reason, p.patience.Late.Message)
}

// atMost limits a wait to the duration in the parameter within. The wait is identified by the parameter what.
// After that duration, the sweep fails with the outcome in the parameter late. A sweep that is keeping the
// winner does not fail, but gives up the winner's settings.
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
