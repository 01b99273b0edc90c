package scratchpool

import (
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
)

// Part is one part of the preparation of a scratch pool.
type Part string

const (
	// PartNone means that the pool is prepared.
	PartNone Part = ""
	// PartWait waits for something that should happen by itself.
	PartWait Part = "Wait"
	// PartLook begins the preparation, so that the next pass observes Ceph.
	PartLook Part = "LookAtCeph"
	// PartChoose draws the OSDs to which the pool is confined.
	PartChoose Part = "ChooseOSDs"
	// PartCreate creates the pool, or asks Rook whether it is ready.
	PartCreate Part = "CreateScratchPool"
	// PartRecreate removes the pool, so that it is created again.
	PartRecreate Part = "RecreateScratchPool"
	// PartPlace moves the pool's placement groups to its OSDs.
	PartPlace Part = "PlacePGs"
)

// Next is the next part of a preparation.
type Next struct {
	Part Part
	// Waits says what the preparation waits for after the part; Done if [Preparer.Do] determines the wait.
	Waits reconcile.Wait
}

// Facts has what the rules of a preparation depend on.
type Facts struct {
	Preparation
	View

	Want []v1alpha1.ScratchPool // of each target
	Now  time.Time
	// Misplaced describes how the placement differs from the requested one, according to the
	// PGs of the Preparation; "" if it does not, or if the Preparation has no PGs yet.
	Misplaced string
}

// Rules returns the rules of a preparation in order. Before anything is written to the pool, it must be as
// specified, and its placement groups must be on the requested OSDs. If no rule applies, the pool is
// prepared. Every part can be repeated.
func Rules() []reconcile.Rule[Facts, Next] {
	return []reconcile.Rule[Facts, Next]{
		{Name: "beginPreparation", Func: beginPreparation}, // passes observe Ceph from now on
		{Name: "chooseOSDs", Func: chooseOSDs},             // if the pool is confined to some OSDs
		{Name: "createPool", Func: createPool},             // until Rook calls the pool ready
		{Name: "recreatePool", Func: recreatePool},         // the autoscaler has changed the number of PGs
		{Name: "correctPool", Func: correctPool},           // Ceph may have refused parameters
		{Name: "placePGs", Func: placePGs},                 // on the chosen OSDs
		{Name: "waitForPGs", Func: waitForPGs},             // until the PGs are clean, and stay clean
		{Name: "waitForPlacement", Func: waitForPlacement}, // until the PGs are on the requested OSDs
	}
}

func beginPreparation(f Facts) (Next, bool) { return Next{Part: PartLook}, f.View.OSDMap == nil }

func chooseOSDs(f Facts) (Next, bool) {
	return Next{Part: PartChoose}, confines(f.Want) && f.chosen == nil
}

func createPool(f Facts) (Next, bool) { return Next{Part: PartCreate}, !f.ready }

func recreatePool(f Facts) (Next, bool) {
	return Next{PartRecreate, "Recreating the scratch pool: the autoscaler changed its number of PGs before it was turned off."},
		rook.Overtaken(f.Want, f.View.OSDMap.Pools) && f.remade < maxRemakes
}

// correctPool asks Rook again if the pool in Ceph is not as specified: Rook calls a pool Ready even
// if Ceph has refused its parameters.
func correctPool(f Facts) (Next, bool) {
	wrong := rook.VerifyPools(f.Want, f.View.OSDMap.Pools)
	return Next{PartCreate, reconcile.Wait("The scratch pool in Ceph differs from the requested one: " + strings.Join(wrong, "; "))}, len(wrong) > 0
}

func placePGs(f Facts) (Next, bool) {
	return Next{PartPlace, "Moving the placement groups of the scratch pool to its OSDs."}, len(f.missing(f.Want, f.View.OSDMap)) > 0
}

func waitForPGs(f Facts) (Next, bool) {
	return Next{PartWait, "Creating the placement groups of the scratch pool."}, !f.Settled
}

func waitForPlacement(f Facts) (Next, bool) {
	return Next{PartWait, reconcile.Wait("The scratch pool is not on its OSDs yet: " + f.Misplaced + ".")}, f.Misplaced != ""
}

// Note records since when the placement groups have been clean and, once they are settled, where they are.
// If the next part changes something, the time starts over, because Ceph reports placement groups as clean
// until it learns of the change.
func (p *Preparation) Note(f Facts) {
	if next, _, _ := reconcile.First(Rules(), f); next.Part != PartNone && next.Part != PartWait || !f.Status.AllClean() {
		p.cleanSince = time.Time{}
		return
	}
	if p.cleanSince.IsZero() {
		p.cleanSince = f.Now
	}
	if f.Settled {
		p.OSDMap, p.PGs = f.View.OSDMap, f.View.PGs
	}
}

// isSettled reports whether the placement groups are clean, and have been clean for the duration in the
// parameter settle. In a pool on which other benchmarks had a valid run, they need only be clean now.
func (p *Preparation) isSettled(status *ceph.Status, used bool, settle time.Duration, now time.Time) bool {
	return status.AllClean() && (used || settle == 0 || !p.cleanSince.IsZero() && now.Sub(p.cleanSince) >= settle)
}

// lacking has the placements that a pool in Ceph lacks.
type lacking struct {
	pool       ceph.Pool
	placements []ceph.PGPlacement
}

// confines reports whether a pool is to be confined to chosen OSDs.
func confines(want []v1alpha1.ScratchPool) bool {
	return len(want) == 1 && want[0].OSDSelection != nil
}

// missing returns the placements that are still to be sent to Ceph, by pool; nil if the pool may use all
// OSDs.
func (p *Preparation) missing(want []v1alpha1.ScratchPool, osdMap *ceph.OSDMap) []lacking {
	if !confines(want) {
		return nil
	}
	var all []lacking
	for _, pool := range osdMap.Pools {
		if !slices.ContainsFunc(placement.Pools(0, want[0]), func(candidate ceph.Pool) bool { return candidate.Name == pool.Name }) {
			continue
		}
		wanted := p.chosen.Spread(placement.Pool{Copies: pool.Size, PGs: pool.PGNum})
		if some := placement.Missing(pool, wanted, osdMap, p.placed); len(some) > 0 {
			all = append(all, lacking{pool, some})
		}
	}
	return all
}
