package cephtuningsweep

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// stoppedOSDs returns the number of OSDs that an outage of the sweep's benchmark takes down.
func (f facts) stoppedOSDs() int {
	if d := f.sweep.Spec.Template.Outage; d != nil {
		return len(d.OSDs)
	}
	return 0
}

// restoreOrphanedOSDs brings up orphaned OSDs: those that a benchmark stopped and that no benchmark brings
// up. It leaves the outage of the sweep's current benchmark alone, because that benchmark brings up its OSDs
// itself. After the sweep has taken the lock, restoreOrphanedOSDs also searches Ceph: the outage may belong
// to another Kubernetes cluster, or the copy of its journal in this Kubernetes cluster may have been deleted.
// The search requires an identity that may stop OSDs. Each search starts a process, so the searches end once
// no orphaned OSDs are down.
func (r *Reconciler) restoreOrphanedOSDs(ctx context.Context, seen pass) (reconcile.Wait, error) {
	m := seen.memory
	stopper := outage.Stopper{
		Operator:  outage.Operator{Ceph: r.Ceph, Rook: r.Rook, Store: r.Outages, Writer: r.Writer, Doubts: r.Doubts, Now: r.Now, Reached: r.Reached},
		Execution: &m.outage, Cluster: seen.cluster, FSID: seen.rook.FSID, Holder: seen.holder(),
		Guard: r.lockOf(seen).Fence,
	}
	waits, err := stopper.RestoreForeign(ctx, !m.noOrphanedOSDs, seen.child != nil)
	m.noOrphanedOSDs = m.noOrphanedOSDs || err == nil && waits.IsDone()
	return waits, err
}

// restoringOSDs returns the effect of a wait for orphaned OSDs.
func restoringOSDs(waits reconcile.Wait) effect {
	return effect{Again: 2 * time.Second, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRestoringOSDs, Message: string(waits)}}
}
