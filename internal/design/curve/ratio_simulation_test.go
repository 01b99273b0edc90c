package curve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// duel is a baseline (0) and a candidate (1) on one cluster, whose capacity changes slowly.
type duel struct {
	arms     [2]*cluster
	capacity [2]float64
	world    ratioWorld
	rng      *rand.Rand
	slow     float64 // now, in ln(capacity)
	seconds  float64 // so far
	steps    [2][]Step
	closed   float64
}

// ratioWorld is a kind of cluster. noise is the standard deviation of ln(capacity) between steps, slow that of what both arms share,
// with the time constant slowSeconds. trend is the change of ln(capacity) in ten minutes. If another is set, the candidate's service
// times have another distribution, so that its curve has another slope.
type ratioWorld struct {
	name                       string
	noise, slow, trend, stalls float64
	another                    bool
}

func ratioWorlds() []ratioWorld {
	return []ratioWorld{
		{"quiet", 0.02, 0.01, 0, 0, false},
		{"typical", 0.04, 0.03, 0.05, 0, false},
		{"noisy", 0.08, 0.08, 0.05, 0, false},
		{"trend", 0.04, 0.03, 0.25, 0, false},
		{"stalls", 0.04, 0.03, 0, 1. / 120, false},
		{"other law", 0.04, 0.03, 0.05, 0, true},
	}
}

const (
	slowSeconds   = 60
	switchSeconds = 3  // between two steps, with the switch of the setting
	prepared      = 95 // until a session has its load
	closedSeconds = 20
	backAndSettle = 95 // between two curves of different benchmarks: removal, the change, settling, prefill
)

// kneeAt returns the rate that keeps a limit.
func kneeAt(all truths, l law, k int, capacity, limit float64) float64 {
	name := queueName(l, k)
	return capacity * all.knee(name, max(1.0001, limit*capacity/float64(k)/all.Percentiles[name][0]))
}

// newDuel draws a baseline, and a candidate whose knee is ratio times as high. It sets the limit.
func newDuel(q *Question, all truths, ratio float64, world ratioWorld, rng *rand.Rand) *duel {
	for {
		a := randomCluster(rng)
		a.noise, a.stalls = world.noise, world.stalls
		b := *a
		if world.another {
			b.law = laws()[rng.IntN(len(laws()))]
		}
		q.LimitSeconds = a.multiple * all.Percentiles[queueName(a.law, a.k)][0] * float64(a.k) / a.capacity
		want := ratio * kneeAt(all, a.law, a.k, a.capacity, q.LimitSeconds)
		low, high := want/100, want*100
		for range 60 {
			b.capacity = math.Sqrt(low * high)
			if kneeAt(all, b.law, b.k, b.capacity, q.LimitSeconds) < want {
				low = b.capacity
			} else {
				high = b.capacity
			}
		}
		if q.LimitSeconds*b.capacity/float64(b.k)/all.Percentiles[queueName(b.law, b.k)][0] > 1.4 { // The candidate is not BelowIdle.
			return &duel{arms: [2]*cluster{a, &b}, capacity: [2]float64{a.capacity, b.capacity}, world: world, rng: rng}
		}
	}
}

// pass lets time pass.
func (d *duel) pass(seconds float64) {
	keep := math.Exp(-seconds / slowSeconds)
	d.slow = keep*d.slow + math.Sqrt(1-keep*keep)*d.world.slow*d.rng.NormFloat64()
	d.seconds += seconds
	for arm, c := range d.arms {
		c.capacity = d.capacity[arm] * math.Exp(d.slow+d.world.trend*d.seconds/600)
	}
}

// step adds a step of an arm.
func (d *duel) step(q Question, arm int, next Decision) {
	d.pass(switchSeconds)
	s := d.arms[arm].run(q, next.OfferedPerSecond)
	d.pass(ramp + q.StepSeconds)
	s.Purpose, s.Seconds = next.Purpose, nil // The operator reports no seconds.
	d.steps[arm] = append(d.steps[arm], s)
}

func (d *duel) begin(q Question, arm int) {
	d.pass(prepared)
	q.StepSeconds = closedSeconds
	d.closed = d.arms[arm].closedLoop(q)
	d.pass(closedSeconds)
}

// verdict is what a design says about the ratio of knees.
type verdict struct {
	ok                                  bool
	ratio, low95, high95, low90, high90 float64 // logarithms
	minutes                             float64
}

// lines judges the steps so far as a session does.
func (d *duel) lines(q Question) verdict {
	var courses [2]Course
	for arm := range courses {
		courses[arm] = Course{Question: q, ClosedLoopPerSecond: d.closed, Steps: d.steps[arm]}.Judged()
	}
	return between(courses, len(d.steps[0]))
}

// between compares two judged curves.
func between(courses [2]Course, steps int) verdict {
	ratio, ok := Ratio(&courses[0], &courses[1])
	if !ok {
		return verdict{}
	}
	k := stats.ContrastOf(ratio, courses[0].Question.Confidence, steps)
	wide, narrow := k.LogInterval(0.95), k.LogInterval(0.90)
	return verdict{ok: true, ratio: k.LogRatio, low95: wide.Low, high95: wide.High, low90: narrow.Low, high90: narrow.High}
}

// ratioDesign finds the ratio of knees. It returns what it says after each number of pairs.
type ratioDesign struct {
	name string
	run  func(d *duel, q Question, pairs []int) []verdict
}

// inTurns makes pairs of steps, of both arms in random order, at the rates that next chooses.
func inTurns(d *duel, q Question, pairs []int, next func(arm int) Decision, judge func() verdict) []verdict {
	var all []verdict
	for len(all) < len(pairs) {
		decisions, first := [2]Decision{next(0), next(1)}, d.rng.IntN(2)
		for _, arm := range []int{first, 1 - first} {
			d.step(q, arm, decisions[arm])
		}
		if len(d.steps[0]) >= pairs[len(all)] {
			v := judge()
			v.minutes = d.seconds / 60
			all = append(all, v)
		}
	}
	return all
}

func ratioDesigns() []ratioDesign {
	return []ratioDesign{
		{"two curves, in turns", func(d *duel, q Question, pairs []int) []verdict {
			d.begin(q, 0)
			q.InTurns = true
			return inTurns(d, q, pairs, func(arm int) Decision { return Next(q, d.closed, d.steps[arm]) }, func() verdict { return d.lines(q) })
		}},
		{"same rates", func(d *duel, q Question, pairs []int) []verdict {
			d.begin(q, 0)
			q.InTurns = true
			knee := 0.0
			return inTurns(d, q, pairs, func(arm int) Decision {
				steps := d.steps[0]
				if len(steps) == 8 && arm == 0 {
					knee = math.Log(d.closed * 0.7)
					if l, ok := fit(q.points(steps), q.Confidence); ok {
						knee = l.knee
					}
				}
				if len(steps) < 8 { // A short curve of the baseline; the candidate follows it.
					return Next(q, d.closed, steps)
				}
				return Decision{Purpose: Near, OfferedPerSecond: math.Exp(knee + 0.1*offsets()[len(steps)%4])}
			}, func() verdict { return d.lines(q) })
		}},
		{"staircases", func(d *duel, q Question, pairs []int) []verdict {
			d.begin(q, 0)
			return inTurns(d, q, pairs, func(arm int) Decision { return Decision{Purpose: Near, OfferedPerSecond: d.stair(q, arm)} },
				func() verdict { return d.batches(q) })
		}},
	}
}

const (
	firstStep   = 0.32 // of a staircase, in ln(rate); it halves at each reversal
	lastStep    = 0.08
	leadIn      = 2 // reversals of both staircases that approach the knees
	pairsOfPart = 4
)

// stair returns the next rate of a staircase: up after a step that kept the limit, else down (W. Dixon, A. Mood, 1948).
func (d *duel) stair(q Question, arm int) float64 {
	steps := d.steps[arm]
	if len(steps) == 0 {
		return 0.7 * d.closed
	}
	size := max(lastStep, firstStep/math.Exp2(float64(reversals(q, steps))))
	last := steps[len(steps)-1]
	if q.Outcome(last) == Kept {
		return last.OfferedPerSecond * math.Exp(size)
	}
	return last.OfferedPerSecond * math.Exp(-size)
}

func reversals(q Question, steps []Step) int {
	n := 0
	for i := 1; i < len(steps); i++ {
		if (q.Outcome(steps[i]) == Kept) != (q.Outcome(steps[i-1]) == Kept) {
			n++
		}
	}
	return n
}

// batches judges staircases by Student's t over batches of pairs (G. Wetherill, 1963), after both have approached the knees.
func (d *duel) batches(q Question) verdict {
	first := 0
	for first <= len(d.steps[0]) && min(reversals(q, d.steps[0][:first]), reversals(q, d.steps[1][:first])) < leadIn {
		first++
	}
	var means []float64
	for i := first; i+pairsOfPart <= len(d.steps[0]); i += pairsOfPart {
		sum := 0.0
		for j := range pairsOfPart {
			sum += math.Log(d.steps[1][i+j].OfferedPerSecond/d.steps[0][i+j].OfferedPerSecond) / pairsOfPart
		}
		means = append(means, sum)
	}
	n := float64(len(means))
	if n < 3 {
		return verdict{}
	}
	ratio, se := stat.Mean(means, nil), stat.StdDev(means, nil)/math.Sqrt(n)
	t := func(p float64) float64 { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(p) * se }
	return verdict{ok: true, ratio: ratio, low95: ratio - t(0.975), high95: ratio + t(0.975), low90: ratio - t(0.95), high90: ratio + t(0.95)}
}

// afterEachOther draws a curve of each arm, as two benchmarks and compare do today.
func afterEachOther(d *duel, q Question, _ []int) []verdict {
	q.StepSeconds = DefaultStepSeconds
	var courses [2]Course
	for arm := range courses {
		if arm == 1 {
			d.pass(backAndSettle)
		}
		d.begin(q, arm)
		for {
			next := Next(q, d.closed, d.steps[arm])
			if next.Done {
				break
			}
			d.step(q, arm, next)
		}
		courses[arm] = Course{Question: q, ClosedLoopPerSecond: d.closed, Steps: d.steps[arm]}.Judged()
	}
	v := between(courses, len(d.steps[0]))
	v.minutes = d.seconds / 60
	return []verdict{v}
}

// ratioTally sums up verdicts.
type ratioTally struct {
	n, answers, outside, above, below int
	minutes, squares, width           float64
}

func (a *ratioTally) add(v verdict, truth float64) {
	a.n++
	a.minutes += v.minutes
	if !v.ok {
		return
	}
	a.answers++
	a.squares += (v.ratio - truth) * (v.ratio - truth)
	a.width += (v.high95 - v.low95) / 2
	if truth < v.low95 || truth > v.high95 {
		a.outside++
	}
	if v.low90 > 0 {
		a.above++
	}
	if v.high90 < 0 {
		a.below++
	}
}

func (a *ratioTally) String() string {
	share := func(k, of int) float64 { return 100 * float64(k) / float64(max(1, of)) }
	return fmt.Sprintf("%4.1f min, answers %3.0f %%, outside %4.1f %%, above %4.1f %%, below %4.1f %%, error %4.1f %%, half-width %5.1f %%", a.minutes/float64(a.n), share(a.answers, a.n),
		share(a.outside, a.answers), share(a.above, a.n), share(a.below, a.n), 100*math.Sqrt(a.squares/float64(max(1, a.answers))), 100*a.width/float64(max(1, a.answers)))
}

// tallyRatios plays n sessions.
func tallyRatios(all truths, design ratioDesign, world ratioWorld, seconds, ratio float64, n int, first uint64, pairs []int) []*ratioTally {
	var tallies []*ratioTally
	for i := range n {
		q := question()
		q.StepSeconds, q.Seed = seconds, uint64(i)
		d := newDuel(&q, all, ratio, world, rand.New(rand.NewPCG(2027, first+uint64(i))))
		for j, v := range design.run(d, q, pairs) {
			if j == len(tallies) {
				tallies = append(tallies, &ratioTally{})
			}
			tallies[j].add(v, math.Log(ratio))
		}
	}
	return tallies
}

// TestSimulatedRatios holds the coverage of two curves in turns. With CEPHTUNE_SIMULATION, it prints the figures of all designs, which takes
// more than an hour: docs/proposals/sustainable.md has them.
func TestSimulatedRatios(t *testing.T) {
	all, pairs := readTruths(t), []int{21, 28}
	designs, worlds := append(ratioDesigns(), ratioDesign{"one after the other", afterEachOther}), ratioWorlds()
	if !long() {
		total := tallyRatios(all, designs[0], worlds[1], 10, 1, 15, 0, pairs[:1])[0]
		t.Log(total)
		if total.answers < 8 || total.outside > 3 {
			t.Error("of 15 typical clusters, at least 8 should have an answer, at most 3 of them wrong")
		}
		return
	}
	for _, design := range designs {
		for _, world := range worlds {
			for _, ratio := range []float64{1, 1.15, 1.5} {
				for j, total := range tallyRatios(all, design, world, 10, ratio, 150, 0, pairs) {
					t.Logf("%-20s %-9s %.2f, %d pairs: %v", design.name, world.name, ratio, pairs[j], total)
				}
			}
		}
	}
}
