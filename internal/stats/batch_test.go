package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
)

// batches summarises the noise within one run. No decision uses it. The simulation shows why, with
// the best conclusion that the seconds of a single run permit.
type batches struct {
	Count int // number of batches k, 10 to 20
	Size  int // values in each batch
	// StdErr is s_B/√k, the standard error of the mean of the series that
	// allows for its autocorrelation, in the unit of the series.
	StdErr float64
}

// batchMeans computes non-overlapping batch means of a steady series of 20 values or
// more, in time order (Law & Kelton, "Simulation Modeling and Analysis"). There are as
// many batches as values allow with four values each, between 10 and 20; values left
// over are dropped from the beginning, which is nearest to the warm-up.
func batchMeans(t *testing.T, xs []float64) batches {
	t.Helper()
	n := len(xs)
	if n < 20 {
		t.Fatalf("batch means of %d values", n)
	}
	k := min(max(n/4, 10), 20)
	size := n / k
	used := xs[n-k*size:]
	means := make([]float64, k)
	for b := range means {
		means[b] = stat.Mean(used[b*size:(b+1)*size], nil)
	}
	_, sd := meanStdDev(means)
	return batches{Count: k, Size: size, StdErr: sd / math.Sqrt(float64(k))}
}

func TestBatchMeansOfIndependentSecondsKnowTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ratio := func(phi float64) float64 {
		var sum float64
		const trials = 400
		for range trials {
			sum += batchMeans(t, ar1(rng, 600, phi, 1)).StdErr * math.Sqrt(600) / trials
		}
		return sum
	}
	// Independent: SE·√n is σ = 1. At φ = 0.5 theory gives √((1+φ)/(1−φ)) = 1.73.
	if got := ratio(0); math.Abs(got-1) > 0.05 {
		t.Errorf("independent seconds: SE·√n = %.3f, want 1", got)
	}
	if got := ratio(0.5); math.Abs(got-1.73) > 0.1 {
		t.Errorf("autocorrelated seconds: SE·√n = %.3f, want 1.73", got)
	}
}

func TestBatchMeans(t *testing.T) {
	alternating := make([]float64, 60)
	for i := range alternating {
		alternating[i] = 10 + float64(i%2)
	}
	// Batches of four hold two of each value: their means do not vary at all.
	if diff := cmp.Diff(batches{Count: 15, Size: 4}, batchMeans(t, alternating)); diff != "" {
		t.Errorf("alternating series (-want +got):\n%s", diff)
	}
	for n, want := range map[int][2]int{20: {10, 2}, 39: {10, 3}, 61: {15, 4}, 300: {20, 15}} {
		if got := batchMeans(t, make([]float64, n)); got.Count != want[0] || got.Size != want[1] {
			t.Errorf("%d values: %d batches of %d, want %v", n, got.Count, got.Size, want)
		}
	}
}
