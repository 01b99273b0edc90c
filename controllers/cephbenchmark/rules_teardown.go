package cephbenchmark

import (
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// part is one part of a teardown.
type part string

const (
	// partNone means that nothing is left to tear down.
	partNone part = ""
	// partWait waits for something that should happen by itself.
	partWait part = "Wait"
	// partRestoreOSDs brings back OSDs that the session has stopped.
	partRestoreOSDs part = "RestoreOSDs"
	// partCancelBackground and partCancelClients cancel the running tasks.
	partCancelBackground part = "CancelBackgroundLoad"
	partCancelClients    part = "CancelClients"
	// partCleanBackground and partCleanClients make the runners remove their data.
	partCleanBackground part = "CleanUpByBackgroundLoad"
	partCleanClients    part = "CleanUpByClients"
	// partFinish asks the runners to end, and partSuspend makes Kubernetes end their pods.
	partFinish  part = "FinishClients"
	partSuspend part = "SuspendJobs"
	// partLeftovers removes what clients have left in pools that outlast the session.
	partLeftovers part = "RemoveLeftovers"
	// partPool removes the scratch pool.
	partPool part = "RemoveScratchPool"
	// partJob removes the Job last, because it holds the facts about the session.
	partJob part = "RemoveJob"
	// partPrune deletes results beyond the history limit.
	partPrune part = "PruneResults"
	// partLock releases the lock of the Ceph cluster.
	partLock part = "ReleaseLock"
)

// tearing is the next part of a teardown.
type tearing struct {
	part part
	// waits says what the teardown waits for during the part; Done if only carrying out the part
	// shows it.
	waits reconcile.Wait
}

// tearDownRules returns the rules of a teardown in order. The clients begin, because they work in
// parallel and have access to files. Then the manager checks for leftovers and removes them. If no
// rule applies, the teardown is complete. Every part can be repeated.
func tearDownRules() []reconcile.Rule[facts, tearing] {
	return []reconcile.Rule[facts, tearing]{
		{Name: "restoreOSDs", Func: restoreOSDs},                   // OSDs must be up before anything is removed
		{Name: "cleanUpByBackground", Func: cleanUpByBackground},   // if its runner still answers
		{Name: "cleanUpByClients", Func: cleanUpByClients},         // if all runners still answer
		{Name: "waitForStandalone", Func: waitForStandalone},       // a standalone client removes its data by itself
		{Name: "waitForOrphans", Func: waitForOrphans},             // pods of a deleted Job may still write
		{Name: "finishClients", Func: finishClients},               // runners end their pods
		{Name: "suspendJobs", Func: suspendJobs},                   // Kubernetes ends pods whose runner does not
		{Name: "removeLeftovers", Func: removeLeftovers},           // what clients did not remove
		{Name: "removeOwnScratchPool", Func: removeOwnScratchPool}, // a shared pool belongs to the sweep
		{Name: "removeClients", Func: removeClients},               // the Job, with its pods and Secret
		{Name: "pruneResults", Func: pruneResults},                 // of the oldest sessions
		{Name: "releaseForNextHolder", Func: releaseForNextHolder}, // everything is gone from Ceph
	}
}

// tornParts has the parts of a teardown that act has found complete. Observations do not show that.
type tornParts map[part]bool

// note records whether a part is complete. After a part that ends clients or pods, the removals
// have to be repeated, because clients and pods may have undone them.
func (t tornParts) note(p part, complete bool) {
	switch p {
	case partWait, partCancelBackground, partCancelClients, partCleanBackground, partCleanClients, partFinish, partSuspend:
		delete(t, partLeftovers)
		delete(t, partPool)
		delete(t, partLock)
	default:
		t[p] = complete
	}
}

// needs reports whether a part in Ceph is not known to be complete.
func (f facts) needs(p part) bool { return f.inCeph && !f.memory.tornDown[p] }

func restoreOSDs(seen facts) (tearing, bool) {
	return tearing{part: partRestoreOSDs}, seen.needs(partRestoreOSDs)
}

func cleanUpByBackground(seen facts) (tearing, bool) {
	tasks := seen.background.tasks
	answers := tasks != nil && seen.background.runners[0].Err == nil && len(clientview.Addresses(seen.background.pods)) > 0
	if !answers || seen.script == nil || seen.script.Background == nil {
		return tearing{}, false
	}
	failed := seen.memory.backgroundCleanupFailed
	if id, busy := tasks.Unfinished(); busy && (id != leftovers.TaskID || failed) {
		return tearing{partCancelBackground, "The background load is being stopped."}, true
	}
	next := tearing{partCleanBackground, "The background load is removing its data."}
	if tasks.Has(leftovers.TaskID) {
		next.part = partWait
	}
	return next, !failed && !tasks.All(leftovers.TaskID, task.State.Ended) && len(seen.backgroundCleanup()) > 0
}

// backgroundCleanup returns the commands with which the background load removes its data.
func (f facts) backgroundCleanup() []task.Command {
	b := f.script.Background
	return leftovers.Commands(b.Place, []engine.Load{b.Load}, f.objectsStay())
}

func cleanUpByClients(seen facts) (tearing, bool) {
	if seen.standalone() || seen.tasks == nil || seen.script == nil || !seen.lostSince().IsZero() || len(clientview.Addresses(seen.pods)) < len(seen.tasks) {
		return tearing{}, false
	}
	failed := seen.memory.clientCleanupFailed
	if id, busy := seen.tasks.Unfinished(); busy && (id != leftovers.TaskID || failed) {
		return tearing{partCancelClients, "The clients are being stopped."}, true
	}
	next := tearing{partCleanClients, "The clients are removing their data."}
	if seen.tasks.Any(leftovers.TaskID, func(s task.State) bool { return !s.Ended() }) {
		next.part = partWait
	}
	return next, !failed && !seen.tasks.All(leftovers.TaskID, task.State.Ended) && len(seen.cleanupOf(0)) > 0
}

// cleanupOf returns the commands with which a client removes its data.
func (f facts) cleanupOf(i int) []task.Command {
	return leftovers.Commands(f.script.Places[i], f.script.Loads(), f.objectsStay())
}

// objectsStay reports whether clients must remove their objects, because the pool is not removed
// with them.
func (f facts) objectsStay() bool {
	return f.spec.Template.Target.ScratchPool == nil || f.sharesPool()
}

// waitForStandalone waits while a standalone client removes its data, at its end or when its pod
// is terminated.
func waitForStandalone(seen facts) (tearing, bool) {
	return tearing{partWait, "The client is removing its data."},
		seen.standalone() && seen.tasks.Any(leftovers.TaskID, func(s task.State) bool { return !s.Ended() })
}

// orphansWithin is how long the teardown waits for pods whose Job is gone. It exceeds their
// grace period, so Kubernetes has ended them unless they are kept on purpose.
const orphansWithin = 2 * clientjob.StandaloneGrace

// waitForOrphans waits for the pods of a deleted Job. Otherwise, data that they still write would
// remain.
func waitForOrphans(seen facts) (tearing, bool) {
	return tearing{partWait, "The Job is deleted, and its pods are ending."},
		!seen.hasJob() && !clientview.AllEnded(seen.orphans) && seen.now.Sub(seen.memory.orphansSince) <= orphansWithin
}

// hasJob reports whether the session has a Job that is not being deleted.
func (f facts) hasJob() bool { return f.job != nil && f.job.DeletionTimestamp.IsZero() }

func finishClients(seen facts) (tearing, bool) {
	return tearing{partFinish, "The clients are ending."},
		seen.hasJob() && len(seen.runners) > 0 && !seen.standalone() && seen.lostSince().IsZero() && !seen.memory.finished
}

// finishWithin is how long a client may take to finish.
const finishWithin = 20 * time.Second

func suspendJobs(seen facts) (tearing, bool) {
	if !seen.hasJob() || clientview.AllEnded(seen.pods) && clientview.AllEnded(seen.background.pods) {
		return tearing{}, false
	}
	if seen.memory.finished && seen.now.Sub(seen.memory.finishedAt) < finishWithin {
		return tearing{partWait, "The clients are ending."}, true
	}
	return tearing{partSuspend, "Stopping the clients' pods."}, true
}

func removeLeftovers(seen facts) (tearing, bool) {
	return tearing{part: partLeftovers}, seen.needs(partLeftovers) && len(seen.poolsThatStay()) > 0
}

// leftovers returns where the session may have left something.
func (f facts) leftovers() leftovers.Leftovers {
	l := leftovers.Leftovers{
		Session: f.session.Name, ImagePools: f.poolsThatStay(), ObjectPool: f.target().DataPool(),
		Script: f.script, Unremembered: f.unremembered(), Lasts: f.sharesPool(),
	}
	if existing := f.spec.Template.Target.ExistingPool; existing != nil {
		l.Target, l.Lasts = string(existing.Name), true
	}
	return l
}

// poolsThatStay returns the pools that outlast the session and may have its images. For an
// unremembered session, these are all pools that benchmarks may use.
func (f facts) poolsThatStay() []string {
	var pools []string
	if f.sharesPool() {
		pools = append(pools, settings.ScratchPool)
	}
	if f.unremembered() {
		pools = append(pools, f.cluster.ExistingPools...)
	}
	if target := f.spec.Template.Target.ExistingPool; target != nil && !slices.Contains(pools, string(target.Name)) {
		pools = append(pools, string(target.Name))
	}
	return pools
}

// unremembered reports whether the session's spec is unknown. Only the Job has the spec, and there
// is no Job: another client has removed it, or an earlier process may have had one.
func (f facts) unremembered() bool {
	return f.job == nil && !f.memory.jobRemoved && (f.memory.madeJob != "" || !f.memory.fromBeginning)
}

// removeOwnScratchPool removes the scratch pool, if this benchmark owns it. Without its Job, the
// session's spec is unknown.
func removeOwnScratchPool(seen facts) (tearing, bool) {
	return tearing{part: partPool}, seen.needs(partPool) && (seen.job == nil || seen.spec.Template.Target.ScratchPool != nil)
}

func removeClients(seen facts) (tearing, bool) {
	return tearing{partJob, "The Job of the clients is being removed."}, seen.job != nil
}

func pruneResults(seen facts) (tearing, bool) {
	return tearing{part: partPrune}, !seen.memory.tornDown[partPrune]
}

// releaseForNextHolder releases the lock, unless a sweep holds it.
func releaseForNextHolder(seen facts) (tearing, bool) {
	return tearing{part: partLock}, seen.needs(partLock) && seen.holder().Kind == "CephBenchmark"
}
