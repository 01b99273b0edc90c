package cephtuningsweep

import (
	"context"
	"errors"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// stoppedOSDs returns how many OSDs a benchmark of the sweep takes down at a time.
func (f facts) stoppedOSDs() int {
	if d := f.sweep.Spec.Template.Outage; d != nil {
		return len(d.OSDs)
	}
	return 0
}

// restoreOrphanedOSDs brings up OSDs of an orphaned outage, or of a benchmark outside this sweep.
// The sweep's own benchmarks bring up their OSDs themselves.
func (r *Reconciler) restoreOrphanedOSDs(ctx context.Context, seen facts) (reconcile.Wait, error) {
	left, err := r.orphanedOutage(ctx, seen)
	if err != nil {
		return "", err
	}
	if left == nil || left.Sweep.UID == string(seen.holder().UID) && seen.child != nil {
		seen.memory.noOrphanedOSDs = true
		return reconcile.Done, nil
	}
	if seen.cluster.Identities.OSDStopper == "" {
		return "", errors.New(outage.Names(outage.OSDsOf(left)) + " are kept down by a deleted benchmark, and the operator has no identity " +
			"that may unset noup: ask the administrator to name one in identities.osdStopper of the cluster")
	}
	to, err := r.connect(ctx, seen)
	if err != nil {
		return "", err
	}
	if to.Tuner, err = r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.OSDStopper); err != nil {
		return "", err
	}
	if seen.memory.outageTuner == nil || seen.memory.outageTunerOf != to {
		seen.memory.outageTunerOf = to
		seen.memory.outageTuner = tuning.NewEngine(r.Ceph, to, tuning.Options{
			Store:  tuning.NewMirrored(r.Outages, tuning.NewConfigKey(r.Ceph, to.Observer).ForOutages()),
			Guard:  func(ctx context.Context) (ceph.Fence, error) { return r.fence(ctx, seen) },
			Writer: r.Writer, Doubts: r.Doubts, Now: r.Now, Reached: r.Reached,
		})
	}
	return outage.Restore(ctx, seen.memory.outageTuner, r.Ceph, to.Observer)
}

// orphanedOutage returns the journal of OSDs that are kept down, or nil. Just after it took the
// lock, a sweep also searches Ceph: the outage may belong to another Kubernetes cluster, or the
// copy here may be deleted. That starts a process, so it happens only once, and only if OSDs can
// be stopped.
func (r *Reconciler) orphanedOutage(ctx context.Context, seen facts) (*tuning.Journal, error) {
	if seen.memory.noOrphanedOSDs || seen.cluster.Identities.OSDStopper == "" {
		return r.Outages.Load(ctx, seen.rook.FSID)
	}
	to, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	return tuning.NewMirrored(r.Outages, tuning.NewConfigKey(r.Ceph, to.Observer).ForOutages()).Load(ctx, seen.rook.FSID)
}

// restoringOSDs returns the outcome during the wait for orphaned OSDs.
func restoringOSDs(waits reconcile.Wait) effect {
	return effect{again: 2 * time.Second, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRestoringOSDs, Message: string(waits)}}
}
