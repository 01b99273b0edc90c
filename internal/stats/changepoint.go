package stats

import (
	"fmt"
	"math"
)

// ChangePoint is the place in a history where its level most likely changed.
type ChangePoint struct {
	// Index is the first value after the change.
	Index int
	// P is the approximate two-sided p-value against "there was no change".
	P float64
}

// FindChangePoint applies Pettitt's rank test to a history of controls in time
// order (Pettitt 1979): for each split, how often values before are smaller or
// larger than values after. Ranks make it indifferent to single outliers, which
// controls of a storage cluster have. R: trend::pettitt.test(x).
//
// It assumes independent values; use one value for each block or sweep, not
// seconds. P ≈ 2·exp(−6K²/(n³+n²)), accurate enough for P below 0.5.
//
// It returns an error wrapping ErrTooFew for fewer than 4 values, and a
// *ValueError for values that are not finite.
func FindChangePoint(history []float64) (ChangePoint, error) {
	n := len(history)
	if n < 4 {
		return ChangePoint{}, fmt.Errorf("change point: %w: %d values, want at least 4", ErrTooFew, n)
	}
	if err := checkFinite("control", history); err != nil {
		return ChangePoint{}, err
	}
	var best, bestAt, sum int
	for t := range n - 1 {
		// U_t = U_{t−1} + Σ_j sign(x_t − x_j)
		for j := range n {
			sum += sign(history[t] - history[j])
		}
		if abs(sum) > best {
			best, bestAt = abs(sum), t+1
		}
	}
	k, m := float64(best), float64(n)
	return ChangePoint{Index: bestAt, P: min(1, 2*math.Exp(-6*k*k/(m*m*m+m*m)))}, nil
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
