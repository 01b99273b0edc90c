package switchback

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// tiny is the tolerance for sums that differ only by rounding.
const tiny = 1e-12

// randomise returns the one-sided p-value of the sum of contrasts: the share of possible orders whose sum is
// equal or larger. It enumerates the orders if they are at most exactOrders. Otherwise it draws some at
// random, and the actual order counts as one more draw.
func randomise(groups []choice, rng *rand.Rand) float64 {
	seen := 0.0
	for _, g := range groups {
		seen += g.seen
	}
	orders := 1
	for _, g := range groups {
		orders = min(orders*len(g.all), exactOrders+1)
	}
	if orders <= exactOrders {
		return float64(asMuch(groups, seen)) / float64(orders)
	}
	count := 1
	for range draws {
		sum := 0.0
		for _, g := range groups {
			sum += g.all[rng.IntN(len(g.all))]
		}
		if sum >= seen-tiny {
			count++
		}
	}
	return float64(count) / (draws + 1)
}

// asMuch counts the orders of the groups in which the contrasts add up to at least the sum that is given.
func asMuch(groups []choice, missing float64) int {
	if len(groups) == 0 {
		if missing <= tiny {
			return 1
		}
		return 0
	}
	n := 0
	for _, x := range groups[0].all {
		n += asMuch(groups[1:], missing-x)
	}
	return n
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

// lateScore tests whether the difference between late and early halves of windows depends on the setting, and
// returns a normal score. The difference does depend on the setting if a setting takes effect only after the
// wash-out.
func lateScore(groups []group, candidate int, rng *rand.Rand) float64 {
	cs := choices(groups, candidate, func(g group) []float64 { return g.late })
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

// lagScore tests whether the previous setting affects the figure of a window, and returns a normal score. It
// first subtracts the estimated effect of the current setting from the figures. It then fits the effects of
// the current and of the previous setting, for the actual order and for each drawn order.
func lagScore(groups []group, candidate int, rng *rand.Rand) float64 {
	effect := 0.0
	for _, x := range effects(groups, candidate) {
		effect += x / float64(len(groups))
	}
	logs, orders, drawn := make([][]float64, len(groups)), make([]Group, len(groups)), make([]Group, len(groups))
	could := make([][]Group, len(groups))
	for i, g := range groups {
		could[i] = relabelled(g.order, candidate)
		logs[i], orders[i] = make([]float64, len(g.logs)), g.order
		for j, y := range g.logs {
			logs[i][j] = y - effect/2*sign(g.order[j], candidate)
		}
	}
	return score(lag(orders, logs, candidate), func() float64 {
		for i, all := range could {
			drawn[i] = all[rng.IntN(len(all))]
		}
		return lag(drawn, logs, candidate)
	})
}

func sign(setting, candidate int) float64 {
	switch setting {
	case Baseline:
		return -1
	case candidate:
		return 1
	}
	return 0
}

// lag returns the coefficient of the previous setting in a regression of ln(figure) on the previous and the
// current setting, within groups. If the order does not determine the coefficient, lag returns 0. It omits
// the first window of each group, because the window before it is in another group, which may be void.
func lag(orders []Group, logs [][]float64, candidate int) float64 {
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

// voidsDiffer reports whether faults hit some settings more often than chance allows, at a level of 5%. It
// compares the actual order with random orders of the settings within groups.
func (s Session) voidsDiffer() bool {
	rng := s.rng(4)
	seen := s.unevenness(s.Order)
	if seen == 0 {
		return false
	}
	as := 1
	for range draws {
		shuffled := make([]Group, len(s.Order))
		for i, g := range s.Order {
			shuffled[i] = append(Group(nil), g...)
			rng.Shuffle(len(g), func(a, b int) { shuffled[i][a], shuffled[i][b] = shuffled[i][b], shuffled[i][a] })
		}
		if s.unevenness(shuffled) >= seen-tiny {
			as++
		}
	}
	return float64(as)/(draws+1) < 0.05
}

// unevenness returns the sum over settings of the squared number of faults. Since the total number of faults
// does not depend on the order, a larger sum means more uneven faults.
func (s Session) unevenness(order []Group) float64 {
	counts := make([]float64, s.Candidates+1)
	at := 0
	for _, g := range order {
		for _, setting := range g {
			if at < len(s.Faults) && s.Faults[at] {
				counts[setting]++
			}
			at++
		}
	}
	sum := 0.0
	for _, n := range counts {
		sum += n * n
	}
	return sum
}
