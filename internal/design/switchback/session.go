package switchback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/internal/stats"
)

const (
	// exactOrders is the maximum number of orders that are enumerated: all orders of four blocks of one candidate. If the
	// orders are more, some are drawn at random.
	exactOrders = 6 * 6 * 6 * 6
	draws       = 9999
)

// Session is a session in the form of the archive, from which entries can be recomputed.
type Session struct {
	Number     int      `json:"number"`
	Seed       uint64   `json:"seed"` // for the draws of randomisation tests
	Candidates int      `json:"candidates"`
	Order      []Block  `json:"order"`
	Windows    []Window `json:"windows"`
	Faults     []bool   `json:"faults"` // one for each window
	// Long is the candidate of a session of long windows, which compares one candidate with the baseline; 0
	// for a session of short windows.
	Long int `json:"long,omitempty"`
}

// Entry is the ledger's record of one candidate in one session.
type Entry struct {
	Candidate int
	Blocks    int     // valid blocks; a pair of long windows is one
	Mean      float64 // ln(mean of the candidate ÷ mean of the baseline); in entries from Levels, ln(mean)
	// StdDevAbove is that towards greater ratios, if it differs: for curves; 0 otherwise.
	StdDevAbove float64
	StdDev      float64 // standard deviation between blocks, to first order; 0 for a session of long windows
	// P has the p-values of the randomisation test. They are 1 in a session of long windows.
	P       stats.PValues
	Late    float64 // difference between late and early halves of windows, as a normal score
	Lag     float64 // effect of the previous treatment, as a normal score
	Invalid bool
	Unknown bool // the session is valid, but its curves give no ratio
}

// slowest is the largest ratio, or its reciprocal, that an entry has. If no operation of a treatment finished in
// the whole session, its ratio is infinite.
const slowest = 1000

// Entries summarizes a session, with one entry for each candidate, or only one for a session of long windows.
// All entries are invalid if too few blocks are valid, or if faults hit some treatments more often than chance
// allows.
//
// Means are arithmetic, so a window in which no operation finished has the figure 0 and counts like any other.
// If no operation finished with either treatment, there is no ratio, and the error wraps stats.ErrStalled.
func (s Session) Entries(c stats.Criteria) ([]Entry, error) {
	return s.entries(func(blocks []block, candidate int) (Entry, error) {
		k, err := effectOf(blocks, candidate)
		if err != nil {
			return Entry{}, err
		}
		e := Entry{Mean: round(k.mean, 1e6), StdDev: round(k.sd, 1e6), P: stats.PValues{Superior: 1, AnyGain: 1, Loss: 1, Small: 1}}
		if s.Long == 0 {
			e.P = randomise(blocks, candidate, c, s.rng(1))
			e.Late = round(lateScore(blocks, candidate, s.rng(2)), 100)
			e.Lag = round(lagScore(blocks, candidate, s.rng(3)), 100)
		}
		return e, nil
	})
}

// Valid returns the number of complete blocks without a fault, and whether faults hit some treatments more often than chance
// allows.
func (s Session) Valid() (blocks int, uneven bool, err error) {
	valid, err := s.blocks()
	return len(valid), err == nil && s.faultsDiffer(), err
}

// Levels returns entries for limits on a figure itself, not on its ratio to the baseline's. Each entry has
// ln(mean of a candidate's windows), and no test results.
func (s Session) Levels() ([]Entry, error) {
	return s.entries(func(blocks []block, candidate int) (Entry, error) {
		var figures []float64
		for _, b := range blocks {
			figures = append(figures, meanOf(b.order, b.figures, candidate))
		}
		k, err := levelOf(figures)
		return Entry{Mean: round(k.mean, 1e6), StdDev: round(k.sd, 1e6), P: stats.PValues{Superior: 1, AnyGain: 1, Loss: 1, Small: 1}}, err
	})
}

// Figures returns the figures of a treatment's windows in valid blocks.
func (s Session) Figures(treatment int) ([]float64, error) {
	blocks, err := s.blocks()
	var figures []float64
	for _, b := range blocks {
		for i, window := range b.order {
			if window == treatment {
				figures = append(figures, b.figures[i])
			}
		}
	}
	return figures, err
}

func (s Session) entries(summarise func([]block, int) (Entry, error)) ([]Entry, error) {
	blocks, err := s.blocks()
	if err != nil {
		return nil, err
	}
	least, candidates := 2, make([]int, s.Candidates)
	for i := range candidates {
		candidates[i] = i + 1
	}
	if s.Long > 0 {
		least, candidates = 1, []int{s.Long}
	}
	invalid := s.Long == 0 && s.faultsDiffer() || len(blocks) < least
	entries := make([]Entry, len(candidates))
	for i, candidate := range candidates {
		shared := blocksWith(candidate, blocks)
		if !invalid && len(shared) >= least {
			if entries[i], err = summarise(shared, candidate); err != nil {
				return nil, err
			}
		}
		entries[i].Candidate, entries[i].Blocks, entries[i].Invalid = candidate, len(shared), invalid || len(shared) < least
	}
	return entries, nil
}

// blocksWith returns the blocks that have a window of a candidate. A candidate that is decided leaves a session before its end.
func blocksWith(candidate int, blocks []block) []block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return !slices.Contains(b.order, candidate) })
}

// estimate is a logarithm with its standard deviation between blocks.
type estimate struct{ mean, sd float64 }

// effectOf returns ln(mean of the candidate ÷ mean of the baseline) over blocks. Its standard deviation is that
// of the blocks' contributions, to first order (the delta method).
func effectOf(blocks []block, candidate int) (estimate, error) {
	var changed, base []float64
	for _, b := range blocks {
		changed, base = append(changed, meanOf(b.order, b.figures, candidate)), append(base, meanOf(b.order, b.figures, Baseline))
	}
	a, b := stat.Mean(changed, nil), stat.Mean(base, nil)
	if a == 0 && b == 0 {
		return estimate{}, fmt.Errorf("windows of candidate %d and of the baseline: %w", candidate, stats.ErrStalled)
	}
	if a <= b/slowest || b <= a/slowest {
		return estimate{mean: math.Copysign(math.Log(slowest), a-b)}, nil
	}
	for i := range changed {
		changed[i] = changed[i]/a - base[i]/b
	}
	k := estimate{mean: math.Log(a / b)}
	if len(changed) > 1 {
		k.sd = stat.StdDev(changed, nil)
	}
	return k, nil
}

func levelOf(figures []float64) (estimate, error) {
	mean := stat.Mean(figures, nil)
	if mean == 0 {
		return estimate{}, fmt.Errorf("all windows of a candidate: %w", stats.ErrStalled)
	}
	k := estimate{mean: math.Log(mean)}
	if len(figures) > 1 {
		k.sd = stat.StdDev(figures, nil) / mean
	}
	return k, nil
}

// meanOf returns the mean figure of a treatment's windows in a block.
func meanOf(order Block, figures []float64, treatment int) float64 {
	sum, n := 0.0, 0.0
	for i, s := range order {
		if s == treatment {
			sum, n = sum+figures[i], n+1
		}
	}
	return sum / n
}

func (s Session) rng(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, stream)) //nolint:gosec // a test that can be replayed, not a secret
}

func round(x, unit float64) float64 { return math.Round(x*unit) / unit }

// block is a valid block with its figures.
type block struct {
	order   Block
	figures []float64
	late    []float64 // late − early, in units of the block's mean figure
}

// blocks returns the complete blocks without a fault.
func (s Session) blocks() ([]block, error) {
	if len(s.Faults) != len(s.Windows) || s.Candidates < 1 {
		return nil, fmt.Errorf("%w: %d windows, %d faults, %d candidates", stats.ErrParameter, len(s.Windows), len(s.Faults), s.Candidates)
	}
	var out []block
	index := 0
	for _, order := range s.Order {
		if index+len(order) > len(s.Windows) {
			break // The session ended before this block was complete.
		}
		b, ok, err := s.block(order, index)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, b)
		}
		index += len(order)
	}
	return out, nil
}

func (s Session) block(order Block, index int) (block, bool, error) {
	b, counts := block{order: order}, true
	for i, treatment := range order {
		w := s.Windows[index+i]
		if w.Treatment != treatment {
			return b, false, fmt.Errorf("%w: window %d has treatment %d, not %d", stats.ErrParameter, index+i, w.Treatment, treatment)
		}
		counts = counts && !s.Faults[index+i]
	}
	if !counts {
		return b, false, nil
	}
	windows := s.Windows[index : index+len(order)]
	for i, w := range windows {
		if !(w.Figure >= 0 && w.Early >= 0 && w.Late >= 0) || math.IsInf(w.Figure+w.Early+w.Late, 1) {
			return b, false, &stats.ValueError{What: "window", Index: index + i, Value: w.Figure, Want: "finite, and at least 0"}
		}
		b.figures = append(b.figures, w.Figure)
	}
	level := stat.Mean(b.figures, nil)
	for _, w := range windows {
		if level > 0 {
			w.Late, w.Early = w.Late/level, w.Early/level
		}
		b.late = append(b.late, w.Late-w.Early)
	}
	return b, true, nil
}

// contrast returns the mean of a candidate's values minus the mean of the baseline's values. In a block of one
// candidate it is ½(ΣB − ΣA), where A is the baseline and B the candidate.
func contrast(order Block, values []float64, candidate int) float64 {
	var sum, n [2]float64
	for i, treatment := range order {
		switch treatment {
		case Baseline:
			sum[0], n[0] = sum[0]+values[i], n[0]+1
		case candidate:
			sum[1], n[1] = sum[1]+values[i], n[1]+1
		}
	}
	return sum[1]/n[1] - sum[0]/n[0]
}

// choice has the contrast of a block, and its contrasts under all possible orders.
type choice struct {
	seen float64
	all  []float64
}

// choices returns the choices of blocks. The given function has to return one value for each window of a block.
func choices(blocks []block, candidate int, values func(block) []float64) []choice {
	out := make([]choice, len(blocks))
	for i, b := range blocks {
		v := values(b)
		out[i].seen = contrast(b.order, v, candidate)
		for _, order := range relabelled(b.order, candidate) {
			out[i].all = append(out[i].all, contrast(order, v, candidate))
		}
	}
	return out
}
