package switchback

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
)

// Baseline is the number of the baseline treatment. Candidates are numbered from 1.
const Baseline = 0

// Block lists the treatments of consecutive windows that count together. A block of one candidate has two windows of
// each treatment; a block of several candidates has one window of each treatment.
type Block []int

// pairOrders returns all orders of two windows of the baseline and two of the candidate. They are drawn with equal
// probability. So one third of the second, third and fourth windows of blocks follow a window with the same
// treatment. These windows separate the after-effect of the previous treatment from the effect of the current
// treatment.
func pairOrders() [6]Block {
	return [6]Block{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, 1}, {1, 0, 1, 0}, {1, 1, 0, 0}}
}

// Assign draws the order of treatments of a session. The same arguments give the same order.
func Assign(seed, session uint64, candidates, blocks int) ([]Block, error) {
	if candidates < 1 || blocks < 1 {
		return nil, fmt.Errorf("%w: %d candidates in %d blocks", stats.ErrParameter, candidates, blocks)
	}
	rng := rand.New(rand.NewPCG(seed, session)) //nolint:gosec // an experiment that can be replayed, not a secret
	order := make([]Block, blocks)
	for i := range order {
		order[i] = draw(rng, candidates)
	}
	return order, nil
}

func draw(rng *rand.Rand, candidates int) Block {
	if candidates == 1 {
		return pairOrders()[rng.IntN(len(pairOrders()))]
	}
	return rng.Perm(candidates + 1)
}

// relabelled returns the possible orders of one candidate and the baseline in a block. The windows of other
// candidates keep their places.
func relabelled(b Block, candidate int) []Block {
	if !slices.ContainsFunc(b, func(s int) bool { return s > 1 }) && len(b) == 4 {
		all := pairOrders()
		return all[:]
	}
	swapped := slices.Clone(b)
	for i, s := range b {
		switch s {
		case Baseline:
			swapped[i] = candidate
		case candidate:
			swapped[i] = Baseline
		}
	}
	return []Block{b, swapped}
}
