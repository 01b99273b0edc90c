package list

import (
	"flag"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

var update = flag.Bool("update", false, "write the golden files")

func objects(t *testing.T) []client.Object {
	nightly := clitest.Benchmark(t, "lab")
	nightly.Name, nightly.Namespace, nightly.Labels = "nightly", clitest.Namespace, map[string]string{"team": "storage"}
	nightly.Status.Headline, nightly.Status.Verdict = "write-4m 384 MiB/s", v1alpha1.BenchmarkPassed
	nightly.Status.Progress = &v1alpha1.Progress{Summary: "Passed: write-4m 384 MiB/s"}
	clitest.Complete(&nightly.Status.Conditions, "The results are in status.")
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
			cmd := newCommand("kubectl cephtune", clitest.Connecting(clitest.Holding(t, objects(t)...)), now)
			clitest.Golden(t, name, "$ list "+line+"\n"+clitest.Execute(t, cmd, line, "").String(), *update)
		})
	}
}

func TestJSONIsOneListOfBothKinds(t *testing.T) {
	cmd := newCommand("kubectl cephtune", clitest.Connecting(clitest.Holding(t, objects(t)...)), time.Now)
	got := clitest.Execute(t, cmd, "-A -o json", "")
	for _, want := range []string{`"kind": "List"`, `"kind": "CephBenchmark"`, `"kind": "CephTuningSweep"`, `"name": "fresh"`} {
		if got.Err != nil || !strings.Contains(got.Stdout, want) {
			t.Errorf("%v: no %s in\n%s", got.Err, want, got.Stdout)
		}
	}
}
