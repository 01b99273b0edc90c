package cephtuningsweep

import (
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// memory is the state of a sweep that this process may lose. After a loss, the controller observes the
// cluster again, and its waits begin again. Passes of one sweep never run concurrently, so memory needs no mutex.
type memory struct {
	// engine is the tuner. It uses the connections in the field connected.
	engine    *tuning.Engine
	connected tuning.Cluster
	// outage has the connections for bringing up OSDs that a benchmark stopped and that no benchmark brings up.
	outage outage.Execution
	// noOrphanedOSDs reports that, under the current lock, no orphaned OSDs were found, or all were brought
	// up. Then Ceph is not searched again for the journal of an outage.
	noOrphanedOSDs bool

	lock     *lock.Grant
	lockedAt time.Time
	// askedCeph reports that Ceph was searched for a journal after the lock was taken. askedAhead is the time
	// of the last search while the sweep waited for the lock. unrestoredInCeph is the journal of
	// another sweep that such a search found; nil if there was none.
	askedCeph        bool
	askedAhead       time.Time
	unrestoredInCeph *tuning.Journal

	// mayRun reports that a plan had no refusals while the sweep waited for the lock. askedPlan is the time of the latest
	// such plan.
	mayRun    bool
	askedPlan time.Time

	// survey has facts that should not change during a sweep.
	survey *survey
	trial  trialMemory
	// switching is the next or current session of an interleaved sweep: one long phase with switched settings.
	switching sessionMemory
	// cannotKeep reports that the winner's settings could not be kept.
	cannotKeep bool
	// pauses is set during a restore after which the sweep continues. It says why the restore has begun: a
	// suspension, a closed spec.maintenanceWindow, or a session that does not count. The restore runs to its end even if
	// its reason is gone.
	pauses ending
	// restoring is the progress of the current restore.
	restoring restoring
	// dangers is the number of consecutive samples in which the cluster was in danger.
	dangers int
	// inactive tracks inactive placement groups after a change.
	inactive quiescence.Inactive
	// foreign has the latest samples of the pools' load and the OSDs' latency, for guardrails.foreignClients.
	foreign []sweepspec.ForeignSample
}

// trialMemory is the memory of the next or current run.
type trialMemory struct {
	number int
	// since is when the preparation of the run began. After a restart of the manager, it is normally when
	// the run's benchmark was created. Earlier waits, for the lock or for spec.maintenanceWindow, do not count.
	since time.Time
	// want has the values that Ceph must have during the run; nil until the run's values are known.
	want []tuning.Change
	// changed reports that some values had to be changed.
	changed  bool
	settling tuning.Settling
	settled  bool
	// restarts is the progress of OSD restarts. started reports that all OSDs have restarted with the values
	// that they read only when they start, or that no OSD has to restart.
	restarts restartMemory
	started  bool
	// spoilt is the first reason why the benchmark of the run does not count; "" if there is none.
	spoilt string
	// unproven is when a proof of the values first failed; zero before that, and after a successful proof.
	unproven time.Time
}

// survey has facts that are read once for all runs, or again after asksAgain has dropped them.
type survey struct {
	taken   time.Time // time of the survey
	help    map[string]ceph.OptionHelp
	owned   tuning.Owned
	objects map[string]string // CephBlockPools by pool
	opQueue string
}

// ofTrial returns the memory of a run. If the field trial belongs to another run, ofTrial begins a new memory, and
// discards the samples in the field foreign.
func (m *memory) ofTrial(run int, now time.Time) *trialMemory {
	if m.trial.number != run {
		m.trial = trialMemory{number: run, since: now}
		m.foreign = nil
	}
	return &m.trial
}
