package switchback

import (
	"encoding/json"
	"fmt"
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
	persists  float64 // correlation of that difference from one session to the next
	tau       float64 // time constant in seconds with which a treatment takes effect; 0: at once
	plain     bool    // entries without permutation tests, which take most of the time
	hostile

	rng                        *rand.Rand
	fast, drift, felt, backlog float64
	surge, alone, lasting      float64
	before                     int
	slowed                     bool
	seconds, stalled           int
}

// hostile has effects that a verdict must not be misled by. They are in ln(figure).
type hostile struct {
	deferred  float64 // how much the figure falls with the candidate in the long run, because of postponed work
	transient float64 // how much it rises after a switch to the candidate
	back      float64 // how much it rises after a switch to the baseline
	decay     float64 // time constant in seconds of these three
	slowOwn   float64 // sd of noise with τ 20 s under the candidate alone
	fastOwn   float64 // sd per second of more noise under the candidate alone; its mean figure stays the same
	stallsOwn float64 // share of the time that the candidate spends in stalls of stallsFor seconds
	stallsFor int
	fourth    float64 // one time in four, ten seconds are slower by that share
	cycle     float64 // ten seconds of each forty are slower by that share
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

func (w *world) second(treatment int, effect float64) float64 {
	w.fast = w.phi*w.fast + math.Sqrt(1-w.phi*w.phi)*w.cv*w.rng.NormFloat64()
	keep := math.Exp(-1.0 / 60)
	w.drift = keep*w.drift + math.Sqrt(1-keep*keep)*w.slow*w.rng.NormFloat64()
	target := effect * float64(treatment)
	if w.tau == 0 {
		w.felt = target
	} else {
		w.felt += (target - w.felt) * (1 - math.Exp(-1/w.tau))
	}
	sum := w.felt + w.fast + w.drift + w.hostility(treatment)
	if w.stalled > 0 {
		w.stalled--
		return 0
	}
	if w.rng.Float64() < w.stalls {
		w.stalled = 2
	}
	return math.Exp(sum)
}

func (w *world) hostility(treatment int) float64 {
	if w.hostile == (hostile{}) {
		return 0
	}
	if w.decay > 0 {
		fade := math.Exp(-1 / w.decay)
		w.backlog += (w.deferred*float64(treatment) - w.backlog) * (1 - fade)
		w.surge *= fade
		if treatment != w.before {
			w.surge = [2]float64{w.back, w.transient}[treatment]
		}
	}
	keep := math.Exp(-1.0 / 20)
	w.alone = keep*w.alone + math.Sqrt(1-keep*keep)*w.slowOwn*w.rng.NormFloat64()
	w.before, w.seconds = treatment, w.seconds+1
	sum := w.surge - w.backlog
	if treatment == 1 {
		sum += w.alone - w.slowOwn*w.slowOwn/2 + w.fastOwn*w.rng.NormFloat64() - w.fastOwn*w.fastOwn/2
		if w.stalled == 0 && w.stallsFor > 0 && w.rng.Float64() < w.stallsOwn/(1-w.stallsOwn)/float64(w.stallsFor) {
			w.stalled = w.stallsFor
		}
	}
	if w.seconds%10 == 0 {
		w.slowed = w.rng.IntN(4) == 0
	}
	if w.slowed || w.cycle > 0 && w.seconds/10%4 == 3 {
		sum += math.Log1p(-w.fourth - w.cycle)
	}
	return sum
}

func (w *world) reset() {
	w.fast, w.drift, w.felt, w.backlog, w.stalled = 0, w.slow*w.rng.NormFloat64(), 0, 0, 0
	w.surge, w.alone, w.before, w.seconds = 0, 0, 0, w.rng.IntN(40)
}

// session returns a session with windows of a length.
func (w *world) session(t *testing.T, number, blocks int, effect float64, window time.Duration) Session {
	t.Helper()
	order, err := Assign(w.rng.Uint64(), uint64(number), 1, blocks)
	if err != nil {
		t.Fatal(err)
	}
	s := Session{Number: number, Seed: w.rng.Uint64(), Candidates: 1, Order: order}
	w.reset()
	for _, b := range order {
		for _, treatment := range b {
			win := windowFrom(window, func() float64 { return w.second(treatment, effect) })
			win.Treatment = treatment
			s.Windows = append(s.Windows, win)
		}
	}
	s.Faults = make([]bool, len(s.Windows))
	return s
}

// windowFrom returns a window of the amounts of some seconds, of which three tenths are wash-out.
func windowFrom(length time.Duration, second func() float64) (made Window) {
	washOut := int(length.Seconds()) * 3 / 10
	for range washOut {
		second()
	}
	counted := int(length.Seconds()) - washOut
	half := counted / 2
	for i := range counted {
		x := second()
		made.Figure += x / float64(counted)
		if i < half {
			made.Early += x / float64(half)
		} else if i >= counted-half {
			made.Late += x / float64(half)
		}
	}
	return made
}

// long returns the entry of a session of long windows, of which the first three fifths do not count.
func (w *world) long(t *testing.T, number int, effect float64, length int) Entry {
	t.Helper()
	w.reset()
	s := Session{Number: number, Candidates: 1, Long: 1, Order: []Block{{0, 1}}, Faults: make([]bool, 2)}
	if number%2 == 0 {
		s.Order[0] = Block{1, 0}
	}
	for _, treatment := range s.Order[0] {
		win := Window{Treatment: treatment}
		for i := range length {
			if x := w.second(treatment, effect); i >= length*3/5 {
				win.Figure += x / float64(length-length*3/5)
			}
		}
		s.Windows = append(s.Windows, win)
	}
	es, err := s.Entries(stats.Criteria{})
	if err != nil {
		t.Fatal(err)
	}
	return es[0]
}

// effect draws the effect of a session.
func (w *world) effect() float64 {
	w.lasting = w.persists*w.lasting + math.Sqrt(1-w.persists*w.persists)*w.sessionSD*w.rng.NormFloat64()
	return math.Log(w.ratio) + w.lasting
}

// sweep plays sessions of long windows, or the looks of a quick session, until there is a verdict. It also
// returns the minutes that this took.
func (w *world) sweep(t *testing.T, q Question) (Finding, float64) {
	t.Helper()
	w.lasting = w.sessionSD * w.rng.NormFloat64()
	if q.Quick {
		return w.quick(t, q)
	}
	return w.general(t, q)
}

const (
	window     = 8 * time.Second // as session.DefaultWindow
	longWindow = 60
	prepare    = 90 // seconds before the windows of a session
	perSwitch  = 2  // seconds between two windows
)

// general plays sessions of long windows.
func (w *world) general(t *testing.T, q Question) (f Finding, minutes float64) {
	t.Helper()
	var entries []Entry
	for n := 1; ; n++ {
		entries = append(entries, w.long(t, n, w.effect(), longWindow))
		minutes += (prepare + 2*(longWindow+perSwitch)) / 60.
		if n < LeastSessions {
			continue
		}
		f = judge(t, q, nil, entries)
		if f.Verdict != stats.Inconclusive || n == q.MaxSessions {
			return f, minutes
		}
	}
}

// quick plays the looks of one session.
func (w *world) quick(t *testing.T, q Question) (f Finding, minutes float64) {
	t.Helper()
	looks := QuickLooks(q.LastLook)
	whole := w.session(t, 1, looks[len(looks)-1]/2, w.effect(), window)
	for _, pairs := range looks {
		part := whole
		part.Windows, part.Faults = whole.Windows[:2*pairs], whole.Faults[:2*pairs]
		f, minutes = judge(t, q, []Entry{plainEntry(t, part)}, nil), (prepare+2*(window.Seconds()+perSwitch)*float64(pairs))/60
		if !w.plain && f.Assessment.Verdict != stats.Inconclusive { // Permutation tests can only withhold a verdict.
			f = judge(t, q, []Entry{w.entry(t, q, part)}, nil)
		}
		if f.Assessment.Verdict != stats.Inconclusive && !f.Unconfirmed || f.Assessment.EffectRuledOut() {
			break
		}
	}
	return f, minutes
}

func (w *world) entry(t *testing.T, q Question, s Session) Entry {
	t.Helper()
	if w.plain {
		return plainEntry(t, s)
	}
	es, err := s.Entries(q.Criteria)
	if err != nil {
		t.Fatal(err)
	}
	return es[0]
}

func judge(t *testing.T, q Question, short, long []Entry) Finding {
	t.Helper()
	fs, err := Judge(q, short, long)
	if err != nil {
		t.Fatal(err)
	}
	return fs[0]
}

func long() bool { return os.Getenv("CEPHTUNE_SIMULATION") == "long" }

// rateOf returns how often sweeps of a world have one of some verdicts, and their mean number of
// minutes.
func rateOf(t *testing.T, w world, seed uint64, n int, q Question, wanted ...stats.Verdict) (rate, minutes float64) {
	t.Helper()
	w.rng = rand.New(rand.NewPCG(2026, seed))
	for range n {
		f, m := w.sweep(t, q)
		minutes += m / float64(n)
		if slices.Contains(wanted, f.Verdict) {
			rate += 1 / float64(n)
		}
	}
	return rate, minutes
}

// small is a minimum effect that leaves little room for unseen stalls, so that the levels of the tests show.
const small = 0.01

func question(quick bool, minimum float64) Question {
	return Question{
		Criteria:   stats.Criteria{MinimumEffect: minimum, Equivalence: min(max(minimum, small), 0.05), Confidence: 0.95},
		Candidates: 1, Quick: quick, LastLook: LastLook, MaxSessions: DefaultSessions, Pools: true,
	}
}

func TestSimulatedErrorRates(t *testing.T) {
	n := 48
	if long() {
		n = 25 * n
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for j, truth := range truths(small) {
				for _, sd := range []float64{-1, 0, 0.05} { // −1 is quick mode, whose scope has no sessions
					w, q := w, question(sd < 0, truth.minimum)
					w.ratio, w.sessionSD = truth.ratio, max(0, sd)
					w.wantRate(t, fmt.Sprintf("%s, sd %v", w.name, sd), uint64(100+10*i+j), n, q, truth)
				}
			}
		})
	}
}

// truth is a true ratio for which some verdicts are wrong.
type truth struct {
	name           string
	ratio, minimum float64
	nominal        float64
	wrong          []stats.Verdict
}

func truths(minimum float64) []truth {
	return []truth{
		{"a false Superior", 1 + minimum, minimum, 0.05, []stats.Verdict{stats.Superior}},
		{"a false gain", 1, minimum, 0.05, []stats.Verdict{stats.Superior, stats.Better}},
		{"a false loss", 1, minimum, 0.025, []stats.Verdict{stats.Inferior}},
		{"a false Equivalent", 1.05, 0.10, 0.05, []stats.Verdict{stats.Equivalent}},
	}
}

// wantRate checks that sweeps have any wrong verdict as often as nominal at most. A rate above two standard
// errors is measured once more with fresh draws.
func (w world) wantRate(t *testing.T, topic string, seed uint64, n int, q Question, k truth) {
	t.Helper()
	rate, _ := rateOf(t, w, seed, n, q, k.wrong...)
	se := math.Sqrt(k.nominal * (1 - k.nominal) / float64(n))
	if rate > k.nominal+2*se {
		t.Logf("%s, %s: %.1f%%, and again", topic, k.name, 100*rate)
		rate, _ = rateOf(t, w, seed+1000, n, q, k.wrong...)
		se *= 1.5
	}
	t.Logf("%-40s quick %-5v %-18s: %.1f%%", topic, q.Quick, k.name, 100*rate)
	if rate > k.nominal+2*se {
		t.Errorf("%s: %s in %.1f%%, nominal %v", topic, k.name, 100*rate, k.nominal)
	}
}

// This measures the minutes until "better at all", and "better by more than 10%", and how often that verdict is
// reached. A smaller scope than that of the sweep is no verdict here.
func TestSimulatedMinutes(t *testing.T) {
	n := 30
	if long() {
		n = 40 * n
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		t.Run(w.name, func(t *testing.T) {
			for _, c := range [][2]float64{{1.05, 0}, {1.10, 0}, {1.25, 0}, {1.25, 0.10}} {
				for _, quick := range []bool{true, false} {
					q := question(quick, c[1])
					w.ratio, w.sessionSD = c[0], 0.02
					power, minutes := rateOf(t, w, uint64(200+i), n, q, stats.Superior, stats.Better)
					t.Logf("%-10s %.2f δ %.2f quick %-5v: %3.0f%% in %4.1f min", w.name, c[0], c[1], quick, 100*power, minutes)
				}
			}
		})
	}
}

// Two equal treatments, and one that is better by less than δ: in how many minutes a quick session ends, and how often an effect
// of δ is ruled out. It is ruled out falsely if the true effect is δ.
func TestSimulatedRuledOut(t *testing.T) {
	n := 60
	if long() {
		n *= 20
	}
	for i, w := range slices.Concat(worlds(), recorded()) {
		for _, ratio := range []float64{1, 1.05, 1.10} {
			w.rng, w.ratio = rand.New(rand.NewPCG(2026, uint64(900+i))), ratio
			out, minutes := 0.0, 0.0
			for range n {
				f, m := w.quick(t, question(true, 0.10))
				minutes += m / float64(n)
				if f.Assessment.EffectRuledOut() || f.Assessment.Verdict == stats.Equivalent {
					out += 1 / float64(n)
				}
			}
			t.Logf("%-10s %.2f δ 0.10: ruled out in %3.0f%%, %4.1f min", w.name, ratio, 100*out, minutes)
			if se := math.Sqrt(0.05 * 0.95 / float64(n)); ratio == 1.10 && out > 0.05+3*se {
				t.Errorf("%s: an effect of δ is ruled out in %.1f%%, although it is there", w.name, 100*out)
			}
		}
	}
}

// Writes of a cluster whose long windows differ by 3, 5 and 8%.
func TestSimulatedLongWindows(t *testing.T) {
	n := 300
	if long() {
		n = 4000
	}
	for i, sd := range []float64{0.03, 0.05, 0.08} {
		for _, delta := range []float64{0, 0.10} {
			w, q := world{slow: 0, cv: sd * math.Sqrt(longWindow*2/5), sessionSD: 0.02, ratio: 1.25}, question(false, delta)
			power, minutes := rateOf(t, w, uint64(210+i), n, q, stats.Superior, stats.Better)
			t.Logf("long windows differ by %.0f%%: 1.25 with δ %.2f is found in %.0f%%, %.1f min", 100*sd, delta, 100*power, minutes)
			if sd <= 0.05 && delta == 0 && power < 0.85 {
				t.Errorf("power %.2f", power)
			}
		}
	}
}

// Effects that windows of a few seconds show, but that do not last, must not become verdicts beyond switched
// windows. So they are judged by long windows. Quick mode is judged for what it claims: the mean of switched
// windows.
func TestSimulatedHostileWorlds(t *testing.T) {
	n := 60
	if long() {
		n = 20 * n
	}
	const up, down = 0.0953, -0.0953 // ln 1.10
	all := []struct {
		name    string
		ratio   float64 // with which the mean of the candidate is the truth
		hostile hostile
		quick   bool    // also in quick mode
		minimum float64 // the minimum effect; 10% has the room for unseen stalls that such a world needs
	}{
		{"a transient, τ 5 s", 1, hostile{transient: up, decay: 5}, false, small},
		{"a transient, τ 10 s", 1, hostile{transient: up, decay: 10}, false, small},
		{"a dip, τ 10 s", 1, hostile{transient: down, decay: 10}, false, small},
		{"a transient of the baseline, τ 10 s", 1, hostile{back: up, decay: 10}, false, small},
		{"a debt, τ 10 s", 1.10, hostile{deferred: up, decay: 10}, false, small},
		{"a credit, τ 10 s", 1 / 1.10, hostile{deferred: down, decay: 10}, false, small},
		{"one slow window in four", 1, hostile{fourth: 0.3}, true, small},
		{"a cycle of 40 s", 1, hostile{cycle: 0.3}, true, small},
		{"noise under the candidate alone", 1, hostile{slowOwn: 0.10}, true, 0.10},
		{"a candidate three times as noisy", 1, hostile{fastOwn: 0.20}, true, small},
		{"stalls of 10 s", 1 / 0.96, hostile{stallsOwn: 0.04, stallsFor: 10}, true, 0.10},
		{"stalls of 5 s", 1 / 0.96, hostile{stallsOwn: 0.04, stallsFor: 5}, true, 0.10},
		{"one window in twenty stalls", 1.045, hostile{stallsOwn: 0.05, stallsFor: 10}, true, 0.10}, // The mean is 1% below the truth.
	}
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			for k, w := range []world{worlds()[0], worlds()[1]} {
				for j, truth := range truths(c.minimum) {
					w.hostile = c.hostile
					w.ratio = c.ratio * truth.ratio
					seed := uint64(700 + 100*i + 10*k + j)
					w.wantRate(t, w.name+", "+c.name, seed, n, question(false, truth.minimum), truth)
					if c.quick {
						w.wantRate(t, w.name+", "+c.name, seed, n, question(true, truth.minimum), truth)
					}
				}
			}
		})
	}
}

// Effects that persist between sessions belong to the hour. Only sessions on different days average them out.
func TestSimulatedEffectsThatPersist(t *testing.T) {
	n := 200
	if long() {
		n = 20 * n
	}
	for i, rho := range []float64{0.7, 0.95} {
		for j, truth := range truths(small) {
			w, q := worlds()[1], question(false, truth.minimum)
			w.ratio, w.sessionSD, q.Daily = truth.ratio, 0.05, true
			w.persists = math.Pow(rho, 18*60/4) // Sessions of an hour follow each other after 4 minutes, and daily ones after 18 hours.
			w.wantRate(t, fmt.Sprintf("daily, correlation %v after 4 minutes", rho), uint64(900+10*i+j), n, q, truth)
		}
	}
}

// Without an after-effect, tests for carry-over must err in 5% of sweeps at most, over all looks and candidates.
func TestSimulatedCarryOverAlarms(t *testing.T) {
	n := 60
	if long() {
		n = 25 * n
	}
	w := worlds()[1]
	for i, candidates := range []int{1, 2, 6} {
		for _, quick := range []bool{false, true} {
			q := question(quick, 0.10)
			q.Candidates, w.rng = candidates, rand.New(rand.NewPCG(2026, uint64(320+i)))
			looks := []int{DefaultPairs}
			if quick {
				looks = QuickLooks(28)
				q.LastLook = 28
			}
			alarms := 0
			for range n {
				s := w.severalSession(t, candidates, looks[len(looks)-1], make([]float64, candidates+1))
				for _, pairs := range looks {
					es, err := s.firstPairs(pairs).Entries(q.Criteria)
					if err != nil {
						t.Fatal(err)
					}
					fs, err := Judge(q, es, nil)
					if err != nil {
						t.Fatal(err)
					}
					if slices.ContainsFunc(fs, func(f Finding) bool { return f.CarryOver }) {
						alarms++
						break
					}
				}
			}
			t.Logf("%d candidates, quick %v: alarms in %.1f%%", candidates, quick, 100*float64(alarms)/float64(n))
			// One candidate without looks has alarms in 5.6% of 30,000 sessions, and in 5.4% with windows of 10 s. Three standard
			// errors, because there are six cells.
			if rate := float64(alarms) / float64(n); rate > 0.056+3*math.Sqrt(0.056*0.944/float64(n)) {
				t.Errorf("%d candidates, quick %v: %d alarms of %d", candidates, quick, alarms, n)
			}
		}
	}
}

// firstPairs returns a session up to a number of pairs.
func (s Session) firstPairs(pairs int) Session {
	windows := pairs * (s.Candidates + 1)
	s.Windows, s.Faults = s.Windows[:windows], s.Faults[:windows]
	return s
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
		entries, again = append(entries, w.entry(t, question(true, 0.10), s)), append(again, w.entry(t, question(true, 0.10), back))
	}
	if !reflect.DeepEqual(entries, again) {
		t.Fatalf("entries %v, from the archive %v", entries, again)
	}
}
