package stats

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Student's sleep data, R datasets::sleep: ten patients, two drugs. The values are used as
// logarithms here, so that R's numbers apply unchanged.
var (
	sleep1 = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleep2 = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

// scipy.stats.t.isf(p, df) and scipy.stats.t.sf(t, df)
func TestStudentTailsAgreeWithSciPy(t *testing.T) {
	quantiles := []struct{ p, df, want float64 }{
		{0.05, 2, 2.9199855803537256},
		{0.025, 2, 4.302652729749464},
		{0.0005, 1, 636.6192487687196},
		{0.005, 14, 2.976842734370835},
		{1e-9, 5, 98.93722464836996},
		{0.2, 38, 0.8511827564679451},
	}
	for _, q := range quantiles {
		if diff := cmp.Diff(q.want, tUpperQuantile(q.p, q.df), approx); diff != "" {
			t.Errorf("isf(%v, %v) (-want +got):\n%s", q.p, q.df, diff)
		}
	}
	tails := []struct{ t, df, want float64 }{
		{1.5, 2.5, 0.12391822654314809},
		{12, 3, 0.0006225079003946681},
		{40, 9, 9.491499224669911e-12},
		{-2, 7, 0.957190335718512},
	}
	for _, q := range tails {
		if got := tUpperTail(q.t, q.df); math.Abs(got/q.want-1) > 1e-8 {
			t.Errorf("sf(%v, %v) = %v, want %v", q.t, q.df, got, q.want)
		}
	}
}

// scipy: r = ttest_rel(sleep2, sleep1); r.statistic, r.df, r.confidence_interval(.95)
// R: t.test(extra[group==2], extra[group==1], paired=TRUE, data=sleep)
func TestPairedContrastIsThePairedTTest(t *testing.T) {
	var pairs []Pair
	for i := range sleep1 {
		pairs = append(pairs, Pair{Baseline: math.Exp(sleep1[i]), Candidate: math.Exp(sleep2[i])})
	}
	c := mustContrast(t, pairs)
	type result struct{ T, DF, P, Low, High float64 }
	b := c.LogInterval(0.95)
	got := result{c.LogRatio / c.StdErr, c.DF, 2 * c.PGreater(0), b.Low, b.High}
	want := result{4.062127683382037, 9, 0.002832890197384273, 0.7001142367230175, 2.459885763276983}
	if diff := cmp.Diff(want, got, approx); diff != "" {
		t.Errorf("paired t-test (-want +got):\n%s", diff)
	}
}

// scipy: r = ttest_ind(sleep2, sleep1, equal_var=False)
// R: t.test(extra[group==2], extra[group==1], data=sleep)
func TestUnpairedContrastIsWelchsTTest(t *testing.T) {
	c, err := WelchLogRatio(expAll(sleep1), expAll(sleep2))
	if err != nil {
		t.Fatal(err)
	}
	type result struct{ T, DF, P, Low, High float64 }
	b := c.LogInterval(0.95)
	got := result{c.LogRatio / c.StdErr, c.DF, 2 * c.PGreater(0), b.Low, b.High}
	want := result{1.8608134674868526, 17.776473516178488, 0.0793941401873583, -0.20548323071171137, 3.3654832307117104}
	if diff := cmp.Diff(want, got, approx); diff != "" {
		t.Errorf("Welch's t-test (-want +got):\n%s", diff)
	}
}

// scipy, d = sleep2 - sleep1:
// max(ttest_1samp(d, -3, alternative="greater").pvalue, ttest_1samp(d, 3, alternative="less").pvalue)
func TestEquivalenceIsTwoOneSidedTests(t *testing.T) {
	var diffs []float64
	for i := range sleep1 {
		diffs = append(diffs, sleep2[i]-sleep1[i])
	}
	c, err := PairedDifferences(diffs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(0.002655570292658671, c.PEquivalent(3), approx); diff != "" {
		t.Errorf("TOST (-want +got):\n%s", diff)
	}
	for _, alpha := range []float64{0.001, 0.01, 0.05, 0.2} {
		b := c.LogInterval(1 - 2*alpha)
		inside := b.Low >= -3 && b.High <= 3
		if passes := c.PEquivalent(3) <= alpha; passes != inside {
			t.Errorf("at α=%v TOST passes: %v, but interval %v inside ±3: %v", alpha, passes, b, inside)
		}
	}
}

// R: p.adjust(p, method="holm")
func TestHolm(t *testing.T) {
	for name, tc := range map[string]struct{ ps, want []float64 }{
		"R's example of step-down with a carried maximum": {
			ps:   []float64{0.01, 0.02, 0.03, 0.04, 0.05},
			want: []float64{0.05, 0.08, 0.09, 0.09, 0.09},
		},
		"order of the input is kept": {
			ps:   []float64{0.04, 0.001, 0.5},
			want: []float64{0.08, 0.003, 0.5},
		},
		"one question needs no correction": {ps: []float64{0.03}, want: []float64{0.03}},
		"never above one":                  {ps: []float64{0.9, 0.8}, want: []float64{1, 1}},
		"ties share the stricter factor":   {ps: []float64{0.02, 0.02}, want: []float64{0.04, 0.04}},
		"nothing asked":                    {ps: nil, want: []float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Holm(tc.ps)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, approx); diff != "" {
				t.Errorf("adjusted (-want +got):\n%s", diff)
			}
		})
	}
	for _, p := range []float64{math.NaN(), -0.1, 1.1} {
		var bad *ValueError
		if _, err := Holm([]float64{0.5, p}); !errors.As(err, &bad) || bad.Index != 1 {
			t.Errorf("Holm with p = %v: %v, want a ValueError at 1", p, err)
		}
	}
}
