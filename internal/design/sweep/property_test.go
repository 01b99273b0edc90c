package sweep

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/stats"
)

// Random plans run on random clusters where anything may go wrong. The sweep must end and stay
// within its bounds, and any prefix of its history must result in the same next step.
func TestAnySweepEndsWithinItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(99, 1))
	stops := map[StopCode]int{}
	for sample := range 300 {
		plan := randomPlan(rng)
		c := randomCluster(rng, plan)
		p, err := New(plan)
		if err != nil {
			t.Fatalf("sample %d: %v", sample, err)
		}
		r, err := p.begin()
		if err != nil {
			t.Fatal(err)
		}
		var ledger []Run
		checkAt := rng.IntN(120)
		for r.stop == "" {
			if len(ledger) == checkAt {
				sameFromStatus(t, plan, ledger, r)
			}
			trial := r.trial()
			run := c.answer(trial)
			ledger = append(ledger, run)
			if err := r.advance(run); err != nil {
				t.Fatalf("sample %d, run %d: %v", sample, len(ledger), err)
			}
			if len(ledger) > MaxLedger {
				t.Fatalf("sample %d: the ledger has %d entries", sample, len(ledger))
			}
		}
		sameFromStatus(t, plan, ledger, r)
		d, err := r.decision()
		if err != nil {
			t.Fatal(err)
		}
		stops[r.stop]++
		checkConclusion(t, plan, d.Conclusion)
	}
	t.Logf("how %d sweeps ended: %v", 300, stops)
	for _, stop := range []StopCode{Confirmed, Decided, MaxBlocksReached, BudgetSpent, TooManyFailedRuns, TooManyRejectedBlocks} {
		if stops[stop] == 0 {
			t.Errorf("no sweep ended with %s: the property does not cover it", stop)
		}
	}
}

func randomPlan(rng *rand.Rand) Plan {
	values := []string{"8", "16", "64", "128", "256", "512", "1024"}
	space := grid(values[:1+rng.IntN(len(values))]...)
	space.Ordered = rng.IntN(3) == 0
	s := defaults()
	s.Seed = rng.Uint64()
	s.Direction = stats.Direction(rng.IntN(2))
	s.MinBlocks = 3 + rng.IntN(3)
	s.MaxBlocks = s.MinBlocks + rng.IntN(8)
	s.Racing = rng.IntN(4) > 0
	s.ConfirmationBlocks = []int{3, 5, 8}[rng.IntN(3)]
	s.MaxFailedRuns, s.MaxRejectedBlocks = rng.IntN(5), rng.IntN(4)
	if rng.IntN(2) == 0 {
		s.Budget = Budget{Time: time.Duration(rng.IntN(300)) * time.Minute, Reserve: 5 * time.Minute, Bytes: int64(rng.IntN(2)) << 40}
	}
	for range rng.IntN(MaxConstraints + 1) {
		s.Constraints = append(s.Constraints, stats.Constraint{Name: "reads", MaximumRegression: 0.1})
	}
	return Plan{Version: Version, Space: space, Settings: s}
}

// anyCluster answers with as many values as the plan has metrics.
type anyCluster struct {
	cluster
	metrics int
}

func randomCluster(rng *rand.Rand, plan Plan) *anyCluster {
	effects := make([]float64, 8)
	for i := range effects {
		effects[i] = 0.7 + 0.8*rng.Float64()
	}
	trouble := []float64{0, 0, 0.02, 0.1}[rng.IntN(4)]
	slope := []float64{0, 0, 0.005, 0.1}[rng.IntN(4)]
	return &anyCluster{
		metrics: 1 + len(plan.Settings.Constraints),
		cluster: cluster{
			rng: rng, cv: 0.01 + 0.1*rng.Float64(), truth: ratios(effects...),
			drift: func(run int) float64 { return slope * float64(max(0, run-20)) },
			outcome: func(int, Trial) Outcome {
				if rng.Float64() < trouble {
					return []Outcome{NotSteady, Failed, Inert, Interrupted}[rng.IntN(4)]
				}
				return Valid
			},
		},
	}
}

func (c *anyCluster) answer(s Trial) Run {
	run := c.cluster.answer(s)
	for run.Outcome == Valid && len(run.Values) < c.metrics {
		run.Values = append(run.Values, 900*(0.97+0.06*c.rng.Float64()))
	}
	return run.Rounded()
}

func sameFromStatus(t *testing.T, plan Plan, ledger []Run, r *replay) {
	t.Helper()
	fromStatus, err := next(plan, slices.Clone(ledger))
	if err != nil {
		t.Fatal(err)
	}
	goingOn, err := r.decision()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goingOn, fromStatus, exactly); diff != "" {
		t.Fatalf("after %d runs (-going on +from status):\n%s", len(ledger), diff)
	}
}

func checkConclusion(t *testing.T, plan Plan, c *Conclusion) {
	t.Helper()
	s := plan.Settings
	if c.Sentence == "" || c.Controls.RejectedBlocks > s.MaxRejectedBlocks+1 {
		t.Errorf("conclusion %+v exceeds its limits", c)
	}
	if s.Budget.Time > 0 && c.Time > s.Budget.Time+10*time.Minute {
		t.Errorf("spent %v of %v", c.Time, s.Budget.Time)
	}
	for _, row := range c.Rows {
		a := row.Assessment
		if a.Verdict == stats.Superior && row.Stage != Confirmation && len(c.Rows) > 1 {
			t.Errorf("%s is Superior without confirmation", a.Name)
		}
		if a.Runs < stats.MinRuns && a.Verdict != stats.Invalid && row.Left != CandidateBeaten {
			t.Errorf("%s has a verdict from %d blocks", a.Name, a.Runs)
		}
		if row.Configuration != c.Winner {
			continue
		}
		if a.Verdict != stats.Superior || !constraintsKept(row.Constraints) {
			t.Errorf("winner %s is %s with constraints %v", a.Name, a.Verdict, row.Constraints)
		}
	}
}
