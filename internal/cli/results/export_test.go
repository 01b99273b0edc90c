package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// cluster returns a cluster with benchmarks and a sweep. Two benchmarks have a run of their current
// execution and a run of an earlier one.
func exportedCluster(t *testing.T) client.WithWatch {
	t.Helper()
	var all []client.Object
	for _, name := range []string{"nightly", "weekly"} {
		b := clitest.Benchmark(t, "radosbench")
		b.Name, b.Namespace, b.UID = name, clitest.Namespace, types.UID(name)
		b.Status.StartTime = new(metav1.NewTime(clitest.Morning(0)))
		all = append(all, b)
		for _, began := range []int{-60, 0} {
			benchmark := b.DeepCopy()
			benchmark.Status.StartTime = new(metav1.NewTime(clitest.Morning(began)))
			kept, err := archive.ConfigMap(benchmark, &archive.Run{
				Number: 1, State: v1alpha1.RunValid, StartTime: clitest.Morning(began + 1), EndTime: clitest.Morning(began + 2),
				Phases: []archive.Phase{{Name: "write-4m"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, kept)
		}
	}
	// The next execution of this one has not begun.
	begun := clitest.Benchmark(t, "radosbench")
	begun.Name, begun.Namespace, begun.UID = "begun", clitest.Namespace, "begun"
	benchmark := begun.DeepCopy()
	benchmark.Status.StartTime = new(metav1.NewTime(clitest.Morning(-60)))
	kept, err := archive.ConfigMap(benchmark, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, StartTime: clitest.Morning(-59), EndTime: clitest.Morning(-58), Phases: []archive.Phase{{Name: "write-4m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, begun, kept)
	s := clitest.Recorded(t, "osd_option", "two-osd-options")
	s.Namespace = clitest.Namespace
	for run := range 2 {
		b := clitest.Benchmark(t, "radosbench")
		b.Name, b.Namespace, b.UID = sweepspec.ChildName(s, run+1), clitest.Namespace, types.UID(fmt.Sprint("run ", run))
		b.Labels = map[string]string{sweepspec.LabelSweep: sweepspec.SweepLabel(s)}
		all = append(all, b)
	}
	return clitest.Holding(t, append(all, s)...)
}

// The export must contain the object, and the results of all executions of a benchmark or of the
// current run ID of a sweep, and nothing of other objects.
func TestExport(t *testing.T) {
	c := exportedCluster(t)
	for line, want := range map[string]struct {
		name  string
		parts int
	}{
		"cephbenchmark/nightly": {"nightly", 2},
		"cephbenchmark/begun":   {"begun", 1},
		"mclock-profile":        {"mclock-profile", 2},
	} {
		t.Run(line, func(t *testing.T) {
			all, err := manifest.All(exported(t, c, line), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != 1+want.parts || all[0].GetName() != want.name {
				t.Fatalf("%d objects, want %s and its results", len(all), want.name)
			}
			for i, o := range all[1:] {
				if s, ok := all[0].(*v1alpha1.CephTuningSweep); ok {
					wantRunOf(t, s, i+1, o)
					continue
				}
				b, ok := all[0].(*v1alpha1.CephBenchmark)
				wantRunOfExecution(t, o, want.name, ok && o.GetLabels()[archive.LabelExecution] == archive.Execution(b))
			}
		})
	}
}

// exported returns the file that a command line writes. Without --to, the command prints it.
func exported(t *testing.T, c client.WithWatch, line string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "it.yaml")
	got := clitest.Execute(t, NewExportCommand(clitest.Connecting(c)), line+" --to "+file, "")
	if got.Err != nil || got.Stdout != "" {
		t.Fatalf("%v, %q", got.Err, got.Stdout)
	}
	printed := clitest.Execute(t, NewExportCommand(clitest.Connecting(c)), line, "")
	text, err := os.ReadFile(file)
	if err != nil || string(text) != printed.Stdout {
		t.Errorf("%v, the file and the output differ:\n%s", err, text)
	}
	return file
}

// wantRunOfExecution checks that an object has the run of a benchmark's execution: of the earlier one, or
// of the one in status.
func wantRunOfExecution(t *testing.T, o client.Object, benchmark string, current bool) {
	t.Helper()
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		t.Fatalf("got a %T", o)
	}
	run, err := archive.FromConfigMap(cm)
	if err != nil {
		t.Fatal(err)
	}
	began := -59
	if current {
		began = 1
	}
	if run.Benchmark.Name != benchmark || !run.StartTime.Equal(clitest.Morning(began)) {
		t.Errorf("run %+v, want the one of %s that began at %s", run, benchmark, clitest.Morning(began))
	}
}

// wantRunOf checks that an object is the benchmark of a sweep's run.
func wantRunOf(t *testing.T, s *v1alpha1.CephTuningSweep, run int, o client.Object) {
	t.Helper()
	if b, ok := o.(*v1alpha1.CephBenchmark); !ok || b.Name != sweepspec.ChildName(s, run) {
		t.Errorf("got %T %s, want the benchmark of run %d", o, o.GetName(), run)
	}
}

func TestExportErrors(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"":                                   {2, "want one object"},
		"monthly":                            {1, "there is no CephTuningSweep or CephBenchmark monthly"},
		"mclock-profile --to /nowhere/at/it": {1, "/nowhere/at/it"},
	} {
		got := clitest.Execute(t, NewExportCommand(clitest.Connecting(exportedCluster(t))), line, "")
		if got.Code() != want.code || !strings.Contains(got.Err.Error(), want.text) || got.Stdout != "" {
			t.Errorf("%s: %d, %v", line, got.Code(), got.Err)
		}
	}
}
