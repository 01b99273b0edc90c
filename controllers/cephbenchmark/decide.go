package cephbenchmark

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/quiescence"
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
	// stepDisrupt stops OSDs in mid-phase, or looks at what follows.
	stepDisrupt step = "Disrupt"
	// stepLetOSDsUp lets them up again.
	stepLetOSDsUp step = "LetOSDsUp"
	// stepConcludeRun turns the reports of a run into evidence, or says why it is
	// none.
	stepConcludeRun step = "ConcludeRun"
	// stepAcknowledge notes a change of the spec that asks for no run.
	stepAcknowledge step = "Acknowledge"
	// stepFail ends the run ID without a result.
	stepFail step = "Fail"
	// stepTearDown removes everything that was made.
	stepTearDown step = "TearDown"
	// stepLetGo removes the finalizer, and nothing else.
	stepLetGo step = "LetGo"
)

// plan is what a pass decided, and what to tell the user about it.
type plan struct {
	step    step
	outcome kstatus.Outcome
	// progress says what goes on, in a few words.
	progress string
	// again is when to look again, if nothing happens before; 0 for never.
	again time.Duration

	// patience is how long the same plan may be made without getting on.
	patience patience

	move  move   // for stepMove
	run   int32  // for stepMove and stepConcludeRun, and with removes
	wrong string // for stepConcludeRun: why the run is no evidence
	fatal bool   // for stepConcludeRun: no other run will be any
	// removes says that the wait is for PGs that OSDs remove, before that run.
	removes bool
	// last says that nothing follows the teardown: the object goes, or pauses.
	last ending
}

// patience is how long something is waited for that is expected to come by itself, and
// what is said when it has not.
type patience struct {
	what   string // tells it from other things that are waited for
	within time.Duration
	late   kstatus.Outcome
}

// ending is what follows a teardown.
type ending string

const (
	endsHere  ending = ""        // with the outcome that is in status
	endsPause ending = "Pause"   // until it is resumed
	endsGone  ending = "Deleted" // with the object
	// endsReplaced ends with the beginning of another run ID.
	endsReplaced ending = "Replaced"
)

// rule decides, if it applies.
type rule func(facts) (plan, bool)

// decide names the next step. It is pure: no client, no clock, no randomness.
// The first rule that applies decides; reading the list is reading the behaviour.
func decide(seen facts) plan {
	for _, apply := range []rule{
		leaveDeletedAlone,        // nothing is left of it
		letGoDeleted,             // nothing is left of what it made
		tearDownDeleted,          // the finalizer keeps it until then
		tearDownEnded,            // results are in status; now the rest
		leaveEndedAlone,          // until the run ID changes
		acknowledgeEnded,         // changes that ask for no run
		pauseWhileSuspended,      // after the phase at work
		stallOnSettings,          // what the administrator does not allow
		stallInNamespace,         // where benchmarks may not run
		tearDownReplaced,         // what nobody asks for any more, and has left something
		begin,                    // a new run ID, or one that was paused
		protect,                  // before anything is made
		letOSDsUp,                // that were stopped, when it is time
		failWithForeignJob,       // which nobody has admitted
		failWithoutJob,           // what was made is gone
		failWithoutCluster,       // a CephCluster that is not there, or not Rook's to manage
		waitForSurvey,            // what Ceph is like decides what to write to it
		waitForClaim,             // a claim that is the target has to be there
		failWithoutScript,        // what cannot be done here
		failWithoutDomains,       // copies that cannot be kept apart
		refuseDisruption,         // OSDs that cannot be stopped here
		queueForLock,             // one at a time
		failOutOfRoom,            // which is the benchmark's own doing
		waitForQuiet,             // healthy, with room, and quiet
		waitForRemoval,           // of what was deleted before, for a while
		finishReplacing,          // a client that could not be reached
		prepareClients,           // pool, Secret, Job
		followLog,                // a client that works alone
		concludeFromLogs,         // what pods that ended have left
		failWithJob,              // a pod that ended, a deadline
		failWithoutBackground,    // the same for the load beside the phases
		waitForPods,              // scheduling, images, quotas
		workAlone,                // if there is no way to it
		waitForRunners,           // the way to them
		concludeFailedDisruption, // what is not measured any more
		abortDisturbedRun,        // what must not go on
		concludeFailedRun,        // a tool that failed is no slow one
		concludeRunWithoutMore,   // all phases have ended
		disrupt,                  // OSDs, in mid-phase
	} {
		if p, applies := apply(seen); applies {
			return seen.orGiveUp(p)
		}
	}
	return seen.orGiveUp(nextMove(seen))
}

// orGiveUp ends what has not got on for too long.
func (f facts) orGiveUp(p plan) plan {
	if p.patience.within == 0 || f.memory.waitsFor != p.patience.what || f.now.Sub(f.memory.waitsSince) <= p.patience.within {
		return p
	}
	late := p.patience.late
	if f.memory.trouble != "" {
		late.Message += " " + f.memory.trouble
	}
	return fail(late.Reason, late.Message)
}

func leaveDeletedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, seen.deleted() && !controllerutil.ContainsFinalizer(seen.benchmark, Finalizer)
}

// letGoDeleted asks neither Ceph nor Rook: a sweep that is deleted takes hundreds of
// benchmarks with it that have removed long ago what they made.
func letGoDeleted(seen facts) (plan, bool) {
	return plan{step: stepLetGo}, seen.deleted() && seen.tidied()
}

func tearDownDeleted(seen facts) (plan, bool) {
	return plan{step: stepTearDown, last: endsGone, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonCleaningUp, Message: "Removing everything that the benchmark made, because it is deleted.",
	}}, seen.deleted()
}

func tearDownEnded(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{step: stepTearDown, last: endsHere, outcome: cleaningUp()}, hasEnded(status) && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling)
}

func cleaningUp() kstatus.Outcome {
	return kstatus.Outcome{
		Reason: v1alpha1.ReasonCleaningUp, Message: "The outcome is in status. Removing everything that was made for it.",
	}
}

func leaveEndedAlone(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{step: stepNone}, hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID &&
		status.ObservedGeneration == seen.benchmark.Generation
}

func acknowledgeEnded(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{step: stepAcknowledge}, hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID
}

func hasEnded(status v1alpha1.CephBenchmarkStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionComplete) ||
		meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionFailed)
}

func pauseWhileSuspended(seen facts) (plan, bool) {
	switch {
	case seen.pausing():
	case !seen.benchmark.Spec.Suspend:
		return plan{}, false
	case !seen.atWork():
		return plan{step: stepIdle, outcome: suspended()}, true
	case !seen.osdsStopped() && (seen.isMeasuring() || seen.next.kind == moveEnd || seen.next.kind == moveFail || seen.next.measured):
		return plan{}, false // What has been measured counts, unless OSDs would stay down for it.
	}
	return plan{step: stepTearDown, last: endsPause, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonSuspended, Message: "Removing everything that the benchmark made, because it is suspended.",
	}}, true
}

func suspended() kstatus.Outcome {
	return kstatus.Outcome{
		Reason:  v1alpha1.ReasonSuspended,
		Message: "The benchmark does not run while spec.suspend is true. Set it to false to go on.",
	}
}

func stallOnSettings(seen facts) (plan, bool) {
	problem := notAllowed(seen.spec, seen.settings)
	if seen.atWork() {
		return fail(v1alpha1.ReasonNotAllowed, problem), problem != ""
	}
	return plan{step: stepStall, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: problem}}, problem != ""
}

// namespaceAgain is when to ask again whether benchmarks may run in a namespace: nothing
// tells that a Role was made.
const namespaceAgain = time.Minute

func stallInNamespace(seen facts) (plan, bool) {
	return plan{
		step: stepStall, again: namespaceAgain, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: seen.refused},
	}, seen.refused != ""
}

// tearDownReplaced comes before the next run ID begins: by then nobody knows any more what
// this one has called its images and objects.
func tearDownReplaced(seen facts) (plan, bool) {
	return plan{step: stepTearDown, last: endsReplaced, progress: "removing what the run before has left", outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonCleaningUp, Message: "Removing what the run before has left, because runID has changed and its clients are not there.",
	}}, seen.replaced() && seen.leftBehind
}

// begin starts a run ID, in place of one that was paused, has ended, or is replaced and has
// left nothing.
func begin(seen facts) (plan, bool) {
	return plan{step: stepBegin, outcome: lookingAtCluster()}, !seen.atWork() || seen.replaced()
}

func lookingAtCluster() kstatus.Outcome { return preparing("Looking at the cluster.") }

func protect(seen facts) (plan, bool) {
	return plan{step: stepProtect}, !controllerutil.ContainsFinalizer(seen.benchmark, Finalizer)
}

func failWithForeignJob(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClientsLost, seen.jobNotOurs), seen.jobNotOurs != ""
}

func failWithoutJob(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClientsLost, "The Job of the clients was deleted, and not by the operator."), seen.jobLost
}

func failWithoutCluster(seen facts) (plan, bool) {
	if seen.rookErr == nil {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonClusterUnreachable, seen.rookErr.Error(), 5*time.Second)
	return p.atMost(seen.spec.Quiescence.Timeout.Duration, "cluster", p.outcome), true
}

// waitForSurvey takes the lock meanwhile, which takes as long. With a claim for a target
// it does not: that may have to be waited for, which others need not.
func waitForSurvey(seen facts) (plan, bool) {
	switch {
	case seen.survey != nil:
		return plan{}, false
	case seen.err == nil && !seen.locked && seen.fsid() != "" && seen.spec.Template.Target.PersistentVolumeClaim == nil:
		return plan{step: stepLock, outcome: lookingAtCluster()}, true
	case seen.err == nil:
		return plan{step: stepWait, outcome: lookingAtCluster()}, true
	}
	p := waiting(v1alpha1.ReasonClusterUnreachable, seen.err.Error(), 5*time.Second)
	return p.atMost(seen.spec.Quiescence.Timeout.Duration, "survey", p.outcome), true
}

func waitForClaim(seen facts) (plan, bool) {
	if seen.claimErr == nil {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonClaimNotFound, seen.claimErr.Error(), 5*time.Second)
	return p.atMost(seen.settings.Pods.StartTimeout.Duration, "claim", p.outcome), true
}

func failWithoutScript(seen facts) (plan, bool) {
	if seen.scriptErr == nil {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonNotPossible, seen.scriptErr.Error()), true
}

// failWithoutDomains looks before anything is made: a pool whose copies cannot be kept apart
// never becomes clean, and Ceph warns of it meanwhile.
func failWithoutDomains(seen facts) (plan, bool) {
	pool := seen.spec.Template.Target.ScratchPool
	if pool == nil || seen.job != nil {
		return plan{}, false
	}
	if err := placement.Apart(seen.survey.tree, placement.WishOf(*pool)); err != nil {
		return fail(v1alpha1.ReasonNotPossible, "The scratch pool cannot be made: "+err.Error()+"."), true
	}
	return plan{}, false
}

func queueForLock(seen facts) (plan, bool) {
	return plan{step: stepLock}, !seen.locked
}

// waitForQuiet looks before anything is made and before each run.
func waitForQuiet(seen facts) (plan, bool) {
	if !seen.wantsQuiet() {
		return plan{}, false
	}
	obstacles := seen.obstacles()
	if len(obstacles) == 0 {
		return plan{}, false
	}
	first := obstacles[0]
	hopeless := slices.IndexFunc(obstacles, func(o quiescence.Obstacle) bool { return !o.Waits })
	if hopeless >= 0 {
		return fail(obstacles[hopeless].Code, obstacles[hopeless].Message), true
	}
	p := waiting(v1alpha1.ReasonWaitingForQuiet, first.Message, 2*time.Second)
	p.progress = "waiting for a quiet cluster"
	limit := seen.spec.Quiescence.Timeout.Duration
	return p.atMost(limit, fmt.Sprintf("quiet for run %d", seen.currentRun()), kstatus.Outcome{
		Reason: first.Code, Message: fmt.Sprintf("The cluster did not become quiet within %v: %s", limit, first.Message),
	}), true
}

// What steps may take that need others: Rook to make a pool, clients and Ceph to do
// what they are told.
const (
	prepareWithin  = 15 * time.Minute
	moveWithin     = 15 * time.Minute
	concludeWithin = 15 * time.Minute
)

// forPreparation names the wait for what clients need.
const forPreparation = "preparation"

func prepareClients(seen facts) (plan, bool) {
	p := plan{step: stepPrepare, progress: "making pool and clients", outcome: preparing("Making what the clients need.")}
	return p.atMost(prepareWithin, forPreparation, kstatus.Outcome{
		Reason: v1alpha1.ReasonNotPrepared, Message: fmt.Sprintf("What the clients need was not there within %v:", prepareWithin),
	}), seen.job == nil || seen.lacksSecret() || seen.lacksBackground()
}

// lacksSecret reports whether the clients may have to be given their Secret still.
func (f facts) lacksSecret() bool {
	return !f.memory.secretMade && len(addressesOf(f.pods)) < int(f.spec.Template.Clients.Count)
}

// lacksBackground reports whether the Job of the background is still to be made.
func (f facts) lacksBackground() bool {
	return f.hasBackground() && f.memory.besideMade == "" && f.job.DeletionTimestamp.IsZero()
}

func failWithJob(seen facts) (plan, bool) {
	if seen.allRunsEnded() || seen.toldByLog() {
		return plan{}, false
	}
	if !seen.job.DeletionTimestamp.IsZero() {
		return fail(v1alpha1.ReasonClientsLost, "The Job of the clients is being deleted, and not by the operator."), true
	}
	reason, message := jobFailure(seen.job, seen.pods)
	return fail(reason, message), reason != ""
}

func waitForPods(seen facts) (plan, bool) {
	reason, message := podsWaiting(seen)
	switch {
	case reason == "" || seen.toldByLog():
		return plan{}, false
	case seen.now.Sub(seen.job.CreationTimestamp.Time) > seen.settings.Pods.StartTimeout.Duration:
		if reason == v1alpha1.ReasonPreparing {
			reason = v1alpha1.ReasonClientsNotStarted
		}
		return fail(reason, fmt.Sprintf("The clients did not start within %v: %s", seen.settings.Pods.StartTimeout.Duration, message)), true
	}
	p := waiting(reason, message, 5*time.Second)
	p.progress = "starting clients"
	return p, true
}

// unreachableAfter is how long runners may be out of reach. It is longer than the
// start of a manager elsewhere, and the restart of a node's network.
const unreachableAfter = 2 * time.Minute

func waitForRunners(seen facts) (plan, bool) {
	if seen.heard() && seen.lostSince().IsZero() {
		return plan{}, false
	}
	since := seen.lostSince()
	if since.IsZero() {
		return plan{step: stepWait, progress: "starting clients", outcome: preparing("Waiting for the clients to answer.")}, true
	}
	message := fmt.Sprintf("A client's pod runs, and does not answer on its port: %v. %s", seen.lostErr(), letManagerIn())
	if why := seen.whyNotAlone(); why != "" && !seen.reached() {
		message += " Results cannot come through logs instead, because " + why + "."
	}
	if seen.now.Sub(since) > unreachableAfter {
		return fail(v1alpha1.ReasonClientsUnreachable, message), true
	}
	if seen.now.Sub(since) < 10*time.Second {
		return plan{step: stepWait, again: 10 * time.Second, progress: "starting clients", outcome: preparing("Waiting for the clients to answer.")}, true
	}
	return waiting(v1alpha1.ReasonClientsUnreachable, message, 10*time.Second), true
}

func abortDisturbedRun(seen facts) (plan, bool) {
	run := seen.currentRun()
	if seen.allRunsEnded() || !seen.begun(run) || seen.next.kind == moveEnd {
		return plan{}, false
	}
	for _, d := range seen.disturbances(run) {
		if d.Action == v1alpha1.DisturbanceAbort {
			return conclude(run, seen.forgottenDisruption(run)+string(d.Kind)+": "+d.Message), true
		}
	}
	return plan{}, false
}

func concludeFailedRun(seen facts) (plan, bool) {
	if seen.allRunsEnded() || seen.next.kind != moveFail {
		return plan{}, false
	}
	f, run := *seen.next.failure, seen.currentRun()
	failed := fail(v1alpha1.ReasonPhaseFailed, describeFailure(f))
	if !seen.begun(run) {
		return failed, true
	}
	if ended, is := seen.stoppedByRoom(run, f); is {
		p := conclude(run, ended.outcome.Message)
		p.fatal, p.outcome = true, ended.outcome
		return p, true
	}
	if f.beside {
		return conclude(run, spoiltByBackground(f)), true
	}
	p := conclude(run, failed.outcome.Message)
	if why := seen.memory.notStarted[f.id]; why != "" {
		p.wrong = fmt.Sprintf("The signal to start %s did not reach all clients: %s", f.id, why)
	}
	if !f.spoilsOneRun() {
		p.fatal, p.outcome = true, failed.outcome
	}
	return p, true
}

func concludeRunWithoutMore(seen facts) (plan, bool) {
	return conclude(seen.currentRun(), ""), !seen.allRunsEnded() && seen.next.kind == moveEnd
}

// conclude ends a run, which is evidence if nothing is wrong.
func conclude(run int32, wrong string) plan {
	p := plan{step: stepConcludeRun, run: run, wrong: wrong}
	return p.atMost(concludeWithin, fmt.Sprintf("results of run %d", run), kstatus.Outcome{
		Reason: v1alpha1.ReasonResultsNotKept, Message: fmt.Sprintf("The results of run %d could not be kept within %v.", run, concludeWithin),
	})
}

// nextMove is what is left: the clients are there and have something to do.
func nextMove(seen facts) plan {
	run := seen.currentRun()
	p := plan{step: stepMove, move: seen.next, run: run, progress: seen.next.step, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d of %d.", run, seen.spec.Repetitions),
	}}
	if first := taskID(run, seen.script.phases[0].name); run == 1 && !seen.tasks.begun(run) && seen.next.id != first {
		p.outcome = preparing("Making what the first run needs.")
	}
	if seen.next.kind == moveWait { // Runners have deadlines of their own.
		p.step = stepWait
		return p
	}
	if seen.next.kind == moveRest {
		p.step, p.again = stepWait, seen.next.until.Sub(seen.now)
		return p
	}
	return p.atMost(moveWithin, fmt.Sprintf("%s %s", seen.next.kind, seen.next.id), kstatus.Outcome{
		Reason: v1alpha1.ReasonPhaseFailed, Message: fmt.Sprintf("The clients did not get on within %v, %s:", moveWithin, seen.next.step),
	})
}

// atMost limits how long the plan may be made again and again, for the same thing,
// and says what is told then.
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
	return plan{step: stepFail, outcome: kstatus.Outcome{Reason: reason, Message: message}}
}
