package scratchpool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Settle is how long Ceph must report the PGs of a new pool as clean, at their final number, before
// the manager trusts it. OSDs report every five seconds (mgr_stats_period), and ceph-mgr passes
// their reports on every two seconds. A pool begins with few PGs, and splitting them ends with a
// round of peering.
const Settle = 8 * time.Second

// maxRemakes limits how often a scratch pool is created again. Without a limit, this might never
// end: a number of PGs that Ceph refuses looks the same as one that the autoscaler has changed.
const maxRemakes = 3

// Preparation is how far the preparation of a session's scratch pool has come. It may be lost: a
// restarted manager may draw other OSDs if some were removed meanwhile, which is harmless, because
// nothing was measured yet.
type Preparation struct {
	// OSDs are the OSDs to which the pool is confined; empty for all.
	OSDs []int
	// OSDMap and PGs were read when the pool was first found to be as specified; nil before.
	OSDMap *ceph.OSDMap
	PGs    []ceph.PG

	// chosen has the OSDs that this process has drawn. placed holds the placements that were sent
	// to Ceph, by placement group.
	chosen *placement.Chosen
	placed map[string][]int
	// cleanSince is the time since which all PGs have been clean, at their final number; zero
	// while they are not.
	cleanSince time.Time
	// remade counts the pools that were removed and created again.
	remade int
}

// Maker is the part of Rook that a preparation needs.
type Maker interface {
	Rook
	EnsureScratchPool(ctx context.Context, cluster settings.Cluster, spec v1alpha1.ScratchPool, use rook.ScratchUse, osdMap *ceph.OSDMap) (ready bool, why string, err error)
}

// Preparer prepares the scratch pool of a session. Nothing of a placement has to be restored: the
// monitor drops the mappings of `osd pg-upmap` with the pool.
type Preparer struct {
	*Preparation

	Rook    Maker
	Ceph    tuning.Ceph
	Cluster settings.Cluster
	Want    v1alpha1.ScratchPool
	Use     rook.ScratchUse
	Now     time.Time
	// Settle is how long the PGs of a new pool have to be clean.
	Settle time.Duration
	// Guard verifies the lock of the Ceph cluster.
	Guard tuning.Guard
	// Misplaced describes how the pool's placement differs from the requested one, according to
	// the preparation; "" if it does not.
	Misplaced func() string
	// Remove removes the pool of an owner.
	Remove func(ctx context.Context) (reconcile.Wait, error)
}

// Prepare takes the pool one step further, and returns what it waits for. It creates the pool,
// waits until the pool in Ceph is as specified, and moves its placement groups to the requested
// OSDs before anything is written to it.
func (p Preparer) Prepare(ctx context.Context) (reconcile.Wait, error) {
	at, err := p.Rook.Connection(ctx, p.Cluster, p.Cluster.Identities.Observer)
	if err != nil {
		return "", err
	}
	if err := p.choose(ctx, at); err != nil {
		return "", err
	}
	osdMap, err := p.Ceph.OSDMap(ctx, at)
	if err != nil {
		return "", err
	}
	if waits, err := p.create(ctx, osdMap); err != nil || !waits.IsDone() {
		return waits, err
	}
	if osdMap, err = p.Ceph.OSDMap(ctx, at); err != nil {
		return "", err
	}
	if waits, err := p.verify(ctx, osdMap); err != nil || !waits.IsDone() {
		return waits, err
	}
	if waits, err := p.place(ctx, osdMap); err != nil || !waits.IsDone() {
		p.cleanSince = time.Time{}
		return waits, err
	}
	return p.settle(ctx, at, osdMap)
}

// choose draws the OSDs of the pool, once.
func (p Preparer) choose(ctx context.Context, at ceph.Connection) error {
	if p.Want.OSDs == nil || p.chosen != nil {
		return nil
	}
	tree, err := p.Ceph.OSDTree(ctx, at)
	if err != nil {
		return err
	}
	chosen, err := placement.Choose(tree, placement.RequestOf(p.Want))
	if err != nil {
		return err
	}
	p.chosen, p.OSDs = &chosen, chosen.Sorted()
	return nil
}

// create creates the pool if it does not exist, and waits until Rook calls it ready.
func (p Preparer) create(ctx context.Context, osdMap *ceph.OSDMap) (reconcile.Wait, error) {
	ready, why, err := p.Rook.EnsureScratchPool(ctx, p.Cluster, p.Want, p.Use, osdMap)
	problem, known := errors.AsType[*rook.Error](err)
	switch {
	case known && problem.Reason == rook.ReasonScratchPoolDiffers:
		return p.remove(ctx, "The scratch pool of an earlier run was removed.")
	case known && problem.Reason != rook.ReasonScratchPoolGone:
		return reconcile.Wait(problem.Error()), nil // An administrator has to act, so retry slowly.
	case err != nil || ready:
		return reconcile.Done, err
	}
	return reconcile.Wait(cmp.Or(why, "Rook is creating the scratch pool.")), nil
}

func (p Preparer) remove(ctx context.Context, removed reconcile.Wait) (reconcile.Wait, error) {
	waits, err := p.Remove(ctx)
	return cmp.Or(waits, removed), err
}

// verify compares the pool in Ceph with the specified one: Rook calls a pool Ready even if Ceph
// has refused its parameters.
func (p Preparer) verify(ctx context.Context, osdMap *ceph.OSDMap) (reconcile.Wait, error) {
	if rook.Overtaken(p.Want, osdMap.Pools) && p.remade < maxRemakes {
		p.remade++
		return p.remove(ctx, "Recreating the scratch pool: the autoscaler changed its number of PGs before it was turned off.")
	}
	if wrong := rook.VerifyPool(p.Want, osdMap.Pools); len(wrong) > 0 {
		p.cleanSince = time.Time{}
		return reconcile.Wait("The scratch pool in Ceph differs from the requested one: " + strings.Join(wrong, "; ")), nil
	}
	return reconcile.Done, nil
}

// place sends Ceph the missing placements of the pool's placement groups, and waits if any was
// missing.
func (p Preparer) place(ctx context.Context, osdMap *ceph.OSDMap) (reconcile.Wait, error) {
	if p.Want.OSDs == nil {
		return reconcile.Done, nil
	}
	if err := placement.SupportsUpmap(osdMap); err != nil {
		return "", err
	}
	waits := reconcile.Done
	for _, pool := range osdMap.Pools {
		if !slices.ContainsFunc(placement.Pools(p.Want), func(own ceph.Pool) bool { return own.Name == pool.Name }) {
			continue
		}
		wanted := p.chosen.Spread(placement.Pool{Copies: pool.Size, PGs: pool.PGNum})
		for some := range slices.Chunk(placement.Missing(pool, wanted, osdMap, p.placed), ceph.MaxPlaced) {
			waits = "Moving the placement groups of the scratch pool to its OSDs."
			if err := p.send(ctx, pool, some); err != nil {
				return "", err
			}
		}
	}
	return waits, nil
}

// send checks the lock, and immediately sends Ceph the placements of some placement groups.
func (p Preparer) send(ctx context.Context, pool ceph.Pool, some []ceph.PGPlacement) error {
	tuner, err := p.Rook.Connection(ctx, p.Cluster, p.Cluster.Identities.Tuner)
	if err != nil {
		return err
	}
	fence, err := p.Guard(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ceph.LongestChange)
	defer cancel()
	if err := p.Ceph.PlacePGs(ctx, tuner, fence, pool.Name, some); err != nil {
		return fmt.Errorf("move the placement groups of pool %s to the chosen OSDs: %w", pool.Name, err)
	}
	if p.placed == nil {
		p.placed = map[string][]int{}
	}
	for _, pg := range some {
		p.placed[pg.ID(pool.ID)] = pg.OSDs
	}
	return nil
}

// settle waits until the placement groups of the pool are clean and on the requested OSDs.
func (p Preparer) settle(ctx context.Context, at ceph.Connection, osdMap *ceph.OSDMap) (reconcile.Wait, error) {
	status, err := p.Ceph.Status(ctx, at)
	if err != nil {
		return "", err
	}
	if !p.isClean(status, p.Use.Continues, p.Settle, p.Now) {
		return "Creating the placement groups of the scratch pool.", nil
	}
	pgs, err := p.Ceph.PGs(ctx, at)
	if err != nil {
		return "", err
	}
	p.OSDMap, p.PGs = osdMap, pgs
	if wrong := p.Misplaced(); wrong != "" {
		return reconcile.Wait("The scratch pool is not on its OSDs yet: " + wrong + "."), nil
	}
	return reconcile.Done, nil
}

// isClean reports whether PGs have been clean for long enough: Ceph reports them as clean until it
// learns of a change. For a pool that others have used, one clean report is enough, because its PGs
// are not new.
func (p *Preparation) isClean(status *ceph.Status, used bool, settle time.Duration, now time.Time) bool {
	if !status.AllClean() {
		p.cleanSince = time.Time{}
		return false
	}
	if p.cleanSince.IsZero() {
		p.cleanSince = now
	}
	return used || now.Sub(p.cleanSince) >= settle
}
