package sweepspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
)

func TestLedgersComeBackAsTheyWere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	reasons := append(v1alpha1.TrialReasons(), "", "")
	marks := []fitness.Mark{"", fitness.Starved, fitness.Throttled, fitness.BelowRate}
	var ledger []Entry
	for i := range 300 {
		reason, mark := reasons[i%len(reasons)], fitness.Mark("")
		if reason == v1alpha1.TrialDrifted {
			reason = "" // Drifted trials follow from the entries after them.
		}
		if reason == "" {
			mark = marks[i%len(marks)]
		}
		var values []float64
		for range 1 + i%4 {
			values = append(values, math.Pow(10, 20*rng.Float64()-6))
		}
		ledger = append(ledger, NewEntry(sweep.Trial{Block: 1 + i, Attempt: 1, Position: i % 80, Configuration: i % 65}, reason, mark, values, i, int64(i*i)))
	}
	back, err := ReadLedger(&v1alpha1.CephTuningSweepStatus{Trials: WriteLedger(ledger, sweep.Decision{})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ledger, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// Clients read indices and durations that are zero, and no fields of the other design.
func TestZerosOfATrialAreVisible(t *testing.T) {
	trial := NewEntry(sweep.Trial{Block: 1, Attempt: 1}, "", "", []float64{412345678}, 0, 0).Trial(1)
	text, err := json.Marshal(trial)
	const want = `{"number":1,"state":"Valid","durationSeconds":0,"writtenMebibytes":0,"configuration":0,"block":{"number":1,"attempt":1,"position":0},"objective":"412346000"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
}

func TestRunsThatDoNotCountAreMarked(t *testing.T) {
	entry := func(block, attempt, trial int, reason v1alpha1.TrialReason) Entry {
		return NewEntry(sweep.Trial{Block: block, Attempt: attempt, Position: trial}, reason, "", []float64{1}, 0, 0)
	}
	const valid, interrupted = v1alpha1.TrialReason(""), v1alpha1.TrialInterrupted
	ledger := []Entry{
		entry(1, 1, 0, valid), entry(1, 1, 1, valid), // rejected
		entry(1, 2, 0, valid), entry(1, 2, 1, v1alpha1.TrialNotSteady), entry(1, 2, 1, interrupted),
		entry(1, 3, 0, valid), entry(1, 3, 1, valid),
		entry(2, 1, 0, valid), entry(2, 1, 1, v1alpha1.TrialDisturbed), // about to be repeated
	}
	show := func(now sweep.Decision) string {
		var words []string
		for _, trial := range WriteLedger(ledger, now) {
			words = append(words, trial.Validity())
		}
		return strings.Join(words, "/")
	}
	for name, tc := range map[string]struct {
		now  sweep.Decision
		want string
	}{
		"in mid-block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}},
			"Drifted/Drifted/Interrupted/NotSteady/Interrupted/Valid/Valid/Valid/Disturbed",
		},
		"a block that is made again": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 2}},
			"Drifted/Drifted/Interrupted/NotSteady/Interrupted/Valid/Valid/Drifted/Disturbed",
		},
		"a block too many was rejected": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.TooManyRejectedBlocks}},
			"Drifted/Drifted/Interrupted/NotSteady/Interrupted/Valid/Valid/Drifted/Disturbed",
		},
		"the end in the middle of a block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.TooManyFailedRuns, Unfinished: true}},
			"Drifted/Drifted/Interrupted/NotSteady/Interrupted/Valid/Valid/Interrupted/Disturbed",
		},
		"the end after a block": {
			sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 1}, Conclusion: &sweep.Conclusion{Stop: sweep.Decided}},
			"Drifted/Drifted/Interrupted/NotSteady/Interrupted/Valid/Valid/Valid/Disturbed",
		},
	} {
		if got := show(tc.now); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tc.want)
		}
	}
	back, err := ReadLedger(&v1alpha1.CephTuningSweepStatus{Trials: WriteLedger(ledger, sweep.Decision{Progress: sweep.Progress{Block: 2, Attempt: 2}})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Runs(ledger), Runs(back)); diff != "" {
		t.Errorf("what the planner reads (-want +got):\n%s", diff)
	}
}

func TestReadLedgerRefusesTrialsThatNoOperatorWrote(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.Trial){
		"of another number":          func(t *v1alpha1.Trial) { t.Number = 2 },
		"without a block":            func(t *v1alpha1.Trial) { t.Block = nil },
		"without a configuration":    func(t *v1alpha1.Trial) { t.Configuration = nil },
		"of an unknown state":        func(t *v1alpha1.Trial) { t.State = "Fine" },
		"invalid without a reason":   func(t *v1alpha1.Trial) { t.State = v1alpha1.TrialInvalid },
		"with an unknown reason":     func(t *v1alpha1.Trial) { t.State, t.Reason = v1alpha1.TrialInvalid, "Fine" },
		"valid without a figure":     func(t *v1alpha1.Trial) { t.Objective = "" },
		"inert with a figure":        func(t *v1alpha1.Trial) { t.State, t.Reason = v1alpha1.TrialInvalid, v1alpha1.TrialInert },
		"with a figure of no number": func(t *v1alpha1.Trial) { t.Objective = "NaN" },
	} {
		trial := NewEntry(sweep.Trial{Block: 1, Attempt: 1}, "", "", []float64{5}, 1, 1).Trial(1)
		edit(&trial)
		if _, err := ReadLedger(&v1alpha1.CephTuningSweepStatus{Trials: []v1alpha1.Trial{trial}}); !errors.Is(err, sweep.ErrLedger) {
			t.Errorf("%s: %v, want ErrLedger", name, err)
		}
	}
}

// worstLedger has the largest trials of the design Blocks.
func worstLedger() []v1alpha1.Trial {
	var ledger []Entry
	for range sweep.MaxLedger {
		trial := sweep.Trial{Block: 80, Attempt: 400, Position: 85, Configuration: 64}
		e := NewEntry(trial, v1alpha1.TrialInterrupted, "", nil, math.MaxInt32, math.MaxInt64)
		e.Outcome, e.Values = sweep.Valid, []float64{1.23456789e-16, 123456.7890123e19, 1.23456789e-15, 987654.321e-19}
		e.Run = e.Rounded()
		ledger = append(ledger, e)
	}
	return WriteLedger(ledger, sweep.Decision{})
}

// worstSessions has the largest trials of the design Interleaved: one of short windows, the most of long windows, and
// invalid ones.
func worstSessions() []v1alpha1.Trial {
	summary := func(candidates int) session.Summary {
		sum := session.Summary{Mark: fitness.Throttled, Typical: map[int]float64{0: 1.23456789e-16}, Constraints: make([][]switchback.Entry, sweep.MaxConstraints)}
		for c := range candidates {
			e := switchback.Entry{Candidate: 64 - c, Blocks: 999, Mean: -36.123456, StdDev: 12.345678, P: stats.PValues{Superior: 0.1234, AnyGain: 0.1234, Loss: 0.1234, Small: 0.1234}, Late: -3.29, Lag: -3.29}
			sum.Objective = append(sum.Objective, e)
			sum.Typical[e.Candidate] = 1.23456789e-16
			for k := range sum.Constraints {
				sum.Constraints[k] = append(sum.Constraints[k], e)
			}
		}
		return sum
	}
	cost := SessionCost{Seconds: 1 << 40, MiB: 1 << 40, Ended: time.Date(2026, 11, 29, 17, 19, 0, 0, time.UTC)}
	short, _ := NewSessionTrial(nounSetting, 1, false, summary(maxSwitched), true, nil, cost)
	trials := []v1alpha1.Trial{short}
	for n := range mostSessions {
		long, _ := NewSessionTrial(nounSetting, n+2, true, summary(1), true, nil, cost)
		trials = append(trials, long)
	}
	for len(trials) < sweep.MaxLedger {
		trials = append(trials, InvalidSession(len(trials)+1, v1alpha1.TrialInterrupted, cost))
	}
	return trials
}

// These are the largest possible trials together with the largest possible table.
func TestTheWorstStatusFits(t *testing.T) {
	for name, trials := range map[string][]v1alpha1.Trial{"Blocks": worstLedger(), "Interleaved": worstSessions()} {
		status := worstStatus()
		status.Trials = trials
		encoded, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		const conditions = 6 * (1024 + 256)
		t.Logf("%s: the status has %d bytes", name, len(encoded)+conditions)
		if got := len(encoded) + conditions; got > 128<<10 || len(trials) != sweep.MaxLedger {
			t.Errorf("%s: the status of %d trials has %d bytes, want at most %d", name, len(trials), got, 128<<10)
		}
	}
	if refusals := worstStatus().Plan.Refusals; len(refusals) != maxRefusals || refusals[maxRefusals-1] != "And 14 more." {
		t.Errorf("refusals: %q", refusals)
	}
}

// worstStatus has the largest values of all fields but the trials.
func worstStatus() v1alpha1.CephTuningSweepStatus {
	var status v1alpha1.CephTuningSweepStatus
	for i := range sweep.MaxCandidates + 1 {
		status.Configurations = append(status.Configurations, v1alpha1.ConfigurationResult{
			Index: int32(i), Name: strings.Repeat("n", maxName), Runs: 400, Figure: "123456789012 PiB/s", Ratio: "1.234567e-10", Low: "1.234567e-10", High: "1.234567e-10",
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
	return status
}

func TestInterruptDiscardsBlock(t *testing.T) {
	for name, tc := range map[string]struct {
		next sweep.Decision
		want bool
	}{
		"before the block":       {sweep.Decision{Action: sweep.RunTrial, Trial: sweep.Trial{Block: 2, Attempt: 1}}, false},
		"after its first run":    {sweep.Decision{Action: sweep.RunTrial, Trial: sweep.Trial{Block: 2, Attempt: 1, Position: 1}}, true},
		"after a first failure":  {sweep.Decision{Action: sweep.RunTrial, Trial: sweep.Trial{Block: 2, Attempt: 1, Repeat: 1}}, true},
		"after the last of runs": {sweep.Decision{Action: sweep.Conclude}, false},
	} {
		entry, got := Interrupt(tc.next)
		if got != tc.want || got && (entry.Outcome != sweep.Interrupted || entry.Position != tc.next.Trial.Position) {
			t.Errorf("%s: %v %+v, want %v", name, got, entry, tc.want)
		}
	}
}
