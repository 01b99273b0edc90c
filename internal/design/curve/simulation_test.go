package curve

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// cluster is a simulated cluster: a queue whose service times differ from step to step.
type cluster struct {
	law      law
	k        int
	capacity float64 // operations a second, on average over steps
	noise    float64 // standard deviation of ln(capacity) between steps
	multiple float64 // of the limit to the percentile of an idle cluster
	stalls   float64 // probability of a stall in a second
	drift    float64 // change of ln(capacity) over 21 steps

	rng  *rand.Rand
	step int
}

const ramp = 2 // seconds that do not count

// run makes a step. Each step begins with an empty queue.
func (c *cluster) run(q Question, offered float64) Step {
	mean := float64(c.k) / c.capacity * math.Exp(c.noise*c.rng.NormFloat64()-c.drift*float64(c.step)/21)
	c.step++
	s := Step{OfferedPerSecond: offered, Seconds: make([]Second, int(q.StepSeconds))}
	queue, due := make(servers, c.k), 0.0
	end := ramp + q.StepSeconds
	var dues, ends []float64
	for second := -1; ; {
		due += c.rng.ExpFloat64() / offered
		if due >= end {
			break
		}
		for second < int(due) {
			second++
			if c.rng.Float64() < c.stalls {
				stallEnd := float64(second) + c.rng.Float64() + 0.3 + c.rng.ExpFloat64()
				for i := range queue {
					queue[i] = max(queue[i], stallEnd)
				}
			}
		}
		at := queue.take(due, mean*c.law.draw(c.rng))
		dues, ends = append(dues, due), append(ends, at)
		if due >= ramp {
			row := &s.Seconds[int(due)-ramp]
			row.Count++
			if at-due > q.LimitSeconds {
				row.Over++
			}
		}
	}
	c.total(q, &s, dues, ends)
	return s
}

// total sums up a step, and finds whether it is saturated: like the generator, by the backlog's minima in quarters of the second half.
func (c *cluster) total(q Question, s *Step, dues, ends []float64) {
	finished := 0
	for _, e := range ends {
		if e >= ramp && e < ramp+q.StepSeconds {
			finished++
		}
	}
	for _, row := range s.Seconds {
		s.Count, s.Over = s.Count+row.Count, s.Over+row.Over
	}
	s.AchievedPerSecond = float64(finished) / q.StepSeconds
	slices.Sort(ends)
	const samples = 40
	minima := [4]int{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt}
	for i := range samples {
		at := ramp + q.StepSeconds*(0.5+0.5*(float64(i)+0.5)/samples)
		begun, _ := slices.BinarySearch(dues, at)
		over, _ := slices.BinarySearch(ends, at)
		quarter := &minima[4*i/samples]
		*quarter = min(*quarter, begun-over)
	}
	grows := minima[0] < minima[1] && minima[1] < minima[2] && minima[2] < minima[3] && float64(minima[3]) > max(4, 0.05*s.OfferedPerSecond)
	s.Saturated = grows || float64(finished) < 0.99*float64(s.Count)
	if s.Saturated {
		s.Count, s.Over, s.Seconds = 0, 0, nil
	}
}

// closedLoop returns the throughput with many operations in flight: all servers are busy.
func (c *cluster) closedLoop(q Question) float64 {
	mean := float64(c.k) / c.capacity * math.Exp(c.noise*c.rng.NormFloat64())
	n := 0
	for range c.k {
		for at := mean * c.law.draw(c.rng); at < q.StepSeconds; at += mean * c.law.draw(c.rng) {
			n++
		}
	}
	return float64(n) / q.StepSeconds
}

// outcome is the end of a course.
type outcome struct {
	knee  Knee
	truth float64
	steps int
}

func (o outcome) answered() bool { return o.knee.State == Found || o.knee.State == NeverExceeded }

func (o outcome) covers() bool {
	return o.knee.LowPerSecond <= o.truth && o.truth <= o.knee.HighPerSecond
}

func (c *cluster) course(q Question, all truths) (outcome, []Step) {
	name := queueName(c.law, c.k)
	q.LimitSeconds = c.multiple * all.Percentiles[name][0] * float64(c.k) / c.capacity
	closedLoop := c.closedLoop(q)
	var steps []Step
	for {
		d := Next(q, closedLoop, steps)
		if d.Done {
			break
		}
		s := c.run(q, d.OfferedPerSecond)
		s.Purpose, s.Seconds = d.Purpose, nil // The operator reports no seconds.
		steps = append(steps, s)
	}
	return outcome{Judge(q, closedLoop, steps), c.capacity * all.knee(name, c.multiple) * math.Exp(c.drift/2), len(steps)}, steps
}

// randomCluster draws a queue.
func randomCluster(rng *rand.Rand) *cluster {
	between := func(low, high float64) float64 { return low * math.Exp(rng.Float64()*math.Log(high/low)) }
	l, k := laws()[rng.IntN(len(laws()))], serverCounts()[rng.IntN(len(serverCounts()))]
	return &cluster{law: l, k: k, capacity: between(500, 2000), noise: 0.01 + 0.04*rng.Float64(), multiple: between(1.5, 20), rng: rng}
}

func question() Question {
	return Question{Percent: 99, LimitSeconds: 1, Confidence: DefaultConfidence, HalfWidth: DefaultHalfWidth, MaxSteps: DefaultMaxSteps, StepSeconds: DefaultStepSeconds, Seed: 1}
}

func long() bool { return os.Getenv("CEPHTUNE_SIMULATION") == "long" }

// tally sums up outcomes.
type tally struct {
	n, answers, covered, never, confirmed int
	widths, steps, errs                   []float64
}

func (a *tally) add(o outcome) {
	a.n++
	a.steps = append(a.steps, float64(o.steps))
	if !o.answered() {
		return
	}
	a.answers++
	a.errs = append(a.errs, 100*math.Log(o.knee.PerSecond/o.truth))
	a.widths = append(a.widths, 100*o.knee.HalfWidth())
	if o.covers() {
		a.covered++
	}
	if o.knee.State == NeverExceeded {
		a.never++
	}
	if o.knee.Confirmed {
		a.confirmed++
	}
}

func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func (a *tally) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	return fmt.Sprintf("%4d courses: inconclusive %5.1f %%, coverage %5.1f %%, never exceeded %4.1f %%, confirmed %4.1f %%, error %4.1f ± %4.1f %%, half-width %4.1f / %4.1f %%, steps %2.0f / %2.0f",
		a.n, share(a.n-a.answers, a.n), share(a.covered, a.answers), share(a.never, a.answers), share(a.confirmed, a.answers),
		stat.Mean(a.errs, nil), stat.StdDev(a.errs, nil), quantile(a.widths, 0.5), quantile(a.widths, 0.9), quantile(a.steps, 0.5), quantile(a.steps, 0.9))
}

// simulate plays the courses of n random clusters.
func simulate(n int, first uint64, all truths, change func(*cluster), add func(*cluster, outcome)) {
	for i := range n {
		c := randomCluster(rand.New(rand.NewPCG(2026, first+uint64(i))))
		change(c)
		q := question()
		q.Seed = uint64(i)
		o, _ := c.course(q, all)
		add(c, o)
	}
}

// TestSimulatedQueues holds the coverage among answers, and how often there is none. With CEPHTUNE_SIMULATION, it prints them for
// each kind of queue.
func TestSimulatedQueues(t *testing.T) {
	n, first := 60, uint64(0)
	if long() {
		n, first = 1000, 1<<20 // not the clusters on which the method was tuned
	}
	whole, kinds := &tally{}, map[string]*tally{}
	simulate(n, first, readTruths(t), func(*cluster) {}, func(c *cluster, o outcome) {
		whole.add(o)
		multiple := []string{"1.5–4", "4–8", "8–20"}[min(2, int(math.Log(c.multiple/1.5)/math.Log(20/1.5)*3))]
		for _, kind := range []string{"law " + c.law.name, fmt.Sprintf("k %02d", c.k), "limit " + multiple, fmt.Sprintf("noise %.0f %%", 100*c.noise)} {
			if kinds[kind] == nil {
				kinds[kind] = &tally{}
			}
			kinds[kind].add(o)
		}
	})
	t.Logf("%-20s %v", "all", whole)
	whole.check(t, 0.93, 0.10)
	if long() {
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			t.Logf("%-20s %v", kind, kinds[kind])
		}
	}
}

// Stalls and drift may leave more courses without an answer, but answers stay right: the truth is the knee without stalls, or that in the middle of the drift.
func TestSimulatedDisturbances(t *testing.T) {
	n := 25
	if long() {
		n = 500
	}
	all := readTruths(t)
	for i, d := range []struct {
		name          string
		stalls, drift float64
	}{{"a stall each two minutes", 1. / 120, 0}, {"a stall each eight minutes", 1. / 480, 0}, {"10 % slower", 0, 0.10}, {"25 % slower", 0, 0.25}} {
		total := &tally{}
		simulate(n, uint64(10000*(i+1)), all, func(c *cluster) { c.stalls, c.drift = d.stalls, d.drift }, func(_ *cluster, o outcome) { total.add(o) })
		t.Logf("%-28s %v", d.name, total)
	}
}

// check holds two shares at their bounds, with three standard errors.
func (a *tally) check(t *testing.T, coverage, inconclusive float64) {
	t.Helper()
	slack := func(p float64, n int) float64 { return 3 * math.Sqrt(p*(1-p)/float64(max(1, n))) }
	if got := float64(a.covered) / float64(a.answers); !(got >= coverage-slack(coverage, a.answers)) {
		t.Errorf("coverage %.3f, nominal %v", got, coverage)
	}
	if got := 1 - float64(a.answers)/float64(a.n); got > inconclusive+slack(inconclusive, a.n) {
		t.Errorf("inconclusive %.3f, at most %v", got, inconclusive)
	}
}
