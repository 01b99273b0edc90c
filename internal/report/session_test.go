package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestSessionsHaveATableOfTheirOwn(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{Status: v1alpha1.CephTuningSweepStatus{
		Plan: &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved}, Scope: v1alpha1.ScopeWindows,
		Configurations: []v1alpha1.ConfigurationResult{{Index: 0, Name: "baseline"}, {Index: 1, Name: "cap=1"}},
		Runs: []v1alpha1.SweepRun{
			"1 0 0 0.000000 0.000000 0,0,0,0 0.00 0.00 70s 12Mi 20261129T1719Z Interrupted",
			"2 1 4 -0.693147 0.010000 10000,9990,10,1 0.10 -0.20 260s 40Mi 20261129T1719Z Valid",
		},
	}}
	d, err := Sweep(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got *Table
	for _, section := range d.Sections {
		if section.Title == "Sessions" {
			got = section.Parts[0].Table
		}
	}
	want := &Table{Header: []string{"Session", "Configuration", "Groups", "Ratio", "Took", "Counts"}, Rows: [][]string{
		{"1", "", "", "", "70s", "Interrupted"}, {"2", "cap=1", "4", "0.500", "260s", "Valid"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
