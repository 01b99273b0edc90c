package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

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
// look that makes the error over all looks alpha. CalibrateLevel finds these
// constants again; TestCalibratedLevels holds them to it.
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

// CalibrateLevel finds by simulation the one-sided level at which looking after
// each of the given run counts rejects one of several true hypotheses with
// probability alpha: the alpha-quantile of the smallest p-value over looks and
// comparisons. Comparisons share one baseline, as in a sweep. Noise is normal
// on the log scale. The same source gives the same level.
//
// The Monte Carlo error of the error rate is √(alpha(1−alpha)/trials).
func CalibrateLevel(looks Looks, comparisons int, alpha float64, trials int, source rand.Source) (float64, error) {
	if err := checkOpenUnit("alpha", alpha); err != nil {
		return 0, err
	}
	if looks.First < 2 || looks.Last < looks.First || comparisons < 1 {
		return 0, fmt.Errorf("%w: looks after %d to %d runs, %d comparisons", ErrParameter, looks.First, looks.Last, comparisons)
	}
	if float64(trials)*alpha < 1 {
		return 0, fmt.Errorf("%w: %d trials cannot show an error of %v", ErrParameter, trials, alpha)
	}
	rng := rand.New(source) //nolint:gosec // A simulation must be repeatable, and keeps no secrets.
	smallest := make([]float64, trials)
	for i := range smallest {
		smallest[i] = smallestP(looks, comparisons, rng)
	}
	slices.Sort(smallest)
	return smallest[int(math.Floor(alpha*float64(trials)))-1], nil
}

func smallestP(looks Looks, comparisons int, rng *rand.Rand) float64 {
	means, squares := make([]float64, comparisons), make([]float64, comparisons)
	smallest := 1.0
	for run := 1; run <= looks.Last; run++ {
		baseline, n := rng.NormFloat64(), float64(run)
		for c := range means {
			diff := rng.NormFloat64() - baseline
			delta := diff - means[c]
			means[c] += delta / n
			squares[c] += delta * (diff - means[c])
			if run >= looks.First {
				t := means[c] / math.Sqrt(squares[c]/((n-1)*n))
				smallest = min(smallest, tUpperTail(t, n-1))
			}
		}
	}
	return smallest
}
