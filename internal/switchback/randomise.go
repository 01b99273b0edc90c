package switchback

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// tiny is by how much sums may differ that are equal but for rounding.
const tiny = 1e-12

// randomise is the one-sided p of the sum of contrasts: the part of all orders that give
// as much or more. The order that was used counts among those drawn.
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

// asMuch counts the orders whose sum is at least what is missing.
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

// carryoverDraws are fewer: their score is compared with one level only.
const carryoverDraws = 1999

// score compares a statistic with drawn ones, as the normal score of its mid-p. Scores of sessions can be
// added up, and their sum is nearly normal if there is nothing to find.
func score(seen float64, drawn func() float64) float64 {
	below := 0.5 // what was seen counts among them, half on each side
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

// lateScore asks whether late less early halves of windows differ between settings, as they do
// where a setting takes more than the wash-out to have its effect.
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

// lagScore asks whether the setting before predicts a window. The estimated effect is taken off the
// figures, and each drawn order fits both its own effect and that of the setting before.
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

// lag is the coefficient of the setting before in a regression of ln(figure) on it and on the setting,
// within groups. The first window of a group is left out: a void group may have come before it.
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

// voidsDiffer tells whether faults fell on some settings more than chance allows, at 5%: as
// often as that, the settings of groups shuffled among their windows spread faults as unevenly.
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

// unevenness is the sum of squares of the faults of each setting. Their total is the same in any order.
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
