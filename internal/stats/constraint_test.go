package stats

import (
	"errors"
	"math"
	"testing"
)

func TestConstraintsOnTheMetricItself(t *testing.T) {
	// Three runs of about 10 ms, 0.5% apart.
	logs := []float64{math.Log(0.00995), math.Log(0.010), math.Log(0.01005)}
	runs, err := PairedDifferences(logs)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		constraint Constraint
		runs       Contrast
		want       ConstraintState
	}{
		"well below the most":  {Constraint{Direction: LowerIsBetter, Limit: 0.020}, runs, Kept},
		"well above the most":  {Constraint{Direction: LowerIsBetter, Limit: 0.005}, runs, Broken},
		"about the most":       {Constraint{Direction: LowerIsBetter, Limit: 0.010}, runs, Unknown},
		"above the least":      {Constraint{Limit: 0.005}, runs, Kept},
		"below the least":      {Constraint{Limit: 0.020}, runs, Broken},
		"before any run":       {Constraint{Limit: 0.005}, Contrast{}, Unknown},
		"the limit comes last": {Constraint{Limit: 0.020, MaximumRegression: 0.9}, runs, Broken},
	} {
		got, err := tc.constraint.Check(tc.runs, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != tc.want || got.Limit != tc.constraint.Limit {
			t.Errorf("%s: %s at %v [%v, %v], want %s", name, got.State, got.Limit, got.Interval.Low, got.Interval.High, tc.want)
		}
	}
	for _, limit := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := (Constraint{Limit: limit}).Check(runs, 0.95); !errors.Is(err, ErrParameter) {
			t.Errorf("limit %v: %v, want ErrParameter", limit, err)
		}
	}
}
