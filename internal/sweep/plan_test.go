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
		"more runs than a ledger holds": func(p *Plan) { p.Settings.MinBlocks, p.Settings.MaxBlocks = 80, 80 },
		"no space":                      func(p *Plan) { p.Space = Space{} },
	} {
		plan := Plan{Version: Version, Space: grid("16", "64"), Settings: defaults()}
		spoil(&plan)
		if _, err := Next(plan, nil); !errors.Is(err, ErrPlan) {
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
	// A block of 3 candidates has 6 slots, one of the confirmation 4.
	smallest, largest := p.Estimate()
	want := []Estimate{
		{Runs: 4*6 + 5*4, Time: 44 * 75 * time.Second, Bytes: 44 << 32},
		{Runs: 12*6 + 8*4, Time: 104 * 75 * time.Second, Bytes: 104 << 32},
	}
	if diff := cmp.Diff(want, []Estimate{smallest, largest}); diff != "" {
		t.Errorf("smallest and largest (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		budget Budget
		want   bool
	}{
		"no bounds":                 {Budget{}, true},
		"just enough time":          {Budget{Time: 55 * time.Minute}, true},
		"no time left to restore":   {Budget{Time: 55 * time.Minute, Reserve: time.Second}, false},
		"a byte too few":            {Budget{Bytes: 44<<32 - 1}, false},
		"bytes and time both there": {Budget{Time: 2 * time.Hour, Reserve: time.Hour, Bytes: 44 << 32}, true},
	} {
		if got := tc.budget.Affordable(smallest); got != tc.want {
			t.Errorf("%s: affordable %v, want %v", name, got, tc.want)
		}
	}
	for blocks, want := range map[int]float64{0: 1.18, 8: 1.18, 5: 1.21, 3: 1.29} {
		ratio, err := p.SmallestProvableRatio(stats.Noise{StdDev: 0.05}, blocks)
		if err != nil || math.Abs(ratio-want) > 0.005 {
			t.Errorf("smallest provable ratio in %d blocks of confirmation: %v, %v; want %v", blocks, ratio, err, want)
		}
	}
}
