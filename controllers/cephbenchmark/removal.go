package cephbenchmark

import (
	"time"

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

// wantsQuiet reports whether the cluster has to be quiet now: before anything is made, and
// before each run. A pool that is being made is no unrest.
func (f facts) wantsQuiet() bool {
	switch {
	case f.job == nil:
		return f.memory.waits.For != forPreparation
	case !f.heard():
		return false
	}
	return !f.runAtWork()
}

// betweenRuns reports whether no run is under way, and whether observations then include stray
// PGs.
func (f facts) betweenRuns() (between, strays bool) {
	return !f.runAtWork() && !f.tearingDown(), quiescence.WaitsForRemoval(f.spec.Quiescence)
}

// runAtWork reports whether a run has begun, as far as is known, or none follows: quiescence no
// longer matters then.
func (f facts) runAtWork() bool {
	return f.job != nil && (f.begun(f.currentRun()) || f.allRunsEnded() || f.standalone() || len(f.logs) > 0)
}
