package cephtuningsweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// memories are those of all sweeps at work.
type memories struct {
	mu     sync.Mutex
	bySelf map[types.NamespacedName]*memory
}

// of returns the memory of a sweep in one of its runs. One of another sweep of that
// name, or of another run of it, is dropped.
func (m *memories) of(key types.NamespacedName, session string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.bySelf[key]; known != nil && known.session == session {
		return known
	}
	if m.bySelf == nil {
		m.bySelf = map[types.NamespacedName]*memory{}
	}
	fresh := &memory{session: session}
	m.bySelf[key] = fresh
	return fresh
}

// noteTrouble keeps since when steps fail. Every few minutes the lock is renewed in between,
// which may go well while all else fails, and says nothing of that.
func (m *memory) noteTrouble(at step, err error, now time.Time) {
	switch {
	case err == nil && at == stepLock && m.troubledAt != stepLock:
	case err == nil:
		m.trouble, m.troubledAt, m.troubledSince = nil, "", time.Time{}
	case m.troubledSince.IsZero():
		m.trouble, m.troubledAt, m.troubledSince = err, at, now
	default:
		m.trouble = err
	}
}

func (m *memories) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bySelf, key)
}

// memory is what this process knows of a sweep and may lose: then it looks again, and
// what has to be waited for begins anew. One pass at a time works on a sweep, so it has
// no lock.
type memory struct {
	session string
	// engine is for these connections.
	engine    *tuning.Engine
	connected tuning.Cluster
	// outageTuner brings back orphaned OSDs, by these connections.
	outageTuner   *tuning.Engine
	outageTunerOf tuning.Cluster
	// noOrphanedOSDs: Ceph, asked since the lock was taken, has no orphaned OSDs but the
	// sweep's own.
	noOrphanedOSDs bool

	lock     *lock.Grant
	lockedAt time.Time
	// askedCeph: Ceph was asked for a journal since the lock was taken. askedAhead is when a
	// waiting sweep asked before that. unrestoredInCeph is another sweep's journal that only Ceph
	// has, or nil.
	askedCeph        bool
	askedAhead       time.Time
	unrestoredInCeph *tuning.Journal

	// survey is what does not change while a sweep is at work, or should not.
	survey *survey
	slot   slotMemory
	// switching is the session that is next, or under way, of an interleaved sweep.
	switching sessionMemory
	// cannotKeep says that the winner could not be left applied.
	cannotKeep bool
	// pauses is the restore that a suspension or the end of the window has begun; "" for
	// none. It is ended also where the sweep may go on meanwhile. restoringSince is when the
	// current one began.
	pauses         ending
	restoringSince time.Time
	// lastAttempt says that the last attempt to restore was made, before that is abandoned.
	lastAttempt bool
	// restored is how far the cluster has settled after the restore.
	restored tuning.Settling
	// restarts are those of OSDs after the restore.
	restarts restartMemory
	// dangers counts the looks running that showed the cluster in danger.
	dangers int
	// inactive are placement groups that were not active, in looks after a change.
	inactive quiescence.Inactive
	// foreign are the latest looks at pools whose users are protected.
	foreign []sweepspec.ForeignSample

	// trouble is the error that steps end with, troubledSince since when none has gone well,
	// and troubledAt the first of them.
	trouble       error
	troubledAt    step
	troubledSince time.Time

	waits           reconcile.Waiting
	statusWrittenAt time.Time // when status was last written
}

// slotMemory is about the run that is next, or under way.
type slotMemory struct {
	run int
	// since is when it began; what it waited before that, for the lock or a window, does
	// not count.
	since time.Time
	// want are the values that Ceph has to have meanwhile; nil before they were set.
	want []tuning.Change
	// changed says that it did not have all of it before.
	changed  bool
	settling tuning.Settling
	settled  bool
	// restarts are those of OSDs; started says that all are done.
	restarts restartMemory
	started  bool
	// unproven is since when daemons have not shown that they have it.
	unproven time.Time
}

// survey is what is asked once for all runs.
type survey struct {
	at      time.Time // when it was asked
	help    map[string]ceph.OptionHelp
	owned   tuning.Owned
	objects map[string]string // CephBlockPools by pool
	opQueue string
}

// ofSlot is what is known of that run.
func (m *memory) ofSlot(run int, now time.Time) *slotMemory {
	if m.slot.run != run {
		m.slot = slotMemory{run: run, since: now}
		m.foreign = nil
	}
	return &m.slot
}
