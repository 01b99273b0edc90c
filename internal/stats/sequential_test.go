package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// smallestP returns the smallest p-value over all looks at two configurations without a difference.
func smallestP(looks Looks, rng *rand.Rand) float64 {
	mean, squares, smallest := 0.0, 0.0, 1.0
	for run := 1; run <= looks.Last; run++ {
		baseline, n := rng.NormFloat64(), float64(run)
		diff := rng.NormFloat64() - baseline
		delta := diff - mean
		mean += delta / n
		squares += delta * (diff - mean)
		if run >= looks.First {
			t := mean / math.Sqrt(squares/((n-1)*n))
			smallest = min(smallest, tUpperTail(t, n-1))
		}
	}
	return smallest
}

// The level of each look keeps the error over all looks at alpha or a little below.
func TestLevelsOfLooks(t *testing.T) {
	for _, looks := range []Looks{{3, 4}, {3, 12}, {3, 80}, {4, 12}, {4, 16}, {4, 24}, {6, 40}, {8, 12}, {16, 24}} {
		for _, alpha := range []float64{0.1, 0.05, 0.025, 0.00625} {
			t.Run(fmt.Sprintf("%d to %d at %v", looks.First, looks.Last, alpha), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				level := looks.Level(alpha, 1)
				limits := make([]float64, looks.Last+1)
				for n := looks.First; n <= looks.Last; n++ {
					limits[n] = tUpperQuantile(level, float64(n-1))
				}
				var wrong tally
				for range sweepsPerCell(40_000) {
					wrong.add(exceedsAtSomeLook(limits, looks.First, rng))
				}
				checkRate(t, "looks", wrong, alpha, 2.5)
				if alpha <= 0.05 && wrong.rate() < 0.75*alpha {
					t.Errorf("the looks spend %s of %v", wrong, alpha)
				}
			})
		}
	}
}

// exceedsAtSomeLook plays a sample without an effect. It reports whether its t exceeds the limit at
// any run count from the first look on.
func exceedsAtSomeLook(limits []float64, first int, rng *rand.Rand) bool {
	mean, squares := 0.0, 0.0
	for n := 1; n < len(limits); n++ {
		x := rng.NormFloat64()
		delta := x - mean
		mean += delta / float64(n)
		squares += delta * (x - mean)
		if n >= first && mean > limits[n]*math.Sqrt(squares/float64(n*(n-1))) {
			return true
		}
	}
	return false
}

func TestManyComparisonsHaveTheLevelOfASmallerError(t *testing.T) {
	looks := Looks{4, 12}
	for comparisons, alpha := range map[int]float64{1: 0.05, 2: 0.025, 8: 0.00625} {
		if got, want := looks.Level(0.05, comparisons)/float64(comparisons), looks.Level(alpha, 1); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d comparisons: each has %v, want %v", comparisons, got, want)
		}
	}
	if got := (Looks{}).Level(0.05, 8); got != 0.05 {
		t.Errorf("one look at eight comparisons: %v", got)
	}
}
