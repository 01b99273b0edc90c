package figure

import (
	"errors"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestDuring(t *testing.T) {
	steps := []float64{10, 10, 40, 40, 0, 0, 20, 20} // operations in each second
	cases := map[string]struct {
		from, to float64
		wantIOPS float64 // 0: no operations
	}{
		"whole seconds":                     {2, 4, 40},
		"parts of seconds":                  {1.5, 2.5, 25},
		"a stall in it counts":              {3, 5, 20},
		"nothing but a stall":               {4, 6, 0},
		"less than a second":                {2.2, 2.3, 40},
		"an end that the tool has left out": {6, 9, 20},
		"a stall up to the end":             {6, 16, 4},
		"after the end":                     {20, 30, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			figures, err := During(course(steps, 0.01), tc.from, tc.to)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := Find(figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
			if ok != (tc.wantIOPS > 0) || abs(got.Value-tc.wantIOPS) > 0.6 {
				t.Errorf("got %v, want %v", got.Value, tc.wantIOPS)
			}
			if mean, ok := Find(figures, v1alpha1.MetricLatencyMean, v1alpha1.DirectionTotal); tc.wantIOPS > 0 && (!ok || abs(mean.Value-0.01) > 1e-9) {
				t.Errorf("the mean latency is %+v", mean)
			}
		})
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestDuringNeedsACourse(t *testing.T) {
	res := course([]float64{1, 1}, 0.01)
	res.Write.Series = nil
	if _, err := During(res, 0, 1); !errors.Is(err, ErrNoCourse) {
		t.Errorf("got %v", err)
	}
}

// One direction may pause while the other one continues.
func TestDuringADirectionRests(t *testing.T) {
	res := course([]float64{10, 10, 0, 0}, 0.01)
	res.Read = course([]float64{5, 5, 5, 5}, 0.01).Write
	figures, err := During(res, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := Find(figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal); got.Value != 5 {
		t.Errorf("got %+v", figures)
	}
}

func TestCombinedIOPS(t *testing.T) {
	run := func(iops float64) Observation {
		return Observation{Figures: []Figure{{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: iops}}}
	}
	for name, tc := range map[string]struct {
		runs []Observation
		want v1alpha1.Decimal
	}{
		"none":         {nil, ""},
		"one":          {[]Observation{run(100)}, "100"},
		"two":          {[]Observation{run(50), run(200)}, "100"},
		"one lacks it": {[]Observation{run(50), {}}, ""},
	} {
		if got, err := CombinedIOPS(tc.runs); got != tc.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
