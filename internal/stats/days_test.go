package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewDayLogRatio(t *testing.T) {
	for name, tc := range map[string]struct {
		days   [][]float64
		newDay []float64
		want   Contrast
	}{
		// Logarithms of the days' means are 0, 1 and 2: their standard deviation is 1.
		"days are the units": {
			[][]float64{{1}, {1, math.Exp(2)}, {math.Exp(2), math.Exp(2), math.Exp(2)}},
			exps(3, 3, 3),
			Contrast{LogRatio: 2, StdErr: math.Sqrt(4.0 / 3), StdDev: 2, DF: 2, Runs: 3},
		},
		// The variance of the mean of the new day is 16/2 instead of 1.
		"a new day that scatters more": {
			[][]float64{{1}, {math.E}, {math.Exp(2)}},
			exps(-3, 5),
			Contrast{LogRatio: 0, StdErr: math.Sqrt(16 + 1.0/3), StdDev: math.Sqrt(2 * (16 + 1.0/3)), DF: 2, Runs: 2},
		},
		"days without any noise": {[][]float64{{2, 2}, {2}}, []float64{4, 4, 4}, Contrast{LogRatio: math.Ln2, DF: 1, Runs: 2}},
		"one day":                {[][]float64{{2, 3}}, []float64{2, 3}, Contrast{Runs: 1}},
	} {
		got, err := NewDayLogRatio(tc.days, tc.newDay, 1)
		if diff := cmp.Diff(tc.want, got, approx); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func exps(logs ...float64) []float64 {
	xs := make([]float64, len(logs))
	for i, x := range logs {
		xs[i] = math.Exp(x)
	}
	return xs
}

func TestNewDayLogRatioRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		days   [][]float64
		newDay []float64
	}{
		"no day":             {nil, []float64{1}},
		"a day without runs": {[][]float64{{1}, {}}, []float64{1}},
		"an empty new day":   {[][]float64{{1}}, nil},
	} {
		if got, err := NewDayLogRatio(tc.days, tc.newDay, 1); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %+v, %v, want ErrTooFew", name, got, err)
		}
	}
	var value *ValueError
	if _, err := NewDayLogRatio([][]float64{{1}, {0}}, []float64{1}, 1); !errors.As(err, &value) {
		t.Errorf("a run of 0: %v, want a ValueError", err)
	}
	if _, err := NewDayLogRatio([][]float64{{1}, {1}}, []float64{-1}, 1); !errors.As(err, &value) {
		t.Errorf("a new run of -1: %v, want a ValueError", err)
	}
}

// Days differ by 5 % and runs of a day by 2 %; nothing has changed, and each day has three runs. A
// constraint without any tolerance then is broken by mistake in at most 2.5 % of all cases. An interval
// from the runs of a single day is wrong in a quarter of them.
func TestSimulatedRegressionOfANewDayIsNominal(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 24))
	day := func() []float64 {
		level := 0.05 * rng.NormFloat64()
		return exps(level+0.02*rng.NormFloat64(), level+0.02*rng.NormFloat64(), level+0.02*rng.NormFloat64())
	}
	constraint := Constraint{Name: "Bandwidth"}
	for _, days := range []int{3, 5} {
		var broken, ofOneDay tally
		for range sweepsPerCell(4000) {
			past, now := make([][]float64, days), day()
			for i := range past {
				past[i] = day()
			}
			isRegression := func(c Contrast, err error) bool {
				if err != nil {
					t.Fatal(err)
				}
				got, err := constraint.Check(c, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				return got.State == Broken
			}
			broken.add(isRegression(NewDayLogRatio(past, now, 1)))
			ofOneDay.add(isRegression(WelchLogRatio(past[0], now)))
		}
		t.Logf("%d days: falsely broken %s, by the runs of one day %s", days, broken, ofOneDay)
		checkRate(t, "falsely broken", broken, 0.025, 1)
		if ofOneDay.rate() < 0.2 {
			t.Errorf("%s falsely broken by the runs of one day: days need not be units", ofOneDay)
		}
	}
}

// Days that follow each other are correlated. A reference of five of them is then compared with a session 30 days
// later: its interval has to grow.
func TestSimulatedRegressionAgainstAnOldReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 25))
	constraint := Constraint{Name: "Bandwidth"}
	for _, rho := range []float64{0, 0.7, 0.95} {
		var young, old tally
		for range sweepsPerCell(4000) {
			level := 0.05 * rng.NormFloat64()
			var days [][]float64
			for day := range 32 {
				level = rho*level + math.Sqrt(1-rho*rho)*0.05*rng.NormFloat64()
				if runs := exps(level+0.02*rng.NormFloat64(), level+0.02*rng.NormFloat64(), level+0.02*rng.NormFloat64()); day < 5 || day == 31 {
					days = append(days, runs)
				}
			}
			isRegression := func(growth float64) bool {
				c, err := NewDayLogRatio(days[:5], days[5], growth)
				if err != nil {
					t.Fatal(err)
				}
				got, err := constraint.Check(c, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				return got.State == Broken
			}
			young.add(isRegression(1))
			old.add(isRegression(1 + 2*(29.0-4)/4))
		}
		t.Logf("correlation %v from day to day: falsely broken %s, without the age %s", rho, old, young)
		checkRate(t, "falsely broken", old, 0.025, 1)
	}
}
