package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// calibratedLevel finds by simulation the one-sided level at which looking after each of
// the given run counts rejects a true hypothesis with probability alpha: the
// alpha-quantile of the smallest p-value over looks. Noise is normal on the log scale.
//
// The Monte Carlo error of the error rate is √(alpha(1−alpha)/trials).
func calibratedLevel(looks Looks, alpha float64, trials int, rng *rand.Rand) float64 {
	smallest := make([]float64, trials)
	for i := range smallest {
		smallest[i] = smallestP(looks, rng)
	}
	slices.Sort(smallest)
	return smallest[int(math.Floor(alpha*float64(trials)))-1]
}

// smallestP is the smallest p-value over the looks at one comparison of two that do not
// differ.
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

// The constants were simulated elsewhere. 200,000 trials here know the error
// rate to ±0.001 (two standard errors) at α = 0.05 and ±0.0003 at 0.005, which
// the tolerances translate into levels.
func TestCalibratedLevels(t *testing.T) {
	for name, tc := range map[string]struct {
		looks                  Looks
		alpha, want, tolerance float64
	}{
		"one comparison, runs 3 to 8":          {Looks{3, 8}, 0.05, 0.0161, 0.0006},
		"one comparison, runs 3 to 10":         {Looks{3, 10}, 0.05, 0.0136, 0.0006},
		"one comparison, runs 3 to 8, strict":  {Looks{3, 8}, 0.005, 0.00117, 0.0001},
		"one comparison, runs 3 to 10, strict": {Looks{3, 10}, 0.005, 0.00095, 0.0001},
	} {
		t.Run(name, func(t *testing.T) {
			got := calibratedLevel(tc.looks, tc.alpha, 200_000, rand.New(rand.NewPCG(1, 2)))
			if diff := cmp.Diff(tc.want, got, rounded(tc.tolerance)); diff != "" {
				t.Errorf("simulated level (-want +got):\n%s", diff)
			}
			if level := tc.looks.Level(tc.alpha, 1); level != tc.want {
				t.Errorf("level in use %v, want %v", level, tc.want)
			}
			if level := tc.looks.Level(tc.alpha, 2); level != tc.alpha/float64(tc.looks.Count()) {
				t.Errorf("level in use for two comparisons %v, want α/K", level)
			}
		})
	}
}
