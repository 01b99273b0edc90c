package cephbenchmark

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/placement"
)

// A scratch pool may be confined to some OSDs. `osd pg-upmap` puts its placement groups on these
// OSDs before anything is written to it, and the manager checks the placement before the first
// run and after each run. Nothing has to be restored: the monitor drops these mappings with the
// pool.

const placementGroupsMoved = "Moving the placement groups of the scratch pool to its OSDs."

// confined returns the selection of OSDs for the scratch pool; nil for all OSDs.
func (f facts) confined() *v1alpha1.OSDSelection {
	if pool := f.spec.Template.Target.ScratchPool; pool != nil {
		return pool.OSDs
	}
	return nil
}

// chooseOSDs draws the OSDs of the session, once. A restarted manager may draw others if some
// were removed meanwhile. That is harmless, because nothing was measured yet.
func (r *Reconciler) chooseOSDs(ctx context.Context, seen facts, at ceph.Connection) (placement.Chosen, error) {
	want := seen.confined()
	if want == nil || seen.memory.chosen != nil {
		return *cmp.Or(seen.memory.chosen, &placement.Chosen{}), nil
	}
	tree, err := r.ceph.OSDTree(ctx, at)
	if err != nil {
		return placement.Chosen{}, err
	}
	chosen, err := placement.Choose(tree, placement.RequestOf(*seen.spec.Template.Target.ScratchPool))
	if err != nil {
		return placement.Chosen{}, err
	}
	seen.memory.chosen, seen.memory.osds = &chosen, chosen.Sorted()
	return chosen, nil
}

// placePGs sends Ceph the missing placements of the scratch pool's placement groups, and reports
// whether none is missing.
func (r *Reconciler) placePGs(ctx context.Context, seen facts, chosen placement.Chosen, osdMap *ceph.OSDMap) (bool, error) {
	if seen.confined() == nil {
		return true, nil
	}
	if err := placement.SupportsUpmap(osdMap); err != nil {
		return false, err
	}
	told := true
	for _, pool := range osdMap.Pools {
		if !slices.Contains(seen.target().PoolNames(), pool.Name) {
			continue
		}
		wanted := chosen.Spread(placement.Pool{Copies: pool.Size, PGs: pool.PGNum})
		for some := range slices.Chunk(placement.Missing(pool, wanted, osdMap, seen.memory.placed), ceph.MaxPlaced) {
			told = false
			if err := r.sendPlacements(ctx, seen, pool, some); err != nil {
				return false, err
			}
		}
	}
	return told, nil
}

// sendPlacements checks the lock, and immediately sends Ceph the placements of some placement
// groups.
func (r *Reconciler) sendPlacements(ctx context.Context, seen facts, pool ceph.Pool, some []ceph.PGPlacement) error {
	tuner, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Tuner)
	if err != nil {
		return err
	}
	fence, err := r.fence(ctx, seen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ceph.LongestChange)
	defer cancel()
	if err := r.ceph.PlacePGs(ctx, tuner, fence, pool.Name, some); err != nil {
		return fmt.Errorf("move the placement groups of pool %s to the chosen OSDs: %w", pool.Name, err)
	}
	for _, pg := range some {
		seen.memory.placed[pg.ID(pool.ID)] = pg.OSDs
	}
	return nil
}

// osds returns the OSDs to which the scratch pool is confined: drawn by this process, or
// recorded and sealed by an earlier one.
func (f facts) osds() []int {
	if f.memory.osds == nil && f.job != nil && f.jobMismatch == "" && !f.session.KeyedByName {
		return osdsOf(f.job.Annotations[clientjob.AnnotationOSDs])
	}
	return f.memory.osds
}

// osdsUnknown returns why the OSDs to which the Job's scratch pool is confined are unknown; ""
// if they are known, or the pool is not confined. An annotation that others may have changed
// does not count.
func (f facts) osdsUnknown() string {
	if f.confined() == nil || len(f.osds()) > 0 {
		return ""
	}
	return fmt.Sprintf("An earlier version of the operator created Job %s, and its seal does not cover the OSDs of the scratch pool. Change runID to run again.", f.job.Name)
}

func osdsOf(text string) []int {
	var osds []int
	for word := range strings.SplitSeq(text, ",") {
		if id, err := strconv.Atoi(word); err == nil {
			osds = append(osds, id)
		}
	}
	return osds
}

func osdsText(osds []int) string {
	var words []string
	for _, id := range osds {
		words = append(words, strconv.Itoa(id))
	}
	return strings.Join(words, ",")
}

// maxOSDs is the maximum length of the list of OSDs in status, in bytes.
const maxOSDs = 256

// osdsInStatus returns the OSDs of the scratch pool in the form of status.
func (f facts) osdsInStatus() string { return ellipsis.Cut(osdsText(f.osds()), maxOSDs) }

// stillPlaced describes how the scratch pool has left its OSDs during a run; "" if it has not.
func (r *Reconciler) stillPlaced(ctx context.Context, seen facts) (string, error) {
	if seen.confined() == nil && seen.target().DeviceClass() == "" {
		return "", nil
	}
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return "", err
	}
	pgs, err := r.ceph.PGs(ctx, at)
	if err != nil {
		return "", err
	}
	if wrong := seen.target().Misplaced(pgs); wrong != "" {
		return "OSDs: " + wrong, nil
	}
	return "", nil
}
