package start

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/words"
	operator "github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

var update = flag.Bool("update", false, "write the golden files")

// ending is a cluster in which every created object has already ended.
func ending(t *testing.T, finish func(client.Object), objects ...client.Object) client.WithWatch {
	return interceptor.NewClient(clitest.Holding(t, objects...), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if o.GetName() == "" {
				o.SetName(o.GetGenerateName() + "x7k2p")
			}
			finish(o)
			// The fake client does not validate fields, and fails if it is asked to.
			return c.Create(ctx, o)
		},
	})
}

func passed(verdict v1alpha1.BenchmarkVerdict) func(client.Object) {
	return func(o client.Object) {
		switch o := o.(type) {
		case *v1alpha1.CephBenchmark:
			o.Status.ObservedRunID, o.Status.ObservedGeneration = o.Spec.RunID, o.Generation
			o.Status.Headline, o.Status.Verdict = "write-4m 384 MiB/s", verdict
			clitest.Complete(&o.Status.Conditions, "The results are in status.")
		case *v1alpha1.CephTuningSweep:
			o.Status.ObservedRunID, o.Status.ObservedGeneration = o.Spec.RunID, o.Generation
			o.Status.Verdict, o.Status.Summary = v1alpha1.VerdictEquivalent, "Nothing is better."
			clitest.Complete(&o.Status.Conditions, "Nothing is better.")
		}
	}
}

// failedOn is a benchmark that spec.failOn lets fail after its results.
func failedOn(verdict v1alpha1.BenchmarkVerdict) func(client.Object) {
	return func(o client.Object) {
		passed(verdict)(o)
		if b, ok := o.(*v1alpha1.CephBenchmark); ok {
			b.Status.Conditions = nil
			clitest.Fail(&b.Status.Conditions, v1alpha1.ReasonFailedOnVerdict, "The verdict is one that spec.failOn lists.")
		}
	}
}

func failed(o client.Object) {
	if b, ok := o.(*v1alpha1.CephBenchmark); ok {
		b.Status.ObservedRunID, b.Status.ObservedGeneration = b.Spec.RunID, b.Generation
		clitest.Set(&b.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable, "0/1 nodes are available.")
		clitest.Set(&b.Status.Conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonUnschedulable, "0/1 nodes are available.")
	}
}

func cephCluster(namespace, name string) client.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephCluster"})
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

const gate = `apiVersion: cephtune.dev/v1alpha1
kind: CephBenchmark
metadata: {name: nightly}
spec:
  clusterRef: {namespace: rook-ceph, name: my-cluster}
  template:
    target: {scratchPool: {replicated: {size: 3}}}
    phases: [{name: write-4m, radosBench: {mode: Write}}]
  expectations: [{phase: write-4m, metric: Bandwidth, atLeast: 300Mi}]
`

func TestRunGolden(t *testing.T) {
	one, two := cephCluster("rook-ceph", "my-cluster"), cephCluster("rook-ceph", "other")
	file := clitest.SampleFile(t, "cephtuningsweep_pg_num")
	for name, c := range map[string]struct {
		line, stdin string
		cluster     client.WithWatch
	}{
		"from flags":                  {"--block-size 4Mi --duration 2m", "", ending(t, passed(""), one)},
		"from flags, of two clusters": {"--block-size 4Mi", "", ending(t, passed(""), one, two)},
		"from flags, of none":         {"", "", ending(t, passed(""))},
		"what would be created": {"--ceph-cluster a/b --pool p --engine fio --mode randread --block-size 4Ki --concurrency 32 --ramp 15s --clients 3 --at-least 40Mi --dry-run " +
			"client", "", ending(t, passed(""))},
		"a scratch pool on one host":        {"--ceph-cluster a/b --failure-domain osd --replicas 2 --dry-run client", "", ending(t, passed(""))},
		"a gate that passes":                {"-f -", gate, ending(t, passed(v1alpha1.BenchmarkPassed))},
		"a gate that fails":                 {"-f -", gate, ending(t, passed(v1alpha1.BenchmarkFailed))},
		"a gate that is meant to fail":      {"-f - --expect Failed", gate, ending(t, passed(v1alpha1.BenchmarkFailed))},
		"a gate that fails the object":      {"-f -", gate, ending(t, failedOn(v1alpha1.BenchmarkFailed))},
		"a gate that is meant to do so":     {"-f - --expect Failed", gate, ending(t, failedOn(v1alpha1.BenchmarkFailed))},
		"a benchmark that fails":            {"-f -", gate, ending(t, failed)},
		"a sweep without a winner":          {"-f FILE --expect Superior,Better --name mine", "", ending(t, passed(""))},
		"created and not followed":          {"-f - --wait=false", gate, ending(t, passed(""))},
		"not at its end in time":            {"-f - --timeout 500ms", gate, ending(t, func(client.Object) {})},
		"it exists":                         {"-f -", gate, existing(t)},
		"a scheduled benchmark, now":        {"--from nightly --dry-run", "", ending(t, passed(""), scheduled()...)},
		"a sweep, now":                      {"--from weekly", "", ending(t, passed(""), scheduled()...)},
		"one that is not there, now":        {"--from daily", "", ending(t, passed(""), scheduled()...)},
		"usage a file and a name":           {"--from nightly -f -", gate, nil},
		"usage flags and a name":            {"--from nightly --pool p", "", nil},
		"a file with a misspelled word":     {"-f -", strings.Replace(gate, "mode:", "mood:", 1), ending(t, passed(""))},
		"a file with nothing in it":         {"-f -", "---\n", ending(t, passed(""))},
		"a file with two":                   {"-f -", gate + "---\n" + gate, ending(t, passed(""))},
		"a gate of latency at a rate":       {"--ceph-cluster a/b --rate-iops 1000 --bs 4Ki --max-p99 20ms --min-iops 900 --dry-run -o yaml", "", ending(t, passed(""))},
		"in the words of fio":               {"--ceph-cluster a/b --rw randrw --bs 8Ki --iodepth 16 --numjobs 4 --rwmixread 70 --runtime 90 --dry-run", "", ending(t, passed(""))},
		"a storage class":                   {"--ceph-cluster a/b --storage-class fast --rw randread --bs 4Ki --iodepth 32 --dry-run", "", ending(t, passed(""))},
		"a storage class as a block":        {"--ceph-cluster a/b --storage-class fast --volume-mode block --volume-size 1Gi --dry-run", "", ending(t, passed(""))},
		"two storage classes":               {"--ceph-cluster a/b --storage-class fast,slow --rw randread --bs 4Ki --iodepth 32 --dry-run", "", ending(t, passed(""))},
		"usage classes and a limit":         {"--storage-class a,b --min-iops 900", "", nil},
		"two storage classes, quickly":      {"--ceph-cluster a/b --storage-class fast,slow --quick --dry-run", "", ending(t, passed(""))},
		"usage one class, quickly":          {"--storage-class a --quick", "", nil},
		"usage a file, quickly":             {"-f - --quick", gate, nil},
		"usage classes and repetitions":     {"--storage-class a,b --repetitions 5", "", nil},
		"usage a class twice":               {"--storage-class a,b,a", "", nil},
		"usage a class without a name":      {"--storage-class a,", "", nil},
		"a storage class that is not there": {"--ceph-cluster a/b --storage-class fast", "", ending(t, passed(""))},
		"a file without a cluster":          {"-f - --dry-run", withoutCluster(gate), ending(t, passed(""), cephCluster("rook-ceph", "only"))},
		"a file of a word for a number":     {"-f -", strings.Replace(gate, "  template:", "  repetitions: many\n  template:", 1), nil},
		"a file in the words of fio":        {"-f -", strings.Replace(gate, "radosBench: {mode: Write}", "fio: {rw: randread, bs: 4k}", 1), nil},
		"a namespace without an operator":   {"--ceph-cluster a/b --dry-run", "", ending(t, passed(""), operatorOf("storage,bench"))},
		"usage a share of writes":           {"--rw randwrite --rwmixread 70", "", nil},
		"usage a rate and a share":          {"--rw randrw --rwmixread 70 --rate-iops 10", "", nil},
		"usage a rate of rados bench":       {"--engine rados --rate-iops 10", "", nil},
		"usage a latency without a rate":    {"--max-p99 20ms", "", nil},
		"a gate of a closed loop":           {"--ceph-cluster a/b --max-p99 20ms --at-least 1Mi --closed-loop --dry-run -o yaml", "", ending(t, passed(""))},
		"usage a latency of no time":        {"--max-p99 20", "", nil},
		"usage a class and a pool":          {"--storage-class a --pool b", "", nil},
		"usage a class and a tool":          {"--storage-class a --engine rados", "", nil},
		"usage flags and a file":            {"-f - --pool p", gate, nil},
		"usage an engine":                   {"--engine dd", "", nil},
		"usage a mode of another":           {"--engine rados --mode randwrite", "", nil},
		"usage a block size":                {"--block-size big", "", nil},
		"usage a cluster":                   {"--ceph-cluster my-cluster", "", nil},
		"usage an expectation":              {"--expect Good", "", nil},
		"usage expect without wait":         {"--expect Passed --wait=false", "", nil},
		"usage an argument":                 {"nightly.yaml", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewRunCommand(clitest.Connecting(c.cluster), nil), strings.ReplaceAll(c.line, "FILE", file), c.stdin)
			// The progress output begins each line with the time of day.
			got.Stdout = withoutClock(got.Stdout)
			clitest.Golden(t, "run/"+strings.ReplaceAll(name, ",", ""), "$ run "+c.line+"\n"+got.String(), *update)
		})
	}
}

// operatorOf returns an operator that watches only these namespaces.
func operatorOf(namespaces string) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: kube.OperatorNamespace, Name: "cephtune-manager", Labels: map[string]string{kube.LabelName: "cephtune", operator.LabelComponent: "manager"},
		},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Args: []string{"--namespaces=" + namespaces}}}}}},
	}
}

// scheduled returns a benchmark and a sweep that run on schedules.
func scheduled() []client.Object {
	metadata := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: clitest.Namespace, Name: name, UID: "original", Labels: map[string]string{"app.kubernetes.io/instance": "in-git"}, Annotations: map[string]string{"a": "b"},
		}
	}
	spec := v1alpha1.CephBenchmarkSpec{Schedule: &v1alpha1.Schedule{Cron: "0 4 * * *"}, RunID: "7", Suspend: true, Repetitions: 2}
	return []client.Object{
		&v1alpha1.CephBenchmark{ObjectMeta: metadata("nightly"), Spec: spec, Status: v1alpha1.CephBenchmarkStatus{ObservedRunID: "2026-03-14T0300Z"}},
		&v1alpha1.CephTuningSweep{ObjectMeta: metadata("weekly"), Spec: v1alpha1.CephTuningSweepSpec{Schedule: spec.Schedule, RunID: "7", Suspend: true}},
	}
}

func withoutCluster(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "clusterRef") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func withoutClock(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > 8 && line[2] == ':' && line[5] == ':' {
			line = "HH:MM:SS" + line[8:]
		}
		out.WriteString(line)
	}
	return out.String()
}

func existing(t *testing.T) client.WithWatch {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: clitest.Namespace, Name: "nightly"}}
	return ending(t, func(client.Object) {}, b)
}

// TestTheAPIServerTakesEveryLoad checks that the schema fills in what flags leave out, and that the
// API server accepts every combination that the command accepts.
func TestTheAPIServerTakesEveryLoad(t *testing.T) {
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
	for _, engine := range load.Engines() {
		for _, mode := range words.Modes() {
			line := fmt.Sprintf("--ceph-cluster a/b --engine %s --mode %s --block-size 64Ki --dry-run server", engine, mode)
			got := clitest.Execute(t, NewRunCommand(clitest.Connecting(c), nil), line, "")
			known := engine != "rados" || mode == "write" || mode == "read" || mode == "randread"
			if known != (got.Err == nil) || !known && got.Code() != 2 {
				t.Errorf("%s: %v", line, got.Err)
			}
			if known && !strings.Contains(got.Stdout, "historyLimit: 5") {
				t.Errorf("%s: no defaults in\n%s", line, got.Stdout)
			}
		}
	}
	namesWhatIsMeant(t, c) // first, since a sample has the name of its file
	takesSamples(t, c)
}

// namesWhatIsMeant checks the API server's answers to what people type first in a file.
func namesWhatIsMeant(t *testing.T, c client.WithWatch) {
	t.Helper()
	spec := func(fio, expectation string) string {
		text := strings.Replace(gate, "radosBench: {mode: Write}", "fio: {"+fio+"}", 1)
		return strings.Replace(text, "metric: Bandwidth, atLeast: 300Mi", expectation, 1)
	}
	const limit = "metric: LatencyP99, atMost: 20ms"
	for file, want := range map[string]string{
		spec("pattern: RandRead, blockSize: 4Ki, rateIOPS: 10", limit):                       "",
		spec("pattern: RandRead, blockSize: 4k, rateIOPS: 10", limit):                        "4Ki",
		spec("pattern: RandRead, blockSize: 4Ki, rateIOPS: 10", "metric: p99, atMost: 20ms"): "p99 is LatencyP99 here",
		spec("pattern: RandRead, blockSize: 4Ki, rateIOPS: 10", "metric: max, atMost: 20ms"): "max is LatencyMax here",
		spec("rw: randread, bs: 4k, iodepth: 32, runtime: 60, numjobs: 4", limit):            "runtime of fio is duration, such as 60s here",
	} {
		got := clitest.Execute(t, NewRunCommand(clitest.Connecting(c), nil), "-f - --dry-run server", file)
		if (got.Err == nil) != (want == "") || got.Err != nil && !strings.Contains(got.Err.Error(), want) {
			t.Errorf("%v, want %q, of\n%s", got.Err, want, file)
		}
		if got.Err != nil && strings.Contains(got.Err.Error(), "Go ") {
			t.Errorf("the error names a type of Go: %v", got.Err)
		}
	}
}

// takesSamples runs every sample in config/samples.
func takesSamples(t *testing.T, c client.WithWatch) {
	t.Helper()
	samples, err := filepath.Glob(filepath.Join(apiserver.Root(t), "config", "samples", "ceph*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatal(samples, err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		got := clitest.Execute(t, NewRunCommand(clitest.Connecting(c), nil), "--wait=false -o yaml -f -", string(text))
		if got.Err != nil || !strings.Contains(got.Stdout, "uid:") {
			t.Errorf("%s: %v", filepath.Base(sample), got.Err)
		}
	}
}
