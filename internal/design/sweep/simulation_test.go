package sweep

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/cephtune/cephtune/internal/stats"
)

// The simulation plays whole sweeps whose truth is known: seconds → MSER → rate
// → ledger → planner → race → confirmation → conclusion. Its seed is fixed.
// CEPHTUNE_SIMULATION=long plays 25 times as many; docs/statistics.md prints
// what that measured.

// truth is a cluster that is simulated second by second.
type truth struct {
	phi        float64
	cv         float64
	drift      string // "none", "3%/run" or "5% walk"
	ratio      func(int) float64
	candidates int
}

// play runs one sweep to its conclusion.
func (w truth) play(t *testing.T, p *Planner, rng *rand.Rand) *Conclusion {
	t.Helper()
	r, err := p.begin()
	if err != nil {
		t.Fatal(err)
	}
	state, block := 0.0, 0
	for r.stop == "" {
		trial := r.trial()
		if trial.Block != block {
			block, state = trial.Block, 0.3*rng.NormFloat64() // time passes between blocks
		}
		switch w.drift {
		case "3%/run":
			state -= 0.03
		case "5% walk":
			state += 0.05 * rng.NormFloat64()
		}
		if err := r.advance(w.measure(t, rng, trial, state)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := r.conclude()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w truth) measure(t *testing.T, rng *rand.Rand, trial Trial, state float64) Run {
	run := Run{Block: trial.Block, Attempt: trial.Attempt, Position: trial.Position, Configuration: trial.Configuration, Seconds: 75 * trial.LengthFactor}
	level := 400 * w.ratio(trial.Configuration) * math.Exp(state+stats.LogStdDev(w.cv)*rng.NormFloat64())
	rows := make([]stats.Interval, 60*trial.LengthFactor)
	x := 0.1 * rng.NormFloat64()
	for i := range rows {
		rows[i] = stats.Interval{Amount: max(0, level*min(1, 0.25*float64(i+1))*(1+x)), Seconds: 1}
		x = w.phi*x + 0.1*math.Sqrt(1-w.phi*w.phi)*rng.NormFloat64()
	}
	s, err := stats.Summarize(rows)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Steady {
		run.Outcome = NotSteady
		return run
	}
	run.Values = []float64{s.Rate}
	return run.Rounded()
}

func planFor(t *testing.T, candidates int, seed uint64, change func(*Settings)) *Planner {
	t.Helper()
	values := make([]string, candidates)
	for i := range values {
		values[i] = fmt.Sprint(100 + i)
	}
	plan := Plan{Version: Version, Space: grid(values...), Settings: defaults()}
	plan.Settings.Seed = seed
	if change != nil {
		change(&plan.Settings)
	}
	p, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sweepsPerCell(n int) int {
	if os.Getenv("CEPHTUNE_SIMULATION") == "long" {
		return 25 * n
	}
	return n
}

type tally struct{ hits, sweeps int }

func (c *tally) add(hit bool) {
	c.sweeps++
	if hit {
		c.hits++
	}
}

func (c tally) String() string { return fmt.Sprintf("%5.2f%%", 100*float64(c.hits)/float64(c.sweeps)) }

// check allows for two standard errors.
func (c tally) check(t *testing.T, name string, nominal float64) {
	t.Helper()
	limit := nominal + 2*math.Sqrt(nominal*(1-nominal)/float64(c.sweeps))
	if rate := float64(c.hits) / float64(c.sweeps); rate > limit {
		t.Errorf("%s: %s of %d sweeps, want at most %.2f%%", name, c, c.sweeps, 100*limit)
	}
}

func anyRow(c *Conclusion, verdicts ...stats.Verdict) bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return slices.Contains(verdicts, r.Assessment.Verdict) })
}

// A false win is most likely if every candidate is better by exactly the minimum effect. For false
// gains and losses, all candidates are the baseline.
func TestSimulatedSweepsKeepTheirErrorRates(t *testing.T) {
	const alpha = 0.05
	type rates struct{ win, small, gain, loss, rejected tally }
	sums := map[string]*rates{}
	rng := rand.New(rand.NewPCG(2026, 51))
	for _, candidates := range []int{1, 2, 4, 8} {
		for _, phi := range []float64{0, 0.5, 0.8, 0.9} {
			for _, cv := range []float64{0.03, 0.10, 0.20} {
				for _, drift := range []string{"none", "3%/run", "5% walk"} {
					var cell rates
					for range sweepsPerCell(40) {
						p := planFor(t, candidates, rng.Uint64(), func(s *Settings) { s.MaxFailedRuns, s.MaxRejectedBlocks = 20, 20 })
						w := truth{phi: phi, cv: cv, drift: drift, candidates: candidates}
						w.ratio = func(c int) float64 { return 1 + 0.10*float64(min(c, 1)) }
						edge := w.play(t, p, rng)
						cell.win.add(anyRow(edge, stats.Superior))
						cell.small.add(edge.Rows[0].Assessment.Verdict == stats.Better) // the candidate that is better by exactly δ
						w.ratio = ratios()
						same := w.play(t, p, rng)
						cell.gain.add(anyRow(same, stats.Superior, stats.Better))
						cell.loss.add(anyRow(same, stats.Inferior))
						for _, c := range []*Conclusion{edge, same} {
							cell.rejected.hits += c.Controls.RejectedBlocks
							cell.rejected.sweeps += c.Controls.RejectedBlocks + c.acceptedBlocks()
						}
					}
					for _, key := range []string{"all", fmt.Sprintf("φ=%v", phi), fmt.Sprintf("CV=%v", cv), "drift " + drift, fmt.Sprintf("C=%d", candidates)} {
						if sums[key] == nil {
							sums[key] = &rates{}
						}
						for _, x := range [][2]*tally{
							{&sums[key].win, &cell.win}, {&sums[key].small, &cell.small}, {&sums[key].gain, &cell.gain}, {&sums[key].loss, &cell.loss}, {&sums[key].rejected, &cell.rejected},
						} {
							x[0].hits += x[1].hits
							x[0].sweeps += x[1].sweeps
						}
					}
				}
			}
		}
	}
	t.Logf("%d sweeps for each truth; a win, a gain or a loss for any candidate; nominal at most 5%%, 10%%, 5%%", sums["all"].win.sweeps)
	t.Logf("%-14s %10s %10s %10s %10s %16s", "", "win", "Better", "gain", "loss", "blocks rejected")
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		s := sums[key]
		t.Logf("%-14s %10s %10s %10s %10s %16s", key, s.win, s.small, s.gain, s.loss, s.rejected)
		s.win.check(t, key+", false win", alpha)
		// Two stages may each make an error: the race about candidates that left it, and the
		// confirmation about the winner. So the rates are at most twice the nominal ones. The
		// measured rates are far below that. If the race did not correct for its looks, they would
		// not be.
		s.small.check(t, key+", false Better", alpha/4)
		s.gain.check(t, key+", false gain", alpha/2)
		s.loss.check(t, key+", false loss", alpha/2)
	}
}

func (c *Conclusion) acceptedBlocks() (n int) {
	for _, r := range c.Rows {
		if r.Stage == Race {
			n = max(n, r.Assessment.Runs)
		}
	}
	for _, r := range c.Rows {
		if r.Stage == Confirmation {
			n += r.Assessment.Runs
		}
	}
	return n
}

// One candidate is 30% better and a win has to exceed 10%. In the second case, candidates are
// spread from 0.7 to 1.2 of the baseline, as in the reference's landscapes.
func TestSimulatedSweepsFindTheEffect(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 52))
	spread := func(n int) func(int) float64 {
		return func(c int) float64 {
			if c == 0 {
				return 1
			}
			return 0.7 + 0.6*float64(c-1)/float64(n-1)
		}
	}
	one := ratios(1, 1.3)
	t.Logf("%-34s %-6s %8s %12s %14s", "truth", "CV", "won", "right one", "runs, mean")
	for _, tc := range []struct {
		name       string
		candidates int
		ratio      func(int) float64
		cv         float64
		best       int
		atLeast    float64
	}{
		{"one of 4 is 1.3", 4, one, 0.03, 2, 0.95},
		{"one of 4 is 1.3", 4, one, 0.05, 2, 0.95},
		{"one of 4 is 1.3", 4, one, 0.10, 2, 0.80},
		{"one of 8 is 1.3", 8, one, 0.05, 2, 0.95},
		{"8 spread evenly from 0.7 to 1.3", 8, spread(8), 0.03, 8, 0.95},
		{"8 spread evenly from 0.7 to 1.3", 8, spread(8), 0.05, 8, 0.90},
		{"8 spread evenly from 0.7 to 1.3", 8, spread(8), 0.10, 8, 0.70},
	} {
		var won, right tally
		runs := 0
		sweeps := sweepsPerCell(120)
		for range sweeps {
			p := planFor(t, tc.candidates, rng.Uint64(), func(s *Settings) { s.MaxFailedRuns, s.MaxRejectedBlocks = 20, 20 })
			c := truth{phi: 0.5, cv: tc.cv, drift: "none", ratio: tc.ratio}.play(t, p, rng)
			won.add(c.Winner != 0)
			right.add(c.Winner == tc.best)
			runs += c.Runs
		}
		t.Logf("%-34s %-6v %8s %12s %14.1f", tc.name, tc.cv, won, right, float64(runs)/float64(sweeps))
		if rate := float64(right.hits) / float64(right.sweeps); rate < tc.atLeast {
			t.Errorf("%s at CV %v: the right one wins in %s, want at least %v", tc.name, tc.cv, right, tc.atLeast)
		}
	}
}
