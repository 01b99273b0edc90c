package stats

import "math"

// Looks are the run counts after which data are looked at, and the decision may
// be to stop: First, First+1, …, Last. They are fixed before the first run.
// The zero value means one look, at the end.
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

// Level returns what p-values after Holm's correction are compared with at each
// look, so that the error over all looks and comparisons is alpha. Looking
// after every block with the full alpha would turn 5% into 12 to 15%.
//
// Many comparisons have the share that belongs to alpha divided by their number:
// the smaller an error, the more of it looking often brings.
func (l Looks) Level(alpha float64, comparisons int) float64 {
	return alpha * l.share(alpha/float64(comparisons))
}

// share is the part of alpha that each look may spend, for one-sided t tests of
// one sample that grows. 1 ÷ share is how many independent looks these are worth:
// 5 to 6 of the 21 from 4 to 24. It is a fit to simulated levels for First from 3
// to 18, Last up to 80 and alpha from 0.001 to 0.05, which it stays below by up to
// 12%; TestLevelsOfLooks simulates some of them again.
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

// late are the looks at which Equivalent is asked about: those of the last third.
// It is a question about precision, which few runs never have; asking late leaves
// each look more of the error.
func (l Looks) late() Looks {
	if l.Count() == 1 {
		return Looks{}
	}
	return Looks{First: max(l.First, (2*l.Last+2)/3), Last: l.Last}
}
