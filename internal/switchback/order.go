package switchback

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
)

// Baseline is the setting that candidates, 1 and up, are compared with.
const Baseline = 0

// Group is the settings of windows that follow each other, in order: a quad
// of one candidate, or a round of several.
type Group []int

// quads are the balanced orders of AABB. All of them are drawn alike, so a third of
// the windows after the first of a quad follows their like, and what is left
// of the setting before can be told from the setting itself.
func quads() [6]Group {
	return [6]Group{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, 1}, {1, 0, 1, 0}, {1, 1, 0, 0}}
}

// Assign draws the order of settings of a session: quads of one candidate, or
// rounds of several, each of them and the baseline once. The same
// seed, session and numbers give the same order.
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

// relabelled are the orders that a group could have had as far as one candidate
// and the baseline are concerned: the windows of other candidates stay theirs.
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
