package switchback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cephtune/cephtune/internal/stats"
)

// In at most alpha of all sessions, the smallest p over all looks reaches the level of a look. This
// holds for each number of looks, and of blocks of one and of several candidates.
func TestLevelOfQuickLooks(t *testing.T) {
	const n = 100000
	cases := []struct {
		alpha             float64
		candidates, share int // the number of parts of which the level is one
	}{
		{0.05, 1, 1},
		{0.025, 1, 2},  // Inferior
		{0.01, 5, 5},   // the first of five, after Holm
		{0.005, 5, 10}, // and Inferior
	}
	for _, pairs := range []int{2, 1} {
		rng := rand.New(rand.NewPCG(2026, 61))
		looks := QuickLooks(LastLook)
		below := make([][4]float64, len(looks))
		for range n {
			for i, p := range smallestPs(rng, pairs) {
				for j, c := range cases {
					if p <= quickLevel(0.05, c.candidates, i+1)/float64(c.share) {
						below[i][j]++
					}
				}
			}
		}
		for i, last := range looks {
			for j, c := range cases {
				rate := below[i][j] / n
				t.Logf("%d pairs in a block, last look %d, alpha %.3f of %d: %.3f%%", pairs, last, c.alpha, c.candidates, 100*rate)
				if rate > c.alpha+2*math.Sqrt(c.alpha/n) {
					t.Errorf("looks up to %d err in %v, want at most %v", last, rate, c.alpha)
				}
			}
		}
	}
}

// smallestPs returns the smallest p up to each look.
func smallestPs(rng *rand.Rand, pairs int) (ps [6]float64) {
	smallest, sum, squares, blocks := 1.0, 0.0, 0.0, 0
	for i, look := range QuickLooks(LastLook) {
		for ; blocks < look/pairs; blocks++ {
			x := rng.NormFloat64()
			sum, squares = sum+x, squares+x*x
		}
		n := float64(blocks)
		sd := math.Sqrt((squares - sum*sum/n) / (n - 1))
		k := stats.Contrast{LogRatio: sum / n, StdDev: sd, StdErr: sd / math.Sqrt(n), DF: n - 1, Runs: blocks, Paired: true}
		smallest = min(smallest, k.PGreater(0))
		ps[i] = smallest
	}
	return ps
}

// With several candidates in one session, the rate of any false verdict over all looks and
// candidates must be nominal. Candidates that really differ do not count.
func TestSimulatedFamilyOfQuickLooks(t *testing.T) {
	n := 200
	if long() {
		n *= 50
	}
	truths := []struct {
		name    string
		others  float64 // ratio of all candidates but the first
		first   float64
		nominal float64
		wrong   []stats.Verdict
	}{
		{"a false Superior", 1 + small, 1 + small, 0.05, []stats.Verdict{stats.Superior}},
		{"a false gain", 1, 1, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false loss", 1, 1, 0.025, []stats.Verdict{stats.Inferior}},
		{"a false loss beside a true one", 1, 0.1, 0.025, []stats.Verdict{stats.Inferior}},
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for j, truth := range truths {
				for _, size := range [][2]int{{2, 8}, {2, LastLook}, {6, LastLook}} {
					q := question(true, small)
					q.Candidates, q.LastLook = size[0], size[1]
					effects := append([]float64{0, math.Log(truth.first)}, slices.Repeat([]float64{math.Log(truth.others)}, q.Candidates-1)...)
					topic := fmt.Sprintf("%-8s %d candidates, last look %2d: %s", w.name, q.Candidates, q.LastLook, truth.name)
					w.wantFamilyRate(t, topic, uint64(500+10*i+j), n, q, effects, truth.first != truth.others, truth.nominal, truth.wrong)
				}
			}
		})
	}
}

// wantFamilyRate checks that sweeps have any wrong verdict as often as nominal at most. A rate above two standard
// errors is measured once more.
func (w world) wantFamilyRate(t *testing.T, topic string, seed uint64, n int, q Question, effects []float64, butFirst bool, nominal float64, wrong []stats.Verdict) {
	t.Helper()
	rate := w.familyRate(t, seed, n, q, effects, butFirst, wrong)
	se := math.Sqrt(nominal * (1 - nominal) / float64(n))
	if rate > nominal+2*se {
		t.Logf("%s in %.1f%%, and again", topic, 100*rate)
		rate = w.familyRate(t, seed+1000, n, q, effects, butFirst, wrong)
		se *= 1.5
	}
	t.Logf("%s in %.2f%%", topic, 100*rate)
	if rate > nominal+2*se {
		t.Errorf("%s in %.2f%%, nominal %v", topic, 100*rate, nominal)
	}
}

// familyRate returns how often any candidate, or any except the first, has a wrong verdict at the
// end of a sweep.
func (w world) familyRate(t *testing.T, seed uint64, n int, q Question, effects []float64, butFirst bool, wrong []stats.Verdict) (rate float64) {
	t.Helper()
	w.rng = rand.New(rand.NewPCG(2026, seed))
	for range n {
		found, _ := w.several(t, q, effects)
		for i, f := range found {
			if slices.Contains(wrong, f.Assessment.Verdict) && (!butFirst || i > 0) {
				rate += 1 / float64(n)
				break
			}
		}
	}
	return rate
}

// several plays a session of several candidates up to the look at which all are decided, or the best is known. Who is decided
// leaves, and keeps the entry of that look. Its entries lack permutation tests, so the error rates are upper bounds.
func (w *world) several(t *testing.T, q Question, effects []float64) (found []Finding, windows int) {
	t.Helper()
	whole := w.severalSession(t, q.Candidates, q.LastLook, effects)
	entries, left, before := make([]Entry, q.Candidates), make([]bool, q.Candidates), 0
	undecided := func(f Finding) bool {
		return f.Assessment.Verdict == stats.Inconclusive && !f.Assessment.EffectRuledOut()
	}
	for _, look := range QuickLooks(q.LastLook) {
		blocks, err := whole.firstPairs(look).blocks()
		if err != nil {
			t.Fatal(err)
		}
		windows += look - before // of the baseline
		for c := range entries {
			if left[c] {
				continue
			}
			windows += look - before
			k, err := effectOf(blocks, c+1)
			if err != nil {
				t.Fatal(err)
			}
			entries[c] = Entry{Candidate: c + 1, Blocks: look, Mean: k.mean, StdDev: k.sd}
		}
		if found, err = Judge(q, entries, nil); err != nil {
			t.Fatal(err)
		}
		for c := range left {
			left[c] = left[c] || !undecided(found[c])
		}
		before = look
		known := q.BestIsKnown(found, func(i int) bool { return found[i].Assessment.Verdict == stats.Superior }, func(i int) bool { return left[i] })
		if !slices.Contains(left, false) || known {
			break
		}
	}
	return found, windows
}

// One of four candidates is better than the baseline, and the others equal it. This measures how often it wins, and how long
// that takes with windows of ten seconds and two for each switch.
func TestSimulatedRace(t *testing.T) {
	n := 60
	if long() {
		n *= 50
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		for _, first := range []float64{1.05, 1.10, 1.25} {
			q := question(true, 0)
			q.Candidates, q.LastLook = 4, LastLook
			w.rng = rand.New(rand.NewPCG(2026, uint64(700+i)))
			won, minutes := 0.0, 0.0
			for range n {
				found, windows := w.several(t, q, []float64{0, math.Log(first), 0, 0, 0})
				if found[0].Assessment.Verdict == stats.Superior {
					won++
				}
				minutes += float64(windows) * (window.Seconds() + perSwitch) / 60
			}
			won, minutes = won/float64(n), minutes/float64(n)
			t.Logf("%-10s %.2f among four: wins in %3.0f%%, windows take %4.1f min of %.0f", w.name, first, 100*won, minutes, float64(5*LastLook*12)/60)
			if w.name == "typical" && first == 1.10 && (won < 0.9 || minutes > 30) {
				t.Errorf("%.2f wins in %.0f%%, after %.1f min", first, 100*won, minutes)
			}
		}
	}
}

// severalSession plays a session of several candidates, or of one.
func (w *world) severalSession(t *testing.T, candidates, pairs int, effects []float64) Session {
	t.Helper()
	w.reset()
	blocks := pairs
	if candidates == 1 {
		blocks = pairs / 2
	}
	order, err := Assign(w.rng.Uint64(), 1, candidates, blocks)
	if err != nil {
		t.Fatal(err)
	}
	s := Session{Number: 1, Seed: w.rng.Uint64(), Candidates: candidates, Order: order}
	for _, b := range order {
		for _, treatment := range b {
			s.Windows = append(s.Windows, w.window(treatment, effects[treatment]))
		}
	}
	s.Faults = make([]bool, len(s.Windows))
	return s
}

// window returns a window under a treatment that has an effect of its own.
func (w *world) window(treatment int, effect float64) Window {
	made := windowFrom(window, func() float64 { return w.second(1, effect) })
	made.Treatment = treatment
	return made
}
