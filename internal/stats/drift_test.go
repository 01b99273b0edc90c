package stats

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckDrift(t *testing.T) {
	margin := math.Log(1.1)
	for name, tc := range map[string]struct {
		first, last, noise float64
		wantRejected       bool
	}{
		"within half the margin":                     {100, 104, 0, false},
		"beyond half the margin, without noise":      {100, 106, 0, true},
		"beyond half the margin, but within noise":   {100, 106, 0.03, false},
		"downwards counts as much":                   {106, 100, 0.001, true},
		"while noise is unknown nothing is rejected": {100, 300, math.Inf(1), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CheckDrift(tc.first, tc.last, margin, tc.noise)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rejected != tc.wantRejected {
				t.Errorf("%+v, want rejected %v", got, tc.wantRejected)
			}
		})
	}
	var bad *ValueError
	if _, err := CheckDrift(100, 0, margin, 0); !errors.As(err, &bad) {
		t.Errorf("control of 0: %v, want a ValueError", err)
	}
	if _, err := CheckDrift(1, 1, margin, math.NaN()); !errors.Is(err, ErrParameter) {
		t.Errorf("noise NaN: %v, want ErrParameter", err)
	}
}

func TestBaselineAt(t *testing.T) {
	controls := []Control{{0, 100}, {4, 400}, {8, 400}}
	for name, tc := range map[string]struct{ moment, want float64 }{
		"at a control":             {4, 400},
		"halfway, geometrically":   {2, 200},
		"before the first control": {-1, 100},
		"after the last control":   {9, 400},
		"on a level stretch":       {7, 400},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := BaselineAt(controls, tc.moment)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, math.Exp(got), approx); diff != "" {
				t.Errorf("baseline (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := BaselineAt(nil, 0); !errors.Is(err, ErrTooFew) {
		t.Errorf("no controls: %v, want ErrTooFew", err)
	}
	if _, err := BaselineAt([]Control{{1, 1}, {1, 1}}, 0); !errors.Is(err, ErrParameter) {
		t.Errorf("two controls at one place: %v, want ErrParameter", err)
	}
}

func TestNoiseFloor(t *testing.T) {
	// Each block has log-values ±0.1 around its own level: 4·0.01 over 2 df.
	blocks := [][]float64{expAll([]float64{0.1, -0.1}), expAll([]float64{5.1, 4.9}), {7}}
	got, err := NoiseFloor(blocks)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Noise{StdDev: math.Sqrt(0.04 / 2), DF: 2}, got, approx); diff != "" {
		t.Errorf("noise (-want +got):\n%s", diff)
	}
	if got, err := NoiseFloor([][]float64{{5}, {6}}); err != nil || got.DF != 0 {
		t.Errorf("single controls: %+v, %v, want unknown noise", got, err)
	}
	if diff := cmp.Diff(0.2, Noise{StdDev: LogStdDev(0.2)}.CV(), approx); diff != "" {
		t.Errorf("CV there and back (-want +got):\n%s", diff)
	}
}

func TestSmallestProvableRatio(t *testing.T) {
	for name, tc := range map[string]struct {
		direction Direction
		want      float64
	}{
		// scipy: 1.1*exp(.05*2**.5*(t.isf(.05,7)+t.isf(.2,7))/8**.5) and .9/exp(...)
		"a rate":    {HigherIsBetter, 1.1 * 1.0723},
		"a latency": {LowerIsBetter, 0.9 / 1.0723},
	} {
		c := Criteria{Direction: tc.direction, MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
		got, err := SmallestProvableRatio(c, Noise{StdDev: 0.05}, 8)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got, rounded(0.001)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
