package cephtuningsweep

import (
	"time"

	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// part is one part of a restore. The list in restoreParts says what each part is for.
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

// isLast reports whether the restore is complete after the part.
func (p part) isLast() bool { return p == partAbandon || p == partLeavePool || p == partRelease }

// restoring is the progress of a restore, as far as observations do not show it. Only act writes
// it. The zero value is the progress of a restore that has not begun. A manager that has lost it
// begins with the first part again.
type restoring struct {
	since time.Time
	// done has the parts that are complete.
	done map[part]bool
	// report is the latest report of the tuner. unrestarted names the OSDs that could not be
	// restarted.
	report      tuning.Report
	unrestarted string
	settling    tuning.Settling
	restarts    restartMemory
	// lastAttempt reports that an abandoned restore has had its last attempt.
	lastAttempt bool
}

// note records that a part is complete.
func (r *restoring) note(p part) {
	if r.done == nil {
		r.done = map[part]bool{}
	}
	r.done[p] = true
}

// restoreParts returns the rules for the next part of a restore, in order. The last one always
// applies. Every part can be repeated.
func restoreParts() []reconcile.Rule[facts, part] {
	return []reconcile.Rule[facts, part]{
		{Name: "endSwitching", Func: endSwitching},               // the loop would change settings again
		{Name: "endBenchmarks", Func: endBenchmarks},             // they delay the restore of settings by a few minutes at most
		{Name: "abandonRestore", Func: abandonRestore},           // a person gives up the settings that cannot be restored
		{Name: "waitForReach", Func: waitForReach},               // Ceph has values of the sweep, but cannot be reached
		{Name: "leavePool", Func: leavePool},                     // Ceph has no values of the sweep, and cannot be reached
		{Name: "restoreSettings", Func: restoreSettings},         // to the originals in the journal
		{Name: "settleAfterRestore", Func: settleAfterRestore},   // PGs merge and data moves
		{Name: "restartRestoredOSDs", Func: restartRestoredOSDs}, // one OSD at a time; the cluster settles after each
		{Name: "recordRestored", Func: recordRestored},           // status must have the outcome before the journal is removed
		{Name: "closeJournal", Func: closeJournal},               // nothing is left to restore
		{Name: "removePool", Func: removePool},                   // the pool that the runs of a block share
		{Name: "releaseAtEnd", Func: releaseAtEnd},               // the next sweep or benchmark may begin
	}
}

func endSwitching(seen facts) (part, bool) { return partEndSwitching, seen.switches }

// childrenFirst is the time that benchmarks have for their teardown before settings are restored.
// It has a limit, because a benchmark may wait in vain: for a node that no longer exists, or for an
// OSD that does not start with the sweep's value. The benchmark's measurement no longer counts.
const childrenFirst = 5 * time.Minute

// endBenchmarks applies again after the settings are restored, because benchmarks use the pool.
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

// stillNeeds returns a part for changed settings, and reports whether it has yet to be carried out.
func (f facts) stillNeeds(p part) (part, bool) {
	return p, f.changedCeph() && !f.memory.restoring.done[p]
}

func restoreSettings(seen facts) (part, bool) { return seen.stillNeeds(partRestoreSettings) }

func settleAfterRestore(seen facts) (part, bool) { return seen.stillNeeds(partSettle) }

func restartRestoredOSDs(seen facts) (part, bool) { return seen.stillNeeds(partRestartOSDs) }

func recordRestored(seen facts) (part, bool) {
	so := seen.memory.restoring
	return partRecord, seen.changedCeph() && !recordsRestored(&seen.sweep.Status, so.report, so.unrestarted)
}

func closeJournal(seen facts) (part, bool) { return partCloseJournal, seen.changedCeph() }

func removePool(seen facts) (part, bool) {
	return partRemovePool, !seen.memory.restoring.done[partRemovePool]
}

func releaseAtEnd(facts) (part, bool) { return partRelease, true }
