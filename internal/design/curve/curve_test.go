package curve

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// kept and exceeded are steps with 10,000 operations.
func kept(rate float64) Step { return Step{OfferedPerSecond: rate, Count: 10000, Over: 10} }

func exceeded(rate float64) Step { return Step{OfferedPerSecond: rate, Count: 10000, Over: 1000} }

func full(rate float64) Step { return Step{OfferedPerSecond: rate, Saturated: true} }

func faulty(rate float64) Step {
	return Step{OfferedPerSecond: rate, Fault: "the load was off its schedule"}
}

// play makes a whole course.
func play(q Question, closedLoop float64, measure func(rate float64) Step) []Step {
	var steps []Step
	for {
		d := Next(q, closedLoop, steps)
		if d.Done {
			return steps
		}
		s := measure(d.OfferedPerSecond)
		s.Purpose = d.Purpose
		steps = append(steps, s)
	}
}

func TestDecisions(t *testing.T) {
	invalid := question()
	invalid.Percent = 100
	for _, c := range []struct {
		name       string
		q          Question
		closedLoop float64
		measure    func(float64) Step
		want       State
		reason     string
		mostSteps  int
	}{
		{"limit below idle", question(), 1000, exceeded, BelowIdle, "No rate keeps the limit", 10},
		{"never exceeded at all", question(), 1000, kept, NeverExceeded, "Use more clients", 15},
		{"all saturated", question(), 1000, full, Inconclusive, "No step kept", 21},
		{"all faulty", question(), 1000, faulty, Inconclusive, "the load was off its schedule", 7},
		{"closed loop 0", question(), 0, kept, Inconclusive, "The closed loop did no operation", 0},
		{"closed loop NaN", question(), math.NaN(), kept, Inconclusive, "The closed loop did no operation", 0},
		{"invalid question", invalid, 1000, kept, Inconclusive, "not valid", 0},
		{"a step at 700", question(), 1000, func(rate float64) Step {
			if rate < 700 {
				return kept(rate)
			}
			return exceeded(rate)
		}, Found, "is kept up to ", 21},
		{"saturated from 1100 on", question(), 1000, func(rate float64) Step {
			if rate < 1100 {
				return kept(rate)
			}
			return full(rate)
		}, NeverExceeded, "until the storage saturates", 21},
		{"the reverse", question(), 1000, func(rate float64) Step {
			if rate > 700 {
				return kept(rate)
			}
			return exceeded(rate)
		}, Inconclusive, "Steps contradict each other", 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := play(c.q, c.closedLoop, c.measure)
			k := Judge(c.q, c.closedLoop, steps)
			if k.State != c.want || !strings.Contains(k.Reason, c.reason) || len(steps) > c.mostSteps {
				t.Errorf("%d steps: %s, %q", len(steps), k.State, k.Reason)
			}
			t.Logf("%d steps, %s", len(steps), k.Reason)
		})
	}
}

// Whatever steps say, Next gives the same decision twice, valid rates, and an end.
// anyStep returns a step that is often right.
func anyStep(rng *rand.Rand, rate, knee float64) Step {
	switch rng.IntN(12) {
	case 0:
		return faulty(rate)
	case 1:
		return full(rate)
	case 2:
		return Step{OfferedPerSecond: rate, Count: 1, Over: rng.Int64N(2)}
	case 3:
		return exceeded(rate)
	}
	if rate < knee {
		return kept(rate)
	}
	return exceeded(rate)
}

func TestProperties(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(1, seed))
		q := question()
		q.Seed, q.MaxSteps = seed, rng.IntN(25)
		closedLoop := math.Exp(20*rng.Float64() - 5)
		knee := closedLoop * math.Exp(4*rng.Float64()-3)
		steps := play(q, closedLoop, func(rate float64) Step {
			if !(rate > 0) || math.IsInf(rate, 0) || rate > 4*closedLoop {
				t.Fatalf("seed %d: rate %v", seed, rate)
			}
			return anyStep(rng, rate, knee)
		})
		if len(steps) > q.MaxSteps {
			t.Errorf("seed %d: %d steps of %d", seed, len(steps), q.MaxSteps)
		}
		for i := range steps {
			if a, b := Next(q, closedLoop, steps[:i]), Next(q, closedLoop, steps[:i]); a != b || a.Done {
				t.Errorf("seed %d, step %d: %v and %v", seed, i, a, b)
			}
		}
		k := Judge(q, closedLoop, steps)
		if !reflect.DeepEqual(k, Judge(q, closedLoop, steps)) || k.Reason == "" || math.IsNaN(k.PerSecond+k.LowPerSecond+k.HighPerSecond) {
			t.Errorf("seed %d: %+v", seed, k)
		}
	}
}
