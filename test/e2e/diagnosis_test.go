//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// A diagnosis reads everything from the Ceph of the cluster, and can be judged. What it finds depends on the cluster.
func TestDiagnosis(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("diagnosis", v1alpha1.Target{})
	b.Spec.Template = v1alpha1.BenchmarkTemplate{}
	b.Spec.Diagnosis = &v1alpha1.Diagnosis{Duration: metav1.Duration{Duration: 30 * time.Second}}

	c.runTo(t, v1alpha1.ConditionComplete, b)

	found := b.Status.Diagnosis
	if found == nil || found.Samples < 3 || len(b.Status.Runs) > 0 {
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
