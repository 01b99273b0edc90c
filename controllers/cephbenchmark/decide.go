package cephbenchmark

import (
	"cmp"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/workload"
)

// step names one action of the controller.
type step = reconcile.Step

const (
	// stepPrepare carries out the next part of preparing the scratch pool, and then creates the Jobs and
	// the Secret.
	stepPrepare step = "Prepare"
	// stepRemoveUnrecorded removes a Job whose UID was not recorded, so that another Job replaces it.
	stepRemoveUnrecorded step = "RemoveUnrecorded"
	// stepMove carries out the next move, which is an action with runners or with the OSDs' caches.
	stepMove step = "Move"
	// stepTakeOSDsDown stops OSDs during a phase, or observes the outage.
	stepTakeOSDsDown step = "TakeOSDsDown"
	// stepRestoreOSDs ends the outage.
	stepRestoreOSDs step = "RestoreOSDs"
	// stepConcludeRun judges a run by the clients' reports, and archives the result.
	stepConcludeRun step = "ConcludeRun"
	// stepDiagnose ends a diagnosis, or lets it go on to measure layers.
	stepDiagnose step = "Diagnose"
	// stepTearDown carries out the next part of the teardown.
	stepTearDown step = "TearDown"
	// stepRemoveFinalizer removes the finalizer, and nothing else.
	stepRemoveFinalizer step = "RemoveFinalizer"
)

// plan is the decision of a pass, with a message for the user.
type plan = reconcile.Plan[detail]

// detail has what single steps need.
type detail struct {
	subrule string // the name of the rule that chose preparing.Part or tearing.Part

	move  workload.Move // for stepMove
	run   int32         // for stepMove and stepConcludeRun, and if removes is set
	wrong string        // for stepConcludeRun, stepDiagnose and stepRestoreOSDs: why the run is invalid
	fatal bool          // for stepConcludeRun: further runs would fail like this one
	// removes says that the plan waits before a run until OSDs have removed the PGs of deleted
	// pools.
	removes bool
	// surveys says that Ceph is surveyed again, because the last survey has the reason for the wait.
	surveys bool
	// watches says that Ceph is watched for a diagnosis from now on, if it is not yet.
	watches bool
	// preparing is the part of the scratch pool's preparation that comes next.
	preparing scratchpool.Next
	// tearing is the next part of the teardown, and last says what follows the teardown.
	tearing teardown.Next
	last    ending
}

// ending says what follows a teardown.
type ending string

const (
	endsHere    ending = ""        // the outcome is in status
	endsPause   ending = "Pause"   // the benchmark pauses until spec.suspend is false
	endsDeleted ending = "Deleted" // the benchmark is deleted
	// endsReplaced means that the execution of another run ID begins.
	endsReplaced ending = "Replaced"
)

// rule returns a plan, if it applies.
type rule = reconcile.Rule[facts, plan]

// rules returns the rules in order. The first rule that applies decides, so the list shows the
// behaviour of the controller. The last rule always applies.
func rules() []rule {
	return []rule{
		{Name: "releaseDeleted", Func: releaseDeleted},                 // the teardown is complete
		{Name: "tearDownDeleted", Func: tearDownDeleted},               // the finalizer keeps the object until the teardown is complete
		{Name: "tearDownEnded", Func: tearDownEnded},                   // the outcome is in status; only the teardown remains
		{Name: "stallOnSchedule", Func: stallOnSchedule},               // spec.schedule names no times
		{Name: "leaveEndedAlone", Func: leaveEndedAlone},               // until the spec changes
		{Name: "acknowledgeEnded", Func: acknowledgeEnded},             // a change of the spec that keeps the run ID
		{Name: "pauseWhileSuspended", Func: pauseWhileSuspended},       // normally after the current phase
		{Name: "stallOnSettings", Func: stallOnSettings},               // the spec requests something that the administrator does not allow
		{Name: "stallOnRefusal", Func: stallOnRefusal},                 // benchmarks may not run in the namespace, or not on these claims
		{Name: "stallUnderSweep", Func: stallUnderSweep},               // an owner reference names a sweep that did not create the benchmark
		{Name: "awaitSweep", Func: awaitSweep},                         // the sweep records the UID of its benchmark before that begins
		{Name: "stallOnTargets", Func: stallOnTargets},                 // only sweeps make benchmarks with several targets
		{Name: "awaitTime", Func: awaitTime},                           // the first run is not due yet
		{Name: "failUntrusted", Func: failUntrusted},                   // the execution is not, or no longer, that of its sweep
		{Name: "tearDownReplaced", Func: tearDownReplaced},             // an earlier run ID has left something
		{Name: "begin", Func: begin},                                   // a new run ID, or a paused one
		{Name: "protect", Func: protect},                               // adds the finalizer before anything is created
		{Name: "waitInLine", Func: waitInLine},                         // others are ahead in the queue
		{Name: "endOutage", Func: endOutage},                           // brings OSDs back in time
		{Name: "failWithForeignJob", Func: failWithForeignJob},         // the Job differs from the one that the manager created
		{Name: "removeUnrecorded", Func: removeUnrecorded},             // the manager ended before it recorded the UID of a Job
		{Name: "failWithoutJob", Func: failWithoutJob},                 // the execution's Job is gone
		{Name: "failWithoutCluster", Func: failWithoutCluster},         // the CephCluster cannot be observed; the wait is limited
		{Name: "waitForSurvey", Func: waitForSurvey},                   // the later rules need facts about Ceph
		{Name: "waitForClaim", Func: waitForClaim},                     // the claim that is the target must exist
		{Name: "failWithoutScript", Func: failWithoutScript},           // the spec cannot be carried out on this cluster
		{Name: "failWithoutDomains", Func: failWithoutDomains},         // too few failure domains for the copies
		{Name: "refuseOutage", Func: refuseOutage},                     // this cluster does not permit the outage
		{Name: "failWithoutPool", Func: failWithoutPool},               // the pool to diagnose does not exist
		{Name: "queueForLock", Func: queueForLock},                     // one holder at a time
		{Name: "watchDiagnosed", Func: watchDiagnosed},                 // a diagnosis watches Ceph, be it healthy or not
		{Name: "concludeDiagnosis", Func: concludeDiagnosis},           // Ceph was watched long enough, and perhaps layers come next
		{Name: "failOutOfRoom", Func: failOutOfRoom},                   // OSDs are about to be full, perhaps with the benchmark's own data
		{Name: "waitForQuiet", Func: waitForQuiet},                     // until the cluster is healthy, has free space, and is quiescent
		{Name: "waitForRemoval", Func: waitForRemoval},                 // OSDs still remove the PGs of deleted pools; the wait is limited
		{Name: "prepareClients", Func: prepareClients},                 // creates the pool, the Jobs and the Secret
		{Name: "concludeFromLogs", Func: concludeFromLogs},             // the last reports of a run may be in the logs of pods that have ended
		{Name: "failWithJob", Func: failWithJob},                       // the Job or one of its pods has ended too early, or is being deleted
		{Name: "failWithoutBackground", Func: failWithoutBackground},   // the Job or the pod of the background load has ended, is being deleted, or is gone
		{Name: "waitForPods", Func: waitForPods},                       // scheduling, images or quotas delay pods
		{Name: "waitForRunners", Func: waitForRunners},                 // until all runners answer
		{Name: "concludeFailedOutage", Func: concludeFailedOutage},     // an outage failed, so the rest of its phase is useless
		{Name: "abortDisturbedRun", Func: abortDisturbedRun},           // a disturbance aborts the run
		{Name: "concludeFailedRun", Func: concludeFailedRun},           // a task has failed
		{Name: "concludeRunWithoutMore", Func: concludeRunWithoutMore}, // all phases have ended
		{Name: "runOutage", Func: runOutage},                           // stops OSDs during a phase
		{Name: "nextMove", Func: nextMove},                             // the clients have work to do
	}
}

// decide returns the next step. It is a pure function: no client, no clock, no randomness.
func decide(seen facts) plan {
	p := seen.withoutFailure(reconcile.Decide(rules(), seen, seen.headway, seen.now, giveUp))
	switch {
	case p.Step == stepTearDown:
		p.Detail.tearing, p.Detail.subrule, _ = reconcile.First(teardown.Rules(), seen.teardown())
	case p.Step == stepPrepare && seen.preparesPool():
		p.Detail.preparing, p.Detail.subrule, _ = reconcile.First(scratchpool.Rules(), seen.preparation())
	}
	return p
}

// describe returns the plan in the form that is logged.
func (f facts) describe(p plan) reconcile.Decision {
	status := f.benchmark.Status
	d := reconcile.Decision{
		RunID: cmp.Or(string(status.ObservedRunID), string(f.benchmark.Spec.RunID)), Rule: p.Rule, Step: string(p.Step),
		Detail: strings.TrimSpace(string(p.Detail.move.Kind) + " " + p.Detail.move.ID), Reason: p.Outcome.Reason, Rests: p.Step == reconcile.StepNone,
		Renews: p.Step == reconcile.StepLock && f.memory.turn.Grant != nil,
	}
	if p.Detail.subrule != "" {
		d.Detail = string(p.Detail.tearing.Part) + string(p.Detail.preparing.Part) + " by " + p.Detail.subrule
	}
	if f.atWork() && !f.allRunsEnded() {
		d.Run = int(f.currentRun())
	}
	return d
}

// giveUp returns the plan that fails the benchmark, because a plan made no progress within its deadline.
func giveUp(seen facts, late kstatus.Outcome) plan {
	return fail(late.Reason, strings.TrimSpace(late.Message+" "+seen.headway.Message))
}

// These are deadlines of steps that depend on other software: Rook creates a pool, clients and
// Ceph execute commands, and the API server stores results.
const (
	prepareWithin  = 15 * time.Minute
	moveWithin     = 15 * time.Minute
	concludeWithin = 15 * time.Minute
)

func waiting(reason, message string, again time.Duration) plan {
	return plan{Step: reconcile.StepWait, Outcome: kstatus.Outcome{Reason: reason, Message: message}, Again: again}
}

func preparing(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: message}
}

func fail(reason, message string) plan {
	return plan{Step: reconcile.StepFail, Outcome: kstatus.Outcome{Reason: reason, Message: message}}
}
