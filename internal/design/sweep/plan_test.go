package sweep

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/stats"
)

func TestPlansThatCannotBeSwept(t *testing.T) {
	for name, spoil := range map[string]func(*Plan){
		"another planner's version":     func(p *Plan) { p.Version = Version + 1 },
		"no confidence":                 func(p *Plan) { p.Settings.Confidence = 0 },
		"confidence in per cent":        func(p *Plan) { p.Settings.Confidence = 95 },
		"two blocks":                    func(p *Plan) { p.Settings.MinBlocks = 2 },
		"fewer blocks than the fewest":  func(p *Plan) { p.Settings.MaxBlocks = 3 },
		"no confirmation":               func(p *Plan) { p.Settings.ConfirmationBlocks = 0 },
		"two confirmation blocks":       func(p *Plan) { p.Settings.ConfirmationBlocks = 2 },
		"a negative budget":             func(p *Plan) { p.Settings.Budget.Bytes = -1 },
		"a negative limit of failures":  func(p *Plan) { p.Settings.MaxFailedRuns = -1 },
		"an impossible constraint":      func(p *Plan) { p.Settings.Constraints = []stats.Constraint{{MaximumRegression: 1.5}} },
		"more constraints than fit":     func(p *Plan) { p.Settings.Constraints = make([]stats.Constraint, MaxConstraints+1) },
		"more runs than a ledger holds": func(p *Plan) { p.Settings.Racing, p.Settings.MaxBlocks = false, 130 },
		"no space":                      func(p *Plan) { p.Space = Space{} },
	} {
		plan := Plan{Version: Version, Space: grid("16", "64"), Settings: defaults()}
		spoil(&plan)
		if _, err := next(plan, nil); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}

func TestEstimate(t *testing.T) {
	plan := Plan{Version: Version, Space: grid("8", "16", "64"), Settings: defaults()}
	p, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	// A block of 3 candidates has 4 trials, one of the confirmation 2.
	smallest, largest := p.Estimate()
	want := []Estimate{
		{Runs: 2*4 + 4*2, Time: 16 * 75 * time.Second, Bytes: 16 << 32},
		{Runs: 12*4 + 16*2, Time: 80 * 75 * time.Second, Bytes: 80 << 32},
	}
	if diff := cmp.Diff(want, []Estimate{smallest, largest}); diff != "" {
		t.Errorf("smallest and largest (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		budget Budget
		want   bool
	}{
		"no bounds":                 {Budget{}, true},
		"just enough time":          {Budget{Time: 20 * time.Minute}, true},
		"no time left to restore":   {Budget{Time: 20 * time.Minute, Reserve: time.Second}, false},
		"a byte too few":            {Budget{Bytes: 16<<32 - 1}, false},
		"bytes and time both there": {Budget{Time: 2 * time.Hour, Reserve: time.Hour, Bytes: 16 << 32}, true},
	} {
		if got := tc.budget.Affordable(smallest); got != tc.want {
			t.Errorf("%s: affordable %v, want %v", name, got, tc.want)
		}
	}
	// Eight blocks of the confirmation before were as many runs as 16 are now, and proved 1.18.
	for blocks, want := range map[int]float64{0: 1.169, 16: 1.169, 8: 1.199, 4: 1.238, 3: 1.294} {
		ratio, err := p.SmallestProvableRatio(stats.Noise{StdDev: 0.05}, blocks)
		if err != nil || math.Abs(ratio-want) > 0.001 {
			t.Errorf("smallest provable ratio in %d blocks of confirmation: %v, %v; want %v", blocks, ratio, err, want)
		}
	}
}

// One candidate has pairs and no confirmation: 48 runs replace the former 80.
func TestEstimateOfOneCandidate(t *testing.T) {
	p, err := New(Plan{Version: Version, Space: grid("64"), Settings: defaults()})
	if err != nil {
		t.Fatal(err)
	}
	smallest, largest := p.Estimate()
	if smallest.Runs != 4*2 || largest.Runs != 24*2 {
		t.Errorf("%d to %d runs, want 8 to 48", smallest.Runs, largest.Runs)
	}
	ratio, err := p.SmallestProvableRatio(stats.Noise{StdDev: 0.05}, 0)
	if err != nil || math.Abs(ratio-1.155) > 0.001 {
		t.Errorf("smallest provable ratio: %v, %v", ratio, err)
	}
}

// next returns the decision after a ledger. It checks the plan first.
func next(plan Plan, ledger []Run) (Decision, error) {
	p, err := New(plan)
	if err != nil {
		return Decision{}, err
	}
	return p.Next(ledger)
}
