package stats

import "math"

// Looks are the numbers of runs after which the data are judged, and the runs may end: First, First+1, …,
// Last. They are fixed before the first run. The zero value means one look, after the last run.
type Looks struct {
	First, Last int
}

// Count is the number of looks K.
func (l Looks) Count() int {
	if l == (Looks{}) {
		return 1
	}
	return max(1, l.Last-l.First+1)
}

// Level returns the level at each look for p-values after Holm's correction. With this level, the probability
// of a false verdict over all looks and comparisons is about alpha. Looks after every block with the full
// alpha would turn 5% into 12 to 15%.
//
// Frequent looks multiply a small error more than a large one. So with several comparisons, the share of each
// look is that for alpha divided by the number of comparisons.
func (l Looks) Level(alpha float64, comparisons int) float64 {
	return alpha * l.share(alpha/float64(comparisons))
}

// share returns the part of alpha that each look may spend, for one-sided t tests of one growing sample.
// 1 ÷ share is the equivalent number of independent looks: about 6 for the 21 looks from 4 to 24 and an alpha
// of 0.05. The formula is a fit to simulated levels for First from 3 to 18, Last up to 80 and alpha from
// 0.001 to 0.05. Its levels are up to 12% below the simulated levels. TestLevelsOfLooks repeats some
// simulations.
func (l Looks) share(alpha float64) float64 {
	if l.Count() == 1 {
		return 1
	}
	first := math.Log(float64(l.First))
	span := math.Log(math.Log(float64(l.Last) / float64(l.First)))
	strict := math.Log(-math.Log(min(alpha, 0.05)))
	more := math.Exp(-0.14 + 1.253*span + 0.044*span*span - 0.063*span*first + 0.187*first + 0.713*strict)
	return 1 / min(1+more, float64(l.Count()))
}

// late returns the looks at which Equivalent is tested: those from two thirds of Last on. Equivalent needs a
// precision that few runs never have. With fewer looks, each look may spend a larger part of alpha.
func (l Looks) late() Looks {
	if l.Count() == 1 {
		return Looks{}
	}
	return Looks{First: max(l.First, (2*l.Last+2)/3), Last: l.Last}
}
