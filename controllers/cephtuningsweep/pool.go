package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
)

// The plan may let the runs of a block share a scratch pool, and also the data in the pool. The first run
// creates them. They belong to the sweep, which removes them after the block. All state is in the
// CephBlockPool and in the ledger, so a new manager continues with the state that it finds.

const sweepKind = "CephTuningSweep"

// poolOwner returns the owner of the sweep's shared pools.
func (f facts) poolOwner() objectref.Ref { return objectref.To(sweepKind, f.sweep) }

// poolKey returns the key of the shared pool. Each attempt at a block has a separate pool.
func (f facts) poolKey() string {
	return fmt.Sprintf("%s/%d/%d", f.sweep.Spec.RunID, f.next.Trial.Block, f.next.Trial.Attempt)
}

// sharesPool reports whether the next run shares its pool with other runs of its block.
func (f facts) sharesPool() bool {
	plan := f.sweep.Status.Plan
	return f.next.Action == sweep.RunTrial && plan != nil && plan.ScratchPoolPer == v1alpha1.MadeForBlock
}

// beginsBlock reports whether the next run is the first of its block.
func (f facts) beginsBlock() bool { return f.next.Trial.Position == 0 && f.next.Trial.Repeat == 0 }

// continuesBlock reports whether valid runs were measured on the pool of the block. Then the block must not
// continue on a new pool, which could have other OSDs: compared runs must differ only in settings.
func (f facts) continuesBlock() bool {
	return f.design != nil && f.design.ContinuesBlock()
}

// sharedPool says how the benchmark of the next run uses the pool of its block; nil if it does not share one.
func (f facts) sharedPool() *v1alpha1.SharedPool {
	if !f.sharesPool() {
		return nil
	}
	return &v1alpha1.SharedPool{Key: f.poolKey(), Continues: f.continuesBlock(), Dataset: f.sweep.Status.Plan.DatasetPer == v1alpha1.MadeForBlock}
}

// poolIsLost reports whether the pool on which runs of the block were measured no longer exists, or is being
// removed.
func (r *Reconciler) poolIsLost(ctx context.Context, seen pass) (bool, error) {
	if !seen.sharesPool() || !seen.continuesBlock() {
		return false, nil
	}
	there, err := r.Rook.HasScratchPool(ctx, seen.cluster, seen.poolOwner())
	return !there, err
}

// beginAgain returns the effect that discards the runs of the block, because its pool no longer exists.
func (f pass) beginAgain() (effect, error) {
	result, err := f.interrupted()
	message := fmt.Sprintf("The scratch pool of block %d disappeared. Find out what removed it. The block starts again on a new pool.", f.next.Trial.Block)
	result.Events = append(result.Events, reconcile.Warning(v1alpha1.ReasonScratchPoolGone, message))
	return result, err
}

// removePool removes the sweep's shared pool. It finds the pool by the owner, because the spec may have
// changed.
func (r *Reconciler) removePool(ctx context.Context, seen pass) (reconcile.Wait, error) {
	return r.removePoolOf(ctx, seen.cluster, seen.poolOwner())
}

func (r *Reconciler) removePoolOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (reconcile.Wait, error) {
	left, err := scratchpool.Remover{Rook: r.Rook, Ceph: r.Ceph}.Remove(ctx, cluster, owner)
	if left.Full {
		left.Waits += " It is full, and Rook waits until Ceph leaves HEALTH_ERR."
	}
	return left.Waits, err
}

// leavePool reports whether a restore may end although Ceph cannot be reached. It may end if the sweep has no
// pool, or if the CephCluster no longer exists. It may also end if the operator config no longer lists the
// CephCluster, or if a person has abandoned the restore.
func (r *Reconciler) leavePool(ctx context.Context, seen pass, p plan) (effect, bool, error) {
	problem, ok := errors.AsType[*rook.Error](seen.rookErr)
	if !seen.known || ok && problem.Reason == rook.ReasonClusterMissing || seen.abandonRequested() {
		return effect{}, true, nil
	}
	owned, err := r.Rook.ScratchPoolsOf(ctx, seen.cluster, seen.poolOwner())
	if err != nil || len(owned) > 0 {
		return inProgress(p, seen.whyUnreachable("scratch pool", "removed")), false, err
	}
	return effect{}, true, nil
}

// abandonPool calls removePool once, and does not wait for the removal. If the pool has images, the call
// removes only one image.
func (r *Reconciler) abandonPool(ctx context.Context, seen pass) []reconcile.Event {
	ctx, stop := context.WithTimeout(ctx, tryWithin)
	defer stop()
	waits, err := r.removePool(ctx, seen)
	if err == nil && waits.IsDone() {
		return nil
	}
	return []reconcile.Event{abandonedPool(waits, err)}
}

// abandonedPool returns an event about a pool that may remain, and why.
func abandonedPool(waits reconcile.Wait, err error) reconcile.Event {
	reason := string(waits)
	if err != nil {
		reason = err.Error()
	}
	return reconcile.Warning(v1alpha1.ReasonAbandoned, fmt.Sprintf(
		"The sweep no longer waits for the removal of its scratch pool: %s Delete CephBlockPool %s if it stays.", sentence(reason), settings.ScratchPool))
}

// removePoolBefore begins the removal of the pool of the previous block, or of the previous attempt at this
// block, so that OSDs remove the pool's PGs while the cluster settles. The benchmark of the next run waits until
// the pool is removed.
func (r *Reconciler) removePoolBefore(ctx context.Context, seen pass) error {
	if !seen.sharesPool() || !seen.beginsBlock() {
		return nil
	}
	_, err := r.removePool(ctx, seen)
	return err
}
