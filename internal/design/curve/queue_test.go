package curve

import (
	"math"
	"math/rand/v2"
)

// law is a distribution of service times with mean 1.
type law struct {
	name string
	draw func(*rand.Rand) float64
}

func laws() []law {
	lognormal := func(sd float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return math.Exp(sd*r.NormFloat64() - sd*sd/2) }
	}
	pareto := func(alpha float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return (alpha - 1) / alpha * math.Exp(r.ExpFloat64()/alpha) }
	}
	return []law{
		{"exponential", (*rand.Rand).ExpFloat64},
		{"erlang", func(r *rand.Rand) float64 {
			return (r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64()) / 4
		}},
		{"bimodal", func(r *rand.Rand) float64 { // One operation in fifty takes ten times as long.
			s := r.ExpFloat64() / 1.18
			if r.IntN(50) == 0 {
				s *= 10
			}
			return s
		}},
		{"lognormal 1", lognormal(1)},
		{"lognormal 1.5", lognormal(1.5)},
		{"pareto 3", pareto(3)},
		{"pareto 2.5", pareto(2.5)},
	}
}

// servers is a queue of the kind G/G/k, first come, first served: the recursion of Kiefer and Wolfowitz, with the times at which
// the servers become free as a heap.
type servers []float64

// take returns when an operation that is due at a time ends.
func (s servers) take(due, service float64) float64 {
	end := max(due, s[0]) + service
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if right := child + 1; right < len(s) && s[right] < s[child] {
			child = right
		}
		if s[child] >= end {
			break
		}
		s[i], i = s[child], child
	}
	s[i] = end
	return end
}
