package stats

import "fmt"

// minSteadySeries is the length of the shortest series in which MSER looks for a warm-up. A shorter
// one has too few values: chance would decide where to cut.
const minSteadySeries = 8

// Truncation says how much of the beginning of a series is warm-up.
type Truncation struct {
	// Drop is the number of leading values to leave out, 0 ≤ Drop ≤ ⌊n/2⌋.
	Drop int
	// Steady is false if the best place to cut is the last one allowed. The
	// series was then still changing halfway through, and its mean describes no
	// state of the cluster. A sweep repeats such a run once at double length.
	Steady bool
}

// MSER finds the warm-up of a series of equally long intervals, in time order,
// by the marginal standard error rule: drop the first d values, with the d for which
//
//	Σ_{i>d} (x_i − x̄_d)² / (n−d)²   over 0 ≤ d ≤ ⌊n/2⌋
//
// is smallest, and the earliest such d on a tie (White 1997, "An effective truncation heuristic for
// bias reduction in simulation output"). Without the bound at half, one odd value near the end
// could cut off most of the run. A series that reaches the bound is not steady. One that does not
// reach it may still change late in the run: MSER does not see that. Zeros are data: a second
// without I/O is a stall, not a gap.
//
// It returns an error wrapping ErrTooFew for fewer than 8 values, and a
// *ValueError for values that are not finite.
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
	// Welford's update, from the end to the beginning, needs only one pass. Unlike
	// sums of squares, it does not suffer from cancellation.
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
