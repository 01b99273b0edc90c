package cephtuningsweep

import (
	"context"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/tuning"
)

// cephAgain is the interval between searches in Ceph for unrestored settings. If the lock is free, but the sweep
// still waits in the queue, it searches: the objects ahead may be waiting for the restore of these settings.
const cephAgain = 30 * time.Second

// takeLock takes or renews the lock of the Ceph cluster.
func (r *Reconciler) takeLock(ctx context.Context, seen pass) (effect, error) {
	line, err := r.ahead(ctx, seen)
	switch {
	case err != nil:
		return effect{}, err
	case line.Length > 0:
		return r.waits(ctx, seen, line, line.String())
	}
	grant, lost, err := r.lockOf(seen).Request(ctx, seen.memory.lock, seen.child != nil || seen.changedCeph())
	switch {
	case err != nil:
		return effect{}, err
	case lost != "": // The sweep restores once it has the lock again.
		return seen.endsFor(v1alpha1.ReasonLockLost, lost), nil
	case !grant.Held:
		return r.waits(ctx, seen, line, fmt.Sprintf("%s has the lock of the Ceph cluster; this sweep waits for it.", grant.Holder))
	}
	seen.memory.lock, seen.memory.lockedAt = &grant, r.Now()
	return r.findOrphaned(ctx, seen)
}

// queued returns the facts of a sweep that may run, and only waits while others are ahead in the queue. It reads only the
// cache, because a thousand sweeps may wait. It returns false for the first sweep in the queue, which restores what sweeps
// that are gone have left changed.
func (r *Reconciler) queued(ctx context.Context, s *v1alpha1.CephTuningSweep, p reconcile.Pass[memory]) (facts, bool, error) {
	seen := facts{now: p.Now, pace: r.Pace, settings: r.Settings, sweep: s, memory: p.Memory, headway: p.Headway, schedule: p.Schedule}
	place, waits := queue.OfSweep(s)
	looked := p.Memory.mayRun || p.Memory.askedPlan.IsZero()
	if !waits || !place.Still || !looked || p.Memory.lock != nil || !seen.unplanned() || s.Status.Trial != nil {
		return facts{}, false, nil
	}
	var err error
	if seen.line, err = queue.LineOf(ctx, r.Client, place); err != nil || seen.line.Sweeps == 0 {
		return facts{}, false, err
	}
	return seen, true, nil
}

// waitInLine waits while others are ahead in the queue.
func waitInLine(seen facts) (plan, bool) {
	return waiting(v1alpha1.ReasonQueued, seen.line.String(), seen.line.Again()), seen.line.Length > 0
}

// waits returns the effect of a sweep that waits for the lock. A sweep that can never run ends instead.
func (r *Reconciler) waits(ctx context.Context, seen pass, line queue.Line, waits string) (effect, error) {
	again := seen.pace.Queue
	if line.Sweeps > 0 {
		again = line.Again()
	}
	never, err := r.neverRuns(ctx, seen)
	if err == nil && never != "" {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: never}), nil
	}
	return effect{Again: again, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonQueued, Message: waits}}, nil
}

// findOrphaned searches for orphaned changes once the sweep has the lock. It brings up orphaned OSDs itself.
// It leaves a journal that it finds to the next pass.
func (r *Reconciler) findOrphaned(ctx context.Context, seen pass) (effect, error) {
	var o kstatus.Outcome
	if reasonOf(seen.sweep) == v1alpha1.ReasonQueued { // After a restart, a queued sweep has no lock.
		o = preparing("Looking at the cluster.")
	}
	if waits, err := r.restoreOrphanedOSDs(ctx, seen); err != nil || !waits.IsDone() {
		seen.memory.lockedAt = time.Time{} // So the next pass renews the lock, and searches again.
		return restoringOSDs(waits), err
	}
	if seen.memory.askedCeph || seen.journal != nil {
		return effect{Outcome: o}, nil
	}
	left, err := r.unrestoredInCeph(ctx, seen)
	if err != nil {
		seen.memory.lockedAt = time.Time{}
		return effect{}, err
	}
	seen.memory.unrestoredInCeph = left
	seen.memory.askedCeph = true
	return effect{Outcome: o}, nil
}

// unrestoredInCeph returns another sweep's open journal. Usually it exists only in Ceph, because it belongs to
// another Kubernetes cluster, or because its copy here was deleted. A sweep searches once after it has taken the
// lock, because a search starts a process. Before that, it searches only while the lock is free (see ahead):
// while another holder has the lock, the journal's sweep may be running.
func (r *Reconciler) unrestoredInCeph(ctx context.Context, seen pass) (*tuning.Journal, error) {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	left, err := tuning.NewMirrored(r.Journals, tuning.NewConfigKey(r.Ceph, cluster.Observer)).Load(ctx, seen.rook.FSID)
	if err != nil || left == nil || left.Done() || left.Sweep == seen.self() {
		return nil, err
	}
	return left, nil
}

// ahead returns what comes before this sweep in the queue of the same cluster: those that have the
// lock or wait for it, in the order in which they began. If such objects exist but the lock is free, ahead also
// searches Ceph for unrestored settings.
func (r *Reconciler) ahead(ctx context.Context, seen pass) (queue.Line, error) {
	place, waits := queue.OfSweep(seen.sweep)
	if !waits || seen.memory.lock != nil {
		return queue.Line{}, nil
	}
	place.Restores = seen.journalOrphaned()
	free := false
	line, err := queue.Ahead(ctx, r.Client, place, func() (bool, error) {
		grant, err := r.lockOf(seen).Peek(ctx)
		free = grant.Holder == "" || seen.now.After(grant.Expires)
		return grant.Held, err
	})
	if m := seen.memory; err == nil && line.Length > 0 && free && seen.now.Sub(m.askedAhead) >= cephAgain {
		// The objects ahead may be waiting for the restore of a journal that exists only in Ceph.
		m.askedAhead = seen.now
		m.unrestoredInCeph, err = r.unrestoredInCeph(ctx, seen)
	}
	return line, err
}

// lockOf returns the lock of the sweep's Ceph cluster. Its method Fence verifies the lock immediately before
// each change. Fence does not use memory, because sessions switch settings concurrently with passes.
func (r *Reconciler) lockOf(seen pass) lock.Handle {
	return lock.Handle{Lock: r.Lock, FSID: seen.rook.FSID, Holder: seen.holder(), Now: r.Now, Connect: func(ctx context.Context) (ceph.Connection, error) {
		return r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	}}
}

// acquire takes or renews the lock, and records that it is held.
func (r *Reconciler) acquire(ctx context.Context, seen pass) (lock.Grant, error) {
	grant, err := r.lockOf(seen).Acquire(ctx)
	if err == nil && grant.Held {
		seen.memory.lock, seen.memory.lockedAt = &grant, r.Now()
	}
	return grant, err
}

// release releases the lock. If the sweep does not hold the lock, release does not connect to Ceph, which may
// no longer exist.
func (r *Reconciler) release(ctx context.Context, seen pass) error {
	seen.memory.askedCeph, seen.memory.unrestoredInCeph, seen.memory.noOrphanedOSDs = false, nil, false
	held := r.lockOf(seen)
	grant, err := held.Peek(ctx)
	if err != nil {
		return err
	}
	if grant.Held {
		if err := held.Release(ctx); err != nil {
			return err
		}
	}
	seen.memory.lock = nil // Another process may have the lock already. Without this grant, ahead checks the queue again.
	return nil
}
