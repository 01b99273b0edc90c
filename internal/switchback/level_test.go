package switchback

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cephtune/cephtune/internal/stats"
)

// The smallest p over all looks is as small as the level of a look in at most alpha of sessions.
func TestLevelOfQuickLooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 61))
	const n = 100000
	for _, c := range []struct {
		alpha      float64
		candidates int
		level      float64
	}{
		{0.05, 1, quickLevel(0.05, 1)},
		{0.025, 1, quickLevel(0.05, 1) / 2}, // Inferior
		{0.01, 1, quickLevel(0.05, 5) / 5},  // the first of five, after Holm
		{0.005, 1, quickLevel(0.05, 10) / 10},
	} {
		below := 0
		for range n {
			if smallestP(rng) <= c.level {
				below++
			}
		}
		rate := float64(below) / n
		t.Logf("alpha %.3f, level %.5f: %.2f%%", c.alpha, c.level, 100*rate)
		if rate > c.alpha+2*math.Sqrt(c.alpha/n) {
			t.Errorf("looks at level %v err in %v, want at most %v", c.level, rate, c.alpha)
		}
	}
}

func smallestP(rng *rand.Rand) float64 {
	smallest, sum, squares, quads := 1.0, 0.0, 0.0, 0
	for _, pairs := range QuickLooks() {
		for ; quads < pairs/2; quads++ {
			x := rng.NormFloat64()
			sum, squares = sum+x, squares+x*x
		}
		n := float64(quads)
		sd := math.Sqrt((squares - sum*sum/n) / (n - 1))
		k := stats.Contrast{LogRatio: sum / n, StdDev: sd, StdErr: sd / math.Sqrt(n), DF: n - 1, Runs: quads, Paired: true}
		smallest = min(smallest, k.PGreater(0))
	}
	return smallest
}
