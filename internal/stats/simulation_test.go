package stats

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// The simulation measures how often verdicts are wrong when the truth is known,
// through the functions that production uses: seconds → MSER → rate of the run
// → pairs within blocks → contrast → Holm → verdict. Its seed is fixed, so a
// failure is a change of behaviour and not bad luck.
//
// The version in CI takes seconds. CEPHTUNE_SIMULATION=long makes 25 times as
// many sweeps; docs/statistics.md prints what that measured.

// world is a cluster with known truth.
type world struct {
	phi        float64 // autocorrelation of seconds within a run
	cv         float64 // run-to-run noise
	drift      drift   // what happens to the cluster between runs
	candidates int
	blocks     int
	ratio      func(candidate int) float64 // the truth
	noisier    float64                     // the first candidate's noise, as a multiple of cv; 0 means 1
	controls   bool                        // candidates are compared with controls around them, as in a sweep
}

type drift string

const (
	noDrift     drift = "none"
	linearDrift drift = "3%/run"
	randomWalk  drift = "5% walk"
)

var criteriaUnderTest = Criteria{MinimumEffect: 0.10, Equivalence: 0.05, Confidence: 0.95}

func always(ratio float64) func(int) float64 { return func(int) float64 { return ratio } }

// sweep measures all blocks of the world and judges them.
func (w world) sweep(t *testing.T, rng *rand.Rand) []Assessment {
	t.Helper()
	measure := w.plainBlock
	if w.controls {
		measure = w.controlledBlock
	}
	diffs := make([][]float64, w.candidates)
	for range w.blocks {
		for c, diff := range measure(t, rng) {
			diffs[c] = append(diffs[c], diff)
		}
	}
	comparisons := make([]Comparison, w.candidates)
	for c := range comparisons {
		k, err := PairedDifferences(diffs[c])
		if err != nil {
			t.Fatal(err)
		}
		comparisons[c] = Comparison{Name: strconv.Itoa(c), Contrast: k}
	}
	as, err := Judge(criteriaUnderTest, comparisons)
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// plainBlock runs each configuration once, in random order, and compares each
// candidate with the one run of the baseline.
func (w world) plainBlock(t *testing.T, rng *rand.Rand) map[int]float64 {
	runs := w.runInOrder(t, rng, rng.Perm(w.candidates+1))
	diffs := map[int]float64{}
	for config, index := range runs.place {
		if base, ok := runs.place[0]; ok && config > 0 {
			diffs[config-1] = math.Log(runs.value[index]) - math.Log(runs.value[base])
		}
	}
	return diffs
}

// controlledBlock adds runs of the baseline at both ends and at most four
// candidates apart, and compares with what lies between them.
func (w world) controlledBlock(t *testing.T, rng *rand.Rand) map[int]float64 {
	order, since := []int{0}, 0
	for _, config := range rng.Perm(w.candidates + 1) {
		if since == 4 && config != 0 {
			order, since = append(order, 0), 0
		}
		order, since = append(order, config), since+1
		if config == 0 {
			since = 0
		}
	}
	order = append(order, 0)
	runs := w.runInOrder(t, rng, order)
	var controls []Control
	for index, config := range order {
		if value, ok := runs.value[index]; ok && config == 0 {
			controls = append(controls, Control{At: float64(index), Value: value})
		}
	}
	diffs := map[int]float64{}
	for config, index := range runs.place {
		if config == 0 {
			continue
		}
		base, err := BaselineAt(controls, float64(index))
		if err != nil {
			t.Fatal(err)
		}
		diffs[config-1] = math.Log(runs.value[index]) - base
	}
	return diffs
}

// measured has the steady runs of a block.
type measured struct {
	value map[int]float64 // rate by position
	place map[int]int     // a position of each configuration
}

func (w world) runInOrder(t *testing.T, rng *rand.Rand, order []int) measured {
	out := measured{value: map[int]float64{}, place: map[int]int{}}
	state := 0.3 * rng.NormFloat64() // days pass between blocks
	for index, config := range order {
		state += w.step(rng)
		if rate, ok := w.run(t, rng, config, state); ok {
			out.value[index], out.place[config] = rate, index
		}
	}
	return out
}

func (w world) step(rng *rand.Rand) float64 {
	switch w.drift {
	case linearDrift:
		return -0.03
	case randomWalk:
		return 0.05 * rng.NormFloat64()
	case noDrift:
	}
	return 0
}

// run measures one configuration as production does: 60 s, and once more at
// double length if that was not steady.
func (w world) run(t *testing.T, rng *rand.Rand, config int, state float64) (rate float64, ok bool) {
	truth, cv := 1.0, w.cv
	if config > 0 {
		truth = w.ratio(config - 1)
	}
	if config == 1 && w.noisier > 0 {
		cv *= w.noisier
	}
	level := 400 * truth * math.Exp(state+LogStdDev(cv)*rng.NormFloat64())
	for _, seconds := range []int{60, 120} {
		s, err := Summarize(series(rng, seconds, level, w.phi))
		if err != nil {
			t.Fatal(err)
		}
		if s.Steady {
			return s.Rate, true
		}
	}
	return 0, false
}

// series is a run of one-second rows with 10% noise and three seconds of
// warm-up.
func series(rng *rand.Rand, seconds int, level, phi float64) []Interval {
	rows := make([]Interval, seconds)
	for i, e := range ar1(rng, seconds, phi, 0.10) {
		warm := min(1, 0.25*float64(i+1))
		rows[i] = Interval{Amount: max(0, level*warm*(1+e)), Seconds: 1}
	}
	return rows
}

// tally counts sweeps in which an event happened.
type tally struct{ hits, sweeps int }

func (c *tally) add(hit bool) {
	c.sweeps++
	if hit {
		c.hits++
	}
}

func (c tally) rate() float64 { return float64(c.hits) / float64(c.sweeps) }

// standardError returns the Monte Carlo error at the nominal rate.
func (c tally) standardError(nominal float64) float64 {
	return math.Sqrt(nominal * (1 - nominal) / float64(c.sweeps))
}

func (c tally) String() string { return fmt.Sprintf("%5.2f%%", 100*c.rate()) }

func sweepsPerCell(n int) int {
	if os.Getenv("CEPHTUNE_SIMULATION") == "long" {
		return 25 * n
	}
	return n
}

func anyVerdict(as []Assessment, verdicts ...Verdict) bool {
	for _, a := range as {
		if slices.Contains(verdicts, a.Verdict) {
			return true
		}
	}
	return false
}

// errorsAt measures one cell of the grid.
func errorsAt(t *testing.T, w world, rng *rand.Rand, sweeps int) (e errorRates) {
	for range sweeps {
		w.ratio = always(1 + criteriaUnderTest.MinimumEffect)
		edge := w.sweep(t, rng)
		e.superior.add(anyVerdict(edge, Superior))
		e.small.add(anyVerdict(edge, Better))
		w.ratio = always(1)
		as := w.sweep(t, rng)
		e.gain.add(anyVerdict(as, Superior, Better))
		e.loss.add(anyVerdict(as, Inferior))
	}
	return e
}

// errorRates returns the rates of errors: calling any candidate Superior, or better by less than
// the minimum effect, while it is better by exactly that; and calling any candidate a gain or a
// loss while it is the baseline.
type errorRates struct{ superior, small, gain, loss tally }

func (e *errorRates) add(o errorRates) {
	for _, x := range []struct {
		sum  *tally
		part tally
	}{{&e.superior, o.superior}, {&e.small, o.small}, {&e.gain, o.gain}, {&e.loss, o.loss}} {
		x.sum.hits += x.part.hits
		x.sum.sweeps += x.part.sweeps
	}
}

// False Superior and false Better are measured where they are most likely: every candidate is
// better by exactly the minimum effect. For false gains and losses, all candidates are the baseline
// itself.
func TestSimulatedFamilyWiseErrorIsNominal(t *testing.T) {
	const alpha = 0.05
	for name, tc := range map[string]struct {
		controls bool
		// lossInCell returns the nominal rate of false losses in a cell. Without controls, steady
		// drift makes log-ratios follow the distance in a random order, which is not normal. Far
		// out in the tail, where losses are judged, eight candidates then have 3.2% instead of 2.5%
		// (1.35 million sweeps).
		lossInCell float64
	}{
		"blocks with controls, as in a sweep": {true, alpha / 2},
		"plain blocks, as in a table of runs": {false, 0.033},
	} {
		t.Run(name, func(t *testing.T) {
			sums := map[string]*errorRates{}
			rng := rand.New(rand.NewPCG(2026, 5))
			for _, w := range errorGrid() {
				w.controls = tc.controls
				e := errorsAt(t, w, rng, sweepsPerCell(250))
				for _, key := range []string{
					"all", fmt.Sprintf("φ=%v", w.phi), fmt.Sprintf("CV=%v", w.cv), fmt.Sprintf("drift %s", w.drift), fmt.Sprintf("C=%d", w.candidates),
				} {
					if sums[key] == nil {
						sums[key] = &errorRates{}
					}
					sums[key].add(e)
				}
				// One cell of many: four standard errors is two for all of them.
				cell := fmt.Sprintf("φ=%v CV=%v drift %s C=%d", w.phi, w.cv, w.drift, w.candidates)
				checkRate(t, cell+", false Superior", e.superior, alpha, 4)
				checkRate(t, cell+", false Better", e.small, tc.lossInCell, 4)
				checkRate(t, cell+", false gain", e.gain, alpha, 4)
				checkRate(t, cell+", false loss", e.loss, tc.lossInCell, 4)
			}
			t.Logf("%d sweeps for each truth; nominal 5%%, 2.5%%, 5%%, 2.5%%", sums["all"].superior.sweeps)
			t.Logf("%-14s %10s %10s %10s %10s", "", "Superior", "Better", "gain", "loss")
			for _, key := range slices.Sorted(maps.Keys(sums)) {
				m := sums[key]
				t.Logf("%-14s %10s %10s %10s %10s", key, m.superior, m.small, m.gain, m.loss)
				checkRate(t, key+", false Superior", m.superior, alpha, 2)
				checkRate(t, key+", false Better", m.small, alpha/2, 2)
				checkRate(t, key+", false gain", m.gain, alpha, 2)
				checkRate(t, key+", false loss", m.loss, alpha/2, 2)
			}
		})
	}
}

func errorGrid() (worlds []world) {
	for _, candidates := range []int{2, 4, 8} {
		for _, phi := range []float64{0, 0.5, 0.8, 0.9} {
			for _, cv := range []float64{0.03, 0.10, 0.20} {
				for _, d := range []drift{noDrift, linearDrift, randomWalk} {
					worlds = append(worlds, world{phi: phi, cv: cv, drift: d, candidates: candidates, blocks: 6})
				}
			}
		}
	}
	return worlds
}

func checkRate(t *testing.T, name string, got tally, nominal, standardErrors float64) {
	t.Helper()
	if limit := nominal + standardErrors*got.standardError(nominal); got.rate() > limit {
		t.Errorf("%s: %.2f%% in %d sweeps, want at most %.2f%%", name, 100*got.rate(), got.sweeps, 100*limit)
	}
}

// If noise is so small that any gain is certain, Better only asks for "by less than the minimum
// effect". Uncorrected intervals would call some of eight candidates, each better by exactly that,
// Better in one sweep of six.
func TestSimulatedBetterHoldsForMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 9))
	w := world{phi: 0, cv: 0.01, drift: noDrift, candidates: 8, blocks: 6, controls: true}
	e := errorsAt(t, w, rng, sweepsPerCell(1500))
	t.Logf("CV 1%%, 8 candidates: Superior %s, Better %s", e.superior, e.small)
	checkRate(t, "false Better", e.small, 0.025, 2)
}

// A configuration that is itself noisier than the others must not borrow their
// quietness: pooled variance gives 10.7% here.
func TestSimulatedErrorHoldsForOneNoisierCandidate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 6))
	for _, cv := range []float64{0.03, 0.10} {
		w := world{phi: 0.5, cv: cv, drift: noDrift, candidates: 4, blocks: 6, noisier: 3}
		e := errorsAt(t, w, rng, sweepsPerCell(1500))
		t.Logf("CV %v, one candidate 3× noisier: Superior %s, Better %s, gain %s, loss %s", cv, e.superior, e.small, e.gain, e.loss)
		checkRate(t, "false Superior", e.superior, 0.05, 2)
		checkRate(t, "false Better", e.small, 0.025, 2)
		checkRate(t, "false gain", e.gain, 0.05, 2)
		checkRate(t, "false loss", e.loss, 0.025, 2)
	}
}

// False Equivalent is most likely at the edge of the margin. It is a statement about each single
// candidate.
func TestSimulatedEquivalenceErrorIsNominal(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 7))
	var all tally
	for _, cv := range []float64{0.01, 0.03} {
		for _, edge := range []float64{1.05, 1 / 1.05} {
			w := world{phi: 0.5, cv: cv, drift: noDrift, candidates: 1, blocks: 8, ratio: always(edge)}
			var falseEquivalent tally
			for range sweepsPerCell(6000) {
				falseEquivalent.add(anyVerdict(w.sweep(t, rng), Equivalent))
			}
			t.Logf("CV %v, true ratio %.3f: false Equivalent %s", cv, edge, falseEquivalent)
			checkRate(t, fmt.Sprintf("CV %v, ratio %.3f", cv, edge), falseEquivalent, 0.05, 4)
			all.hits += falseEquivalent.hits
			all.sweeps += falseEquivalent.sweeps
		}
	}
	t.Logf("all: false Equivalent %s of %d", all, all.sweeps)
	checkRate(t, "false Equivalent", all, 0.05, 2)
}

// This measures the power for a true effect: one of four candidates is 30% better, the others are
// the baseline, and a win has to exceed 10%.
func TestSimulatedPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 8))
	t.Logf("%-6s %-8s %-8s %10s %22s", "CV", "blocks", "drift", "found", "others Equivalent")
	for _, tc := range []struct {
		cv      float64
		blocks  int
		drift   drift
		atLeast float64
	}{
		{0.03, 4, noDrift, 0.85},
		{0.03, 6, noDrift, 0.99},
		{0.03, 8, noDrift, 0.99},
		{0.05, 4, noDrift, 0.60},
		{0.05, 6, noDrift, 0.90},
		{0.05, 8, noDrift, 0.99},
		{0.10, 6, noDrift, 0.48},
		{0.10, 8, noDrift, 0.70},
		{0.10, 12, noDrift, 0.85},
		{0.05, 6, linearDrift, 0.88},
		{0.05, 6, randomWalk, 0.80},
		{0.05, 12, randomWalk, 0.95},
	} {
		w := world{
			phi: 0.5, cv: tc.cv, drift: tc.drift, candidates: 4, blocks: tc.blocks, controls: true,
			ratio: func(c int) float64 { return []float64{1.3, 1, 1, 1}[c] },
		}
		var found, equivalent tally
		for range sweepsPerCell(400) {
			as := w.sweep(t, rng)
			found.add(as[0].Verdict == Superior)
			equivalent.add(as[1].Verdict == Equivalent)
		}
		t.Logf("%-6v %-8d %-8s %10s %22s", tc.cv, tc.blocks, tc.drift, found, equivalent)
		if found.rate() < tc.atLeast {
			t.Errorf("CV %v, %d blocks, drift %s: a gain of 30%% is found in %s, want at least %v", tc.cv, tc.blocks, tc.drift, found, tc.atLeast)
		}
	}
}

// The rule that rejects blocks for drift must not reject steady blocks, and must not shift the
// estimate by selecting on the baseline.
func TestSimulatedDriftRuleRejectsAlmostNoSteadyBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 9))
	margin := criteriaUnderTest.Margin()
	t.Logf("%-6s %12s %18s %18s", "CV", "rejected", "half margin alone", "bias of log-ratio")
	for _, cv := range []float64{0.03, 0.05, 0.10, 0.20, 0.30} {
		var rejected, byFirstBound tally
		var bias float64
		kept := 0
		sd := LogStdDev(cv)
		for range sweepsPerCell(20000) {
			first, last, candidate := math.Exp(sd*rng.NormFloat64()), math.Exp(sd*rng.NormFloat64()), sd*rng.NormFloat64()
			d, err := CheckDrift(first, last, margin, sd)
			if err != nil {
				t.Fatal(err)
			}
			rejected.add(d.Rejected)
			byFirstBound.add(math.Abs(d.LogRatio) > margin/2)
			if !d.Rejected {
				baseline, err := BaselineAt([]Control{{0, first}, {2, last}}, 1)
				if err != nil {
					t.Fatal(err)
				}
				bias += candidate - baseline
				kept++
			}
		}
		bias /= float64(kept)
		t.Logf("%-6v %12s %18s %18.5f", cv, rejected, byFirstBound, bias)
		if rejected.rate() > 0.0135 { // P(|N(0,1)| > 2.5) is 1.24%
			t.Errorf("CV %v: %s of steady blocks rejected", cv, rejected)
		}
		if limit := 4 * 1.5 * sd / math.Sqrt(float64(kept)); math.Abs(bias) > limit {
			t.Errorf("CV %v: bias %v, want within %v", cv, bias, limit)
		}
	}
}

// A steady run must not be called unsteady, at any length that tools use.
func TestSimulatedMSERSeldomCallsASteadyRunUnsteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 10))
	t.Logf("%-8s %8s %14s", "φ", "seconds", "not steady")
	for _, tc := range []struct {
		phi     float64
		seconds int
		atMost  float64
	}{
		{0, 10, 0.15},
		{0, 30, 0.03},
		{0, 60, 0.01},
		{0, 120, 0.005},
		{0.5, 60, 0.05},
		{0.8, 60, 0.15},
		{0.9, 60, 0.25},
		{0.9, 120, 0.15},
	} {
		var unsteady tally
		for range sweepsPerCell(4000) {
			cut, err := MSER(ar1(rng, tc.seconds, tc.phi, 1))
			if err != nil {
				t.Fatal(err)
			}
			unsteady.add(!cut.Steady)
		}
		t.Logf("%-8v %8d %14s", tc.phi, tc.seconds, unsteady)
		if unsteady.rate() > tc.atMost {
			t.Errorf("φ=%v, %d s: %s not steady, want at most %v", tc.phi, tc.seconds, unsteady, tc.atMost)
		}
	}
}

// This shows why a single run proves nothing. The truth is exactly at the threshold. A t-test over
// the 60 seconds of one run each finds "more than 20%" far too often, even if batch means correct
// for autocorrelation. docs/statistics.md prints these figures.
func TestSimulatedSecondsAreNoSubstituteForRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 11))
	const nominal = 0.005
	t.Logf("%-6s %14s %14s", "CV", "seconds", "batch means")
	for _, cv := range []float64{0.05, 0.10, 0.20} {
		var bySeconds, byBatches tally
		for range sweepsPerCell(4000) {
			baseline := rates(t, series(rng, 60, 400*math.Exp(LogStdDev(cv)*rng.NormFloat64()), 0.5))
			candidate := rates(t, series(rng, 60, 480*math.Exp(LogStdDev(cv)*rng.NormFloat64()), 0.5))
			c, err := WelchLogRatio(baseline, candidate)
			if err != nil {
				t.Fatal(err)
			}
			bySeconds.add(c.PGreater(math.Log(1.2)) <= nominal)
			b0, b1 := batchMeans(t, logs(baseline)), batchMeans(t, logs(candidate))
			c.StdErr, c.DF = math.Hypot(b0.StdErr, b1.StdErr), float64(b0.Count+b1.Count-2)
			byBatches.add(c.PGreater(math.Log(1.2)) <= nominal)
		}
		t.Logf("%-6v %14s %14s", cv, bySeconds, byBatches)
		if bySeconds.rate() < 10*nominal || byBatches.rate() < 10*nominal {
			t.Errorf("CV %v: seconds %s, batches %s; documented as far above %v", cv, bySeconds, byBatches, nominal)
		}
	}
}

// rates returns the seconds of a run after its warm-up.
func rates(t *testing.T, rows []Interval) []float64 {
	t.Helper()
	s, err := Summarize(rows)
	if err != nil {
		t.Fatal(err)
	}
	xs, err := intervalRates(rows[s.Dropped:])
	if err != nil {
		t.Fatal(err)
	}
	return xs
}

// This shows why looks have levels. Looking after each of runs 3 to 12 with the full level is wrong
// in many sweeps; with Looks.Level it is not.
func TestSimulatedPeeking(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 12))
	looks := Looks{First: 3, Last: 12}
	var naive, levelled tally
	for range sweepsPerCell(20000) {
		p := smallestP(looks, rng)
		naive.add(p <= 0.05)
		levelled.add(p <= looks.Level(0.05, 1))
	}
	t.Logf("ten looks at 5%%: %s without, %s with a level for each look", naive, levelled)
	checkRate(t, "levelled looks", levelled, 0.05, 2)
	if naive.rate() < 0.10 {
		t.Errorf("peeking errs in %s, documented as above 10%%", naive)
	}
}
