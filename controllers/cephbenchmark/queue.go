package cephbenchmark

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	// queueAgain is the interval between requests for the lock.
	queueAgain = 2 * time.Second
	// cephAgain is how long a benchmark waits after it found the open journal of a sweep in Ceph, before
	// it asks for the lock again.
	cephAgain = 30 * time.Second
)

// holder returns the object that holds the lock for this benchmark. For a sweep's benchmarks, it
// is the sweep.
func (f facts) holder() objectref.Ref {
	if owner := metav1.GetControllerOf(f.benchmark); owner != nil && owner.Kind == "CephTuningSweep" {
		return objectref.Ref{Kind: owner.Kind, Namespace: f.benchmark.Namespace, Name: owner.Name, UID: owner.UID}
	}
	return objectref.To("CephBenchmark", f.benchmark)
}

// takeLock takes the lock of the Ceph cluster, if it is this benchmark's turn.
func (r *Reconciler) takeLock(ctx context.Context, seen facts) (effect, error) {
	ahead, err := r.ahead(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	if len(ahead) > 0 {
		return queued(reconcile.Wait("Ahead in the queue of the Ceph cluster: " + strings.Join(ahead, ", ") + ".")), nil
	}
	if waits, err := r.unrestored(ctx, seen); err != nil || !waits.IsDone() {
		return queued(waits), err
	}
	grant, err := r.lockOf(seen).Acquire(ctx)
	switch held := seen.memory.lock; {
	case lock.Lost(held, err, seen.now):
		return lockLost(seen, fmt.Sprintf("The lock of the Ceph cluster could not be renewed until it expired: %v", err)), nil
	case err != nil:
		return effect{}, fmt.Errorf("take the lock of the Ceph cluster: %w", err)
	case !grant.Held && (held != nil || seen.job != nil):
		return lockLost(seen, fmt.Sprintf("%s has taken the lock of the Ceph cluster.", grant.Holder)), nil
	case !grant.Held:
		return queued(reconcile.Wait(grant.Holder + " has the lock of the Ceph cluster; this run is next.")), nil
	}
	return r.begunWith(ctx, seen, grant)
}

// begunWith brings back orphaned OSDs before anything else is done under the lock.
func (r *Reconciler) begunWith(ctx context.Context, seen facts, grant lock.Grant) (effect, error) {
	waits, err := r.restoreOrphanedOSDs(ctx, seen)
	if err != nil || !waits.IsDone() {
		return effect{again: queueAgain, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRestoringOSDs, Message: string(waits)}}, err
	}
	if waits, err := r.unrestoredInCeph(ctx, seen); err != nil || !waits.IsDone() {
		return queued(waits), err
	}
	seen.memory.lock, seen.memory.lockedAt, seen.memory.hadLock = &grant, seen.now, true
	return now(), nil
}

// unrestored waits for the sweep that still has settings to restore, because a measurement now would
// run with that sweep's values. The benchmark leaves the lock to that sweep, which needs it for
// the restore. The sweep's own benchmarks are meant to run with its values.
func (r *Reconciler) unrestored(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.holder().Kind != "CephBenchmark" {
		return reconcile.Done, nil
	}
	left, err := r.journals.Load(ctx, seen.fsid())
	if err != nil {
		return "", err
	}
	if left == nil && seen.now.Sub(seen.memory.unrestoredInCephAt) < cephAgain {
		left = seen.memory.unrestoredInCeph
	}
	return unrestoredBy(left), nil
}

// unrestoredInCeph is like unrestored, for a journal that exists only in Ceph: it belongs to
// another Kubernetes cluster, or its copy in Kubernetes was deleted. Only a new holder of the
// lock checks this, because before that the sweep may still be running. If it finds a journal,
// it releases the lock for a while.
func (r *Reconciler) unrestoredInCeph(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.memory.lock != nil || seen.job != nil || seen.holder().Kind != "CephBenchmark" {
		return reconcile.Done, nil
	}
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return "", err
	}
	left, err := tuning.NewMirrored(r.journals, tuning.NewConfigKey(r.ceph, at)).Load(ctx, seen.fsid())
	if err != nil || unrestoredBy(left).IsDone() {
		return reconcile.Done, err
	}
	if _, err := r.releaseLock(ctx, seen); err != nil {
		return "", err
	}
	seen.memory.unrestoredInCeph, seen.memory.unrestoredInCephAt = left, seen.now
	return unrestoredBy(left), nil
}

// unrestoredBy waits for the sweep of an open journal.
func unrestoredBy(left *tuning.Journal) reconcile.Wait {
	if left == nil || left.Done() {
		return reconcile.Done
	}
	return reconcile.Wait(fmt.Sprintf("Sweep %s has not restored all its changes to the Ceph cluster yet. If it was deleted, its operator restores them, or the next sweep here does.", left.Sweep))
}

// lockLost ends a session that has lost the lock.
func lockLost(seen facts, message string) effect {
	return failed(seen, kstatus.Outcome{Reason: v1alpha1.ReasonLockLost, Message: message})
}

func queued(waits reconcile.Wait) effect {
	return effect{again: queueAgain, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonQueued, Message: string(waits)}}
}

// ahead names the objects that have waited longer for the same cluster.
func (r *Reconciler) ahead(ctx context.Context, seen facts) ([]string, error) {
	place, waits := queue.OfBenchmark(seen.benchmark)
	if !waits || seen.memory.lock != nil {
		return nil, nil // Its sweep has waited on its behalf.
	}
	return queue.Ahead(ctx, r.client, place, func() (bool, error) {
		grant, err := r.lockOf(seen).Peek(ctx)
		return grant.Held, err
	})
}

// lockOf returns the lock of the benchmark's Ceph cluster.
func (r *Reconciler) lockOf(seen facts) lock.Handle {
	return lock.Handle{Lock: r.lock, FSID: seen.fsid(), Holder: seen.holder(), Now: r.now, Connect: func(ctx context.Context) (ceph.Connection, error) {
		return r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	}}
}

// renewWithin is how long a teardown waits for the lock to be renewed.
const renewWithin = 10 * time.Second

// keepLock renews a held lock during the teardown, which may take longer than the lock lasts. If
// the lock expired, the next holder would measure during the teardown. The teardown does not
// require the lock: a session that has lost it still removes its own objects.
func (r *Reconciler) keepLock(ctx context.Context, seen facts) {
	m := seen.memory
	if seen.fsid() == "" || seen.now.Sub(m.lockedAt) < lock.RenewAfter {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	grant, err := r.lockOf(seen).Renew(ctx)
	if err != nil {
		logf.FromContext(ctx).Error(err, "The lock of the Ceph cluster cannot be renewed during the benchmark's teardown")
		return
	}
	m.lockedAt, m.lock = seen.now, nil
	if grant.Held {
		m.lock, m.hadLock = &grant, true
	}
}

// releaseLock releases the cluster for the next holder.
func (r *Reconciler) releaseLock(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.holder().Kind != "CephBenchmark" {
		return reconcile.Done, nil
	}
	if err := r.lockOf(seen).Release(ctx); err != nil {
		return "", err
	}
	seen.memory.lock = nil
	return reconcile.Done, nil
}

// fsid returns the FSID of the cluster; "" if unknown.
func (f facts) fsid() string {
	switch {
	case f.Survey != nil:
		return f.Survey.OSDMap.FSID
	case f.rook != nil:
		return f.rook.FSID
	}
	return ""
}
