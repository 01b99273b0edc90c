package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestDiagnosis(t *testing.T) {
	b := &v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Diagnosis: &v1alpha1.Diagnosis{Pool: "apps"}}}
	b.Status.Summary = "Likely: osd.1 is slower."
	b.Status.Diagnosis = &v1alpha1.DiagnosisResult{
		Findings:  []v1alpha1.Finding{{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is <slower>.", Evidence: []string{"8 ms", "2 ms"}}},
		Unchecked: []string{"Disks."},
		OSDs:      []v1alpha1.OSDTime{{ID: 1, DeviceClass: "hdd", OperationsPerSecond: "420", WriteSeconds: "0.008", QueueSeconds: "0.006", CommitSeconds: "0.004"}},
	}
	d, err := Benchmark(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"osd.1", "hdd", "420 IOPS", "8ms", "6ms", "4ms"}}, d.Sections[1].Parts[0].Table.Rows); diff != "" {
		t.Errorf("OSDs (-want +got):\n%s", diff)
	}
	if d.Tone != ToneBad || len(d.Figures) != 2 || len(d.Sections) != 5 {
		t.Errorf("%+v", d)
	}
	for _, f := range d.Facts {
		if f.Name == "Load" || f.Name == "Clients" {
			t.Errorf("a diagnosis has %s %s", f.Name, f.Text)
		}
	}
	html, err := d.HTML()
	if err != nil || !strings.Contains(string(html), "osd.1 is &lt;slower&gt;.") || !strings.Contains(string(html), "8 ms; 2 ms") {
		t.Errorf("%v, %s", err, html)
	}
	b.Status.Diagnosis = nil
	if d, err = Benchmark(b, nil); err != nil || len(d.Figures) != 1 {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestLayersOfADiagnosis(t *testing.T) {
	b := &v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Diagnosis: &v1alpha1.Diagnosis{}}}
	b.Status.Diagnosis = &v1alpha1.DiagnosisResult{Findings: []v1alpha1.Finding{{Code: "WriteTime", Confidence: v1alpha1.ConfidencePossible}}, Unchecked: []string{"Disks."}}
	b.Status.Diagnosis.Operations = []v1alpha1.OperationTime{
		{
			Operation: v1alpha1.LayeredWrite, Rounds: 6, Seconds: "0.0024", OneCopySeconds: "0.0018", Explained: true,
			Layers: []v1alpha1.OperationLayer{
				{Code: "Client", Seconds: "0.0006", Share: "0.25", Low: "0.2", High: "0.3"},
				{Code: "Store", Seconds: "0.00182", Share: "0.7583", Low: "0.7", High: "0.8"},
				{Code: "Unexplained", Seconds: "-0.00002", Share: "-0.0083", Low: "-0.02", High: "0.01"},
			},
		},
		{Operation: v1alpha1.LayeredRead, Rounds: 2, Reason: "2 rounds count."},
	}
	d, err := Benchmark(b, nil)
	if err != nil || len(d.Sections) != 5 {
		t.Errorf("%v, %+v", err, d)
	}
	html, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"75.8 %", "70.0 % to 80.0 %", "-20µs", "BlueStore: until a copy",
		"With one copy, it takes 1.8ms. Independent clocks agree with the layers within 10 % of the whole.", "no layers. Not confirmed: 2 rounds count.", "Store: 1.82ms, 75.8 %",
	} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
