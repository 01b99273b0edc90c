package cephbenchmark

import (
	"context"

	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/workload"
)

// A scratch pool may be confined to some OSDs. The preparation puts the pool's placement groups on these
// OSDs, and the manager checks the placement again after each run.

// osds returns the OSDs to which the scratch pool is confined. Either this process has chosen them,
// or an earlier process has recorded them in the Job and signed them.
func (f facts) osds() []int {
	if f.memory.pool.OSDs == nil && f.job != nil && f.jobMismatch.Matches() {
		return clientjob.OSDsOf(f.job)
	}
	return f.memory.pool.OSDs
}

// poolOSDs returns the OSDs to which the scratch pool is confined, in the form of status.
func (f facts) poolOSDs() []int32 {
	var ids []int32
	for _, id := range f.osds() {
		ids = append(ids, int32(id)) //nolint:gosec // IDs of OSDs are small.
	}
	return ids
}

// observePlacement checks, after the phases of a run, whether the scratch pool is still on its OSDs, or on
// OSDs of its device class. It does nothing during a teardown or a suspension, or before the first survey
// of Ceph.
func (r *Reconciler) observePlacement(ctx context.Context, seen *facts) {
	if seen.tearingDown() || seen.benchmark.Spec.Suspend || seen.Survey == nil {
		return
	}
	if seen.allRunsEnded() || seen.next.Kind != workload.MoveEnd && (len(seen.logs) == 0 || !seen.phasesDone()) {
		return
	}
	if seen.target().Confined() == nil && seen.target().DeviceClasses() == nil {
		return
	}
	connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		seen.misplacedErr = err
		return
	}
	pgs, err := r.Ceph.PGs(ctx, connection)
	if err != nil {
		seen.misplacedErr = err
		return
	}
	if wrong := seen.target().Misplaced(pgs); wrong != "" {
		seen.misplaced = "OSDs: " + wrong
	}
}
