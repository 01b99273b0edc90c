package cephtuningsweep

import (
	"context"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// dangerError says which state of the cluster forces the sweep to stop.
type dangerError struct{ message string }

// Error implements error.
func (e *dangerError) Error() string { return sentence(e.message) }

// endangered returns a *dangerError if the state of the cluster forces the sweep to stop. Some dangers count
// at once, others only if the previous sample had a danger, too. stopped is the number of OSDs that are down on
// purpose.
func (m *memory) endangered(status *ceph.Status, stopped int) error {
	danger := quiescence.DangerDuringRestart(status, stopped)
	if danger == nil {
		m.dangers = 0
		return nil
	}
	if m.dangers++; danger.AtOnce || m.dangers > 1 {
		return &dangerError{message: danger.Message}
	}
	return nil
}

// endangeredByChange checks a cluster after a change. In addition to the dangers that endangered finds, it
// finds placement groups that stay inactive. During a measurement this check is unnecessary: the benchmark
// aborts its run at the first inactive placement group, unless the benchmark's own outage explains it.
func (r *Reconciler) endangeredByChange(ctx context.Context, seen pass, connection ceph.Connection, status *ceph.Status, stopped int) error {
	err := seen.memory.endangered(status, stopped)
	if err != nil {
		return err
	}
	var pgs []ceph.PG
	if quiescence.HasInactive(status) {
		if pgs, err = r.Ceph.PGs(ctx, connection); err != nil {
			return err
		}
	}
	next, danger := seen.memory.inactive.Next(r.Now(), pgs)
	seen.memory.inactive = next
	if danger != nil {
		return &dangerError{message: danger.Message}
	}
	return nil
}

// endsFor ends a sweep that must stop. A sweep with a verdict keeps the verdict, but not the
// winner's settings.
func (f pass) endsFor(reason, message string) effect {
	if f.keeps() {
		return f.notKept(message)
	}
	return failed(kstatus.Outcome{Reason: reason, Message: message})
}

// watch checks the cluster and guardrails.foreignClients while the benchmark runs. It also records the nodes
// of the clients and of the background load.
func (r *Reconciler) watch(ctx context.Context, seen pass) (effect, error) {
	if err := r.noteNodes(ctx, seen); err != nil {
		return effect{}, err
	}
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	status, err := r.Ceph.Status(ctx, cluster.Observer)
	if err != nil {
		return effect{}, err
	}
	if err := seen.memory.endangered(status, seen.stoppedOSDs()); err != nil {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonClusterUnhealthy, Message: err.Error()}), nil //nolint:nilerr // The outcome of the sweep has the error.
	}
	limits := seen.sweep.Spec.Guardrails.ForeignClients
	if len(limits) == 0 {
		return effect{}, nil
	}
	if err := r.lookAtForeign(ctx, seen, cluster.Observer); err != nil {
		return effect{}, err
	}
	breach, err := sweepspec.Breached(limits, seen.memory.foreign)
	if err != nil {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: err.Error()}), nil //nolint:nilerr // The outcome of the sweep has the error.
	}
	if breach != nil {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonGuardrailBroken, Message: breach.Message}), nil
	}
	return effect{}, nil
}

// maxForeign is the maximum number of samples that lookAtForeign keeps. A check needs only two samples with
// data, but some samples may lack data.
const maxForeign = 8

// lookAtForeign samples the load of all pools and the worst latency of the OSDs. guardrails.foreignClients is
// checked with these samples.
func (r *Reconciler) lookAtForeign(ctx context.Context, seen pass, connection ceph.Connection) error {
	pools, err := r.Ceph.PoolIO(ctx, connection)
	if err != nil {
		return err
	}
	perf, err := r.Ceph.OSDPerf(ctx, connection)
	if err != nil {
		return err
	}
	sample := sweepspec.ForeignSample{Time: seen.now, Pools: map[v1alpha1.PoolName]sweepspec.PoolUse{}}
	for _, pool := range pools {
		sample.Pools[v1alpha1.PoolName(pool.Name)] = sweepspec.PoolUse{
			BytesPerSecond:      float64(pool.ReadBytesPerSecond + pool.WriteBytesPerSecond),
			OperationsPerSecond: float64(pool.ReadOperationsPerSecond + pool.WriteOperationsPerSecond),
			OSDLatencySeconds:   worstCommit(perf),
		}
	}
	m := seen.memory
	m.foreign = append(m.foreign, sample)
	m.foreign = m.foreign[max(0, len(m.foreign)-maxForeign):]
	return nil
}

// worstCommit returns the worst commit latency of all OSDs, in seconds. It includes all OSDs, because the
// OSDs that store a pool change with the pool's PGs.
func worstCommit(perf []ceph.OSDLatency) float64 {
	worst := 0.0
	for _, osd := range perf {
		worst = max(worst, osd.CommitSeconds)
	}
	return worst
}
