package switchback

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cephtune/cephtune/internal/stats"
)

const (
	// exactOrders is the maximum number of orders that are enumerated: all orders of four quads. If the
	// orders are more, some are drawn at random.
	exactOrders = 6 * 6 * 6 * 6
	draws       = 9999
)

// Session is a session in the form of the archive, from which entries can be recomputed.
type Session struct {
	Number     int      `json:"number"`
	Seed       uint64   `json:"seed"` // for the draws of randomisation tests
	Candidates int      `json:"candidates"`
	Order      []Group  `json:"order"`
	Windows    []Window `json:"windows"`
	Faults     []bool   `json:"faults"` // one for each window
}

// Entry is the ledger's record of one candidate in one session.
type Entry struct {
	Session   int     `json:"s"`
	Candidate int     `json:"c"`
	Groups    int     `json:"n"` // valid quads or rounds
	Mean      float64 `json:"m"` // mean over groups of ln(candidate ÷ baseline); in entries from Levels, of ln(figure)
	StdDev    float64 `json:"d"` // standard deviation between groups
	P         float64 `json:"r"` // p-value of the randomisation test of "no increase of the figure"
	Late      float64 `json:"l"` // difference between late and early halves of windows, as a normal score
	Lag       float64 `json:"g"` // effect of the previous setting, as a normal score
	Void      bool    `json:"v,omitempty"`
}

// Entries summarizes a session, with one entry for each candidate. All entries are void if fewer than two
// groups are valid, or if faults hit some settings more often than chance allows.
//
// If no operation finished in a window of a valid group, its figure has no logarithm. Omitting such windows
// would select windows by their figures. So Entries then fails, with an error that wraps stats.ErrStalled.
func (s Session) Entries() ([]Entry, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	void := s.voidsDiffer()
	entries := make([]Entry, s.Candidates)
	for i := range entries {
		candidate := i + 1
		e := Entry{Session: s.Number, Candidate: candidate, Groups: len(groups), P: 1, Void: void || len(groups) < 2}
		if !e.Void {
			k, err := stats.PairedDifferences(effects(groups, candidate))
			if err != nil {
				return nil, err
			}
			e.Mean, e.StdDev = round(k.LogRatio, 1e6), round(k.StdDev, 1e6)
			e.P = round(randomise(choices(groups, candidate, func(g group) []float64 { return g.logs }), s.rng(1)), 1e4)
			e.Late = round(lateScore(groups, candidate, s.rng(2)), 100)
			e.Lag = round(lagScore(groups, candidate, s.rng(3)), 100)
		}
		entries[i] = e
	}
	return entries, nil
}

// Levels returns entries for limits on a figure itself, not on its ratio to the baseline's. Each entry has the
// mean of ln(figure) over a candidate's windows, and no test results.
func (s Session) Levels() ([]Entry, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	void := s.voidsDiffer()
	entries := make([]Entry, s.Candidates)
	for i := range entries {
		e := Entry{Session: s.Number, Candidate: i + 1, Groups: len(groups), P: 1, Void: void || len(groups) < 2}
		if !e.Void {
			k, err := stats.PairedDifferences(levels(groups, i+1))
			if err != nil {
				return nil, err
			}
			e.Mean, e.StdDev = round(k.LogRatio, 1e6), round(k.StdDev, 1e6)
		}
		entries[i] = e
	}
	return entries, nil
}

func levels(groups []group, candidate int) []float64 {
	out := make([]float64, len(groups))
	for i, g := range groups {
		sum, n := 0.0, 0.0
		for j, setting := range g.order {
			if setting == candidate {
				sum, n = sum+g.logs[j], n+1
			}
		}
		out[i] = sum / n
	}
	return out
}

func (s Session) rng(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, stream)) //nolint:gosec // a test that can be replayed, not a secret
}

func round(x, unit float64) float64 { return math.Round(x*unit) / unit }

// group is a valid group with its figures.
type group struct {
	order Group
	logs  []float64 // ln(figure)
	late  []float64 // (late − early) ÷ figure, which is finite even if no operation finished in a half
}

// groups returns the complete groups without a fault.
func (s Session) groups() ([]group, error) {
	if len(s.Faults) != len(s.Windows) || s.Candidates < 1 {
		return nil, fmt.Errorf("%w: %d windows, %d faults, %d candidates", stats.ErrParameter, len(s.Windows), len(s.Faults), s.Candidates)
	}
	var out []group
	at := 0
	for _, order := range s.Order {
		if at+len(order) > len(s.Windows) {
			break // The session ended before this group was complete.
		}
		g, ok, err := s.group(order, at)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, g)
		}
		at += len(order)
	}
	return out, nil
}

func (s Session) group(order Group, at int) (group, bool, error) {
	g, counts := group{order: order}, true
	for i, setting := range order {
		w := s.Windows[at+i]
		if w.Setting != setting {
			return g, false, fmt.Errorf("%w: window %d has setting %d, not %d", stats.ErrParameter, at+i, w.Setting, setting)
		}
		counts = counts && !s.Faults[at+i]
	}
	if !counts {
		return g, false, nil
	}
	for _, w := range s.Windows[at : at+len(order)] {
		if w.Figure == 0 {
			return g, false, fmt.Errorf("window of setting %d: %w", w.Setting, stats.ErrStalled)
		}
		if !(w.Figure > 0) || math.IsInf(w.Figure, 1) || !(w.Early >= 0 && w.Late >= 0) {
			return g, false, &stats.ValueError{What: "window", Index: at, Value: w.Figure, Want: "positive and finite"}
		}
		g.logs = append(g.logs, math.Log(w.Figure))
		g.late = append(g.late, (w.Late-w.Early)/w.Figure)
	}
	return g, true, nil
}

// contrast returns the mean of a candidate's values minus the mean of the baseline's values. In a quad it is
// ½(ΣB − ΣA), where A is the baseline and B the candidate.
func contrast(order Group, values []float64, candidate int) float64 {
	var sum, n [2]float64
	for i, setting := range order {
		switch setting {
		case Baseline:
			sum[0], n[0] = sum[0]+values[i], n[0]+1
		case candidate:
			sum[1], n[1] = sum[1]+values[i], n[1]+1
		}
	}
	return sum[1]/n[1] - sum[0]/n[0]
}

func effects(groups []group, candidate int) []float64 {
	out := make([]float64, len(groups))
	for i, g := range groups {
		out[i] = contrast(g.order, g.logs, candidate)
	}
	return out
}

// choice has the contrast of a group, and its contrasts under all possible orders.
type choice struct {
	seen float64
	all  []float64
}

// choices returns the choices of groups. The given function has to return one value for each window of a group.
func choices(groups []group, candidate int, values func(group) []float64) []choice {
	out := make([]choice, len(groups))
	for i, g := range groups {
		v := values(g)
		out[i].seen = contrast(g.order, v, candidate)
		for _, order := range relabelled(g.order, candidate) {
			out[i].all = append(out[i].all, contrast(order, v, candidate))
		}
	}
	return out
}
