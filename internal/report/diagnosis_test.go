package report

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestDiagnosis(t *testing.T) {
	b := &v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Diagnosis: &v1alpha1.Diagnosis{Pool: "apps"}}}
	b.Status.Summary = "Likely: osd.1 is slower."
	b.Status.Diagnosis = &v1alpha1.DiagnosisResult{
		Findings:  []v1alpha1.Finding{{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is <slower>.", Evidence: []string{"8 ms", "2 ms"}}},
		Unchecked: []string{"Disks."},
	}
	d, err := Benchmark(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Tone != ToneBad || len(d.Figures) != 2 || len(d.Sections) != 4 {
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
