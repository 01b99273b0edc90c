package stats

import "fmt"

// minSteadySeries is the length of the shortest series in which MSER looks for a warm-up. In a shorter
// series, chance would decide where to cut.
const minSteadySeries = 8

// Truncation says how much of the beginning of a series is warm-up.
type Truncation struct {
	// Drop is the number of leading values to leave out, 0 ≤ Drop ≤ ⌊n/2⌋.
	Drop int
	// Steady is false if Drop is the largest allowed value. The series was then probably still changing halfway
	// through, so that its mean describes no state of the cluster. A sweep repeats such a run once at double
	// length.
	Steady bool
}

// MSER finds the warm-up of a series of (about) equally long intervals, in time order, by the marginal standard
// error rule. It drops the first d values, with the d for which
//
//	Σ_{i>d} (x_i − x̄_d)² / (n−d)²   over 0 ≤ d ≤ ⌊n/2⌋
//
// is smallest, where x̄_d is the mean of the other n−d values. On a tie, it uses the smallest such d (White
// 1997, "An effective truncation heuristic for bias reduction in simulation output"). The bound of half the
// series is needed because one odd value near the end could otherwise cut off most of the run. A series whose
// d is the bound is not steady. A steady series may still change late in the run: MSER does not see that.
// Zeros are data: a second without I/O is a stall, not a gap.
//
// For fewer than 8 values, the error wraps ErrTooFew. For a value that is not finite, it is a *ValueError.
func MSER(xs []float64) (Truncation, error) {
	n := len(xs)
	if n < minSteadySeries {
		return Truncation{}, fmt.Errorf("MSER: %w: %d intervals, want at least %d", ErrTooFew, n, minSteadySeries)
	}
	if err := checkFinite("interval", xs); err != nil {
		return Truncation{}, err
	}
	bound := n / 2
	best, bestScore := 0, 0.0
	// Welford's update, from the end to the beginning, needs only one pass. Unlike sums of squares, it does
	// not lose digits to cancellation.
	mean, squares := 0.0, 0.0
	for d := n - 1; d >= 0; d-- {
		kept := float64(n - d)
		delta := xs[d] - mean
		mean += delta / kept
		squares += delta * (xs[d] - mean)
		score := squares / (kept * kept)
		if d <= bound && (d == bound || score <= bestScore) {
			best, bestScore = d, score
		}
	}
	return Truncation{Drop: best, Steady: best < bound}, nil
}
