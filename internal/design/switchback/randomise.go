package switchback

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// tiny is the relative tolerance for sums that differ only by rounding.
const tiny = 1e-12

// randomise returns the p-values of the randomisation test: the share of possible orders that would give at
// least this gain, or loss, if the true ratio were exactly at the margin. The figures of the candidate are
// first divided by that ratio. It enumerates the orders if they are at most exactOrders. Otherwise it draws
// some at random, and the actual order counts as one more draw.
func randomise(blocks []block, candidate int, c stats.Criteria, rng *rand.Rand) stats.PValues {
	more, less := shares(blocks, candidate, 0, rng)
	moreThan, lessThan := shares(blocks, candidate, c.Gain(stats.Contrast{LogRatio: c.Margin()}).LogRatio, rng)
	if c.Direction == stats.LowerIsBetter {
		more, less, moreThan, lessThan = less, more, lessThan, moreThan
	}
	return stats.PValues{Superior: round(moreThan, 1e4), AnyGain: round(more, 1e4), Loss: round(less, 1e4), Small: round(lessThan, 1e4)}
}

// shares returns the shares of orders in which the contrasts add up to at least, and to at most, the sum that
// was seen, if the figures of the candidate were divided by exp(margin).
func shares(blocks []block, candidate int, margin float64, rng *rand.Rand) (more, less float64) {
	cs := choices(blocks, candidate, func(b block) []float64 {
		adjusted := slices.Clone(b.figures)
		for i, treatment := range b.order {
			if treatment == candidate {
				adjusted[i] *= math.Exp(-margin)
			}
		}
		return adjusted
	})
	seen, scale, orders := 0.0, 0.0, 1
	for _, c := range cs {
		seen, orders = seen+c.seen, min(orders*len(c.all), exactOrders+1)
		for _, x := range c.all {
			scale = max(scale, math.Abs(x))
		}
	}
	above, below, total := 0.0, 0.0, 0.0
	count := func(sum float64) {
		total++
		if sum >= seen-tiny*scale {
			above++
		}
		if sum <= seen+tiny*scale {
			below++
		}
	}
	if orders <= exactOrders {
		each(cs, 0, count)
		return above / total, below / total
	}
	count(seen)
	for range draws {
		sum := 0.0
		for _, c := range cs {
			sum += c.all[rng.IntN(len(c.all))]
		}
		count(sum)
	}
	return above / total, below / total
}

// each calls a function with the sum of contrasts of each possible order.
func each(blocks []choice, sum float64, count func(float64)) {
	if len(blocks) == 0 {
		count(sum)
		return
	}
	for _, x := range blocks[0].all {
		each(blocks[1:], sum+x, count)
	}
}

// carryoverDraws is the number of draws of score. Fewer than in randomise suffice, because a score is
// compared with only one significance level.
const carryoverDraws = 1999

// score returns the normal score of a statistic: the normal quantile of the share of drawn values below it,
// where equal values count half. Scores of sessions can be added. Without an effect, their sum is nearly
// normal.
func score(seen float64, drawn func() float64) float64 {
	below := 0.5 // the observed value counts as a draw, half on each side
	for range carryoverDraws {
		switch x := drawn(); {
		case x < seen-tiny:
			below++
		case x <= seen+tiny:
			below += 0.5
		}
	}
	return distuv.UnitNormal.Quantile(below / (carryoverDraws + 1))
}

// lateScore tests whether the difference between late and early halves of windows depends on the treatment, and
// returns a normal score. The difference does depend on the treatment if a treatment takes effect only after the
// wash-out.
func lateScore(blocks []block, candidate int, rng *rand.Rand) float64 {
	cs := choices(blocks, candidate, func(b block) []float64 { return b.late })
	seen := 0.0
	for _, c := range cs {
		seen += c.seen
	}
	return score(seen, func() float64 {
		sum := 0.0
		for _, c := range cs {
			sum += c.all[rng.IntN(len(c.all))]
		}
		return sum
	})
}

// lagScore tests whether the previous treatment affects the figure of a window, and returns a normal score. It
// first subtracts the estimated effect of the current treatment from the figures. It then fits the effects of
// the current and of the previous treatment, for the actual order and for each drawn order.
func lagScore(blocks []block, candidate int, rng *rand.Rand) float64 {
	effect := 0.0
	if k, err := effectOf(blocks, candidate); err == nil {
		effect = k.mean
	}
	logs, orders, drawn := make([][]float64, len(blocks)), make([]Block, len(blocks)), make([]Block, len(blocks))
	could := make([][]Block, len(blocks))
	for i, b := range blocks {
		could[i] = relabelled(b.order, candidate)
		logs[i], orders[i] = make([]float64, len(b.figures)), b.order
		least := stat.Mean(b.figures, nil) / slowest // A window without operations has no logarithm.
		for j, y := range b.figures {
			logs[i][j] = math.Log(max(y, least, math.SmallestNonzeroFloat64)) - effect/2*sign(b.order[j], candidate)
		}
	}
	return score(lag(orders, logs, candidate), func() float64 {
		for i, all := range could {
			drawn[i] = all[rng.IntN(len(all))]
		}
		return lag(drawn, logs, candidate)
	})
}

func sign(treatment, candidate int) float64 {
	switch treatment {
	case Baseline:
		return -1
	case candidate:
		return 1
	}
	return 0
}

// lag returns the coefficient of the previous treatment in a regression of ln(figure) on the previous and the
// current treatment, within blocks. If the order does not determine the coefficient, lag returns 0. It omits
// the first window of each block, because the window before it is in another block, which may be invalid.
func lag(orders []Block, logs [][]float64, candidate int) float64 {
	var yc, yp, cc, pp, cp float64
	for i, order := range orders {
		var my, mc, mp float64
		n := float64(len(order) - 1)
		for j := 1; j < len(order); j++ {
			my, mc, mp = my+logs[i][j]/n, mc+sign(order[j], candidate)/n, mp+sign(order[j-1], candidate)/n
		}
		for j := 1; j < len(order); j++ {
			y, c, p := logs[i][j]-my, sign(order[j], candidate)-mc, sign(order[j-1], candidate)-mp
			yc, yp, cc, pp, cp = yc+y*c, yp+y*p, cc+c*c, pp+p*p, cp+c*p
		}
	}
	det := pp*cc - cp*cp
	if math.Abs(det) < tiny {
		return 0
	}
	return (yp*cc - yc*cp) / det
}

// faultsDiffer reports whether faults hit some treatments more often than chance allows, at a level of 5%. It
// compares the actual order with random orders of the treatments within blocks.
func (s Session) faultsDiffer() bool {
	rng := s.rng(4)
	seen := s.unevenness(s.Order)
	if seen == 0 {
		return false
	}
	as := 1
	for range draws {
		shuffled := make([]Block, len(s.Order))
		for i, b := range s.Order {
			shuffled[i] = append(Block(nil), b...)
			rng.Shuffle(len(b), func(a, b int) { shuffled[i][a], shuffled[i][b] = shuffled[i][b], shuffled[i][a] })
		}
		if s.unevenness(shuffled) >= seen-tiny {
			as++
		}
	}
	return float64(as)/(draws+1) < 0.05
}

// unevenness returns the sum over treatments of the squared number of faults. Since the total number of faults
// does not depend on the order, a larger sum means more uneven faults.
func (s Session) unevenness(order []Block) float64 {
	counts := make([]float64, s.Candidates+1)
	index := 0
	for _, b := range order {
		for _, treatment := range b {
			if index < len(s.Faults) && s.Faults[index] {
				counts[treatment]++
			}
			index++
		}
	}
	sum := 0.0
	for _, n := range counts {
		sum += n * n
	}
	return sum
}
