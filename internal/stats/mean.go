package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Median returns the middle value, or the mean of the two middle values; 0 for an empty slice.
func Median(values []float64) float64 {
	middle := middleOf(values)
	if len(middle) == 0 {
		return 0
	}
	return (middle[0] + middle[len(middle)-1]) / 2
}

// GeometricMedian is [Median] for values that scatter by factors: of two middle values, it takes the geometric mean.
func GeometricMedian(values []float64) float64 { return GeometricMean(middleOf(values)) }

// middleOf returns the middle value, or the two middle values; none of an empty slice.
func middleOf(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return nil
	}
	return sorted[(len(sorted)-1)/2 : len(sorted)/2+1]
}

// GeometricInterval returns the two-sided confidence interval of the geometric mean of runs: exp(z̄ ± t·s/√n)
// of their logarithms z. R: exp(t.test(log(x))$conf.int). The interval covers variation between runs, not
// within a run.
//
// For fewer than two runs, the error wraps ErrTooFew. For an invalid confidence, it wraps ErrParameter. For a
// value that has no finite logarithm, it is a *ValueError.
func GeometricInterval(runs []float64, confidence float64) (Bounds, error) {
	if err := checkOpenUnit("confidence", confidence); err != nil {
		return Bounds{}, err
	}
	if err := checkPositive("run", runs); err != nil {
		return Bounds{}, err
	}
	n := float64(len(runs))
	if n < 2 {
		return Bounds{}, fmt.Errorf("interval of a mean: %w: %v, want at least 2 runs", ErrTooFew, n)
	}
	zs := logs(runs)
	_, sd := meanStdDev(zs)
	half := 0.0
	if sd > 0 {
		half = tUpperQuantile((1-confidence)/2, n-1) * sd / math.Sqrt(n)
	}
	mean := stat.Mean(zs, nil)
	return Bounds{Low: math.Exp(mean - half), High: math.Exp(mean + half), Confidence: confidence}, nil
}

// Share returns the sum of parts, as a share of the sum of the wholes to which they belong, and its two-sided confidence
// interval: share ± t·s/(w̄·√n), where s is the standard deviation of part − share·whole with n−1 degrees of freedom
// (the ratio estimator; Cochran, Sampling Techniques, chapter 6). So what makes a whole and its part longer together
// does not widen the interval. Parts may be negative.
//
// For fewer than two pairs, or slices of different lengths, the error wraps ErrTooFew. For an invalid confidence, it
// wraps ErrParameter. For a whole that is not positive and a part that is not finite, it is a *ValueError.
func Share(parts, wholes []float64, confidence float64) (float64, Bounds, error) {
	n := float64(len(parts))
	if err := errors.Join(checkOpenUnit("confidence", confidence), checkFinite("part", parts), checkPositive("whole", wholes)); err != nil {
		return 0, Bounds{}, err
	}
	if len(parts) != len(wholes) || n < 2 {
		return 0, Bounds{}, fmt.Errorf("interval of a share: %w: %d parts of %d wholes, want at least 2", ErrTooFew, len(parts), len(wholes))
	}
	whole := stat.Mean(wholes, nil)
	share := stat.Mean(parts, nil) / whole
	residuals := make([]float64, len(parts))
	for i := range parts {
		residuals[i] = parts[i] - share*wholes[i]
	}
	half := tUpperQuantile((1-confidence)/2, n-1) * stat.StdDev(residuals, nil) / (whole * math.Sqrt(n))
	return share, Bounds{Low: share - half, High: share + half, Confidence: confidence}, nil
}
