package sweep

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/stats"
)

func TestLedgerEntriesFitIntoAStatus(t *testing.T) {
	for name, run := range map[string]Run{
		"many constraints, large numbers": Run{
			Block: 20, Attempt: 4, Position: 81, Configuration: 64, Seconds: 7200, MiB: 1 << 20,
			Values: []float64{1234567.891, 0.000123456789, 98765.4321, 1e6 / 7},
		}.Rounded(),
		"an invalid run": {Block: 99, Attempt: 99, Position: 99, Configuration: 64, Outcome: Interrupted, Seconds: 999999, MiB: 1 << 30},
	} {
		text, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 96 {
			t.Errorf("%s: %d bytes, want at most 96: %s", name, len(text), text)
		}
		var back Run
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(run, back); diff != "" {
			t.Errorf("%s: read back (-want +got):\n%s", name, diff)
		}
	}
}

func TestRoundingIsDoneOnce(t *testing.T) {
	run := Run{Values: []float64{244.4444444, 1e-9 / 3, 123456789}}
	once := run.Rounded()
	if diff := cmp.Diff([]float64{244.444, 3.33333e-10, 1.23457e8}, once.Values); diff != "" {
		t.Errorf("rounded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(once, once.Rounded()); diff != "" {
		t.Errorf("rounded twice (-want +got):\n%s", diff)
	}
	if run.Values[0] != 244.4444444 {
		t.Error("the input was changed")
	}
}

// No starved run alone makes Superior or Better, whichever configuration has it.
func TestStarvedRunsProveNoGain(t *testing.T) {
	for name, c := range map[string]struct {
		truth   float64
		starved func(Trial) bool
		want    stats.Verdict
		reason  stats.ReasonCode
	}{
		"none":               {1.5, nil, stats.Superior, stats.ThresholdExceeded},
		"all":                {1.5, func(Trial) bool { return true }, stats.Inconclusive, stats.Starved},
		"all of a candidate": {1.5, func(s Trial) bool { return s.Configuration == 1 }, stats.Inconclusive, stats.Starved},
		"all of the base":    {1.5, func(s Trial) bool { return s.Configuration == 0 }, stats.Inconclusive, stats.Starved},
		"half of the blocks": {1.5, func(s Trial) bool { return s.Block%2 == 0 }, stats.Superior, stats.ThresholdExceeded},
		"a loss":             {0.5, func(Trial) bool { return true }, stats.Inferior, stats.LossShown},
	} {
		plan := Plan{Version: Version, Space: grid("64"), Settings: defaults()}
		_, decisions := sweepThrough(t, plan, &cluster{rng: rand.New(rand.NewPCG(1, 2)), cv: 0.02, truth: ratios(c.truth), starved: c.starved})
		end := decisions[len(decisions)-1].Conclusion
		a := end.Rows[0].Assessment
		if a.Verdict != c.want || a.Reasons[0].Code != c.reason || (end.Winner != 0) != (c.want == stats.Superior) {
			t.Errorf("%s: %s because %v, winner %d: %s", name, a.Verdict, a.Reasons, end.Winner, end.Sentence)
		}
	}
}

func TestForeignLedgersAreRefused(t *testing.T) {
	plan := Plan{Version: Version, Space: grid("16", "64"), Settings: defaults()}
	plan.Settings.Constraints = []stats.Constraint{{Name: "seq", MaximumRegression: 0.1}}
	first, err := next(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := Run{Block: 1, Attempt: 1, Position: 0, Configuration: first.Trial.Configuration, Values: []float64{400, 900}}
	if _, err := next(plan, []Run{good}); err != nil {
		t.Fatalf("a good entry: %v", err)
	}
	for name, spoil := range map[string]func(*Run){
		"another block":             func(r *Run) { r.Block = 2 },
		"another attempt":           func(r *Run) { r.Attempt = 2 },
		"another position":          func(r *Run) { r.Position = 1 },
		"another configuration":     func(r *Run) { r.Configuration = (r.Configuration + 1) % 3 },
		"a missing constraint":      func(r *Run) { r.Values = r.Values[:1] },
		"a value of zero":           func(r *Run) { r.Values = []float64{0, 900} },
		"a negative value":          func(r *Run) { r.Values = []float64{400, -1} },
		"a value that is no number": func(r *Run) { r.Values = []float64{math.NaN(), 1} },
		"an infinite value":         func(r *Run) { r.Values = []float64{math.Inf(1), 1} },
		"values of a failed run":    func(r *Run) { r.Outcome = Failed },
		"an unknown outcome":        func(r *Run) { r.Outcome, r.Values = "Q", nil },
		"time that ran backwards":   func(r *Run) { r.Seconds = -1 },
	} {
		run := good
		run.Values = append([]float64(nil), good.Values...)
		spoil(&run)
		if _, err := next(plan, []Run{run}); !errors.Is(err, ErrLedger) {
			t.Errorf("%s: %v, want ErrLedger", name, err)
		}
	}
}

func TestARunAfterTheEndIsRefused(t *testing.T) {
	plan, ledger, _ := stories()["without-racing"].play(t)
	extra := ledger[len(ledger)-1]
	if _, err := next(plan, append(ledger, extra)); !errors.Is(err, ErrLedger) {
		t.Errorf("a run after the end: %v, want ErrLedger", err)
	}
}
