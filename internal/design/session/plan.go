package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/stats"
)

// Plan has the choices that are fixed before a session.
type Plan struct {
	// Number counts the sessions of a sweep from 1, including invalid ones.
	Number     int                `json:"number"`
	Candidates int                `json:"candidates"`
	Order      []switchback.Block `json:"order"`
	Window     time.Duration      `json:"windowNanoseconds"` // from the acknowledgement of a switch, with the wash-out
	// ProofEvery is the pause between two calls of [Treatments.Proven].
	ProofEvery time.Duration     `json:"proofEveryNanoseconds"`
	Timing     switchback.Timing `json:"timing"`
	Seed       uint64            `json:"seed"` // for the draws of randomisation tests
	// Long is the candidate of a session of long windows, which compares one candidate with the baseline; 0
	// for a session of short windows.
	Long int `json:"long,omitempty"`
	// Targets says that the treatments are [Targets].
	Targets bool `json:"targets,omitempty"`
	// Curves says that each window is a step of a curve: see [Steps].
	Curves bool `json:"curves,omitempty"`
}

// DefaultWindow is how long a treatment stays applied in a window. The spec may set another time. It is the shortest time in
// which at least four of a client's rows, of one second each, count if its clock is wrong by [switchback.Timing.ClockError].
const DefaultWindow = 8 * time.Second

// DefaultLongWindow is how long a treatment stays applied in a long window.
const DefaultLongWindow = time.Minute

// spareOfEach is the minimum number of spare blocks in a session of short windows. Spare blocks replace invalid
// blocks.
const spareOfEach = 2

// Quick returns the plan of a session in quick mode, whose last look is at lastLook pairs. Its spare blocks
// replace invalid ones. A session that replaces an invalid session has the next number, and so a different order.
func Quick(seed uint64, number, candidates, lastLook int, window time.Duration) (Plan, error) {
	blocks := blocksOf(lastLook, candidates)
	return planned(seed, number, candidates, blocks+max(spareOfEach, blocks/5), window)
}

// blocksOf returns how many blocks contain the given number of pairs of each candidate. A block of one candidate
// has two pairs.
func blocksOf(pairs, candidates int) int {
	if candidates == 1 {
		return (pairs + 1) / 2
	}
	return pairs
}

// perSwitch is the planned duration of a switch, which includes reading treatments before the switch.
const perSwitch = 4 * time.Second

// MaxClientTime is the largest product of the number of clients and the duration of a session. So a manager with the
// chart's memory limit can keep a row for each client and second.
const MaxClientTime = 64 * 2 * time.Hour

// Lasts returns the planned maximum duration of a session.
func (p Plan) Lasts() time.Duration {
	windows := 0
	for _, block := range p.Order {
		windows += len(block)
	}
	return time.Duration(windows) * (p.Window + perSwitch)
}

// PairsOfBlock returns how many pairs of windows each candidate has in a block.
func (p Plan) PairsOfBlock() int {
	if p.Candidates == 1 && p.Long == 0 && !p.Curves {
		return 2
	}
	return 1
}

// Screen returns the plan of a session of short windows that is judged once, after the given number of pairs of
// the baseline and each candidate. Spare blocks replace invalid ones.
func Screen(seed uint64, number, candidates, pairs int, window time.Duration) (Plan, error) {
	return planned(seed, number, candidates, blocksOf(pairs, candidates)+spareOfEach, window)
}

// longSwitch is the maximum duration of a switch before a long window. It is longer than the maximum before a
// short window, because most of a long window does not count.
const longSwitch = 5 * time.Second

// Long returns the plan of a session of long windows: one of the baseline and one of a candidate. Which is first
// depends on the seed for odd sessions, and alternates, so that a steady drift cancels between sessions.
func Long(seed uint64, number, candidates, candidate int, window time.Duration) (Plan, error) {
	p, err := planned(seed, number, candidates, 1, window)
	if err != nil {
		return p, err
	}
	if candidate < 1 || candidate > candidates {
		return p, fmt.Errorf("%w: long windows of candidate %d of %d", stats.ErrParameter, candidate, candidates)
	}
	p.Long, p.Timing.MaxSwitch, p.Timing.WashOut = candidate, longSwitch, SettleTime(window)
	p.Order = []switchback.Block{{switchback.Baseline, candidate}}
	if first := rand.New(rand.NewPCG(seed, 0)).IntN(2); (first+number)%2 == 0 { //nolint:gosec // an experiment that can be replayed, not a secret
		slices.Reverse(p.Order[0])
	}
	return p, nil
}

// SettleTime is the part of a long window that does not count: three fifths. An effect of the switch with a time
// constant of a sixth of the window then shrinks to 1.0% on average.
func SettleTime(window time.Duration) time.Duration { return window * 3 / 5 }

// washOutOf returns the part of a window that does not count: three tenths. So a longer window excludes more
// of the previous treatment's after-effect.
func washOutOf(window time.Duration) time.Duration { return window * 3 / 10 }

func planned(seed uint64, number, candidates, blocks int, window time.Duration) (Plan, error) {
	if number < 1 || window < time.Second {
		return Plan{}, fmt.Errorf("%w: session %d of windows of %v", stats.ErrParameter, number, window)
	}
	order, err := switchback.Assign(seed, uint64(number), candidates, blocks)
	return Plan{
		Number: number, Candidates: candidates, Order: order, Window: window, ProofEvery: 2 * time.Second, Seed: seed + uint64(number),
		Timing: switchback.Timing{WashOut: washOutOf(window), MaxSwitch: 2 * time.Second, ClockError: 250 * time.Millisecond, Coverage: 0.7},
	}, err
}
