package results

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

func TestResultsOfADiagnosis(t *testing.T) {
	fresh := nightly()
	fresh.Spec.Diagnosis, fresh.Status = &v1alpha1.Diagnosis{}, v1alpha1.CephBenchmarkStatus{}
	done := nightly()
	done.Spec.Diagnosis = &v1alpha1.Diagnosis{}
	done.Status.Summary = "Likely: osd.1 is slower than others of the class."
	done.Status.Diagnosis = &v1alpha1.DiagnosisResult{
		Findings:  []v1alpha1.Finding{{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is slower.", Evidence: []string{"8 ms\x1b[31m"}}},
		Unchecked: []string{"Disks."},
	}
	done.Status.Diagnosis.Operations = []v1alpha1.OperationTime{{
		Operation: v1alpha1.LayeredWrite, Rounds: 6, Seconds: "0.0024", OneCopySeconds: "0.0018", Explained: true,
		Layers: []v1alpha1.OperationLayer{{Code: "Store", Seconds: "0.0018", Share: "0.75", Low: "0.7", High: "0.8"}},
	}}
	fresh.Namespace, done.Namespace = clitest.Namespace, clitest.Namespace
	for name, tc := range map[string]struct {
		benchmark  *v1alpha1.CephBenchmark
		line, want string
		code       int
	}{
		"no findings yet":   {fresh, "nightly", "has no findings yet", 1},
		"a table":           {done, "nightly", "Likely: SlowOSDs\nosd.1 is slower.\n  - 8 ms", 0},
		"layers":            {done, "nightly", "70.0 % to 80.0 %", 0},
		"data":              {done, "nightly -o json", `"code": "SlowOSDs"`, 0},
		"a run":             {done, "nightly --run 1", "is a diagnosis", 2},
		"an earlier run ID": {done, "nightly --run-id 0", "there are no results of run ID 0", 1},
		"figures":           {done, "nightly -o csv", "is a diagnosis", 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCommand(clitest.Connecting(clitest.Holding(t, tc.benchmark.DeepCopy()))), "cephbenchmark/"+tc.line, "")
			if got.Code() != tc.code || !strings.Contains(got.String(), tc.want) || strings.Contains(got.String(), "\x1b") {
				t.Errorf("exit code %d: %s", got.Code(), got.String())
			}
		})
	}
}
