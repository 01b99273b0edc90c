package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeometricInterval(t *testing.T) {
	for name, c := range map[string]struct {
		runs []float64
		want Bounds
	}{
		// By hand: logarithms 0 and ±ln 2, s = ln 2, t(0.975, 2) = 4.302652729749464
		// (scipy.stats.t.ppf), so the interval is 2^(±4.302652729749464/√3).
		"three runs": {[]float64{50, 100, 200}, Bounds{100 * math.Exp2(-4.302652729749464/math.Sqrt(3)), 100 * math.Exp2(4.302652729749464/math.Sqrt(3)), 0.95}},
		// t(0.975, 1) = 12.706204736174694.
		"two runs":       {[]float64{1, math.E}, Bounds{math.Exp(0.5 - 12.706204736174694/2), math.Exp(0.5 + 12.706204736174694/2), 0.95}},
		"identical runs": {[]float64{7, 7, 7, 7}, Bounds{7, 7, 0.95}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := GeometricInterval(c.runs, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, approx); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGeometricIntervalNeedsRuns(t *testing.T) {
	if _, err := GeometricInterval([]float64{5}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("one run: %v, want ErrTooFew", err)
	}
	if _, err := GeometricInterval([]float64{5, 6}, 1); !errors.Is(err, ErrParameter) {
		t.Errorf("confidence 1: %v, want ErrParameter", err)
	}
	var value *ValueError
	if _, err := GeometricInterval([]float64{5, 0}, 0.95); !errors.As(err, &value) {
		t.Errorf("a run of 0: %v, want a ValueError", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values                []float64
		arithmetic, geometric float64
	}{
		{[]float64{7}, 7, 7}, {[]float64{9, 1, 4}, 4, 4}, {[]float64{8, 1, 100, 2}, 5, 4},
	} {
		if m, g := Median(c.values), GeometricMedian(c.values); m != c.arithmetic || math.Abs(g-c.geometric) > 1e-12 {
			t.Errorf("%v: medians %v and %v, want %v and %v", c.values, m, g, c.arithmetic, c.geometric)
		}
	}
	if m := Median(nil); m != 0 {
		t.Errorf("median of nothing: %v", m)
	}
}

func TestShare(t *testing.T) {
	// By hand: 6 of 20, residuals 1−0.3·4, 2−0.3·6 and 3−0.3·10: −0.2, 0.2, 0, so s = 0.2; t(0.975, 2) = 4.302652729749464.
	half := 4.302652729749464 * 0.2 / (20.0 / 3 * math.Sqrt(3))
	share, got, err := Share([]float64{1, 2, 3}, []float64{4, 6, 10}, 0.95)
	if diff := cmp.Diff(Bounds{0.3 - half, 0.3 + half, 0.95}, got, approx); diff != "" || err != nil || math.Abs(share-0.3) > 1e-12 {
		t.Errorf("%v, %v (-want +got):\n%s", share, err, diff)
	}
	var value *ValueError
	if _, _, err := Share([]float64{1, 2}, []float64{1, 0}, 0.95); !errors.As(err, &value) {
		t.Errorf("a whole of 0: %v, want a ValueError", err)
	}
	for _, parts := range [][]float64{{1}, {1, 2, 3}} {
		if _, _, err := Share(parts, []float64{1, 2}, 0.95); !errors.Is(err, ErrTooFew) {
			t.Errorf("%d parts of 2 wholes: %v, want ErrTooFew", len(parts), err)
		}
	}
}

// Wholes that vary by half, and a part of 20 % that varies by itself: the interval holds its level with few pairs, about.
func TestSimulatedShare(t *testing.T) {
	const worlds = 4000
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{4, 6, 12} {
		missed := 0
		for range worlds {
			parts, wholes := make([]float64, n), make([]float64, n)
			for i := range n {
				scale := math.Exp(0.3 * random.NormFloat64())
				parts[i] = 0.2 * scale * math.Exp(0.1*random.NormFloat64()-0.005)
				wholes[i] = scale
			}
			if _, b, err := Share(parts, wholes, 0.95); err != nil || b.Low > 0.2 || b.High < 0.2 {
				missed++
			}
		}
		if rate := float64(missed) / worlds; rate > 0.08 {
			t.Errorf("%d pairs: the interval misses in %.1f %%, want 5", n, 100*rate)
		} else {
			t.Logf("%d pairs: %.1f %%", n, 100*rate)
		}
	}
}
