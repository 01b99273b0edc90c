package cephbenchmark

import (
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// removalWait is the wait for PGs that OSDs still remove, before one run. It has a clock of
// its own, which begins once for each run: other waits come in between, and the time for
// the cluster to become quiet is not spent on it. After a restart of the manager it begins
// again.
type removalWait struct {
	run   int32
	since time.Time
}

// begin notes that a run waits, unless it is known since when.
func (w *removalWait) begin(run int32, now time.Time) {
	if w.run != run {
		*w = removalWait{run: run, since: now}
	}
}

// lasted is for how long a run has waited.
func (w removalWait) lasted(run int32, now time.Time) time.Duration {
	if w.run != run {
		return 0
	}
	return now.Sub(w.since)
}

// waitForRemoval waits until OSDs have removed the PGs of pools that were deleted before,
// but not for long: a run that begins beside that says so.
func waitForRemoval(seen facts) (plan, bool) {
	if !seen.wantsQuiet() || !quiescence.MindsRemoval(seen.spec.Quiescence) {
		return plan{}, false
	}
	strays := seen.samples[len(seen.samples)-1].Strays // There is one, since the cluster is quiet.
	if strays == nil {
		return plan{step: stepWait, again: sampleEvery}, true // With nothing to tell: the look was taken while a run was at work, and another is on its way.
	}
	run := seen.currentRun()
	why := quiescence.WaitForRemoval(*strays, seen.spec.Quiescence, seen.memory.removal.lasted(run, seen.now))
	if why == "" {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonWaitingForQuiet, why, 2*time.Second)
	p.progress, p.removes, p.run = "waiting for OSDs to remove PGs", true, run
	return p, true
}

// wantsQuiet reports whether the cluster has to be quiet now: before anything is made, and
// before each run. A pool that is being made is no unrest.
func (f facts) wantsQuiet() bool {
	switch {
	case f.job == nil:
		return f.memory.waitsFor != forPreparation
	case !f.heard():
		return false
	}
	return !f.runAtWork()
}

// betweenRuns tells whether no run is at work, and whether looks are then to tell of stray
// PGs.
func (f facts) betweenRuns() (between, strays bool) {
	return !f.runAtWork() && !f.tearingDown(), quiescence.MindsRemoval(f.spec.Quiescence)
}

// runAtWork reports whether a run was begun, as far as is known, or none follows: whether
// the cluster is quiet is not asked any more then.
func (f facts) runAtWork() bool {
	return f.job != nil && (f.begun(f.currentRun()) || f.allRunsEnded() || f.alone() || len(f.logs) > 0)
}
