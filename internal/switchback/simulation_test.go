package switchback

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// world is a cluster with known truth: a client's amount in each second.
type world struct {
	name      string
	cv, phi   float64 // per second
	slow      float64 // sd of ln, with τ 60 s
	stalls    float64 // the probability that a stall of 2 s begins in a second
	ratio     float64
	sessionSD float64 // by how much ln(ratio) differs between sessions
	tau       float64 // time constant in seconds with which a setting takes effect; 0: at once
	plain     bool    // entries without permutation tests, which take most of the time, and so no carry-over is found
	deferred  float64 // how much ln(figure) falls in the long run because of postponed work, τ 60 s

	rng                        *rand.Rand
	fast, drift, felt, backlog float64
	stalled                    int
}

// worlds returns assumed clusters.
func worlds() []world {
	return []world{
		{name: "quiet", cv: 0.06, phi: 0.2, slow: 0.01},
		{name: "typical", cv: 0.08, phi: 0.5, slow: 0.03},
		{name: "noisy", cv: 0.15, phi: 0.5, slow: 0.08},
		{name: "stalling", cv: 0.30, phi: 0.3, slow: 0.10, stalls: 0.01},
	}
}

// recorded returns clusters with the noise of recordings (TestRecordingsLieWithinTheSimulation).
func recorded() []world {
	return []world{
		{name: "lab-reads", cv: 0.19, slow: 0.13, plain: true},                            // session-randread-4k
		{name: "lab-writes", cv: 0.39, phi: 0.46, slow: 0.33, stalls: 0.003, plain: true}, // session-randwrite-4k
	}
}

func (w *world) second(setting int, effect float64) float64 {
	w.fast = w.phi*w.fast + math.Sqrt(1-w.phi*w.phi)*w.cv*w.rng.NormFloat64()
	keep := math.Exp(-1.0 / 60)
	w.drift = keep*w.drift + math.Sqrt(1-keep*keep)*w.slow*w.rng.NormFloat64()
	target := effect * float64(setting)
	if w.tau == 0 {
		w.felt = target
	} else {
		w.felt += (target - w.felt) * (1 - math.Exp(-1/w.tau))
	}
	w.backlog += (w.deferred*float64(setting) - w.backlog) * (1 - keep)
	if w.stalled > 0 {
		w.stalled--
		return 0
	}
	if w.rng.Float64() < w.stalls {
		w.stalled = 2
	}
	return math.Exp(w.felt - w.backlog + w.fast + w.drift)
}

// session returns a session with windows of a length, such as 10 s, of which three tenths are wash-out.
func (w *world) session(t *testing.T, number, quads int, effect float64, window time.Duration) Session {
	t.Helper()
	order, err := Assign(w.rng.Uint64(), uint64(number), 1, quads)
	if err != nil {
		t.Fatal(err)
	}
	s := Session{Number: number, Seed: w.rng.Uint64(), Candidates: 1, Order: order}
	w.fast, w.drift, w.felt, w.backlog, w.stalled = 0, w.slow*w.rng.NormFloat64(), 0, 0, 0
	for _, g := range order {
		for _, setting := range g {
			washOut := int(window.Seconds()) * 3 / 10
			for range washOut {
				w.second(setting, effect)
			}
			win, counted := Window{Setting: setting}, int(window.Seconds())-washOut
			half := counted / 2
			for i := range counted {
				x := w.second(setting, effect)
				win.Figure += x / float64(counted)
				if i < half {
					win.Early += x / float64(half)
				} else if i >= counted-half {
					win.Late += x / float64(half)
				}
			}
			s.Windows = append(s.Windows, win)
		}
	}
	s.Faults = make([]bool, len(s.Windows))
	return s
}

// dwells returns dwells of 240 s each. Their first half is left out, in which a setting with τ 60 s
// takes effect.
func (w *world) dwells(t *testing.T, effect float64) stats.Contrast {
	t.Helper()
	const washOut = 120
	var d Dwells
	for i := range d {
		for range washOut {
			w.second(i%2, effect)
		}
		for range 4 {
			sum := 0.0
			for range (240 - washOut) / 4 {
				sum += w.second(i%2, effect)
			}
			d[i] = append(d[i], sum/(240-washOut)*4)
		}
	}
	k, err := d.Contrast()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) effect() float64 { return math.Log(w.ratio) + w.sessionSD*w.rng.NormFloat64() }

// sweep plays sessions, or the looks of one, until there is a verdict. Where carry-over shows, it begins anew
// with windows of twice the length. It also returns the minutes that this took.
func (w *world) sweep(t *testing.T, q Question, withDwells bool) (Finding, float64) {
	t.Helper()
	dwells := map[int]stats.Contrast{}
	minutes := 0.0
	if withDwells {
		dwells[1] = w.dwells(t, w.effect())
		minutes = 16
	}
	for q.Window = window; ; q.Window *= 2 {
		play := w.general
		if q.Quick {
			play = w.quick
		}
		f, m := play(t, q, dwells)
		minutes += m
		if f.Remedy != DoubleWindow {
			return f, minutes
		}
	}
}

// window is the length of windows in which no carry-over has been found yet.
const window = 10 * time.Second

// general plays sessions with windows of one length.
func (w *world) general(t *testing.T, q Question, dwells map[int]stats.Contrast) (f Finding, minutes float64) {
	t.Helper()
	var entries []Entry
	for n := 1; ; n++ {
		entries = append(entries, w.entry(t, w.session(t, n, DefaultPairs/2, w.effect(), q.Window)))
		minutes += (95 + 2*q.Window.Seconds()*DefaultPairs) / 60
		if n < DefaultSessions {
			continue
		}
		f = judge(t, q, entries, dwells)
		if f.Windows.Verdict != stats.Inconclusive || f.Remedy == DoubleWindow || n == q.MaxSessions {
			return f, minutes
		}
	}
}

// quick plays the looks of one session.
func (w *world) quick(t *testing.T, q Question, dwells map[int]stats.Contrast) (f Finding, minutes float64) {
	t.Helper()
	looks := QuickLooks(q.LastLook)
	whole := w.session(t, 1, looks[len(looks)-1]/2, w.effect(), q.Window)
	for _, pairs := range looks {
		part := whole
		part.Windows, part.Faults = whole.Windows[:2*pairs], whole.Faults[:2*pairs]
		f, minutes = judge(t, q, []Entry{w.entry(t, part)}, dwells), (95+2*q.Window.Seconds()*float64(pairs))/60
		if f.Windows.Verdict != stats.Inconclusive {
			break
		}
	}
	return f, minutes
}

func (w *world) entry(t *testing.T, s Session) Entry {
	t.Helper()
	if w.plain {
		return plainEntry(t, s.Number, effectsIn(t, s))
	}
	es, err := s.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return es[0]
}

func judge(t *testing.T, q Question, entries []Entry, dwells map[int]stats.Contrast) Finding {
	t.Helper()
	fs, err := Judge(q, entries, dwells)
	if err != nil {
		t.Fatal(err)
	}
	return fs[0]
}

func long() bool { return os.Getenv("CEPHTUNE_SIMULATION") == "long" }

// rateOf returns how often sweeps of a world have one of some verdicts, and their mean number of
// minutes.
func rateOf(t *testing.T, w world, seed uint64, n int, q Question, dwells bool, wanted ...stats.Verdict) (rate, minutes float64) {
	t.Helper()
	w.rng = rand.New(rand.NewPCG(2026, seed))
	for range n {
		f, m := w.sweep(t, q, dwells)
		minutes += m / float64(n)
		if slices.Contains(wanted, f.Verdict) {
			rate += 1 / float64(n)
		}
	}
	return rate, minutes
}

func question(quick bool) Question {
	return Question{
		Criteria:   stats.Criteria{MinimumEffect: 0.10, Equivalence: 0.05, Confidence: 0.95},
		Candidates: 1, Quick: quick, LastLook: LastLook, MaxSessions: 6,
	}
}

func TestSimulatedErrorRates(t *testing.T) {
	n := 48
	if long() {
		n = 25 * n
	}
	truths := []struct {
		name    string
		ratio   float64
		dwells  bool
		nominal float64
		wrong   []stats.Verdict
	}{
		{"a false Superior", 1.10, false, 0.05, []stats.Verdict{stats.Superior}},
		{"a false gain", 1, false, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false loss", 1, false, 0.025, []stats.Verdict{stats.Inferior}},
		{"a false Equivalent", 1.05, true, 0.05, []stats.Verdict{stats.Equivalent}},
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for j, truth := range truths {
				for _, sd := range []float64{-1, 0, 0.05} { // −1 is quick mode, whose claim has no sessions
					w, q := w, question(sd < 0)
					w.ratio, w.sessionSD = truth.ratio, max(0, sd)
					seed := uint64(100 + 10*i + j)
					rate, _ := rateOf(t, w, seed, n, q, truth.dwells, truth.wrong...)
					se := math.Sqrt(truth.nominal * (1 - truth.nominal) / float64(n))
					if rate > truth.nominal+2*se {
						t.Logf("%s, %s, sd %v: %.1f%%, and again", w.name, truth.name, sd, 100*rate)
						rate, _ = rateOf(t, w, seed+1000, n, q, truth.dwells, truth.wrong...)
						se *= 1.5
					}
					t.Logf("%-8s %-18s sd between sessions %5.2f: %.1f%%", w.name, truth.name, sd, 100*rate)
					if rate > truth.nominal+2*se {
						t.Errorf("%s, sd %v: %s in %.1f%%, nominal %v", w.name, sd, truth.name, 100*rate, truth.nominal)
					}
				}
			}
		})
	}
}

// This measures the minutes until "better at all", and how often that verdict is reached.
func TestSimulatedMinutes(t *testing.T) {
	n := 30
	if long() {
		n = 25 * n
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for _, ratio := range []float64{1.05, 1.10, 1.25} {
				for _, quick := range []bool{true, false} {
					q := question(quick)
					q.Criteria.MinimumEffect, w.ratio, w.sessionSD = 0, ratio, 0.02
					power, minutes := rateOf(t, w, uint64(200+i), n, q, false, stats.Superior, stats.Better)
					t.Logf("%-8s %.2f quick %-5v: %3.0f%% in %4.1f min", w.name, ratio, quick, 100*power, minutes)
				}
			}
		})
	}
}

// Windows hide effects that take time, and work that a setting postpones.
func TestSimulatedHiddenEffects(t *testing.T) {
	n := 40
	if long() {
		n = 25 * n
	}
	for i, w := range slices.Concat(worlds()[:3], recorded()) {
		w.plain = false
		t.Run(w.name, func(t *testing.T) {
			for _, tau := range []float64{2, 5, 10, 60} {
				w := w
				w.ratio, w.tau = 1.10, tau
				same, _ := rateOf(t, w, uint64(300+i), n, question(false), true, stats.Equivalent)
				q := question(false)
				q.Criteria.MinimumEffect = 0
				gain, minutes := rateOf(t, w, uint64(300+i), n, q, true, stats.Superior, stats.Better)
				t.Logf("%-8s 1.10 with τ %2.0f s: Equivalent in %.1f%%, better in %.1f%%, %.1f min", w.name, tau, 100*same, 100*gain, minutes)
			}
			w.ratio, w.deferred = 1.10, math.Log(1.10/0.93)
			q := question(false)
			q.Criteria.MinimumEffect = 0
			without, _ := rateOf(t, w, uint64(310+i), n, q, false, stats.Superior, stats.Better)
			with, _ := rateOf(t, w, uint64(310+i), n, q, true, stats.Superior, stats.Better)
			t.Logf("%-8s long-run 0.93 that windows see as 1.10: better in %.1f%%, with dwells %.1f%%", w.name, 100*without, 100*with)
		})
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		w.plain = false
		t.Run(w.name, func(t *testing.T) {
			w.ratio, w.rng = 1, rand.New(rand.NewPCG(2026, uint64(320+i)))
			alarms, contradictions := 0, 0
			for range 5 * n {
				var entries []Entry
				for s := range DefaultSessions {
					entries = append(entries, w.entry(t, w.session(t, s, DefaultPairs/2, 0, window)))
				}
				f := judge(t, question(false), entries, map[int]stats.Contrast{1: w.dwells(t, 0)})
				if f.Remedy != None {
					alarms++
				}
				if f.Contradict {
					contradictions++
				}
			}
			t.Logf("%-8s nothing hidden: carry-over alarms %.1f%%, dwells contradict %.1f%%",
				w.name, 20*float64(alarms)/float64(n), 20*float64(contradictions)/float64(n))
			if !(float64(alarms) <= 5*float64(n)*(0.05+3*math.Sqrt(0.05*0.95/float64(5*n)))) {
				t.Errorf("%s: %d alarms of %d", w.name, alarms, 5*n)
			}
		})
	}
}

// Replaying an archive must result in the same entries and the same verdict.
func TestArchiveGivesTheSameVerdict(t *testing.T) {
	w := worlds()[1]
	w.ratio, w.rng = 1.25, rand.New(rand.NewPCG(2026, 400))
	var entries, again []Entry
	for n := range 3 {
		s := w.session(t, n+1, 4, w.effect(), window)
		s.Faults[n] = true
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Session
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		entries, again = append(entries, w.entry(t, s)), append(again, w.entry(t, back))
	}
	if !reflect.DeepEqual(entries, again) {
		t.Fatalf("entries %v, from the archive %v", entries, again)
	}
	if f := judge(t, question(false), again, nil); f.Verdict != stats.Superior || f.Windows.Runs != 3 {
		t.Errorf("verdict %v of %d sessions, want Superior of 3", f.Verdict, f.Windows.Runs)
	}
}
