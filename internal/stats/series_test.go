package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mserByDefinition is the formula, term by term.
func mserByDefinition(xs []float64) Truncation {
	n, best, bestScore := len(xs), 0, math.Inf(1)
	for d := 0; d <= n/2; d++ {
		kept := xs[d:]
		mean := 0.0
		for _, x := range kept {
			mean += x / float64(len(kept))
		}
		score := 0.0
		for _, x := range kept {
			score += (x - mean) * (x - mean) / float64(len(kept)*len(kept))
		}
		if score < bestScore {
			best, bestScore = d, score
		}
	}
	return Truncation{Drop: best, Steady: best < n/2}
}

func TestMSERAgreesWithItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for trial := range 2000 {
		xs := make([]float64, minSteadySeries+rng.IntN(120))
		warm := rng.IntN(len(xs))
		for i := range xs {
			xs[i] = 400 + 20*rng.NormFloat64()
			if i < warm {
				xs[i] *= float64(i+1) / float64(warm)
			}
		}
		before := slices.Clone(xs)
		got, err := MSER(xs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mserByDefinition(xs), got); diff != "" {
			t.Fatalf("trial %d, %v (-want +got):\n%s", trial, xs, diff)
		}
		if !slices.Equal(before, xs) {
			t.Fatal("MSER changed its input")
		}
	}
}

func TestMSER(t *testing.T) {
	flat := func(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }
	for name, tc := range map[string]struct {
		xs   []float64
		want Truncation
	}{
		"identical values have no warm-up":                         {flat(60, 244), Truncation{0, true}},
		"a ramp of two seconds is cut":                             {append([]float64{10, 120}, flat(58, 244)...), Truncation{2, true}},
		"a change at one third is warm-up":                         {append(flat(20, 100), flat(40, 200)...), Truncation{20, true}},
		"a late change goes unseen: the rule looks for beginnings": {append(flat(40, 100), flat(20, 200)...), Truncation{0, true}},
		"a steady climb is not steady":                             {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Truncation{6, false}},
		"stalled seconds are data, not a gap":                      {[]float64{0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9}, Truncation{3, true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MSER(tc.xs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("truncation (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := MSER(flat(7, 1)); !errors.Is(err, ErrTooFew) {
		t.Errorf("7 values: %v, want ErrTooFew", err)
	}
	var bad *ValueError
	if _, err := MSER(append(flat(20, 1), math.NaN())); !errors.As(err, &bad) || bad.Index != 20 {
		t.Errorf("NaN: %v, want a ValueError at 20", err)
	}
}

func TestSummarize(t *testing.T) {
	rows := []Interval{{10, 1}, {60, 1}}
	for range 22 {
		rows = append(rows, Interval{100, 1})
	}
	rows = append(rows, Interval{50, 0.5}) // a last row that ended early
	got, err := Summarize(rows)
	if err != nil {
		t.Fatal(err)
	}
	// The rate is that of the window after the warm-up, of 2250 in 22.5 s.
	want := RunSummary{Rate: 100, FromSeconds: 2, ToSeconds: 24.5, Dropped: 2, Steady: true}
	if diff := cmp.Diff(want, got, approx); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestSummarizeRefusesInvalidValues(t *testing.T) {
	good := slices.Repeat([]Interval{{100, 1}}, 30)
	with := func(row Interval) []Interval { return append(slices.Clone(good), row) }
	for name, rows := range map[string][]Interval{
		"a negative amount":            with(Interval{-1, 1}),
		"an amount that is no number":  with(Interval{math.NaN(), 1}),
		"an interval without a length": with(Interval{100, 0}),
		"an infinite interval":         with(Interval{100, math.Inf(1)}),
	} {
		var bad *ValueError
		if _, err := Summarize(rows); !errors.As(err, &bad) || bad.Index != 30 {
			t.Errorf("%s: %v, want a ValueError at 30", name, err)
		}
	}
	still := slices.Repeat([]Interval{{0, 1}}, 30)
	for name, c := range map[string]struct {
		rows []Interval
		want error
	}{
		"no rows":                       {nil, ErrTooFew},
		"too few rows":                  {good[:7], ErrTooFew},
		"too few rows that moved nil":   {still[:7], ErrTooFew},
		"a run that moved nil":          {still, ErrStalled},
		"a run that moved nil for good": {append(slices.Clone(good[:10]), still...), ErrStalled},
	} {
		if _, err := Summarize(c.rows); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// ar1 is a stationary first-order autoregressive series with standard
// deviation sd around 0.
func ar1(rng *rand.Rand, n int, phi, sd float64) []float64 {
	xs := make([]float64, n)
	innovation := sd * math.Sqrt(1-phi*phi)
	x := sd * rng.NormFloat64()
	for i := range xs {
		xs[i] = x
		x = phi*x + innovation*rng.NormFloat64()
	}
	return xs
}
