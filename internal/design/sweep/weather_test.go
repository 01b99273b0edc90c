package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// weather has the effects of a cluster on runs besides those of settings. Zero fields have no
// effect. Figures are on the log scale, except cv and slow.
type weather struct {
	cv       float64 // noise from run to run
	phi      float64 // its correlation with the noise of the previous run
	t3       bool    // whether it has heavy tails
	noisier  float64 // the first candidate's noise, as a multiple of the others'
	skew     float64 // standard deviation of slowdowns that are log-normal in size
	slow     float64 // by how much a fifth of all runs is slower
	carry    float64 // slowdown of the first run after a change
	trend    float64 // from run to run
	walk     float64 // the same, at random
	step     float64 // once, permanently
	badHours float64 // for 5 to 20 runs
}

func (w weather) begins(rng *rand.Rand) func(configuration int) float64 {
	stepAt, badFrom, badFor := rng.IntN(30), rng.IntN(30), 5+rng.IntN(15)
	last, run, level, kept := 0, 0, 0.0, rng.NormFloat64()
	return func(c int) float64 {
		noise := rng.NormFloat64()
		if w.t3 {
			noise *= math.Sqrt(1 / distuv.ChiSquared{K: 3, Src: rng}.Rand()) // with variance 1
		}
		kept = w.phi*kept + math.Sqrt(1-w.phi*w.phi)*noise
		level += w.trend + w.walk*rng.NormFloat64()
		out := level + stats.LogStdDev(w.cv)*kept
		if c == 1 && w.noisier != 0 {
			out += (w.noisier - 1) * stats.LogStdDev(w.cv) * kept
		}
		if w.skew != 0 {
			out -= w.skew * math.Exp(rng.NormFloat64()) / 2.16
		}
		if w.slow != 0 && rng.IntN(5) == 0 {
			out += math.Log1p(-w.slow)
		}
		if c != last {
			out += math.Log1p(w.carry)
		}
		if run >= stepAt {
			out += w.step
		}
		if run >= badFrom && run < badFrom+badFor {
			out += w.badHours
		}
		last, run = c, run+1
		return out
	}
}

// playIn plays one sweep to its conclusion, run by run instead of second by second.
func playIn(t *testing.T, w weather, truth func(int) float64, candidates int, rng *rand.Rand) *Conclusion {
	t.Helper()
	r, err := planFor(t, candidates, rng.Uint64(), func(s *Settings) { s.MaxRejectedBlocks = 20 }).begin()
	if err != nil {
		t.Fatal(err)
	}
	measure := w.begins(rng)
	for r.stop == "" {
		trial := r.trial()
		c := trial.Configuration
		run := Run{Block: trial.Block, Attempt: trial.Attempt, Position: trial.Position, Configuration: c, Seconds: 75}
		run.Values = []float64{400 * truth(c) * math.Exp(measure(c))}
		if err := r.advance(run); err != nil {
			t.Fatal(err)
		}
	}
	c, err := r.conclude()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// yardstick is a question, and the fewest runs that could answer it: those of a fixed design that
// knows noise and effect, with the power that the planner is asked for.
type yardstick struct {
	candidates int
	cv, truth  float64
	want       stats.Verdict
	power      float64
	most       float64 // runs, mean
}

func (y yardstick) oracle() int {
	z := func(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
	const alpha, margin, equivalence = 0.05, 1.10, 1.05
	sd := stats.LogStdDev(y.cv)
	enough := func(candidates, baselines int) bool {
		se := sd * math.Sqrt(1/float64(candidates)+1/float64(baselines))
		if y.want == stats.Equivalent {
			return 2*distuv.UnitNormal.CDF(math.Log(equivalence)/se-z(1-alpha))-1 >= y.power
		}
		return math.Log(y.truth/margin)/se >= z(1-alpha/float64(y.candidates))+z(y.power)
	}
	for runs := y.candidates + 1; ; runs++ {
		for each := 1; each*y.candidates < runs; each++ {
			if enough(each, runs-each*y.candidates) {
				return runs
			}
		}
	}
}

// This compares the planner's number of runs with that of the oracle, for one candidate and for
// several of which one is better.
func TestSimulatedYardstick(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 53))
	t.Logf("%-26s %8s %8s %8s %12s %8s %8s", "candidates, CV, truth", "power", "runs", "±", "at most", "oracle", "ratio")
	sums, cells := map[bool]float64{}, map[bool]float64{}
	for _, y := range []yardstick{
		{1, 0.05, 1.25, stats.Superior, 0.95, 12},
		{1, 0.10, 1.25, stats.Superior, 0.95, 22},
		{1, 0.05, 1.00, stats.Equivalent, 0.75, 48},
		{2, 0.05, 1.30, stats.Superior, 0.95, 20},
		{4, 0.05, 1.30, stats.Superior, 0.95, 28},
		{4, 0.10, 1.30, stats.Superior, 0.95, 56},
		{8, 0.05, 1.30, stats.Superior, 0.95, 40},
		{8, 0.10, 1.30, stats.Superior, 0.95, 80},
	} {
		var right tally
		var runs, squares float64
		for range sweepsPerCell(400) {
			c := playIn(t, weather{cv: y.cv}, ratios(y.truth), y.candidates, rng)
			right.add(c.Rows[0].Assessment.Verdict == y.want)
			runs += float64(c.Runs)
			squares += float64(c.Runs * c.Runs)
		}
		n := float64(right.sweeps)
		mean := runs / n
		se := math.Sqrt((squares/n - mean*mean) / n)
		ratio := mean / float64(y.oracle())
		t.Logf("%-26s %8s %8.1f %8.1f %12.0f %8d %8.2f", fmt.Sprintf("%d, %v, %v", y.candidates, y.cv, y.truth), right, mean, se, y.most, y.oracle(), ratio)
		sums[y.candidates == 1] += ratio
		cells[y.candidates == 1]++
		if mean-2*se > y.most {
			t.Errorf("%+v: %.1f runs", y, mean)
		}
		if power := float64(right.hits) / n; power+2*math.Sqrt(y.power*(1-y.power)/n) < y.power {
			t.Errorf("%+v: decided in %s", y, right)
		}
	}
	for one, limit := range map[bool]float64{true: 1.4, false: 2} {
		mean := sums[one] / cells[one]
		t.Logf("one candidate %v: %.2f times the oracle's runs", one, mean)
		if mean > limit {
			t.Errorf("one candidate %v: %.2f times the oracle's runs, want at most %v", one, mean, limit)
		}
	}
}

// weathers returns the weathers in which error rates must hold, and says which of them CI plays
// too.
func weathers() (all []weather, inCI map[weather]bool) {
	for _, cv := range []float64{0.02, 0.05, 0.10, 0.20, 0.40} {
		all = append(all, weather{cv: cv})
	}
	for _, phi := range []float64{0.3, 0.6, 0.9} {
		all = append(all, weather{cv: 0.05, phi: phi})
	}
	for _, cv := range []float64{0.02, 0.05} {
		all = append(all, weather{cv: cv, noisier: 3}, weather{cv: cv, trend: 0.02}, weather{cv: cv, trend: -0.02},
			weather{cv: cv, slow: 0.15}, weather{cv: cv, slow: 0.3})
		for _, carry := range []float64{-0.10, -0.05, -0.02, 0.02, 0.05, 0.10} {
			all = append(all, weather{cv: cv, carry: carry})
		}
	}
	all = append(all, weather{cv: 0.03, walk: 0.05}, weather{cv: 0.03, step: -0.2}, weather{cv: 0.03, step: 0.2},
		weather{cv: 0.03, badHours: -0.35}, weather{cv: 0.05, t3: true}, weather{cv: 0.02, skew: 0.05}, weather{cv: 0.02, skew: 0.1})
	inCI = map[weather]bool{}
	for _, w := range []weather{
		{cv: 0.05}, {cv: 0.05, phi: 0.6}, {cv: 0.05, noisier: 3}, {cv: 0.05, carry: -0.05}, {cv: 0.05, carry: 0.05}, {cv: 0.05, slow: 0.3}, {cv: 0.02, skew: 0.1},
	} {
		inCI[w] = true
	}
	return all, inCI
}

// The error rates must be nominal, whatever the cluster does to runs, if it does the same to the
// baseline and to candidates. A rate that is above by two standard errors is measured again.
func TestSimulatedErrorRatesInAnyWeather(t *testing.T) {
	long := os.Getenv("CEPHTUNE_SIMULATION") == "long"
	all, inCI := weathers()
	t.Logf("%-52s %8s %8s %8s %8s %8s", "false, in per cent", "win", "Better", "gain", "loss", "same")
	for i, w := range all {
		for _, candidates := range []int{1, 2, 4, 8} {
			if !long && (!inCI[w] || candidates == 2 || candidates == 8) {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(i), uint64(candidates)))
			nominal := []float64{0.05, 0.05, 0.05, 0.025, 0.05}
			rates := errorRates(t, w, candidates, sweepsPerCell(100), rng)
			name := fmt.Sprintf("%d candidates, %+v", candidates, w)
			t.Logf("%-52s %8s %8s %8s %8s %8s", w.name(candidates), rates[0], rates[1], rates[2], rates[3], rates[4])
			for k := range rates {
				if rates[k].exceeds(nominal[k], 2) {
					again := errorRates(t, w, candidates, 10_000, rng)[k]
					t.Logf("%s: rate %d was %s, and again %s of %d", name, k, rates[k], again, again.sweeps)
					if again.exceeds(nominal[k], 3) {
						t.Errorf("%s: rate %d is %s, and %s of %d fresh sweeps, want %v", name, k, rates[k], again, again.sweeps, nominal[k])
					}
				}
			}
		}
	}
}

// name lists the weather's effects.
func (w weather) name(candidates int) string {
	out := fmt.Sprintf("%d, CV %v", candidates, w.cv)
	for _, part := range []struct {
		name  string
		value float64
	}{
		{"φ", w.phi},
		{"noisier ×", w.noisier},
		{"skew", w.skew},
		{"slow mode", -w.slow},
		{"carry-over", w.carry},
		{"a run", w.trend},
		{"walk", w.walk},
		{"step", w.step},
		{"bad hours", w.badHours},
	} {
		if part.value != 0 {
			out += fmt.Sprintf(", %s %v", part.name, part.value)
		}
	}
	if w.t3 {
		out += ", t3"
	}
	return out
}

func (c tally) exceeds(nominal, standardErrors float64) bool {
	return float64(c.hits)/float64(c.sweeps) > nominal+standardErrors*math.Sqrt(nominal*(1-nominal)/float64(c.sweeps))
}

// errorRates returns the rates of a false win, a false Better, a false gain, a false loss and a
// false Equivalent, each where it is most likely.
func errorRates(t *testing.T, w weather, candidates, sweeps int, rng *rand.Rand) (rates [5]tally) {
	t.Helper()
	edge := func(c int) float64 { return 1 + 0.10*float64(min(c, 1)) }
	for range sweeps {
		c := playIn(t, w, edge, candidates, rng)
		rates[0].add(c.Winner != 0)
		rates[1].add(c.Rows[0].Assessment.Verdict == stats.Better)
		c = playIn(t, w, ratios(), candidates, rng)
		rates[2].add(anyRow(c, stats.Superior, stats.Better))
		rates[3].add(anyRow(c, stats.Inferior))
		c = playIn(t, w, ratios(1/1.05), candidates, rng)
		rates[4].add(c.Rows[0].Assessment.Verdict == stats.Equivalent)
	}
	return rates
}
