package switchback

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
)

// Baseline is the number of the baseline setting. Candidates are numbered from 1.
const Baseline = 0

// Group lists the settings of consecutive windows: a quad for one candidate, or a round for several
// candidates.
type Group []int

// quads returns all orders of two windows of the baseline and two of the candidate. They are drawn with equal
// probability. So one third of the second, third and fourth windows of quads follow a window with the same
// setting. These windows separate the after-effect of the previous setting from the effect of the current
// setting.
func quads() [6]Group {
	return [6]Group{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, 1}, {1, 0, 1, 0}, {1, 1, 0, 0}}
}

// Assign draws the order of settings of a session: quads for one candidate, or rounds for several candidates.
// A round has each candidate and the baseline once. The same arguments give the same order.
func Assign(seed, session uint64, candidates, groups int) ([]Group, error) {
	if candidates < 1 || groups < 1 {
		return nil, fmt.Errorf("%w: %d candidates in %d groups", stats.ErrParameter, candidates, groups)
	}
	rng := rand.New(rand.NewPCG(seed, session)) //nolint:gosec // an experiment that can be replayed, not a secret
	order := make([]Group, groups)
	for i := range order {
		order[i] = draw(rng, candidates)
	}
	return order, nil
}

func draw(rng *rand.Rand, candidates int) Group {
	if candidates == 1 {
		return quads()[rng.IntN(len(quads()))]
	}
	return rng.Perm(candidates + 1)
}

// relabelled returns the possible orders of one candidate and the baseline in a group. The windows of other
// candidates keep their places.
func relabelled(g Group, candidate int) []Group {
	if !slices.ContainsFunc(g, func(s int) bool { return s > 1 }) && len(g) == 4 {
		all := quads()
		return all[:]
	}
	swapped := slices.Clone(g)
	for i, s := range g {
		switch s {
		case Baseline:
			swapped[i] = candidate
		case candidate:
			swapped[i] = Baseline
		}
	}
	return []Group{g, swapped}
}
