//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// A diagnosis measures layers, whose windows OSDs count as the client does. What takes how long depends on the cluster, and
// so does whether its clocks agree within 10 %: on a busy host, not always.
func TestLongDiagnosisOfLayers(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("layers", v1alpha1.Target{})
	b.Spec.Template = v1alpha1.BenchmarkTemplate{}
	b.Spec.Diagnosis = &v1alpha1.Diagnosis{Duration: metav1.Duration{Duration: 30 * time.Second}, Layers: &v1alpha1.DiagnosisLayers{FailureDomain: c.failureDomain}}
	begun := time.Now()

	c.runTo(t, v1alpha1.ConditionComplete, b)

	t.Logf("it took %v", time.Since(begun).Round(time.Second))
	found := b.Status.Diagnosis
	if found == nil || len(found.Operations) != 2 {
		t.Fatalf("%+v", found)
	}
	for _, o := range found.Operations {
		t.Logf("%s: %s s (%s s with one copy) in %d rounds, explained %t: %s", o.Operation, o.Seconds, o.OneCopySeconds, o.Rounds, o.Explained, o.Reason)
		for _, l := range o.Layers {
			t.Logf("  %-12s %s s, %s (%s to %s)", l.Code, l.Seconds, l.Share, l.Low, l.High)
		}
		t.Logf("  network      %+v", o.Network)
		if len(o.Layers) == 0 && !strings.Contains(o.Reason, "rounds count") {
			t.Errorf("no layers: %s", o.Reason)
		}
	}
	for _, f := range found.Findings {
		t.Logf("%s: %s: %s %q", f.Confidence, f.Code, f.Message, f.Evidence)
	}
}

// A diagnosis reads everything from the Ceph of the cluster, and can be judged. What it finds depends on the cluster.
func TestDiagnosis(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("diagnosis", v1alpha1.Target{})
	b.Spec.Template = v1alpha1.BenchmarkTemplate{}
	b.Spec.Diagnosis = &v1alpha1.Diagnosis{Duration: metav1.Duration{Duration: 30 * time.Second}}

	c.runTo(t, v1alpha1.ConditionComplete, b)

	found := b.Status.Diagnosis
	if found == nil || found.Samples < 3 || len(b.Status.Runs) != 1 || b.Status.Runs[0].Results == "" {
		t.Fatalf("%+v", b.Status)
	}
	for _, f := range found.Findings {
		t.Logf("%s: %s: %s %q", f.Confidence, f.Code, f.Message, f.Evidence)
	}
	for _, text := range found.Unchecked {
		if strings.Contains(text, "access denied") { // The observer's key suffices.
			t.Errorf("not checked: %s", text)
		}
	}
}
