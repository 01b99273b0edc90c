package cephbenchmark

import (
	"time"

	"github.com/cephtune/cephtune/internal/quiescence"
)

// removalWait is the wait, before one run, for PGs that OSDs are still removing. It is timed
// separately, once for each run: other waits may interrupt it, and it must not use up the time
// for the cluster to become quiescent. After a restart of the manager it begins again.
type removalWait struct {
	run   int32
	since time.Time
}

// begin records when a run begins to wait; a repeated call changes nothing.
func (w *removalWait) begin(run int32, now time.Time) {
	if w.run != run {
		*w = removalWait{run: run, since: now}
	}
}

// lasted returns how long a run has waited.
func (w removalWait) lasted(run int32, now time.Time) time.Duration {
	if w.run != run {
		return 0
	}
	return now.Sub(w.since)
}

// wantsQuiet reports whether the cluster must be quiescent now: before anything is created, and
// before each run. The creation of the benchmark's own pool does not count as a disturbance.
func (f facts) wantsQuiet() bool {
	switch {
	case f.job == nil:
		return f.memory.waits.For != forPreparation
	case !f.heard():
		return false
	}
	return !f.runAtWork()
}

// betweenRuns reports whether no run is in progress, and whether observations then include stray
// PGs.
func (f facts) betweenRuns() (between, strays bool) {
	return !f.runAtWork() && !f.tearingDown(), quiescence.WaitsForRemoval(f.spec.Quiescence)
}

// runAtWork reports whether a run is known to have begun, or no run follows. Quiescence then no
// longer matters.
func (f facts) runAtWork() bool {
	return f.job != nil && (f.begun(f.currentRun()) || f.allRunsEnded() || f.standalone() || len(f.logs) > 0)
}
