package cephtuningsweep

import (
	"time"

	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// part is one part of a restore. The comments in restoreParts give the purposes of the parts.
type part string

const (
	partEndSwitching    part = "EndSwitching"
	partEndBenchmarks   part = "EndBenchmarks"
	partAbandon         part = "Abandon"
	partWaitForReach    part = "WaitForReach"
	partLeavePool       part = "LeavePool"
	partRestoreSettings part = "RestoreSettings"
	partSettle          part = "Settle"
	partRestartOSDs     part = "RestartOSDs"
	partRecord          part = "Record"
	partCloseJournal    part = "CloseJournal"
	partRemovePool      part = "RemovePool"
	partRelease         part = "Release"
)

// isLast reports whether the restore is complete after this part.
func (p part) isLast() bool { return p == partAbandon || p == partLeavePool || p == partRelease }

// restoring has those facts about the progress of a restore that the controller cannot read from Kubernetes
// or Ceph. Only the method act and the methods that it calls change restoring. The zero value is a restore
// that has not begun. After a restart of the manager, the restore begins with its first part again.
type restoring struct {
	since time.Time
	// done has the parts that are complete.
	done map[part]bool
	// report is the tuner's latest report whose field Done is true. unrestarted names the OSDs that could not be
	// restarted; "" if all have restarted or no OSD needs a restart.
	report      tuning.Report
	unrestarted string
	settling    tuning.Settling
	restarts    restartMemory
	// lastAttempt reports that the last attempt before abandoning the restore was made.
	lastAttempt bool
}

// note records that a part is complete.
func (r *restoring) note(p part) {
	if r.done == nil {
		r.done = map[part]bool{}
	}
	r.done[p] = true
}

// restoreParts returns the rules for the next part of a restore, in order: the first rule that applies
// decides. The last rule always applies. Every part can be repeated.
func restoreParts() []reconcile.Rule[facts, part] {
	return []reconcile.Rule[facts, part]{
		{Name: "endSwitching", Func: endSwitching},               // the loop of a session, which would change settings again
		{Name: "endBenchmarks", Func: endBenchmarks},             // the restore of settings waits a few minutes at most for their teardown
		{Name: "abandonRestore", Func: abandonRestore},           // a person gives up the settings that cannot be restored
		{Name: "waitForReach", Func: waitForReach},               // Ceph has values of the sweep, but cannot be reached
		{Name: "leavePool", Func: leavePool},                     // Ceph has no values of the sweep, and cannot be reached
		{Name: "restoreSettings", Func: restoreSettings},         // to the originals in the journal
		{Name: "settleAfterRestore", Func: settleAfterRestore},   // wait while PGs merge and data moves
		{Name: "restartRestoredOSDs", Func: restartRestoredOSDs}, // one OSD at a time; the cluster settles after each
		{Name: "recordRestored", Func: recordRestored},           // status must have the outcome before the journal is removed
		{Name: "closeJournal", Func: closeJournal},               // nothing is left to restore
		{Name: "removePool", Func: removePool},                   // the scratch pool that the runs of a block share
		{Name: "releaseAtEnd", Func: releaseAtEnd},               // the next sweep or benchmark may begin
	}
}

func endSwitching(seen facts) (part, bool) { return partEndSwitching, seen.switches }

// childrenFirst is the time that benchmarks have for their teardown before settings are restored. It is
// limited, because a teardown may wait in vain. For example, a node may no longer exist, or the sweep's value
// may keep an OSD from starting.
const childrenFirst = 5 * time.Minute

// endBenchmarks applies while benchmarks have to be removed, until childrenFirst has passed. If Ceph has no
// values of the sweep, such as after the restore of settings, it applies without this limit, because the
// benchmarks use the pool that removePool removes afterwards.
func endBenchmarks(seen facts) (part, bool) {
	since := seen.memory.restoring.since
	early := since.IsZero() || seen.now.Sub(since) < childrenFirst
	return partEndBenchmarks, len(seen.others) > 0 && (early || !seen.changedCeph())
}

func abandonRestore(seen facts) (part, bool) { return partAbandon, seen.abandons() }

func waitForReach(seen facts) (part, bool) {
	return partWaitForReach, !seen.reachable() && seen.changedCeph()
}

func leavePool(seen facts) (part, bool) { return partLeavePool, !seen.reachable() }

// stillNeeds returns p, and whether p must still be done. p is a part that is necessary only if the sweep has
// changed settings.
func (f facts) stillNeeds(p part) (part, bool) {
	return p, f.changedCeph() && !f.memory.restoring.done[p]
}

func restoreSettings(seen facts) (part, bool) { return seen.stillNeeds(partRestoreSettings) }

func settleAfterRestore(seen facts) (part, bool) { return seen.stillNeeds(partSettle) }

func restartRestoredOSDs(seen facts) (part, bool) { return seen.stillNeeds(partRestartOSDs) }

func recordRestored(seen facts) (part, bool) {
	progress := seen.memory.restoring
	return partRecord, seen.changedCeph() && !recordsRestored(&seen.sweep.Status, progress.report, progress.unrestarted)
}

// closeJournal also applies if another client has removed the journal from Kubernetes after status got the outcome. The
// copy in Ceph would stay otherwise.
func closeJournal(seen facts) (part, bool) {
	progress := seen.memory.restoring
	restored := progress.done[partRestoreSettings] && !progress.done[partCloseJournal] && recordsRestored(&seen.sweep.Status, progress.report, progress.unrestarted)
	return partCloseJournal, seen.changedCeph() || restored
}

func removePool(seen facts) (part, bool) {
	return partRemovePool, !seen.memory.restoring.done[partRemovePool]
}

func releaseAtEnd(facts) (part, bool) { return partRelease, true }
