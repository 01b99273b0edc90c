package cephbenchmark

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
)

func failWithoutCluster(seen facts) (plan, bool) {
	if seen.rookErr == nil {
		return plan{}, false
	}
	return seen.waitForCluster(seen.rookErr), true
}

// waitForCluster waits for a cluster that cannot be observed. No rule renews the lock meanwhile. If clients
// are running, the benchmark therefore fails before its lock can expire, unless the manager was restarted. If it
// failed later, the next holder would measure while these clients still make load.
func (f facts) waitForCluster(reason error) plan {
	within := f.spec.Quiescence.Timeout.Duration
	if f.job != nil {
		within = min(within, lock.Duration-lock.RenewAfter)
	}
	p := waiting(v1alpha1.ReasonClusterUnreachable, reason.Error(), 5*time.Second)
	return p.AtMost(within, "cluster", p.Outcome)
}

// waitForSurvey waits for the first survey of Ceph, on which later rules depend. Meanwhile it requests the
// lock, to save time. If the target is a claim, it does not request the lock: while the claim is missing,
// the lock would block other benchmarks and sweeps.
func waitForSurvey(seen facts) (plan, bool) {
	switch {
	case seen.Survey != nil:
		return plan{}, false
	case seen.Err == nil && !seen.locked && seen.fsid() != "" && seen.spec.Template.Target.PersistentVolumeClaim == nil:
		return plan{Step: reconcile.StepLock, Outcome: lookingAtCluster()}, true
	case seen.Err == nil:
		return plan{Step: reconcile.StepWait, Outcome: lookingAtCluster()}, true
	}
	return seen.waitForCluster(seen.Err), true
}

func waitForClaim(seen facts) (plan, bool) {
	if seen.claimErr == nil {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonClaimNotFound, seen.claimErr.Error(), 5*time.Second)
	return p.AtMost(seen.settings.Pods.StartTimeout.Duration, "claim", p.Outcome), true
}

func failWithoutScript(seen facts) (plan, bool) {
	if seen.scriptErr == nil || seen.watching() {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonNotPossible, seen.scriptErr.Error()), true
}

// failWithoutDomains checks the failure domains before anything is created. With too few of them
// for its copies, a pool never becomes clean, and Ceph raises a warning.
func failWithoutDomains(seen facts) (plan, bool) {
	if seen.job != nil || seen.watching() {
		return plan{}, false
	}
	for _, target := range seen.spec.Targets() {
		if target.ScratchPool == nil {
			continue
		}
		if err := placement.Apart(seen.Survey.Tree, placement.RequestOf(*target.ScratchPool)); err != nil {
			return fail(v1alpha1.ReasonNotPossible, "The scratch pool cannot be made: "+err.Error()+"."), true
		}
	}
	return plan{}, false
}

func queueForLock(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepLock}, !seen.locked
}

// failOutOfRoom ends a benchmark if OSDs are about to be full: full OSDs might no longer accept the requests that
// remove its data. Waiting would not help, because the benchmark's own data may fill the OSDs.
func failOutOfRoom(seen facts) (plan, bool) {
	if seen.job == nil || seen.allRunsEnded() {
		return plan{}, false
	}
	reason := seen.target().OutOfRoom()
	return fail(v1alpha1.ReasonOutOfRoom, reason), reason != ""
}

// waitForQuiet requires quiescence before anything is created and before each run.
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
	p := waiting(v1alpha1.ReasonWaitingForQuiescence, first.Message, 2*time.Second)
	p.Progress = "waiting for a quiet cluster"
	p.Detail.surveys = slices.ContainsFunc(obstacles, func(o quiescence.Obstacle) bool { return o.Surveyed })
	limit := seen.spec.Quiescence.Timeout.Duration
	return p.AtMost(limit, fmt.Sprintf("quiet for run %d", seen.currentRun()), kstatus.Outcome{
		Reason: first.Code, Message: fmt.Sprintf("The cluster was not quiet enough to measure within %v: %s", limit, first.Message),
	}), true
}

// waitForRemoval waits, for a limited time, until OSDs have removed the PGs of deleted pools and of moved data.
// If the removal continues after that time, the run begins and is marked as disturbed.
func waitForRemoval(seen facts) (plan, bool) {
	if !seen.wantsQuiet() || !quiescence.WaitsForRemoval(seen.spec.Quiescence) {
		return plan{}, false
	}
	strays := seen.Samples[len(seen.Samples)-1].Strays // A sample exists, because waitForQuiet has found the cluster quiescent.
	if strays == nil {
		// Samples taken during a run have no strays, but the next sample has them. It comes within seconds, so this wait needs no message.
		return plan{Step: reconcile.StepWait, Again: clusterwatch.SampleEvery}, true
	}
	run := seen.currentRun()
	reason := quiescence.WaitForRemoval(*strays, seen.spec.Quiescence, seen.memory.removal.Lasted(run, seen.now))
	if reason == "" {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonWaitingForQuiescence, reason, 2*time.Second)
	p.Progress, p.Detail.removes, p.Detail.run = "waiting for OSDs to remove PGs", true, run
	return p, true
}
