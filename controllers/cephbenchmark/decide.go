package cephbenchmark

import (
	"cmp"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/workload"
)

// step is one thing to do.
type step string

const (
	// stepNone leaves the object alone, status included.
	stepNone step = "None"
	// stepIdle waits for a change of the spec that is expected to come.
	stepIdle step = "Idle"
	// stepStall waits for a change of the spec or of the operator's settings.
	stepStall step = "Stall"
	// stepWait waits for something that is expected to come by itself.
	stepWait step = "Wait"
	// stepProtect adds the finalizer, before anything is made.
	stepProtect step = "Protect"
	// stepBegin starts a status for a new run ID.
	stepBegin step = "Begin"
	// stepLock takes the cluster's lock, or a place in its queue.
	stepLock step = "Lock"
	// stepPrepare makes pool, Secret and Job.
	stepPrepare step = "Prepare"
	// stepReplace removes the Job of a client that cannot be reached, so that another
	// one takes its place.
	stepReplace step = "Replace"
	// stepMove does the next thing with the clients.
	stepMove step = "Move"
	// stepTakeOSDsDown stops OSDs in mid-phase, or looks at what follows.
	stepTakeOSDsDown step = "TakeOSDsDown"
	// stepRestoreOSDs ends the outage.
	stepRestoreOSDs step = "RestoreOSDs"
	// stepConcludeRun turns the reports of a run into evidence, or says why the run is invalid.
	stepConcludeRun step = "ConcludeRun"
	// stepAcknowledge notes a change of the spec that asks for no run.
	stepAcknowledge step = "Acknowledge"
	// stepFail ends the run ID without a result.
	stepFail step = "Fail"
	// stepTearDown removes everything that was made.
	stepTearDown step = "TearDown"
	// stepRemoveFinalizer removes the finalizer, and nothing else.
	stepRemoveFinalizer step = "RemoveFinalizer"
)

// plan is the decision of a pass, and its message for the user.
type plan struct {
	rule    string // the name of the rule that made it
	step    step
	outcome kstatus.Outcome
	// progress says what goes on, in a few words.
	progress string
	// again is when to look again, if nothing happens before; 0 for never.
	again time.Duration

	// patience is how long the same plan may be made without getting on.
	patience reconcile.Patience

	move  workload.Move // for stepMove
	run   int32         // for stepMove and stepConcludeRun, and with removes
	wrong string        // for stepConcludeRun: why the run is no evidence
	fatal bool          // for stepConcludeRun: no other run will be any
	// removes says that the wait is for PGs that OSDs remove, before that run.
	removes bool
	// last says that nothing follows the teardown: the object goes, or pauses.
	last ending
}

// ending is what follows a teardown.
type ending string

const (
	endsHere    ending = ""        // with the outcome that is in status
	endsPause   ending = "Pause"   // until it is resumed
	endsDeleted ending = "Deleted" // with the object
	// endsReplaced ends with the beginning of another run ID.
	endsReplaced ending = "Replaced"
)

// rule decides, if it applies.
type rule = reconcile.Rule[facts, plan]

// rules decide in this order: the first one that applies. Reading the list is reading the
// behaviour. The last one always applies.
func rules() []rule {
	return []rule{
		{Name: "leaveDeletedAlone", Func: leaveDeletedAlone},           // nothing is left of it
		{Name: "releaseDeleted", Func: releaseDeleted},                 // the teardown is complete
		{Name: "tearDownDeleted", Func: tearDownDeleted},               // the finalizer keeps it until then
		{Name: "tearDownEnded", Func: tearDownEnded},                   // results are in status; now the rest
		{Name: "leaveEndedAlone", Func: leaveEndedAlone},               // until the run ID changes
		{Name: "acknowledgeEnded", Func: acknowledgeEnded},             // changes that ask for no run
		{Name: "pauseWhileSuspended", Func: pauseWhileSuspended},       // after the phase at work
		{Name: "stallOnSettings", Func: stallOnSettings},               // what the administrator does not allow
		{Name: "stallInNamespace", Func: stallInNamespace},             // where benchmarks may not run
		{Name: "tearDownReplaced", Func: tearDownReplaced},             // an earlier run ID that has left something
		{Name: "begin", Func: begin},                                   // a new run ID, or one that was paused
		{Name: "protect", Func: protect},                               // before anything is made
		{Name: "endOutage", Func: endOutage},                           // that were stopped, when it is time
		{Name: "failWithForeignJob", Func: failWithForeignJob},         // which was not admitted
		{Name: "failWithoutJob", Func: failWithoutJob},                 // its Job is gone
		{Name: "failWithoutCluster", Func: failWithoutCluster},         // a CephCluster that is not there, or not Rook's to manage
		{Name: "waitForSurvey", Func: waitForSurvey},                   // what Ceph is like decides what to write to it
		{Name: "waitForClaim", Func: waitForClaim},                     // a claim that is the target has to be there
		{Name: "failWithoutScript", Func: failWithoutScript},           // what cannot be done here
		{Name: "failWithoutDomains", Func: failWithoutDomains},         // copies that cannot be kept apart
		{Name: "refuseOutage", Func: refuseOutage},                     // OSDs that cannot be stopped here
		{Name: "queueForLock", Func: queueForLock},                     // one at a time
		{Name: "failOutOfRoom", Func: failOutOfRoom},                   // which is the benchmark's own doing
		{Name: "waitForQuiet", Func: waitForQuiet},                     // healthy, with room, and quiet
		{Name: "waitForRemoval", Func: waitForRemoval},                 // of pools deleted before, for a while
		{Name: "finishReplacing", Func: finishReplacing},               // a client that could not be reached
		{Name: "prepareClients", Func: prepareClients},                 // pool, Secret, Job
		{Name: "followLog", Func: followLog},                           // a client that works alone
		{Name: "concludeFromLogs", Func: concludeFromLogs},             // what pods that ended have left
		{Name: "failWithJob", Func: failWithJob},                       // a pod that ended, a deadline
		{Name: "failWithoutBackground", Func: failWithoutBackground},   // the same for the background load
		{Name: "waitForPods", Func: waitForPods},                       // scheduling, images, quotas
		{Name: "switchToStandalone", Func: switchToStandalone},         // if there is no way to it
		{Name: "waitForRunners", Func: waitForRunners},                 // the way to them
		{Name: "concludeFailedOutage", Func: concludeFailedOutage},     // whose phase no longer counts
		{Name: "abortDisturbedRun", Func: abortDisturbedRun},           // which must not go on
		{Name: "concludeFailedRun", Func: concludeFailedRun},           // a tool that failed is no slow one
		{Name: "concludeRunWithoutMore", Func: concludeRunWithoutMore}, // all phases have ended
		{Name: "runOutage", Func: runOutage},                           // OSDs, in mid-phase
		{Name: "nextMove", Func: nextMove},                             // what is left: the clients have something to do
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
	status := seen.benchmark.Status
	d := reconcile.Decision{
		RunID: cmp.Or(string(status.ObservedRunID), string(seen.benchmark.Spec.RunID)), Rule: p.rule, Step: string(p.step),
		Detail: strings.TrimSpace(string(p.move.Kind) + " " + p.move.ID), Reason: p.outcome.Reason, Rests: p.step == stepNone,
	}
	if seen.atWork() && !seen.allRunsEnded() {
		d.Run = int(seen.currentRun())
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
	late := p.patience.Late
	if f.memory.trouble != "" {
		late.Message += " " + f.memory.trouble
	}
	return fail(late.Reason, late.Message)
}

// Deadlines of steps that depend on others: Rook makes a pool, clients and Ceph execute
// commands.
const (
	prepareWithin  = 15 * time.Minute
	moveWithin     = 15 * time.Minute
	concludeWithin = 15 * time.Minute
)

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
	return plan{step: stepFail, outcome: kstatus.Outcome{Reason: reason, Message: message}}
}
