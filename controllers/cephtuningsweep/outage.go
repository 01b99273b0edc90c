package cephtuningsweep

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
)

// stoppedOSDs returns how many OSDs a benchmark of the sweep takes down at a time.
func (f facts) stoppedOSDs() int {
	if d := f.sweep.Spec.Template.Outage; d != nil {
		return len(d.OSDs)
	}
	return 0
}

// restoreOrphanedOSDs brings up OSDs of an orphaned outage, or of a benchmark outside this sweep. The
// current benchmark of the sweep brings up its OSDs itself. Just after it took the lock, a sweep also
// searches Ceph: the outage may belong to another Kubernetes cluster, or the copy here may be deleted.
// A search starts a process. So the searches end once these OSDs are up, and begin only if the operator
// config names an identity that may stop OSDs.
func (r *Reconciler) restoreOrphanedOSDs(ctx context.Context, seen facts) (reconcile.Wait, error) {
	m := seen.memory
	stopper := outage.Stopper{
		Operator: outage.Operator{Ceph: r.Ceph, Rook: r.Rook, Store: r.Outages, Writer: r.Writer, Doubts: r.Doubts, Now: r.Now, Reached: r.Reached},
		Session:  &m.outage, Cluster: seen.cluster, FSID: seen.rook.FSID, Holder: seen.holder(),
		Guard: r.lockOf(seen).Fence,
	}
	waits, err := stopper.RestoreForeign(ctx, !m.noOrphanedOSDs, seen.child != nil)
	m.noOrphanedOSDs = m.noOrphanedOSDs || err == nil && waits.IsDone()
	return waits, err
}

// restoringOSDs returns the outcome during the wait for orphaned OSDs.
func restoringOSDs(waits reconcile.Wait) effect {
	return effect{again: 2 * time.Second, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRestoringOSDs, Message: string(waits)}}
}
