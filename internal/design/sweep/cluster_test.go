package sweep

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/stats"
)

// cluster answers trials as a simulated Ceph cluster.
type cluster struct {
	rng     *rand.Rand
	cv      float64           // run-to-run noise
	truth   func(int) float64 // objective of a configuration ÷ baseline
	side    func(int) float64 // the same for the constrained metric; nil for no constraint
	drift   func(run int) float64
	outcome func(run int, s Trial) Outcome // nil: all runs are valid
	starved func(s Trial) bool             // nil: no run is starved
	runs    int
}

func (c *cluster) answer(s Trial) Run {
	c.runs++
	run := Run{
		Block: s.Block, Attempt: s.Attempt, Position: s.Position, Configuration: s.Configuration,
		Seconds: 75 * s.LengthFactor, MiB: 4096,
	}
	if c.outcome != nil {
		if run.Outcome = c.outcome(c.runs, s); run.Outcome != Valid {
			return run
		}
	}
	state := 0.0
	if c.drift != nil {
		state = c.drift(c.runs)
	}
	noise := func() float64 { return math.Exp(state + stats.LogStdDev(c.cv)*c.rng.NormFloat64()) }
	run.Values = []float64{400 * c.truth(s.Configuration) * noise()}
	if c.side != nil {
		run.Values = append(run.Values, 900*c.side(s.Configuration)*noise())
	}
	run.Starved = c.starved != nil && c.starved(s)
	return run.Rounded()
}

// ratios is the truth for configurations 1, 2, …; the baseline and all others are 1.
func ratios(rs ...float64) func(int) float64 {
	return func(c int) float64 {
		if c < 1 || c > len(rs) {
			return 1
		}
		return rs[c-1]
	}
}

// grid returns a space of one parameter, whose baseline is 32.
func grid(values ...string) Space {
	space := Space{Baseline: map[string]cephvalue.Value{"pg_num": cephvalue.Of("32")}}
	for i, v := range values {
		space.Candidates = append(space.Candidates, Configuration{Name: "pg_num=" + v, Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of(v)}, Position: i + 1})
		if v == "32" {
			space.BaselinePosition = i + 1
		}
	}
	return space
}

// placementsByDepth returns a space with a parameter that is hard to change and one that is easy to
// change.
func placementsByDepth() Space {
	space := Space{Baseline: map[string]cephvalue.Value{"pg_num": cephvalue.Of("32"), "iodepth": cephvalue.Of("16")}, Ordered: true, BaselinePosition: 2}
	for i, pgs := range []string{"16", "32", "64"} {
		for _, depth := range []string{"16", "32"} {
			values := map[string]cephvalue.Value{"pg_num": cephvalue.Of(pgs), "iodepth": cephvalue.Of(depth)}
			space.Candidates = append(space.Candidates, Configuration{Name: "pg_num=" + pgs + " iodepth=" + depth, Values: values, Position: i + 1})
		}
	}
	return space
}

func defaults() Settings {
	return Settings{
		MinimumEffect: 0.10, Equivalence: 0.05, Confidence: 0.95,
		MinBlocks: 4, MaxBlocks: 12, Racing: true, ConfirmationBlocks: 8,
		MaxFailedRuns: 3, MaxRejectedBlocks: 3,
		Expected: Cost{Time: 75 * time.Second, Bytes: 4 << 30}, Seed: 42,
	}
}

// sweepThrough plays a whole sweep. It returns its ledger, and the decision before each run and at
// the end.
func sweepThrough(t *testing.T, plan Plan, c *cluster) (ledger []Run, decisions []Decision) {
	t.Helper()
	for {
		d, err := next(plan, ledger)
		if err != nil {
			t.Fatal(err)
		}
		decisions = append(decisions, d)
		if d.Action == Conclude {
			return ledger, decisions
		}
		ledger = append(ledger, c.answer(d.Trial))
	}
}

// transcript returns a whole sweep as text.
func transcript(t *testing.T, plan Plan, ledger []Run, decisions []Decision) string {
	t.Helper()
	p, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	smallest, largest := p.Estimate()
	fmt.Fprintf(&b, "planner %d, seed %d: %d to %d runs, %v to %v\n", Version, plan.Settings.Seed, smallest.Runs, largest.Runs, smallest.Time, largest.Time)
	for i, c := range p.Configurations() {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(c.Values)) {
			values = append(values, name+"="+c.Values[name].String())
		}
		fmt.Fprintf(&b, "  %d %s: %s\n", i, c.Name, strings.Join(values, " "))
	}
	for i, d := range decisions {
		for _, e := range d.Events {
			fmt.Fprintf(&b, "    %s: %s\n", e.Code, e)
		}
		if d.Action == RunTrial {
			writeTrial(&b, d, ledger[i])
			continue
		}
		writeConclusion(&b, d.Conclusion)
	}
	return b.String()
}

func writeTrial(b *strings.Builder, d Decision, run Run) {
	s := d.Trial
	if s.Position == 0 && s.Repeat == 0 {
		fmt.Fprintf(b, "%s block %d attempt %d: order %v, at most %d runs or %v left\n", s.Stage, s.Block, s.Attempt, d.Progress.Order, d.Progress.RunsLeft, d.Progress.TimeLeft)
	}
	outcome := fmt.Sprintf("%.4g", run.Values)
	if run.Outcome != Valid {
		outcome = run.Outcome.clause()
	}
	fmt.Fprintf(b, "  %2d.%d %-9s %d %s\n", s.Position, s.Repeat, s.Role, s.Configuration, outcome)
}

func writeConclusion(b *strings.Builder, c *Conclusion) {
	fmt.Fprintf(b, "conclusion: %s, winner %d, %d runs in %v, %d GiB\n", c.Stop, c.Winner, c.Runs, c.Time, c.Bytes>>30)
	fmt.Fprintf(b, "  noise %.2f%% with %d df, %d blocks rejected\n", 100*c.Noise.CV(), c.Noise.DF, c.Controls.RejectedBlocks)
	for _, row := range c.Rows {
		a := row.Assessment
		fmt.Fprintf(b, "  %d %-12s %-12s %-18s %2d blocks, ratio %.3f [%.3f, %.3f] at %.4g%%", row.Configuration, a.Verdict, row.Stage, row.Left,
			a.Runs, a.Ratio, a.Interval.Low, a.Interval.High, 100*a.Interval.Confidence)
		for _, k := range row.Constraints {
			fmt.Fprintf(b, ", %s %s", k.Name, k.State)
		}
		fmt.Fprintf(b, "\n    %s\n", row.Sentence())
	}
	fmt.Fprintf(b, "  %s\n", c.Sentence)
}
