package list

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

var update = flag.Bool("update", false, "write the golden files")

func objects(t *testing.T) []client.Object {
	nightly := clitest.Benchmark(t, "lab")
	nightly.Name, nightly.Namespace, nightly.Labels = "nightly", clitest.Namespace, map[string]string{"team": "storage"}
	nightly.Status.Headline, nightly.Status.Verdict = "write-4m 384 MiB/s", v1alpha1.BenchmarkPassed
	nightly.Status.Progress = &v1alpha1.Progress{Summary: "Passed: write-4m 384 MiB/s"}
	clitest.Complete(&nightly.Status.Conditions, "The results are in status.")
	nightly.Status.Schedule = &v1alpha1.ScheduleStatus{NextTime: new(metav1.NewTime(clitest.Morning(90 + 17*60)))}
	fresh := clitest.Benchmark(t, "fio_rbd")
	fresh.Name, fresh.Namespace = "fresh", "other"
	atWork := clitest.Sweep(t, "pg_num")
	atWork.Name, atWork.Namespace = "pg-num", clitest.Namespace
	atWork.Status.Best, atWork.Status.Effect = "pg_num=64", "+12.3%"
	atWork.Status.Progress = &v1alpha1.Progress{Summary: "7/24 runs"}
	clitest.GoOn(&atWork.Status.Conditions, v1alpha1.ReasonRunning, "Run 8 is under way.")
	clitest.Set(&atWork.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "Still to be restored: the balancer.")
	return []client.Object{nightly, fresh, atWork}
}

func TestGolden(t *testing.T) {
	for name, line := range map[string]string{
		"one namespace":               "",
		"all namespaces":              "-A",
		"sweeps":                      "sweeps",
		"benchmarks by kubectls word": "cephbench -A",
		"by label":                    "-l team=storage",
		"none":                        "-l team=none",
		"none anywhere":               "-A -l team=none",
		"yaml":                        "benchmarks -o yaml",
		"usage another kind":          "pods",
		"usage two kinds":             "benchmarks sweeps",
		"usage a selector":            "-l ==",
		"usage an output":             "-o wide",
	} {
		t.Run(name, func(t *testing.T) {
			now := func() time.Time { return clitest.Morning(90) }
			cmd := NewCommand(clitest.Connecting(clitest.Holding(t, objects(t)...)), now)
			clitest.Golden(t, name, "$ list "+line+"\n"+clitest.Execute(t, cmd, line, "").String(), *update)
		})
	}
}

// TestAnAPIServer compares the list of an API server with that of the fake cluster of the golden files.
func TestAnAPIServer(t *testing.T) {
	server := apiserver.Start(t)
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(server, client.Options{Scheme: scheme})
	for _, name := range []string{clitest.Namespace, "other"} {
		err = errors.Join(err, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	stored := objects(t)
	for _, o := range stored {
		made, _ := o.DeepCopyObject().(client.Object)
		if err := admin.Create(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		o.SetUID(made.GetUID())
		o.SetResourceVersion(made.GetResourceVersion())
		if err := admin.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	now := func() time.Time { return stored[0].GetCreationTimestamp().Add(90 * time.Minute) }
	for _, line := range []string{"", "-A", "sweeps -A", "-l team=storage"} {
		want := clitest.Execute(t, NewCommand(clitest.Connecting(clitest.Holding(t, stored...)), now), line, "")
		cmd := kube.Connected(func(c *kube.Connection) *cobra.Command { return NewCommand(c.Connect, now) })
		got := clitest.Execute(t, cmd, line+" -n "+clitest.Namespace+" --kubeconfig "+apiserver.Kubeconfig(t, server), "")
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("list %s (-fake +API server):\n%s", line, diff)
		}
	}
}

func TestJSONIsOneListOfBothKinds(t *testing.T) {
	cmd := NewCommand(clitest.Connecting(clitest.Holding(t, objects(t)...)), time.Now)
	got := clitest.Execute(t, cmd, "-A -o json", "")
	for _, want := range []string{`"kind": "List"`, `"kind": "CephBenchmark"`, `"kind": "CephTuningSweep"`, `"name": "fresh"`} {
		if got.Err != nil || !strings.Contains(got.Stdout, want) {
			t.Errorf("%v: no %s in\n%s", got.Err, want, got.Stdout)
		}
	}
}
