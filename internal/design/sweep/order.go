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
	Baseline  Role = "Baseline" // the baseline's own trial in the block
	Control   Role = "Control"  // an extra run of the baseline
)

// Trial is one run to make.
type Trial struct {
	Stage         Stage
	Block         int // from 1; the confirmation continues the numbers of the race
	Attempt       int // from 1
	Position      int // in the block, from 0
	Configuration int // index into Planner.Configurations
	Role          Role
	Repeat        int // 1 if the trial's first run was invalid, otherwise 0
	LengthFactor  int // 1; 2 if the trial's first run was not steady
}

// identity returns a trial with only those fields that a ledger entry has too.
func (s Trial) identity() Trial {
	return Trial{Block: s.Block, Attempt: s.Attempt, Position: s.Position, Configuration: s.Configuration}
}

// order lays out one attempt at a block. It draws the order of the baseline and the candidates from the seed,
// so that no change over time favours one of them. It inserts a control where more candidates than
// ControlInterval would follow each other. In an ordered Space, Configuration.Position decides
// the order. The block then has a control at each end instead, or no controls if it is a pair.
func (p *Planner) order(stage Stage, block, attempt int, candidates []int) []Trial {
	members := append([]int{0}, candidates...)
	switch {
	case p.ordered:
		p.shuffle(members, block, attempt)
		p.visitInOrder(members, block)
	case len(candidates) == 1:
		p.orderPair(members, block)
	default:
		p.shuffle(members, block, attempt)
	}
	var trials []Trial
	if p.hasEnds(len(candidates)) {
		trials = []Trial{{Role: Control}}
	}
	since := 0
	for _, c := range members {
		// Parameters that are hard to change must not return to the baseline within a block, so their
		// blocks have controls only at the ends.
		if c != 0 && since == p.settings.controlInterval() && !p.ordered {
			trials, since = append(trials, Trial{Role: Control}), 0
		}
		role := Candidate
		if since++; c == 0 {
			role, since = Baseline, 0
		}
		trials = append(trials, Trial{Configuration: c, Role: role})
	}
	if p.hasEnds(len(candidates)) {
		trials = append(trials, Trial{Role: Control})
	}
	for i := range trials {
		trials[i].Stage, trials[i].Block, trials[i].Attempt, trials[i].Position = stage, block, attempt, i
		trials[i].LengthFactor = 1
	}
	return trials
}

func (p *Planner) shuffle(members []int, block, attempt int) {
	Shuffle(members, p.settings.Seed, uint64(block)<<32|uint64(attempt)) //nolint:gosec // Both count from 1.
}

// hasEnds reports whether a block with this number of candidates has a control at each end. Without a random
// order, only controls at the ends show drift. Pairs need no such controls, because their order alternates
// or, if the candidate and the baseline have the same position, is random.
func (p *Planner) hasEnds(candidates int) bool { return p.ordered && candidates > 1 }

// orderPair draws the order of a pair from the seed. At most three pairs in a row, and fewer than MinBlocks,
// have the same order. In a drifting cluster, pairs with the same order would all show the same difference,
// as if there were no noise. Further attempts at a block keep its order.
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

// visitInOrder sorts configurations by their position, upwards in one block and downwards in the next. The sort is
// stable: configurations with the same position, which differ only in values that are easy to change, keep their
// random order.
func (p *Planner) visitInOrder(members []int, block int) {
	direction := 1
	if (uint64(block)+p.settings.Seed)%2 == 0 { //nolint:gosec // Blocks count from 1.
		direction = -1
	}
	slices.SortStableFunc(members, func(a, b int) int {
		return direction * (p.configurations[a].Position - p.configurations[b].Position)
	})
}

// Shuffle shuffles a slice in place: Fisher–Yates with the random numbers of a PCG. It does not use
// rand.Shuffle, because the standard library may change how that function uses random numbers. An order must
// survive an upgrade of the toolchain.
func Shuffle(xs []int, seed, stream uint64) {
	source := rand.NewPCG(seed, stream)
	for i := len(xs) - 1; i > 0; i-- {
		// The upper half of the product is an index from 0 to i. Its bias is below len(xs)/2^64. Rejecting
		// some random numbers would avoid the bias, but is less simple.
		j, _ := bits.Mul64(source.Uint64(), uint64(i+1))
		xs[i], xs[j] = xs[j], xs[i]
	}
}

// runsPerBlock returns the maximum number of trials in a block with this number of candidates. The baseline's
// own trial may make a control unnecessary.
func (p *Planner) runsPerBlock(candidates int) int {
	if p.hasEnds(candidates) {
		return candidates + 3
	}
	return candidates + 1 + (candidates-1)/p.settings.controlInterval()
}
