package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Runs of a block share a scratch pool where the plan says so, and the data in it where it says that.
// The first of them makes both. They belong to the sweep, which removes them after the block. All state is in the CephBlockPool
// and in the ledger, so a manager that was killed goes on with what it finds.

const sweepKind = "CephTuningSweep"

// poolOwner is whose the pools are that runs of the sweep share.
func (f facts) poolOwner() objectref.Ref { return objectref.To(sweepKind, f.sweep) }

// poolKey distinguishes the pools of the sweep: one for each attempt at a block.
func (f facts) poolKey() string {
	return fmt.Sprintf("%s/%d/%d", f.sweep.Spec.RunID, f.next.Slot.Block, f.next.Slot.Attempt)
}

// sharesPool reports whether the run that is next shares its pool with others of its block.
func (f facts) sharesPool() bool {
	plan := f.sweep.Status.Plan
	return f.next.Action == sweep.RunSlot && plan != nil && plan.ScratchPoolPer == v1alpha1.MadeForBlock
}

// beginsBlock reports whether the run that is next is the first of its block.
func (f facts) beginsBlock() bool { return f.next.Slot.Position == 0 && f.next.Slot.Repeat == 0 }

// continuesBlock reports whether runs that count were measured on the pool of the block. Another
// pool would have other OSDs, and what is compared is to differ in settings alone.
func (f facts) continuesBlock() bool {
	slot := f.next.Slot
	return slices.ContainsFunc(f.ledger, func(e sweepspec.Entry) bool {
		return e.Block == slot.Block && e.Attempt == slot.Attempt && e.Outcome == sweep.Valid
	})
}

// share has the benchmark of the run that is next use the pool of its block.
func (r *Reconciler) share(seen facts, child *v1alpha1.CephBenchmark) error {
	if !seen.sharesPool() {
		return nil
	}
	return scratchpool.Share(r.MasterKey, child, scratchpool.Use{
		Key: seen.poolKey(), Continues: seen.continuesBlock(), Data: seen.sweep.Status.Plan.DatasetPer == v1alpha1.MadeForBlock,
	})
}

// poolIsLost reports whether the pool is gone on which runs of the block were measured.
func (r *Reconciler) poolIsLost(ctx context.Context, seen facts) (bool, error) {
	if !seen.sharesPool() || !seen.continuesBlock() {
		return false, nil
	}
	there, err := r.Rook.HasScratchPool(ctx, seen.cluster, seen.poolOwner())
	return !there, err
}

// beginAgain gives up what the block holds, because its pool is gone.
func (f facts) beginAgain() (effect, error) {
	came, err := f.interrupted()
	message := fmt.Sprintf("Something removed the scratch pool of block %d, so the block begins again on another one: find out what.", f.next.Slot.Block)
	came.events = append(came.events, eventRecord{corev1.EventTypeWarning, v1alpha1.ReasonScratchPoolGone, message})
	return came, err
}

// removePool removes the pool that runs of the sweep share, and says what it waits for; "" if
// there is none. It asks by owner, whatever the spec says by now.
func (r *Reconciler) removePool(ctx context.Context, seen facts) (string, error) {
	return r.removePoolOf(ctx, seen.cluster, seen.poolOwner())
}

func (r *Reconciler) removePoolOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (string, error) {
	left, err := scratchpool.Remover{Rook: r.Rook, Ceph: r.Ceph}.Remove(ctx, cluster, owner)
	if left.Full {
		left.Waits += " It is full, and Rook waits until Ceph leaves HEALTH_ERR."
	}
	return left.Waits, err
}

// leavePool ends a restore for which there is no way to Ceph. It does not end while a pool
// would stay that can be removed later.
func (r *Reconciler) leavePool(ctx context.Context, seen facts, p plan) (effect, bool, error) {
	problem, ok := errors.AsType[*rook.Error](seen.rookErr)
	if !seen.known || ok && problem.Reason == rook.ReasonClusterMissing || seen.abandonRequested() {
		return effect{}, true, nil
	}
	owned, err := r.Rook.OwnsScratchPool(ctx, seen.cluster, seen.poolOwner())
	if err != nil || owned {
		return inProgress(p, "The scratch pool of the sweep cannot be removed. "+seen.whyUnreachable()), false, err
	}
	return effect{}, true, nil
}

// abandonPool asks once for the removal of the pool, for which nobody waits.
func (r *Reconciler) abandonPool(ctx context.Context, seen facts) []eventRecord {
	ctx, stop := context.WithTimeout(ctx, tryWithin)
	defer stop()
	waits, err := r.removePool(ctx, seen)
	if err == nil && waits == "" {
		return nil
	}
	return []eventRecord{abandonedPool(waits, err)}
}

// abandonedPool tells of a pool that may stay, and why it is not gone.
func abandonedPool(waits string, err error) eventRecord {
	if err != nil {
		waits = err.Error()
	}
	return eventRecord{corev1.EventTypeWarning, v1alpha1.ReasonAbandoned, fmt.Sprintf(
		"The scratch pool is not gone, and the sweep does not wait for it: %s Look whether CephBlockPool %s goes, and delete it if it does not.", sentence(waits), settings.ScratchPool)}
}

// removePoolBefore has the pool of the block before removed, which OSDs then do while the
// cluster settles. The benchmark waits for the end of it.
func (r *Reconciler) removePoolBefore(ctx context.Context, seen facts) error {
	if !seen.sharesPool() || !seen.beginsBlock() {
		return nil
	}
	_, err := r.removePool(ctx, seen)
	return err
}
