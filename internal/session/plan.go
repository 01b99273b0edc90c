package session

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/switchback"
)

// Plan has the choices that are fixed before a session.
type Plan struct {
	// Number counts the sessions of a sweep from 1, including void ones.
	Number     int                `json:"number"`
	Candidates int                `json:"candidates"`
	Order      []switchback.Group `json:"order"`
	Window     time.Duration      `json:"windowNanoseconds"` // from the acknowledgement of a switch, with the wash-out
	// ProofEvery is the pause between two calls of [Cluster.Proven].
	ProofEvery time.Duration     `json:"proofEveryNanoseconds"`
	Timing     switchback.Timing `json:"timing"`
	Seed       uint64            `json:"seed"` // for the draws of randomisation tests
	// Dwells means that each setting stays applied for minutes. The second half of that time is then cut into
	// windows.
	Dwells bool `json:"dwells,omitempty"`
}

// DefaultWindow is how long a setting stays applied in a window. The spec may set another time, and windows
// become longer after carry-over.
const DefaultWindow = 10 * time.Second

// spareOfEach is the minimum number of spare groups in a session without dwells. Spare groups replace void
// groups.
const spareOfEach = 2

// Quick returns the plan of a session in quick mode, whose last look is at lastLook pairs. Its spare groups
// replace void ones. A session that replaces a void session has the next number, and so a different order.
func Quick(seed uint64, number, candidates, lastLook int, window time.Duration) (Plan, error) {
	groups := groupsOf(lastLook, candidates)
	return planned(seed, number, candidates, groups+max(spareOfEach, groups/5), window)
}

// groupsOf returns how many groups contain the given number of pairs of each candidate. Groups are quads for
// one candidate, and rounds for several.
func groupsOf(pairs, candidates int) int {
	if candidates == 1 {
		return (pairs + 1) / 2
	}
	return pairs
}

// perSwitch is the planned duration of a switch, which includes reading the settings before the switch.
const perSwitch = 4 * time.Second

// MaxClientTime is the largest product of the number of clients and the duration of a session. So a manager with the
// chart's memory limit can keep a row for each client and second.
const MaxClientTime = 64 * 2 * time.Hour

// Lasts returns the planned maximum duration of a session.
func (p Plan) Lasts() time.Duration {
	windows := 0
	for _, group := range p.Order {
		windows += len(group)
	}
	return time.Duration(windows) * (p.Window + perSwitch)
}

// General returns the plan of one session of the general claim: a verdict for this cluster, which takes
// several sessions. The argument pairs is the number of pairs of the baseline and each candidate. Spare groups
// replace void ones.
func General(seed uint64, number, candidates, pairs int, window time.Duration) (Plan, error) {
	return planned(seed, number, candidates, groupsOf(pairs, candidates)+spareOfEach, window)
}

// DwellTime is how long a setting stays applied in a dwell.
const DwellTime = 4 * time.Minute

// dwellSwitch is the maximum duration of a switch before a dwell. It is longer than the maximum before a
// window, because the first half of a dwell does not count.
const dwellSwitch = 5 * time.Second

// Dwell returns the plan of a session of four dwells, in which the baseline and a candidate alternate. Each
// dwell is a group, because the operator reads the clients' rows after each group.
func Dwell(seed uint64, number, candidates, candidate int) (Plan, error) {
	p, err := planned(seed, number, candidates, 1, DwellTime)
	if err != nil {
		return p, err
	}
	if candidate < 1 || candidate > candidates {
		return p, fmt.Errorf("%w: dwells of candidate %d of %d", stats.ErrParameter, candidate, candidates)
	}
	p.Dwells, p.Order, p.Timing.MaxSwitch = true, nil, dwellSwitch
	for range 2 {
		p.Order = append(p.Order, switchback.Group{switchback.Baseline}, switchback.Group{candidate})
	}
	return p, nil
}

// Candidate returns the candidate in a session of dwells; 0 for a session of windows.
func (p Plan) Candidate() int {
	if !p.Dwells || len(p.Order) < 2 || len(p.Order[1]) == 0 {
		return 0
	}
	return p.Order[1][0]
}

// dwellPieces is the number of windows that are cut from a dwell.
const dwellPieces = 4

// WindowsOfSwitch is the number of windows that are cut from the time between two switches.
func (p Plan) WindowsOfSwitch() int {
	if p.Dwells {
		return dwellPieces
	}
	return 1
}

// windows returns the switches and the timing from which windows are cut. It omits the first half of each
// dwell, in which the setting takes effect, and returns each window of the second half as a switch of its own.
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

// washOutOf returns the part of a window that does not count: three tenths. So a longer window excludes more
// of the previous setting's after-effect.
func washOutOf(window time.Duration) time.Duration { return window * 3 / 10 }

func planned(seed uint64, number, candidates, groups int, window time.Duration) (Plan, error) {
	if number < 1 || window < time.Second {
		return Plan{}, fmt.Errorf("%w: session %d of windows of %v", stats.ErrParameter, number, window)
	}
	order, err := switchback.Assign(seed, uint64(number), candidates, groups)
	return Plan{
		Number: number, Candidates: candidates, Order: order, Window: window, ProofEvery: 2 * time.Second, Seed: seed + uint64(number),
		Timing: switchback.Timing{WashOut: washOutOf(window), MaxSwitch: 2 * time.Second, ClockError: 250 * time.Millisecond, Coverage: 0.7},
	}, err
}
