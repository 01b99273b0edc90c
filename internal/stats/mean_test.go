package stats

import (
	"errors"
	"math"
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
