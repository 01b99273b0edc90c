package cephbenchmark

import (
	"github.com/cephtune/cephtune/internal/quiescence"
)

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
