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
// holds for each number of looks, of quads and of rounds.
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
				t.Logf("%d pairs in a group, last look %d, alpha %.3f of %d: %.3f%%", pairs, last, c.alpha, c.candidates, 100*rate)
				if rate > c.alpha+2*math.Sqrt(c.alpha/n) {
					t.Errorf("looks up to %d err in %v, want at most %v", last, rate, c.alpha)
				}
			}
		}
	}
}

// smallestPs returns the smallest p up to each look.
func smallestPs(rng *rand.Rand, pairs int) (ps [6]float64) {
	smallest, sum, squares, groups := 1.0, 0.0, 0.0, 0
	for i, look := range QuickLooks(LastLook) {
		for ; groups < look/pairs; groups++ {
			x := rng.NormFloat64()
			sum, squares = sum+x, squares+x*x
		}
		n := float64(groups)
		sd := math.Sqrt((squares - sum*sum/n) / (n - 1))
		k := stats.Contrast{LogRatio: sum / n, StdDev: sd, StdErr: sd / math.Sqrt(n), DF: n - 1, Runs: groups, Paired: true}
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
		{"a false Superior", 1.10, 1.10, 0.05, []stats.Verdict{stats.Superior}},
		{"a false gain", 1, 1, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false loss", 1, 1, 0.025, []stats.Verdict{stats.Inferior}},
		{"a false loss beside a true one", 1, 0.1, 0.025, []stats.Verdict{stats.Inferior}},
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for j, truth := range truths {
				for _, size := range [][2]int{{2, 8}, {2, LastLook}, {6, LastLook}} {
					q := question(true)
					q.Candidates, q.LastLook = size[0], size[1]
					effects := append([]float64{0, math.Log(truth.first)}, slices.Repeat([]float64{math.Log(truth.others)}, q.Candidates-1)...)
					about := fmt.Sprintf("%-8s %d candidates, last look %2d: %s", w.name, q.Candidates, q.LastLook, truth.name)
					w.wantFamilyRate(t, about, uint64(500+10*i+j), n, q, effects, truth.first != truth.others, truth.nominal, truth.wrong)
				}
			}
		})
	}
}

// Sessions of several candidates are judged together. The rate of any false verdict at the end of a sweep must be
// nominal, whether effects are the same in all sessions or differ by 5%. Candidates that really differ do not
// count.
func TestSimulatedFamilyOfSessions(t *testing.T) {
	n, sizes := 60, []int{4}
	if long() {
		n, sizes = 1200, []int{2, 4, 8}
	}
	truths := []struct {
		name          string
		others, first float64 // ratios
		nominal       float64
		wrong         []stats.Verdict
	}{
		{"a false Superior", 1.10, 1.10, 0.05, []stats.Verdict{stats.Superior}},
		{"a false gain", 1, 1, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false gain beside a true one", 1, 1.5, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false loss", 1, 1, 0.025, []stats.Verdict{stats.Inferior}},
	}
	all := worlds()
	for i, w := range append([]world{all[0], all[2], all[3]}, recorded()...) { // without "typical"
		t.Run(w.name, func(t *testing.T) {
			for j, truth := range truths {
				for _, candidates := range sizes {
					for _, sd := range []float64{0, 0.05} {
						w, q := w, question(false)
						w.sessionSD, q.Candidates = sd, candidates
						effects := append([]float64{0, math.Log(truth.first)}, slices.Repeat([]float64{math.Log(truth.others)}, candidates-1)...)
						about := fmt.Sprintf("%-10s %d candidates, sd between sessions %.2f: %s", w.name, candidates, sd, truth.name)
						w.wantFamilyRate(t, about, uint64(2500+10*i+j), n, q, effects, truth.first != truth.others, truth.nominal, truth.wrong)
					}
				}
			}
		})
	}
}

// wantFamilyRate checks that sweeps have any wrong verdict as often as nominal at most. A rate above two standard
// errors is measured once more.
func (w world) wantFamilyRate(t *testing.T, about string, seed uint64, n int, q Question, effects []float64, butFirst bool, nominal float64, wrong []stats.Verdict) {
	t.Helper()
	rate := w.familyRate(t, seed, n, q, effects, butFirst, wrong)
	se := math.Sqrt(nominal * (1 - nominal) / float64(n))
	if rate > nominal+2*se {
		t.Logf("%s in %.1f%%, and again", about, 100*rate)
		rate = w.familyRate(t, seed+1000, n, q, effects, butFirst, wrong)
		se *= 1.5
	}
	t.Logf("%s in %.2f%%", about, 100*rate)
	if rate > nominal+2*se {
		t.Errorf("%s in %.2f%%, nominal %v", about, 100*rate, nominal)
	}
}

// familyRate returns how often any candidate, or any except the first, has a wrong verdict at the
// end of a sweep.
func (w world) familyRate(t *testing.T, seed uint64, n int, q Question, effects []float64, butFirst bool, wrong []stats.Verdict) (rate float64) {
	t.Helper()
	w.rng = rand.New(rand.NewPCG(2026, seed))
	play := w.sessionsOfRounds
	if q.Quick {
		play = w.rounds
	}
	for range n {
		for i, f := range play(t, q, effects) {
			if slices.Contains(wrong, f.Windows.Verdict) && (!butFirst || i > 0) {
				rate += 1 / float64(n)
				break
			}
		}
	}
	return rate
}

// rounds plays a session of several candidates up to the look at which all are decided.
func (w *world) rounds(t *testing.T, q Question, effects []float64) (found []Finding) {
	t.Helper()
	logs := w.logsOfRounds(t, q.Candidates, q.LastLook, effects)
	for _, look := range QuickLooks(q.LastLook) {
		var decided bool
		if found, decided = judgeRounds(t, q, entriesOfRounds(t, 1, look, logs)); decided {
			break
		}
	}
	return found
}

// sessionsOfRounds plays sessions of several candidates until all are decided.
func (w *world) sessionsOfRounds(t *testing.T, q Question, effects []float64) []Finding {
	t.Helper()
	var entries []Entry
	for n := 1; ; n++ {
		own := slices.Clone(effects)
		for c := 1; c < len(own); c++ {
			own[c] += w.sessionSD * w.rng.NormFloat64()
		}
		entries = append(entries, entriesOfRounds(t, n, DefaultPairs, w.logsOfRounds(t, q.Candidates, DefaultPairs, own))...)
		if n < DefaultSessions {
			continue
		}
		if found, decided := judgeRounds(t, q, entries); decided || n == q.MaxSessions {
			return found
		}
	}
}

// logsOfRounds plays a session, and returns ln(candidate ÷ baseline) of each candidate and round.
func (w *world) logsOfRounds(t *testing.T, candidates, rounds int, effects []float64) [][]float64 {
	t.Helper()
	w.fast, w.drift, w.felt, w.stalled = 0, w.slow*w.rng.NormFloat64(), 0, 0
	order, err := Assign(w.rng.Uint64(), 1, candidates, rounds)
	if err != nil {
		t.Fatal(err)
	}
	logs := make([][]float64, candidates)
	for _, g := range order {
		at := make([]float64, len(g))
		for _, setting := range g {
			at[setting] = w.window(effects[setting])
		}
		for c := range logs {
			logs[c] = append(logs[c], math.Log(at[c+1]/at[Baseline]))
		}
	}
	return logs
}

// entriesOfRounds returns the entries of the first rounds of a session.
func entriesOfRounds(t *testing.T, number, rounds int, logs [][]float64) []Entry {
	t.Helper()
	entries := make([]Entry, len(logs))
	for c, own := range logs {
		k, err := stats.PairedDifferences(own[:rounds])
		if err != nil {
			t.Fatal(err)
		}
		entries[c] = Entry{Session: number, Candidate: c + 1, Groups: rounds, Mean: k.LogRatio, StdDev: k.StdDev}
	}
	return entries
}

// judgeRounds judges entries, and reports whether all candidates are decided.
func judgeRounds(t *testing.T, q Question, entries []Entry) (found []Finding, decided bool) {
	t.Helper()
	found, err := Judge(q, entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found, !slices.ContainsFunc(found, func(f Finding) bool { return f.Windows.Verdict == stats.Inconclusive })
}

// window returns a window of 10 s, of which 3 s are wash-out.
func (w *world) window(effect float64) (figure float64) {
	for i := range 10 {
		if x := w.second(1, effect); i >= 3 {
			figure += x / 7
		}
	}
	return figure
}
