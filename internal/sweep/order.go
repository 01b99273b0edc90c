package sweep

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Stage is a part of a sweep.
type Stage string

// The stages.
const (
	Race         Stage = "Race"
	Confirmation Stage = "Confirmation"
)

// Role is the purpose of a run.
type Role string

// The roles.
const (
	Candidate Role = "Candidate"
	Baseline  Role = "Baseline" // the baseline's own turn in the block
	Control   Role = "Control"  // an extra run of the baseline
)

// Slot is one run to make.
type Slot struct {
	Stage         Stage
	Block         int // from 1, through both stages
	Attempt       int // from 1
	Position      int // from 0 in the block
	Configuration int // index into Planner.Configurations
	Role          Role
	Repeat        int // 1 if the slot's first run was not valid
	LengthFactor  int // 1, or 2 after a run that was not steady
}

// identity returns the part of a slot that its ledger entry repeats.
func (s Slot) identity() Slot {
	return Slot{Block: s.Block, Attempt: s.Attempt, Position: s.Position, Configuration: s.Configuration}
}

// order lays out one attempt at a block of the given candidates. It draws their order, with the
// baseline's place in it, from the seed, so that no change over time favours one of them. It inserts
// a control where otherwise more candidates would follow each other than ControlInterval allows. If
// values are visited in turn, the turn decides the order instead, and the controls are at both ends of
// the block; a pair needs none.
func (p *Planner) order(stage Stage, block, attempt int, candidates []int) []Slot {
	members := append([]int{0}, candidates...)
	switch {
	case p.inTurn:
		p.shuffle(members, block, attempt)
		p.visitInTurn(members, block)
	case len(candidates) == 1:
		p.orderPair(members, block)
	default:
		p.shuffle(members, block, attempt)
	}
	var slots []Slot
	if p.hasEnds(len(candidates)) {
		slots = []Slot{{Role: Control}}
	}
	since := 0
	for _, c := range members {
		// Parameters that are hard to change must not return to the baseline within a block, so
		// their blocks have controls at the ends only.
		if c != 0 && since == p.settings.controlInterval() && !p.inTurn {
			slots, since = append(slots, Slot{Role: Control}), 0
		}
		role := Candidate
		if since++; c == 0 {
			role, since = Baseline, 0
		}
		slots = append(slots, Slot{Configuration: c, Role: role})
	}
	if p.hasEnds(len(candidates)) {
		slots = append(slots, Slot{Role: Control})
	}
	for i := range slots {
		slots[i].Stage, slots[i].Block, slots[i].Attempt, slots[i].Position = stage, block, attempt, i
		slots[i].LengthFactor = 1
	}
	return slots
}

func (p *Planner) shuffle(members []int, block, attempt int) {
	Shuffle(members, p.settings.Seed, uint64(block)<<32|uint64(attempt)) //nolint:gosec // Both count from 1.
}

// hasEnds reports whether a block with this number of candidates has a control at each end.
// Without a random order, only these controls show drift. Pairs need none, because their order
// alternates.
func (p *Planner) hasEnds(candidates int) bool { return p.inTurn && candidates > 1 }

// orderPair draws the order of a pair from the seed. It gives at most three pairs in a row, and fewer
// than MinBlocks, the same order: in a drifting cluster, pairs of the same order would all show the
// same difference, as if there were no noise. Other attempts at the same block keep the order.
func (p *Planner) orderPair(pair []int, block int) {
	most := min(3, p.settings.MinBlocks-1)
	alike, last := 0, -1
	for b := 1; b <= block; b++ {
		drawn := []int{0, 1}
		p.shuffle(drawn, b, 1)
		first := drawn[0]
		if alike == most && first == last {
			first = 1 - first
		}
		if first != last {
			alike, last = 0, first
		}
		alike++
	}
	if last == 1 {
		pair[0], pair[1] = pair[1], pair[0]
	}
}

// visitInTurn sorts by turn, upwards in one block and downwards in the next. The sort is stable, so
// configurations with the same turn, which differ only in values that are easy to change, keep their
// random order.
func (p *Planner) visitInTurn(members []int, block int) {
	direction := 1
	if (uint64(block)+p.settings.Seed)%2 == 0 { //nolint:gosec // Blocks count from 1.
		direction = -1
	}
	slices.SortStableFunc(members, func(a, b int) int {
		return direction * (p.configurations[a].turn - p.configurations[b].turn)
	})
}

// Shuffle shuffles a slice in place: Fisher–Yates on a PCG stream. It is written out because the
// standard library fixes the stream of a PCG but not how rand.Shuffle uses it,
// and an order must survive an upgrade of the toolchain.
func Shuffle(xs []int, seed, stream uint64) {
	source := rand.NewPCG(seed, stream)
	for i := len(xs) - 1; i > 0; i-- {
		// The bias of multiplying instead of rejecting is below n/2^64.
		j, _ := bits.Mul64(source.Uint64(), uint64(i+1))
		xs[i], xs[j] = xs[j], xs[i]
	}
}

// runsPerBlock returns the maximum number of slots in a block with this number of candidates. The
// position of the baseline may save a control.
func (p *Planner) runsPerBlock(candidates int) int {
	if p.hasEnds(candidates) {
		return candidates + 3
	}
	return candidates + 1 + (candidates-1)/p.settings.controlInterval()
}
