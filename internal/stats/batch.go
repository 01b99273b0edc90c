package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

const (
	minBatches    = 10
	maxBatches    = 20
	minBatchSize  = 2
	minForBatches = minBatches * minBatchSize
)

// Batches summarises the noise inside one run. It describes the quality of the
// run; it never decides between configurations, because runs differ by more
// than their seconds show.
type Batches struct {
	Count int // number of batches k, 10 to 20
	Size  int // values in each batch
	// StdErr is s_B/√k, the standard error of the mean of the series that
	// allows for its autocorrelation, in the unit of the series.
	StdErr float64
	// EffectiveSize is k·s_x²/s_B²: how many independent values would know the
	// mean as well. Autocorrelation makes it smaller than the series; closed
	// loops can alternate and make it larger.
	EffectiveSize float64
}

// BatchMeans computes non-overlapping batch means of a steady series in time
// order (Law & Kelton, "Simulation Modeling and Analysis"). There are as many
// batches as values allow with four values each, between 10 and 20; values left
// over are dropped from the beginning, which is nearest to the warm-up.
//
// It returns an error wrapping ErrTooFew for fewer than 20 values, and a
// *ValueError for values that are not finite.
func BatchMeans(xs []float64) (Batches, error) {
	n := len(xs)
	if n < minForBatches {
		return Batches{}, fmt.Errorf("batch means: %w: %d intervals, want at least %d", ErrTooFew, n, minForBatches)
	}
	if err := checkFinite("interval", xs); err != nil {
		return Batches{}, err
	}
	k := min(max(n/4, minBatches), maxBatches)
	size := n / k
	used := xs[n-k*size:]
	means := make([]float64, k)
	for b := range means {
		means[b] = stat.Mean(used[b*size:(b+1)*size], nil)
	}
	_, sdBatch := meanStdDev(means)
	_, sdValues := meanStdDev(used)
	out := Batches{Count: k, Size: size, StdErr: sdBatch / math.Sqrt(float64(k)), EffectiveSize: float64(len(used))}
	if sdBatch > 0 {
		out.EffectiveSize = float64(k) * sdValues * sdValues / (sdBatch * sdBatch)
	}
	return out, nil
}

// Autocorrelation returns the sample autocorrelation of a series in time order
// at a lag: Σ (x_i−x̄)(x_{i+lag}−x̄) / Σ (x_i−x̄)², as R's acf() does. A constant
// series has none, 0.
//
// Running averages have strong autocorrelation by construction; the one of a
// tool's cumulative column says nothing about the cluster.
func Autocorrelation(xs []float64, lag int) (float64, error) {
	if lag < 1 || len(xs) < lag+2 {
		return 0, fmt.Errorf("autocorrelation at lag %d: %w: %d", lag, ErrTooFew, len(xs))
	}
	if err := checkFinite("interval", xs); err != nil {
		return 0, err
	}
	mean := stat.Mean(xs, nil)
	var cov, variance float64
	for i, x := range xs {
		variance += (x - mean) * (x - mean)
		if i+lag < len(xs) {
			cov += (x - mean) * (xs[i+lag] - mean)
		}
	}
	if variance == 0 {
		return 0, nil
	}
	return cov / variance, nil
}
