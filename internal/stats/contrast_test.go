package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMakePairs(t *testing.T) {
	for name, tc := range map[string]struct {
		baseline, candidate []Observation
		wantPairs           []Pair
		wantUnpaired        int
	}{
		"runs meet in their block, in the baseline's order": {
			baseline:  []Observation{{"b", 20}, {"a", 10}},
			candidate: []Observation{{"a", 11}, {"b", 22}},
			wantPairs: pairsOf(20, 22, 10, 11),
		},
		"a block without the other configuration is left out and counted": {
			baseline:     []Observation{{"a", 10}, {"b", 20}},
			candidate:    []Observation{{"b", 22}, {"c", 30}, {"c", 31}},
			wantPairs:    pairsOf(20, 22),
			wantUnpaired: 3,
		},
		"several runs in a block count once, by their geometric mean": {
			baseline:  []Observation{{"a", 10}, {"a", 40}},
			candidate: []Observation{{"a", 30}},
			wantPairs: pairsOf(20, 30),
		},
		"nothing in common": {
			baseline: []Observation{{"a", 1}}, candidate: []Observation{{"b", 1}}, wantUnpaired: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pairs, unpaired, err := MakePairs(tc.baseline, tc.candidate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.wantPairs, pairs, approx); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
			if unpaired != tc.wantUnpaired {
				t.Errorf("unpaired %d, want %d", unpaired, tc.wantUnpaired)
			}
		})
	}
}

func TestContrastsRefuseValuesWithoutALogarithm(t *testing.T) {
	for _, x := range []float64{0, -5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		var bad *ValueError
		if _, err := PairedLogRatio(pairsOf(1, 2, 1, x)); !errors.As(err, &bad) {
			t.Errorf("paired, candidate %v: %v, want a ValueError", x, err)
		}
		if _, err := WelchLogRatio([]float64{1, x}, []float64{1}); !errors.As(err, &bad) || bad.Index != 1 {
			t.Errorf("unpaired, baseline %v: %v, want a ValueError at 1", x, err)
		}
		if _, _, err := MakePairs([]Observation{{"a", x}}, nil); !errors.As(err, &bad) {
			t.Errorf("pairing, baseline %v: %v, want a ValueError", x, err)
		}
	}
	if _, err := PairedLogRatio(nil); !errors.Is(err, ErrTooFew) {
		t.Errorf("no pairs: %v, want ErrTooFew", err)
	}
	if _, err := WelchLogRatio([]float64{1}, nil); !errors.Is(err, ErrTooFew) {
		t.Errorf("no candidate runs: %v, want ErrTooFew", err)
	}
}

func TestOneRunOfEachIsAnEstimateWithoutCertainty(t *testing.T) {
	paired := mustContrast(t, pairsOf(100, 200))
	unpaired, err := WelchLogRatio([]float64{100}, []float64{190, 200, 210})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Contrast{"paired": paired, "unpaired": unpaired} {
		if c.HasNoise() || c.PGreater(0) != 1 || c.PLess(0) != 1 || c.PEquivalent(10) != 1 {
			t.Errorf("%s: %+v claims something", name, c)
		}
		if b := c.RatioInterval(0.95); b.Low != 0 || !math.IsInf(b.High, 1) {
			t.Errorf("%s: interval %v, want 0 to +Inf", name, b)
		}
	}
}

func TestIdenticalRunsDecideAtTheLimit(t *testing.T) {
	// 130/100 in each block but for rounding: no noise to be seen.
	c := mustContrast(t, pairsOf(100, 130, 110, 143, 90, 117))
	if c.StdErr != 0 || !c.HasNoise() {
		t.Fatalf("standard error %v, want exactly 0", c.StdErr)
	}
	type ps struct{ Above20, Above30, Above40 float64 }
	got := ps{c.PGreater(math.Log(1.2)), c.PGreater(math.Log(1.3)), c.PGreater(math.Log(1.4))}
	if diff := cmp.Diff(ps{0, 1, 1}, got); diff != "" {
		t.Errorf("p-values (-want +got):\n%s", diff)
	}
}

func TestErrorsSayWhatWasWanted(t *testing.T) {
	_, err := WelchLogRatio([]float64{1, -2}, []float64{1})
	if want := "baseline run 1 is -2, want a value that is positive and finite"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	for name, call := range map[string]func() error{
		"a detectable effect of one run": func() error { _, err := (Question{StdDev: 1, Alpha: 0.05}).Detectable(1); return err },
		"a difference of no blocks":      func() error { _, err := PairedDifferences(nil); return err },
	} {
		if err := call(); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v, want ErrTooFew", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"runs for no level":            func() error { _, _, err := (Question{StdDev: 1, Gap: 1}).Runs(9); return err },
		"runs for certainty":           func() error { _, _, err := (Question{StdDev: 1, Gap: 1, Alpha: 0.05, Power: 1}).Runs(9); return err },
		"runs for noise below nothing": func() error { _, _, err := (Question{StdDev: -1, Gap: 1, Alpha: 0.05}).Runs(9); return err },
	} {
		if err := call(); !errors.Is(err, ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	if n, found, err := (Question{StdDev: 1, Gap: 0, Alpha: 0.05}).Runs(100); found || err != nil || n != 101 {
		t.Errorf("no gap at all: %d, %v, %v; want not found", n, found, err)
	}
	if n, found, err := (Question{StdDev: 0, Gap: 1, Alpha: 0.05}).Runs(100); !found || err != nil || n != MinRuns {
		t.Errorf("no noise at all: %d, %v, %v; want the fewest", n, found, err)
	}
}

// The textbook case: normal estimates on the logarithms give the interval of the normal difference. Lopsided intervals
// use the limit on the side of the ratio's limit.
func TestRatioOfEstimates(t *testing.T) {
	a, b := Estimate{100, 100 / 1.1, 110}, Estimate{120, 120 / 1.2, 144}
	got, ok := RatioOfEstimates(a, b)
	width := math.Exp(math.Hypot(math.Log(1.1), math.Log(1.2)))
	if !ok || math.Abs(got.Value-1.2) > 1e-12 || math.Abs(got.Low-1.2/width) > 1e-12 || math.Abs(got.High-1.2*width) > 1e-12 {
		t.Errorf("%+v, %v", got, ok)
	}
	got, ok = RatioOfEstimates(Estimate{100, 50, 100}, Estimate{100, 100, 100})
	if !ok || got.Low != 1 || math.Abs(got.High-2) > 1e-12 {
		t.Errorf("if the first may be half as large, the ratio may be twice as large: %+v, %v", got, ok)
	}
	for _, bad := range []Estimate{{100, 0, 110}, {0, 0, 0}, {1, 1, math.Inf(1)}, {math.NaN(), 1, 1}} {
		if got, ok := RatioOfEstimates(bad, b); ok {
			t.Errorf("%+v gives %+v", bad, got)
		}
	}
}

// Of two independent estimates with intervals at 95 %, the ratio's interval has the true ratio in 95 %.
func TestCoverageOfRatioOfEstimates(t *testing.T) {
	rng := rand.New(rand.NewPCG(2008, 27))
	const n = 4000
	estimate := func(mean, sd float64) Estimate {
		x := mean + sd*rng.NormFloat64()
		return Estimate{math.Exp(x), math.Exp(x - 1.96*sd), math.Exp(x + 1.96*sd)}
	}
	hits := 0
	for range n {
		r, ok := RatioOfEstimates(estimate(8, 0.03), estimate(8.2, 0.05))
		if ok && r.Low <= math.Exp(0.2) && math.Exp(0.2) <= r.High {
			hits++
		}
	}
	if share := float64(hits) / n; math.Abs(share-0.95) > 3*math.Sqrt(0.95*0.05/n) {
		t.Errorf("coverage %.3f", share)
	}
}

// By hand: the standard error is 0.95743, with 6.98 degrees of freedom, for which a table of t has 2.366.
func TestWelchDifference(t *testing.T) {
	a, b := []float64{10, 9, 11, 12}, []float64{12, 15, 11, 14, 13}
	got, bounds, err := WelchDifference(a, b, 0.95)
	if err != nil || got != 2.5 || math.Abs(bounds.Low-0.2348) > 5e-4 || math.Abs(bounds.High-4.7652) > 5e-4 {
		t.Errorf("%v, %+v, %v", got, bounds, err)
	}
	if _, _, err := WelchDifference(a[:1], b, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("one value: %v", err)
	}
	if _, _, err := WelchDifference(a, []float64{1, math.NaN()}, 0.95); err == nil {
		t.Error("not a number, and no error")
	}
}
