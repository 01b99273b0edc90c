package start

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// TestBenchmarks plans benchmarks with a real API server, which sets default values.
func TestBenchmarks(t *testing.T) {
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clitest.Namespace}}); err != nil {
		t.Fatal(err)
	}
	for name, sample := range map[string]string{
		"a benchmark":             "cephbenchmark_lab",
		"a benchmark of a volume": "cephbenchmark_fio_filesystem",
		"a benchmark of objects":  "cephbenchmark_fio_rados",
		"a diagnosis":             "cephbenchmark_diagnosis",
		"a diagnosis with layers": "cephbenchmark_diagnosis_layers",
	} {
		t.Run(name, func(t *testing.T) {
			file := clitest.SampleFile(t, sample)
			got := clitest.Execute(t, NewPlanCommand(clitest.Connecting(c)), "-f "+file, "")
			clitest.Golden(t, "plan/"+name, "$ plan -f "+sample+".yaml\n"+got.String(), *update)
		})
	}
	t.Run("for scripts", func(t *testing.T) {
		got := clitest.Execute(t, NewPlanCommand(clitest.Connecting(c)), "-o json -f "+clitest.SampleFile(t, "cephbenchmark_lab"), "")
		plan := &BenchmarkPlan{}
		if err := json.Unmarshal([]byte(got.Stdout), plan); err != nil || got.Err != nil || plan.Runs != 1 || len(plan.Phases) != 2 || plan.RunBytesWritten.IsZero() {
			t.Errorf("%v, %v, %+v", got.Err, err, plan)
		}
	})
	t.Run("on a schedule", func(t *testing.T) {
		got := clitest.Execute(t, NewPlanCommand(clitest.Connecting(c)), "-f "+clitest.SampleFile(t, "cephbenchmark_nightly"), "")
		if got.Err != nil || strings.Count(got.Stdout, " 04:00 CE") != 3 {
			t.Errorf("%v, %s, want three times", got.Err, got.Stdout)
		}
	})
	refusesAPlan(t, c)
	left := &v1alpha1.CephBenchmarkList{}
	if err := c.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d benchmarks were created, %v", len(left.Items), err)
	}
}

func refusesAPlan(t *testing.T, c client.WithWatch) {
	t.Helper()
	t.Run("refused", func(t *testing.T) {
		got := clitest.Execute(t, NewPlanCommand(clitest.Connecting(c)), "-f -", `
apiVersion: cephtune.dev/v1alpha1
kind: CephBenchmark
metadata: {name: refused, namespace: cephtune-bench}
spec:
  clusterRef: {namespace: rook-ceph, name: my-cluster}
  template: {target: {scratchPool: {replicated: {size: 3}}}, phases: []}
`)
		if got.Code() != 1 || !strings.Contains(got.Err.Error(), "phases") {
			t.Errorf("got %d, %v, want the API server's refusal", got.Code(), got.Err)
		}
	})
}
