package session

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/switchback"
)

// Plan is what a session fixes beforehand.
type Plan struct {
	// Number counts the sessions of a sweep, from 1, those that are void included.
	Number     int                `json:"number"`
	Candidates int                `json:"candidates"`
	Order      []switchback.Group `json:"order"`
	Window     time.Duration      `json:"windowNanoseconds"` // from the acknowledgement, wash-out included
	// ProofEvery is the pause between two looks at what OSDs run with.
	ProofEvery time.Duration     `json:"proofEveryNanoseconds"`
	Timing     switchback.Timing `json:"timing"`
	Seed       uint64            `json:"seed"` // of the draws of the tests
	// Dwells says that settings hold for minutes, and that windows are pieces of the second half of that.
	Dwells bool `json:"dwells,omitempty"`
}

// DefaultWindow is how long a setting holds, unless carry-over was found.
const DefaultWindow = 10 * time.Second

// spareOfEach are groups of a session for those that are void: at least so many.
const spareOfEach = 2

// Quick is the plan of one session with looks up to the last one, with groups to spare for those that
// are void. Number counts the sessions in the place of those that were void: each has an
// order of its own.
func Quick(seed uint64, number, candidates, lastLook int, window time.Duration) (Plan, error) {
	groups := groupsOf(lastLook, candidates)
	return planned(seed, number, candidates, groups+max(spareOfEach, groups/5), window)
}

// groupsOf are the quads of one candidate, or the rounds of several, that have so many pairs.
func groupsOf(pairs, candidates int) int {
	if candidates == 1 {
		return (pairs + 1) / 2
	}
	return pairs
}

// perSwitch is added to the length of a window: the operator reads the settings before each switch.
const perSwitch = 4 * time.Second

// Lasts is how long a session takes at most.
func (p Plan) Lasts() time.Duration {
	windows := 0
	for _, group := range p.Order {
		windows += len(group)
	}
	return time.Duration(windows) * (p.Window + perSwitch)
}

// General is the plan of one of several sessions. Pairs are of the baseline and each candidate.
func General(seed uint64, number, candidates, pairs int, window time.Duration) (Plan, error) {
	return planned(seed, number, candidates, groupsOf(pairs, candidates)+spareOfEach, window)
}

// Dwell is the plan of two times in which the baseline holds, and two in which a candidate does, in
// turn.
func Dwell(seed uint64, candidate int, length time.Duration) (Plan, error) {
	p, err := planned(seed, 1, candidate, 1, length)
	p.Order, p.Dwells = []switchback.Group{{switchback.Baseline, candidate, switchback.Baseline, candidate}}, true
	return p, err
}

// dwellPieces are the windows of a dwell.
const dwellPieces = 4

// windows are the switches as their windows are cut. Of a dwell the first half is left out, in which a setting
// takes its effect.
func (p Plan) windows(switches []switchback.Switch) ([]switchback.Switch, switchback.Timing) {
	if !p.Dwells {
		return switches, p.Timing
	}
	var pieces []switchback.Switch
	for _, s := range switches {
		from := s.Sent + (s.Ended-s.Sent)/2
		length := (s.Ended - from) / dwellPieces
		for i := range dwellPieces {
			begin := from + time.Duration(i)*length
			pieces = append(pieces, switchback.Switch{Setting: s.Setting, Sent: begin, Acknowledged: begin, Ended: begin + length, Proven: s.Proven})
		}
	}
	timing := p.Timing
	timing.WashOut = 0
	return pieces, timing
}

func planned(seed uint64, number, candidates, groups int, window time.Duration) (Plan, error) {
	const washOut = 3 * time.Second
	if number < 1 || window <= washOut {
		return Plan{}, fmt.Errorf("%w: session %d of windows of %v", stats.ErrParameter, number, window)
	}
	order, err := switchback.Assign(seed, uint64(number), candidates, groups)
	return Plan{
		Number: number, Candidates: candidates, Order: order, Window: window, ProofEvery: 2 * time.Second, Seed: seed + uint64(number),
		Timing: switchback.Timing{WashOut: washOut, MaxSwitch: 2 * time.Second, ClockError: 250 * time.Millisecond, Coverage: 0.7},
	}, err
}
