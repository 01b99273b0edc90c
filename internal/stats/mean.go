package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

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
