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

// Level returns the level for each look that keeps the error over all looks at
// alpha or below. Looking after every block with the full alpha would turn 5%
// into 12 to 15%.
//
// It is alpha/K, which is always safe. For a single comparison the calibrated
// constants are used where there is one; they are too generous for several
// comparisons, even when divided by their number.
func (l Looks) Level(alpha float64, comparisons int) float64 {
	if comparisons == 1 {
		if level, ok := l.calibrated(alpha); ok {
			return level
		}
	}
	return alpha / float64(l.Count())
}

// calibrated returns, for a single comparison, the one-sided level for each
// look that makes the error over all looks alpha. TestCalibratedLevels finds these
// constants again, by simulation.
func (l Looks) calibrated(alpha float64) (level float64, ok bool) {
	for _, known := range []struct {
		looks        Looks
		alpha, level float64
	}{
		{Looks{3, 8}, 0.05, 0.0161},
		{Looks{3, 10}, 0.05, 0.0136},
		{Looks{3, 8}, 0.005, 0.00117},
		{Looks{3, 10}, 0.005, 0.00095},
	} {
		// 1−0.95 is not 0.05 in floating point, hence the tolerance.
		if known.looks == l && math.Abs(known.alpha-alpha) < 1e-9 {
			return known.level, true
		}
	}
	return 0, false
}
