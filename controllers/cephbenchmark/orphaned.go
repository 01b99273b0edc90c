package cephbenchmark

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// restoreOrphanedOSDs brings back orphaned OSDs, which an earlier manager or a deleted object
// has stopped. The holder of the lock does so before anything else. A new holder reads the
// journal in Ceph too: it may belong to another Kubernetes cluster, or its copy in Kubernetes
// may have been deleted.
func (r *Reconciler) restoreOrphanedOSDs(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.osdsStopped() {
		return reconcile.Done, nil
	}
	first := seen.memory.lock == nil && seen.holder().Kind == "CephBenchmark" // A sweep checks the journal in Ceph itself.
	left, err := r.orphanedOutage(ctx, seen, first && seen.cluster.Identities.OSDStopper != "")
	if err != nil || left == nil || left.Done() && left.Writer == r.writer && left.Sweep == seen.stopper() {
		return "", err // OSDs may take a while to come up after noup was unset.
	}
	return r.putOSDsBack(ctx, seen)
}

// restoreOwnOSDs is the first part of a teardown. OSDs that this object has stopped must be up
// again before the teardown removes anything.
func (r *Reconciler) restoreOwnOSDs(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.fsid() == "" {
		return "", seen.rookErr
	}
	left, err := r.orphanedOutage(ctx, seen, seen.spec.Template.Outage != nil)
	if err != nil || left == nil || left.Sweep != seen.stopper() {
		return "", err
	}
	return r.putOSDsBack(ctx, seen)
}

// orphanedOutage returns the journal of OSDs that are kept down, or nil. It reads the copy in
// Ceph only if requested, because that takes a process.
func (r *Reconciler) orphanedOutage(ctx context.Context, seen facts, inCeph bool) (*tuning.Journal, error) {
	if !inCeph {
		return r.outages.Load(ctx, seen.fsid())
	}
	observer, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return nil, err
	}
	return r.bothOutages(observer).Load(ctx, seen.fsid())
}

// bothOutages returns the store of the journals of outages, in Kubernetes and in Ceph.
func (r *Reconciler) bothOutages(observer ceph.Connection) *tuning.Mirrored {
	return tuning.NewMirrored(r.outages, tuning.NewConfigKey(r.ceph, observer).ForOutages())
}

func (r *Reconciler) putOSDsBack(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if err := r.connectOutage(ctx, seen, time.Time{}); err != nil {
		return "", err
	}
	d := &seen.memory.outage
	waits, err := outage.Restore(ctx, d.engine, r.ceph, d.connected.Observer)
	if err == nil && waits.IsDone() && d.so.Outstanding() {
		d.so.NoupUnset = r.now()
	}
	return waits, err
}
