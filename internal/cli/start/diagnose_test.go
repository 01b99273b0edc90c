package start

import (
	"context"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
)

// diagnosed returns a function that ends a diagnosis with these findings.
func diagnosed(findings ...v1alpha1.Finding) func(client.Object) {
	return func(o client.Object) {
		passed("")(o)
		b, ok := o.(*v1alpha1.CephBenchmark)
		if !ok {
			return
		}
		b.Status.Diagnosis = &v1alpha1.DiagnosisResult{Findings: findings, Checked: []string{"SlowOSDs", "DaemonsDown"}, Unchecked: []string{"Disks by themselves."}}
		b.Status.Headline, b.Status.Summary = diagnosis.Headline(*b.Status.Diagnosis), diagnosis.Summary(*b.Status.Diagnosis)
	}
}

func TestDiagnose(t *testing.T) {
	slow := v1alpha1.Finding{
		Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is slower than others of the class.",
		Evidence: []string{"osd.1: commits in 8.40 ms, others of class \"ssd\" in 2.10 ms"}, Remedy: "Look at its disk.",
	}
	slowly := v1alpha1.Finding{Code: "NoFastDB", Confidence: v1alpha1.ConfidencePossible, Message: "Hard disks also have the databases."}
	for name, tc := range map[string]struct {
		line     string
		findings []v1alpha1.Finding
		code     int
	}{
		"a diagnosis of a pool":             {line: "--ceph-cluster a/b --pool apps --duration 5m --dry-run"},
		"a diagnosis with layers":           {line: "--ceph-cluster a/b --layers --copies 2 --dry-run"},
		"usage a diagnosis of one copy":     {"--layers --copies 1", nil, 2},
		"usage a comparison without an end": {"--compare why --wait=false", nil, 2},
		"usage a comparison with nothing":   {"--ceph-cluster a/b --compare why", nil, 1},
		"usage copies without layers":       {"--copies 2", nil, 2},
		"a diagnosis that finds causes":     {"--ceph-cluster a/b --name why", []v1alpha1.Finding{slow, slowly}, 3},
		"a diagnosis that finds no cause":   {"--ceph-cluster a/b", nil, 0},
		"a diagnosis that is not sure":      {"--ceph-cluster a/b", []v1alpha1.Finding{slowly}, 0},
		"a diagnosis as JSON":               {"--ceph-cluster a/b --name why -o json", []v1alpha1.Finding{slow}, 3},
		"usage a diagnosis in a hurry":      {"--duration 1s", nil, 2},
		"usage a diagnosis for a day":       {"--duration 24h", nil, 2},
		"usage a diagnosis of an argument":  {"apps", nil, 2},
		"usage a diagnosis somewhere":       {"--ceph-cluster b", nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewDiagnoseCommand(clitest.Connecting(ending(t, diagnosed(tc.findings...)))), tc.line, "")
			if got.Code() != tc.code {
				t.Errorf("exit code %d: %v", got.Code(), got.Err)
			}
			text := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(got.String(), "12:00:00")
			clitest.Golden(t, "run/"+strings.ToLower(name), "$ diagnose "+tc.line+"\n"+text, *update)
		})
	}
}

// ended gives a benchmark the results of a diagnosis, and returns them.
func ended(t *testing.T, o client.Object, findings ...v1alpha1.Finding) *corev1.ConfigMap {
	t.Helper()
	diagnosed(findings...)(o)
	b, ok := o.(*v1alpha1.CephBenchmark)
	if !ok {
		t.Fatalf("got a %T", o)
	}
	b.UID, b.Status.StartTime = types.UID("uid-of-"+b.Name), new(metav1.NewTime(clitest.Morning(0)))
	b.Status.Diagnosis.Checked = []string{"SlowOSDs", "NoFastDB"}
	cm, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, StartTime: clitest.Morning(0), Environment: []byte("{}"), Diagnosis: &archive.Diagnosis{Result: *b.Status.Diagnosis},
	})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Record(t, b, cm)
	return cm
}

func TestDiagnoseAndCompare(t *testing.T) {
	slow := v1alpha1.Finding{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is slower."}
	slowly := v1alpha1.Finding{Code: "NoFastDB", Confidence: v1alpha1.ConfidenceLikely, Message: "Hard disks also have the databases."}
	for name, tc := range map[string]struct {
		line     string
		findings []v1alpha1.Finding
		code     int
	}{
		"a diagnosis that is compared":          {"--ceph-cluster a/b --name now --compare why", []v1alpha1.Finding{slow, slowly}, 3},
		"a diagnosis that is no worse":          {"--ceph-cluster a/b --name now --compare why", []v1alpha1.Finding{slow}, 0},
		"a diagnosis that is compared for jq":   {"--ceph-cluster a/b --name now --compare cephbenchmark/why -o json", []v1alpha1.Finding{slow}, 0},
		"a diagnosis that is compared with dry": {"--ceph-cluster a/b --name now --compare why --dry-run", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			why := &v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Diagnosis: &v1alpha1.Diagnosis{}}}
			why.Name, why.Namespace = "why", clitest.Namespace
			before := ended(t, why, slow)
			c := interceptor.NewClient(clitest.Holding(t, why, before), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					if err := c.Create(ctx, ended(t, o, tc.findings...)); err != nil {
						return err
					}
					return c.Create(ctx, o)
				},
			})
			got := clitest.Execute(t, NewDiagnoseCommand(clitest.Connecting(c)), tc.line, "")
			if got.Code() != tc.code {
				t.Errorf("exit code %d: %v", got.Code(), got.Err)
			}
			text := regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(got.String(), "12:00:00")
			clitest.Golden(t, "run/"+strings.ToLower(name), "$ diagnose "+tc.line+"\n"+text, *update)
		})
	}
}
