package sweepspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/testing/crd"
)

func TestLedgersComeBackAsTheyWere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ledger []Entry
	for i := range 300 {
		validity := validities()[i%len(validities())]
		if validity == v1alpha1.SweepRunDrifted {
			validity = v1alpha1.SweepRunValid // Drifted runs follow from the entries after them.
		}
		var values []float64
		for range 1 + i%4 {
			values = append(values, math.Pow(10, 20*rng.Float64()-6))
		}
		ledger = append(ledger, NewEntry(sweep.Slot{Block: 1 + i, Attempt: 1, Position: i % 80, Configuration: i % 65}, validity, values, i, int64(i*i)))
	}
	lines := WriteLedger(ledger, sweep.Decision{})
	back, err := ReadLedger(lines)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ledger, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Runs(ledger), Runs(back)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		412345678: "412346000", 4123456789: "412346e4", 0.0123456789: "0.0123457", 0.00123456789: "123457e-8",
		1.23456789e-6: "12346e-10", 1: "1", 1e15: "1e15", 0.1: "0.1", 123456.789: "123457",
	} {
		if got := shortest(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

func TestRunsThatDoNotCountAreMarked(t *testing.T) {
	at := func(block, attempt, slot int, validity v1alpha1.SweepRunValidity) Entry {
		return NewEntry(sweep.Slot{Block: block, Attempt: attempt, Position: slot}, validity, []float64{1}, 0, 0)
	}
	const valid, discarded = v1alpha1.SweepRunValid, v1alpha1.SweepRunDiscarded
	ledger := []Entry{
		at(1, 1, 0, valid), at(1, 1, 1, valid), // rejected
		at(1, 2, 0, valid), at(1, 2, 1, v1alpha1.SweepRunNotSteady), at(1, 2, 1, discarded), // interrupted
		at(1, 3, 0, valid), at(1, 3, 1, valid),
		at(2, 1, 0, valid), at(2, 1, 1, v1alpha1.SweepRunDisturbed), // about to be repeated
	}
	show := func(now sweep.Decision) string {
		var words []string
		for _, line := range WriteLedger(ledger, now) {
			words = append(words, string(line[strings.LastIndex(string(line), " ")+1:]))
		}
		return strings.Join(words, "/")
	}
	for name, tc := range map[string]struct {
		now  sweep.Decision
		want string
	}{
		"in mid-block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}},
			"Drifted/Drifted/Discarded/NotSteady/Discarded/Valid/Valid/Valid/Disturbed",
		},
		"a block that is made again": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 2}},
			"Drifted/Drifted/Discarded/NotSteady/Discarded/Valid/Valid/Drifted/Disturbed",
		},
		"a block too many was rejected": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.TooManyRejectedBlocks}},
			"Drifted/Drifted/Discarded/NotSteady/Discarded/Valid/Valid/Drifted/Disturbed",
		},
		"the end in the middle of a block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.TooManyFailedRuns, Unfinished: true}},
			"Drifted/Drifted/Discarded/NotSteady/Discarded/Valid/Valid/Discarded/Disturbed",
		},
		"the end after a block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.Decided}},
			"Drifted/Drifted/Discarded/NotSteady/Discarded/Valid/Valid/Valid/Disturbed",
		},
	} {
		if got := show(tc.now); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tc.want)
		}
	}
	back, err := ReadLedger(WriteLedger(ledger, sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 2}}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Runs(ledger), Runs(back)); diff != "" {
		t.Errorf("what the planner reads (-want +got):\n%s", diff)
	}
}

func TestReadLedgerRefusesMalformedLines(t *testing.T) {
	for _, line := range []string{
		"", "1 1.1.0 0 5 1s 1Mi", "2 1.1.0 0 5 1s 1Mi Valid", "1 1.1 0 5 1s 1Mi Valid", "1 a.1.0 0 5 1s 1Mi Valid", "1 1.1.0 x 5 1s 1Mi Valid",
		"1 1.1.0 0 five 1s 1Mi Valid", "1 1.1.0 0 NaN 1s 1Mi Valid", "1 1.1.0 0 - 1s 1Mi Valid", "1 1.1.0 0 5 1s 1Mi Inert", "1 1.1.0 0 5 1h 1Mi Valid",
		"1 1.1.0 0 5 1s 1Gi Valid", "1 1.1.0 0 5 1s 1Mi Fine",
	} {
		if _, err := ReadLedger([]v1alpha1.SweepRun{v1alpha1.SweepRun(line)}); !errors.Is(err, sweep.ErrLedger) {
			t.Errorf("%q: %v, want ErrLedger", line, err)
		}
	}
}

// This is the largest possible ledger together with the largest possible table.
func TestTheWorstStatusFits(t *testing.T) {
	var status v1alpha1.CephTuningSweepStatus
	pattern := runPattern(t)
	var ledger []Entry
	for range sweep.MaxLedger {
		ledger = append(ledger, NewEntry(sweep.Slot{Block: 80, Attempt: 400, Position: 85, Configuration: 64},
			v1alpha1.SweepRunDiscarded, nil, math.MaxInt32, math.MaxInt64))
		e := &ledger[len(ledger)-1]
		e.Outcome = sweep.Valid
		e.Values = []float64{1.23456789e-6, 123456.7890123e9, 1.23456789e-5, 987654.321e-9}
	}
	status.Runs = WriteLedger(ledger, sweep.Decision{Progress: sweep.Progress{Block: 80, Attempt: 401}})
	for _, run := range status.Runs {
		if !pattern.MatchString(string(run)) || len(run) > 84 {
			t.Fatalf("%q (%d bytes) does not match %s", run, len(run), pattern)
		}
	}
	for i := range sweep.MaxCandidates + 1 {
		status.Configurations = append(status.Configurations, v1alpha1.ConfigurationResult{
			Index: int32(i), Name: strings.Repeat("n", maxName), Runs: 400, Ratio: "1.234567e-10", Low: "1.234567e-10", High: "1.234567e-10",
			Verdict: v1alpha1.VerdictInconclusive, Reason: strings.Repeat("r", maxReason),
		})
	}
	status.Summary, status.Best = strings.Repeat("s", maxSummary), strings.Repeat("n", maxName)
	for range maxPatches {
		status.Patches = append(status.Patches, v1alpha1.WinnerPatch{Kind: kindBlockPool, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("n", 253), Merge: strings.Repeat("m", maxPatch)})
	}
	plan := &v1alpha1.SweepPlan{Refusals: boundedRefusals(strings.Split(strings.Repeat(strings.Repeat("r", 300)+"\n", 20), "\n"))}
	for i := range 6 {
		plan.Baseline = append(plan.Baseline, v1alpha1.BaselineValue{Name: v1alpha1.ParameterName(fmt.Sprintf("%040d", i)), Value: v1alpha1.ParameterValue(strings.Repeat("v", 64))})
	}
	for range 96 {
		plan.Order = append(plan.Order, 64)
	}
	status.Plan = plan
	encoded, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	const conditions = 6 * (1024 + 256)
	if got := len(encoded) + conditions; got > 64<<10 {
		t.Errorf("the status has %d bytes, want at most 65536", got)
	}
	if len(plan.Refusals) != maxRefusals || plan.Refusals[maxRefusals-1] != "And 14 more." {
		t.Errorf("refusals: %q", plan.Refusals)
	}
}

// runPattern returns the schema's pattern of a run.
func runPattern(t *testing.T) *regexp.Regexp {
	t.Helper()
	return regexp.MustCompile(crd.Field(t, crd.Schema(t, root, "cephtuningsweeps"), "status.runs[]").Pattern)
}

func TestInterruptDiscardsBlock(t *testing.T) {
	for name, tc := range map[string]struct {
		next sweep.Decision
		want bool
	}{
		"before the block":       {sweep.Decision{Action: sweep.RunSlot, Slot: sweep.Slot{Block: 2, Attempt: 1}}, false},
		"after its first run":    {sweep.Decision{Action: sweep.RunSlot, Slot: sweep.Slot{Block: 2, Attempt: 1, Position: 1}}, true},
		"after a first failure":  {sweep.Decision{Action: sweep.RunSlot, Slot: sweep.Slot{Block: 2, Attempt: 1, Repeat: 1}}, true},
		"after the last of runs": {sweep.Decision{Action: sweep.Conclude}, false},
	} {
		entry, got := Interrupt(tc.next)
		if got != tc.want || got && (entry.Outcome != sweep.Interrupted || entry.Slot != tc.next.Slot.Position) {
			t.Errorf("%s: %v %+v, want %v", name, got, entry, tc.want)
		}
	}
}
