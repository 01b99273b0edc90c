package cephtuningsweep

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/queue"
)

// takeLock takes or renews the lock of the Ceph cluster.
func (r *Reconciler) takeLock(ctx context.Context, seen facts) (effect, error) {
	if ahead, err := r.ahead(ctx, seen); err != nil || len(ahead) > 0 {
		return effect{again: seen.pace.Settle, outcome: kstatus.Outcome{
			Reason: v1alpha1.ReasonQueued, Message: "Ahead in the queue of the Ceph cluster: " + strings.Join(ahead, ", ") + ".",
		}}, err
	}
	grant, err := r.acquire(ctx, seen)
	switch held := seen.memory.lock; {
	case err != nil && held != nil && seen.now.After(held.Expires):
		return lockLost(fmt.Sprintf("The lock of the Ceph cluster could not be renewed until it expired: %v", err)), nil
	case err != nil:
		return effect{}, fmt.Errorf("take the lock of the Ceph cluster: %w", err)
	case !grant.Held && (held != nil || seen.child != nil || seen.changedCeph()):
		return lockLost(fmt.Sprintf("%s has taken the lock of the Ceph cluster.", grant.Holder)), nil
	case !grant.Held:
		return effect{again: seen.pace.Settle, outcome: kstatus.Outcome{
			Reason: v1alpha1.ReasonQueued, Message: fmt.Sprintf("%s has the lock of the Ceph cluster; this sweep waits for it.", grant.Holder),
		}}, nil
	}
	if waits, err := r.letLeftUp(ctx, seen); err != nil || waits != "" {
		seen.memory.lockedAt = time.Time{} // The pass that follows asks again.
		return lettingUp(waits), err
	}
	return effect{}, nil
}

// ahead names those that wait for the same cluster and were first.
func (r *Reconciler) ahead(ctx context.Context, seen facts) ([]string, error) {
	place, waits := queue.OfSweep(seen.sweep)
	if !waits || seen.memory.lock != nil {
		return nil, nil
	}
	place.Restores = seen.leftByGone()
	return queue.Ahead(ctx, r.Client, place, func() (bool, error) {
		grant, err := r.Lock.Peek(ctx, seen.rook.FSID, seen.holder())
		return grant.Held, err
	})
}

// lockLost ends a sweep that must not do anything any more but put back, once it has the
// lock again.
func lockLost(message string) effect {
	return failed(kstatus.Outcome{Reason: v1alpha1.ReasonLockLost, Message: message})
}

// acquire asks for the lock, and keeps in mind that it is held.
func (r *Reconciler) acquire(ctx context.Context, seen facts) (lock.Grant, error) {
	at, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return lock.Grant{}, err
	}
	grant, err := r.Lock.Acquire(ctx, at, seen.rook.FSID, seen.holder(), r.Now())
	if err == nil && grant.Held {
		seen.memory.lock, seen.memory.lockedAt = &grant, r.Now()
	}
	return grant, err
}

// fence makes sure that the lock is held, at once before each change.
func (r *Reconciler) fence(ctx context.Context, seen facts) (ceph.Fence, error) {
	grant, err := r.acquire(ctx, seen)
	if err != nil {
		return ceph.Fence{}, fmt.Errorf("make sure of the lock of the Ceph cluster: %w", err)
	}
	return grant.Fence(seen.rook.FSID)
}

// release lets the next one have the cluster. Who has not got it needs no way to Ceph for
// that, which may be gone for good.
func (r *Reconciler) release(ctx context.Context, seen facts) error {
	if grant, err := r.Lock.Peek(ctx, seen.rook.FSID, seen.holder()); err != nil || !grant.Held {
		return err
	}
	at, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return err
	}
	if err := r.Lock.Release(ctx, at, seen.rook.FSID, seen.holder()); err != nil {
		return fmt.Errorf("release the lock of the Ceph cluster: %w", err)
	}
	seen.memory.lock = nil
	return nil
}
