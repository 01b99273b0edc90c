package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestSessionsHaveATableOfTheirOwn(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{
		Spec: v1alpha1.CephTuningSweepSpec{Objective: v1alpha1.Objective{MetricReference: v1alpha1.MetricReference{Metric: v1alpha1.MetricIOPS}}},
		Status: v1alpha1.CephTuningSweepStatus{
			Plan: &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved}, Scope: v1alpha1.ScopeWindows,
			Configurations: []v1alpha1.ConfigurationResult{{Index: 0, Name: "baseline"}, {Index: 1, Name: "cap=1"}},
			Trials: []v1alpha1.Trial{
				{Number: 1, State: v1alpha1.TrialInvalid, Reason: v1alpha1.TrialInterrupted, DurationSeconds: 70, WrittenMebibytes: 12},
				{
					Number: 2, State: v1alpha1.TrialValid, DurationSeconds: 260, WrittenMebibytes: 40, Windows: v1alpha1.WindowsShort, BaselineObjective: "412",
					Comparisons: []v1alpha1.TrialComparison{{Configuration: 1, Blocks: 4, Objective: "206", Ratio: "0.5", Deviation: "0.01"}},
				},
			},
		},
	}
	d, err := Sweep(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got *Table
	for _, section := range d.Sections {
		if section.Title == "Trials" {
			got = section.Parts[0].Table
		}
	}
	want := &Table{Header: []string{"Trial", "Configuration", "Blocks", "Baseline", "IOPS", "Ratio", "Took", "Counts"}, Rows: [][]string{
		{"1", "", "", "", "", "", "70s", "Interrupted"}, {"2 (Short)", "cap=1", "4", "412 IOPS", "206 IOPS", "0.500", "260s", "Valid"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
