package cephbenchmark

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/tuning"
)

// restoreOrphanedOSDs brings back orphaned OSDs: those of an earlier manager, or of an object that is
// gone. The holder of the lock does so before anything else. A new holder looks into Ceph too:
// the other copy may be of another Kubernetes cluster, or deleted.
func (r *Reconciler) restoreOrphanedOSDs(ctx context.Context, seen facts) (string, error) {
	if seen.osdsStopped() {
		return "", nil
	}
	first := seen.memory.lock == nil && seen.holder().Kind == "CephBenchmark" // A sweep has looked itself.
	left, err := r.orphanedOutage(ctx, seen, first && seen.cluster.Identities.OSDStopper != "")
	if err != nil || left == nil || left.Done() && left.Writer == r.writer && left.Sweep == seen.stopper() {
		return "", err // OSDs that this process has brought back may take a while to come up.
	}
	return r.putOSDsBack(ctx, seen)
}

// restoreOwnOSDs is the first part of a teardown: OSDs that this object has stopped have to be up
// again before anything of it goes.
func (r *Reconciler) restoreOwnOSDs(ctx context.Context, seen facts) (string, error) {
	if seen.fsid() == "" {
		return "", seen.rookErr
	}
	left, err := r.orphanedOutage(ctx, seen, seen.spec.Template.Outage != nil)
	if err != nil || left == nil || left.Sweep != seen.stopper() {
		return "", err
	}
	return r.putOSDsBack(ctx, seen)
}

// orphanedOutage is the journal of OSDs that are kept down, or nil. Looking into Ceph as well takes a
// process.
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

// bothOutages is where journals of outages are, in Kubernetes and in Ceph.
func (r *Reconciler) bothOutages(observer ceph.Connection) *tuning.Mirrored {
	return tuning.NewMirrored(r.outages, tuning.NewConfigKey(r.ceph, observer).ForOutages())
}

func (r *Reconciler) putOSDsBack(ctx context.Context, seen facts) (string, error) {
	if err := r.connectOutage(ctx, seen, time.Time{}); err != nil {
		return "", err
	}
	d := &seen.memory.outage
	waits, err := outage.Restore(ctx, d.engine, r.ceph, d.connected.Observer)
	if err == nil && waits == "" && d.so.Outstanding() {
		d.so.NoupUnset = r.now()
	}
	return waits, err
}
