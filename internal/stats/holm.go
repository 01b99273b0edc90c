package stats

import (
	"cmp"
	"slices"
)

// Holm returns p-values that are adjusted for their number, in the order of the input. If a caller rejects
// the hypotheses whose adjusted p is at most α, the probability of any false rejection is at most α. This
// holds even if the hypotheses depend on each other (Holm 1979). R: p.adjust(p, method="holm").
//
// For a p outside 0 to 1, the error is a *ValueError.
func Holm(ps []float64) ([]float64, error) {
	for i, p := range ps {
		if !(p >= 0 && p <= 1) {
			return nil, &ValueError{What: "p-value", Index: i, Value: p, Want: "between 0 and 1"}
		}
	}
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted := make([]float64, len(ps))
	// The running maximum keeps the step-down order: if a hypothesis is not rejected, no hypothesis with a
	// larger p-value is rejected.
	running := 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(ps)-rank)*ps[i]))
		adjusted[i] = running
	}
	return adjusted, nil
}
