// Package scratchpool prepares and removes scratch pools. A benchmark prepares its pool, or the pool that it shares
// with other runs of its sweep. The owner of a pool removes it.
package scratchpool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Settle is how long Ceph must report the PGs of a new pool as clean, at their final number, before the
// pool is used. Ceph's reports have a delay: OSDs report every five seconds (mgr_stats_period), and
// ceph-mgr passes the reports on every two seconds. A new pool begins with few PGs. After Ceph has split
// them, the PGs still have to peer.
const Settle = 8 * time.Second

// maxRemakes limits how often a scratch pool is recreated because of a wrong number of PGs. Recreating
// helps if the autoscaler has changed the number, but not if Ceph refuses the requested number. The manager
// cannot distinguish the two cases.
const maxRemakes = 3

// Preparation is how far the preparation of an execution's scratch pool has come. A restart of the manager
// loses it. The new process may draw other OSDs if OSDs were added, were removed, or went up, down, in or out
// meanwhile. That is harmless, because the execution has not measured anything yet.
type Preparation struct {
	// OSDs are the OSDs to which the pool is confined; empty for all.
	OSDs []int
	// OSDMap and PGs were last read when the pool was as specified and its PGs had settled; nil
	// before.
	OSDMap *ceph.OSDMap
	PGs    []ceph.PG

	// ready says that Rook has called the pool ready.
	ready bool
	// chosen has the OSDs that this process has drawn. placed holds the placements that were sent
	// to Ceph, by placement group.
	chosen *placement.Chosen
	placed map[string][]int
	// cleanSince is the time since which all PGs have been clean, at their final number; zero
	// while they are not.
	cleanSince time.Time
	// remade counts how often the pool was removed because of a wrong number of PGs.
	remade int
}

// Maker is the part of Rook that a preparation needs.
type Maker interface {
	Rook
	EnsureScratchPools(ctx context.Context, cluster settings.Cluster, specs []v1alpha1.ScratchPool, use rook.ScratchUse, osdMap *ceph.OSDMap) (ready bool, reason string, err error)
}

// Preparer prepares the scratch pools of an execution. In each pass, Observe gathers facts, [Rules] decide on
// the next part, and Do carries it out. Placements need not be restored, because the monitor drops the
// mappings of `osd pg-upmap` with the pool.
type Preparer struct {
	*Preparation

	Rook    Maker
	Ceph    tuning.Ceph
	Cluster settings.Cluster
	// Want has the pool of each target. Only the pool of a single target can be confined to chosen OSDs.
	Want []v1alpha1.ScratchPool
	Use  rook.ScratchUse
	// Guard verifies the lock of the Ceph cluster, and returns the fence.
	Guard tuning.Guard
	// Remove removes the scratch pool that belongs to Use.Owner.
	Remove func(ctx context.Context) (reconcile.Wait, error)
}

// View has what a pass has observed of Ceph. It is zero before the preparation has begun.
type View struct {
	OSDMap *ceph.OSDMap
	// OSDs are the OSDs to choose from; nil if OSDs were chosen already, or the pool uses all OSDs.
	OSDs []ceph.OSDLocation
	// Status is nil until Rook has called the pool ready.
	Status *ceph.Status
	// Settled says that the placement groups have been clean for long enough. PGs is nil before that.
	Settled bool
	PGs     []ceph.PG
}

// Observe reads what the next part of the preparation depends on. The placement groups of a new pool are
// settled once they have been clean for the duration in the parameter settle.
func (p Preparer) Observe(ctx context.Context, settle time.Duration, now time.Time) (View, error) {
	connection, err := p.Rook.Connection(ctx, p.Cluster, p.Cluster.Identities.Observer)
	if err != nil {
		return View{}, err
	}
	var v View
	if confines(p.Want) && p.chosen == nil {
		if v.OSDs, err = p.Ceph.OSDTree(ctx, connection); err != nil {
			return View{}, err
		}
	}
	if v.OSDMap, err = p.Ceph.OSDMap(ctx, connection); err != nil {
		return View{}, err
	}
	if !p.ready {
		return v, nil
	}
	if v.Status, err = p.Ceph.Status(ctx, connection); err != nil {
		return View{}, err
	}
	if v.Settled = p.isSettled(v.Status, p.Use.Continues, settle, now); v.Settled {
		if v.PGs, err = p.Ceph.PGs(ctx, connection); err != nil {
			return View{}, err
		}
	}
	return v, nil
}

// Do carries out a part, and returns what the preparation then waits for.
func (p Preparer) Do(ctx context.Context, next Next, v View) (reconcile.Wait, error) {
	switch next.Part {
	case PartWait:
		return next.Waits, nil
	case PartLook: // The next pass observes, because the preparation has begun.
		return reconcile.Done, nil
	case PartChoose:
		return reconcile.Done, p.choose(v.OSDs)
	case PartCreate:
		waits, err := p.create(ctx, v.OSDMap)
		return cmp.Or(waits, next.Waits), err
	case PartRecreate:
		p.remade++
		return p.remove(ctx, next.Waits)
	case PartPlace:
		return next.Waits, p.place(ctx, v.OSDMap)
	default:
		return "", fmt.Errorf("no action for part %q of the preparation", next.Part)
	}
}

// choose draws the OSDs of the pool.
func (p Preparer) choose(locations []ceph.OSDLocation) error {
	chosen, err := placement.Choose(locations, placement.RequestOf(p.Want[0]))
	if err != nil {
		return err
	}
	p.chosen, p.OSDs = &chosen, chosen.Sorted()
	return nil
}

// create creates the pool if it does not exist, and removes a pool of an earlier run that was created for
// another spec or for other runs. With Use.Continues it does neither: if the pool is missing or was created for
// another spec or other runs, it returns an error. It returns a wait until Rook calls the pool ready.
func (p Preparer) create(ctx context.Context, osdMap *ceph.OSDMap) (reconcile.Wait, error) {
	ready, reason, err := p.Rook.EnsureScratchPools(ctx, p.Cluster, p.Want, p.Use, osdMap)
	p.ready = ready && err == nil
	problem, known := errors.AsType[*rook.Error](err)
	switch {
	case known && problem.Reason == rook.ReasonScratchPoolDiffers:
		return p.remove(ctx, "The scratch pool of an earlier run was removed.")
	case known && problem.Reason != rook.ReasonScratchPoolGone && problem.Reason != rook.ReasonPoolRefused:
		return reconcile.Wait(problem.Error()), nil // An administrator has to act, so the user gets a wait instead of an error.
	case err != nil || ready:
		return reconcile.Done, err
	}
	return reconcile.Wait(cmp.Or(reason, "Rook is creating the scratch pool.")), nil
}

func (p Preparer) remove(ctx context.Context, removed reconcile.Wait) (reconcile.Wait, error) {
	p.ready = false
	waits, err := p.Remove(ctx)
	return cmp.Or(waits, removed), err
}

// place sends Ceph the missing placements of the pool's placement groups.
func (p Preparer) place(ctx context.Context, osdMap *ceph.OSDMap) error {
	if err := placement.SupportsUpmap(osdMap); err != nil {
		return err
	}
	for _, l := range p.missing(p.Want, osdMap) {
		for some := range slices.Chunk(l.placements, ceph.MaxPlaced) {
			if err := p.send(ctx, l.pool, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// send checks the lock, and right after that sends Ceph the placements of some placement groups.
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
