package cephtuningsweep

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/tuning"
)

// cephAgain is the interval between searches in Ceph for unrestored settings. If the lock is free, but the sweep
// still waits in the queue, it searches: the objects ahead may be waiting for the restore of these settings.
const cephAgain = 30 * time.Second

// takeLock takes or renews the lock of the Ceph cluster.
func (r *Reconciler) takeLock(ctx context.Context, seen pass) (effect, error) {
	if ahead, err := r.ahead(ctx, seen); err != nil || len(ahead) > 0 {
		if err != nil {
			return effect{}, err
		}
		return r.queued(ctx, seen, "Ahead in the queue of the Ceph cluster: "+strings.Join(ahead, ", ")+".")
	}
	grant, lost, err := r.lockOf(seen).Request(ctx, seen.memory.lock, seen.child != nil || seen.changedCeph())
	switch {
	case err != nil:
		return effect{}, err
	case lost != "": // The sweep restores once it has the lock again.
		return r.endsFor(ctx, seen, kstatus.Outcome{Reason: v1alpha1.ReasonLockLost, Message: lost})
	case !grant.Held:
		return r.queued(ctx, seen, fmt.Sprintf("%s has the lock of the Ceph cluster; this sweep waits for it.", grant.Holder))
	}
	seen.memory.lock, seen.memory.lockedAt = &grant, r.Now()
	return r.findOrphaned(ctx, seen)
}

// queued returns the effect of a sweep that waits for the lock. A sweep that can never run ends instead.
func (r *Reconciler) queued(ctx context.Context, seen pass, waits string) (effect, error) {
	never, err := r.neverRuns(ctx, seen)
	if err == nil && never != "" {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: never}), nil
	}
	return effect{Again: seen.pace.Settle, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonQueued, Message: waits}}, nil
}

// findOrphaned searches for orphaned changes once the sweep has the lock. It brings up orphaned OSDs itself.
// It leaves a journal that it finds to the next pass.
func (r *Reconciler) findOrphaned(ctx context.Context, seen pass) (effect, error) {
	if waits, err := r.restoreOrphanedOSDs(ctx, seen); err != nil || !waits.IsDone() {
		seen.memory.lockedAt = time.Time{} // So the next pass renews the lock, and searches again.
		return restoringOSDs(waits), err
	}
	if seen.memory.askedCeph || seen.journal != nil {
		return effect{}, nil
	}
	left, err := r.unrestoredInCeph(ctx, seen)
	if err != nil {
		seen.memory.lockedAt = time.Time{}
		return effect{}, err
	}
	seen.memory.unrestoredInCeph = left
	seen.memory.askedCeph = true
	return effect{}, nil
}

// unrestoredInCeph returns another sweep's open journal. Usually it exists only in Ceph, because it belongs to
// another Kubernetes cluster, or because its copy here was deleted. A sweep searches once after it has taken the
// lock, because a search starts a process. Before that, it searches only while the lock is free (see ahead):
// while another holder has the lock, the journal's sweep may be running.
func (r *Reconciler) unrestoredInCeph(ctx context.Context, seen pass) (*tuning.Journal, error) {
	to, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	left, err := tuning.NewMirrored(r.Journals, tuning.NewConfigKey(r.Ceph, to.Observer)).Load(ctx, seen.rook.FSID)
	if err != nil || left == nil || left.Done() || left.Sweep == seen.self() {
		return nil, err
	}
	return left, nil
}

// ahead names the objects that come before this sweep in the queue of the same cluster: those that have the
// lock or wait for it, in the order in which they began. If such objects exist but the lock is free, ahead also
// searches Ceph for unrestored settings.
func (r *Reconciler) ahead(ctx context.Context, seen pass) ([]string, error) {
	place, waits := queue.OfSweep(seen.sweep)
	if !waits || seen.memory.lock != nil {
		return nil, nil
	}
	place.Restores = seen.journalOrphaned()
	free := false
	names, err := queue.Ahead(ctx, r.Client, place, func() (bool, error) {
		grant, err := r.lockOf(seen).Peek(ctx)
		free = grant.Holder == "" || seen.now.After(grant.Expires)
		return grant.Held, err
	})
	if m := seen.memory; err == nil && len(names) > 0 && free && seen.now.Sub(m.askedAhead) >= cephAgain {
		// The objects ahead may be waiting for the restore of a journal that exists only in Ceph.
		m.askedAhead = seen.now
		m.unrestoredInCeph, err = r.unrestoredInCeph(ctx, seen)
	}
	return names, err
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
