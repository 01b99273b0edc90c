package sweepspec

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

var interleavedPlan = &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved}

func TestRunsOfEarlierVersionsAreRead(t *testing.T) {
	block := func(number, attempt, position int32) *v1alpha1.TrialBlock {
		return &v1alpha1.TrialBlock{Number: number, Attempt: attempt, Position: position}
	}
	status := &v1alpha1.CephTuningSweepStatus{Runs: []string{
		"1 1.1.0 0 412345e3,0.0081 75s 4096Mi Valid", "2 1.1.1 2 123457e-9 80s 0Mi Starved", "3 1.1.2 64 - 5s 0Mi Inert",
		"4 1.2.0 1 7 75s 1Mi Discarded", "5 1.2.0 1 - 75s 1Mi Discarded", "6 1.2.0 1 7 75s 1Mi Drifted",
	}}
	want := []v1alpha1.Trial{
		{Number: 1, State: "Valid", DurationSeconds: 75, WrittenMebibytes: 4096, Configuration: new(int32(0)), Block: block(1, 1, 0), Objective: "412345000", Constraints: []v1alpha1.Decimal{"0.0081"}},
		{Number: 2, State: "Valid", Mark: "Starved", DurationSeconds: 80, Configuration: new(int32(2)), Block: block(1, 1, 1), Objective: "0.000123457"},
		{Number: 3, State: "Invalid", Reason: "Inert", DurationSeconds: 5, Configuration: new(int32(64)), Block: block(1, 1, 2)},
		{Number: 4, State: "Invalid", Reason: "Interrupted", DurationSeconds: 75, WrittenMebibytes: 1, Configuration: new(int32(1)), Block: block(1, 2, 0), Objective: "7"},
		{Number: 5, State: "Invalid", Reason: "Interrupted", DurationSeconds: 75, WrittenMebibytes: 1, Configuration: new(int32(1)), Block: block(1, 2, 0)},
		{Number: 6, State: "Invalid", Reason: "Drifted", DurationSeconds: 75, WrittenMebibytes: 1, Configuration: new(int32(1)), Block: block(1, 2, 0), Objective: "7"},
	}
	ReplaceRuns(status)
	if diff := cmp.Diff(want, status.Trials); diff != "" || status.Runs != nil {
		t.Errorf("%d lines are left, -want +got:\n%s", len(status.Runs), diff)
	}
	ledger, err := ReadLedger(status)
	if err != nil || ledger[3].Outcome != sweep.Valid || ledger[4].Outcome != sweep.Interrupted || ledger[5].Outcome != sweep.Valid || !ledger[1].Starved {
		t.Errorf("ledger %+v, %v", ledger, err)
	}
}

// A session had a line for each candidate, followed by lines for its constraints.
func TestSessionsOfEarlierVersionsAreRead(t *testing.T) {
	end := &metav1.Time{Time: time.Date(2026, 11, 29, 17, 19, 0, 0, time.UTC)}
	status := &v1alpha1.CephTuningSweepStatus{Plan: interleavedPlan, Runs: []string{
		"1 1 4 0.693147 0.012345 8,2,10000,9999 -0.51 1.22 260s 4096Mi 20261129T1719Z Throttled",
		"1 1 4 -0.105361 0.001000 1,1,1,1 0.00 0.00 260s 4096Mi 20261129T1719Z Constraint",
		"1 2 4 0.000000 0.012345 8,2,10000,9999 -0.51 1.22 260s 4096Mi 20261129T1719Z Throttled",
		"1 2 4 19.836628 0.001000 1,1,1,1 0.00 0.00 260s 4096Mi 20261129T1719Z Constraint",
		"2 0 0 0.000000 0.000000 0,0,0,0 0.00 0.00 70s 12Mi 20261129T1719Z Interrupted",
		"3 2 1 0.405465 0.000000 10000,10000,10000,10000 0.00 0.00 240s 7Mi 20261129T1719Z StarvedLong",
		"3 2 1 0.000000 0.000000 10000,10000,10000,10000 0.00 0.00 240s 7Mi 20261129T1719Z Constraint",
	}}
	tests := &v1alpha1.TrialRandomization{PSuperior: "0.0008", PGain: "0.0002", PLoss: "1", PSmall: "0.9999", LateScore: "-0.51", LagScore: "1.22"}
	want := []v1alpha1.Trial{
		{Number: 1, State: "Valid", Mark: "Throttled", DurationSeconds: 260, WrittenMebibytes: 4096, EndTime: end, Windows: "Short", Comparisons: []v1alpha1.TrialComparison{
			{Configuration: 1, Blocks: 4, Ratio: "2", Deviation: "0.012345", Randomization: tests, Constraints: []v1alpha1.TrialConstraint{{Value: "0.8999996", Deviation: "0.001"}}},
			{Configuration: 2, Blocks: 4, Ratio: "1", Deviation: "0.012345", Randomization: tests, Constraints: []v1alpha1.TrialConstraint{{Value: "412038800", Deviation: "0.001"}}},
		}},
		{Number: 2, State: "Invalid", Reason: "Interrupted", DurationSeconds: 70, WrittenMebibytes: 12, EndTime: end},
		{Number: 3, State: "Valid", Mark: "Starved", DurationSeconds: 240, WrittenMebibytes: 7, EndTime: end, Windows: "Long", Comparisons: []v1alpha1.TrialComparison{
			{Configuration: 2, Blocks: 1, Ratio: "1.5", Deviation: "0", Constraints: []v1alpha1.TrialConstraint{{Value: "1", Deviation: "0"}}},
		}},
	}
	got, err := Trials(status)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestLinesThatNoOperatorWrote(t *testing.T) {
	for design, lines := range map[v1alpha1.SweepDesign][]string{
		v1alpha1.DesignBlocks: {
			"", "1 1.1.0 0 5 1s 1Mi", "2 1.1.0 0 5 1s 1Mi Valid", "1 1.1 0 5 1s 1Mi Valid", "1 a.1.0 0 5 1s 1Mi Valid", "1 1.1.0 x 5 1s 1Mi Valid",
			"1 1.1.0 0 five 1s 1Mi Valid", "1 1.1.0 0 NaN 1s 1Mi Valid", "1 1.1.0 0 - 1s 1Mi Valid", "1 1.1.0 0 5 1s 1Mi Inert", "1 1.1.0 0 5 1h 1Mi Valid",
			"1 1.1.0 0 5 1s 1Gi Valid", "1 1.1.0 0 5 1s 1Mi Fine",
		},
		v1alpha1.DesignInterleaved: {
			"", "1 1 4", "1 1 4 0 0 0,0,0,0 0 0 1s 1Mi 20261129T1719Z Valid x", "1 1 4 x 0 0,0,0,0 0 0 1s 1Mi 20261129T1719Z Valid",
			"1 1 4 0 0 0,0,0,0 0 0 1s 1Mi 20261129T1719Z Fine", "1 1 4 0 0 0,0,0 0 0 1s 1Mi 20261129T1719Z Valid", "1 1 4 0 0 0,0,0,0 0 0 1s 1Mi yesterday Valid",
			"2 1 4 0 0 0,0,0,0 0 0 1s 1Mi 20261129T1719Z Valid", "1 1 4 0 0 0,0,0,0 0 0 1s 1Mi 20261129T1719Z Constraint",
		},
	} {
		for _, line := range lines {
			status := &v1alpha1.CephTuningSweepStatus{Plan: &v1alpha1.SweepPlan{Design: design}, Runs: []string{line}}
			if _, err := Trials(status); !errors.Is(err, sweep.ErrLedger) {
				t.Errorf("%s, %q: %v, want ErrLedger", design, line, err)
			}
			if ReplaceRuns(status); len(status.Runs) != 1 || status.Trials != nil {
				t.Errorf("%s, %q is replaced by %v", design, line, status.Trials)
			}
		}
	}
}
