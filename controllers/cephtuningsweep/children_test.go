package cephtuningsweep

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// Clients and background load stay on the nodes of the first run, each on its own.
func TestNodesOfTheFirstRun(t *testing.T) {
	cases := map[string]struct {
		annotation     string
		want           []v1alpha1.NodeName
		wantBackground []v1alpha1.NodeName
	}{
		"not known yet":           {annotation: ""},
		"of an earlier run":       {annotation: "1 a background:b"},
		"of clients":              {annotation: "2 a c", want: []v1alpha1.NodeName{"a", "c"}},
		"of clients and one more": {annotation: "2 a c background:a", want: []v1alpha1.NodeName{"a", "c"}, wantBackground: []v1alpha1.NodeName{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.CephTuningSweep{Spec: v1alpha1.CephTuningSweepSpec{RunID: "2"}}
			s.Annotations = map[string]string{AnnotationNodes: tc.annotation}
			if diff := cmp.Diff(tc.want, nodesOfRun(s)); diff != "" {
				t.Errorf("nodes of clients (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantBackground, backgroundNodesOfRun(s)); diff != "" {
				t.Errorf("nodes of the background load (-want +got):\n%s", diff)
			}
		})
	}
}

// fio does not report what it writes during its ramp; rados bench reports it.
func TestRampBytes(t *testing.T) {
	minute, ramp := metav1.Duration{Duration: time.Minute}, &metav1.Duration{Duration: 15 * time.Second}
	template := v1alpha1.BenchmarkTemplate{Phases: []v1alpha1.Phase{
		{Name: "fio", Fio: &v1alpha1.Fio{Engine: v1alpha1.FioEngineRBD, Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), NumJobs: 1, IODepth: 1, Duration: minute, Ramp: ramp}},
		{Name: "rados", RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi"), Concurrency: 1, Duration: minute, Ramp: ramp}},
	}}
	wrote := func(name v1alpha1.PhaseName) archive.Phase {
		return archive.Phase{Name: name, Clients: []task.Report{{Result: &result.Result{Write: &result.Direction{Bytes: 4000}}}, {}}}
	}
	run := &archive.Run{Phases: []archive.Phase{wrote("fio"), wrote("rados")}}
	if got := rampBytes(template, run); got != 1000 {
		t.Errorf("%d bytes, want a quarter of what fio told", got)
	}
}

// A foreign ConfigMap with the name of results is not read, and does not stop a sweep.
func TestResultsThatAreNotOfTheBenchmark(t *testing.T) {
	start := metav1.Now()
	child := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b", UID: "u"}}
	child.Status.StartTime, child.Status.ObservedRunID = &start, "1"
	child.Spec.Template.Dataset.Size = "Auto"
	child.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, Results: archive.Name(child, 1)}}
	own, err := archive.ConfigMap(child, &archive.Run{Number: 1, Phases: []archive.Phase{{Name: "a", Clients: []task.Report{{Result: &result.Result{
		SchemaVersion: 1, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{Operations: 1, Bytes: 4000, Seconds: 1, ShortestSeconds: 1},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	foreign, garbage := own.DeepCopy(), own.DeepCopy()
	foreign.OwnerReferences = nil
	garbage.BinaryData[archive.Key] = []byte("garbage")
	plan := resource.MustParse("7000")
	seen := facts{sweep: &v1alpha1.CephTuningSweep{}}
	seen.sweep.Status.Plan = &v1alpha1.SweepPlan{RunBytesWritten: &plan}
	for name, tc := range map[string]struct {
		there []client.Object
		want  int64
		why   string
	}{
		"its own": {[]client.Object{own}, 4000, ""},
		"foreign": {[]client.Object{foreign}, 7000, "does not have the results that the operator wrote for benchmark b"},
		"garbage": {[]client.Object{garbage}, 7000, "cannot be read"},
		"deleted": {nil, 7000, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Options: Options{Reader: fake.NewClientBuilder().WithObjects(tc.there...).Build()}}
			bytes, why, err := r.writtenBytes(t.Context(), seen, child)
			if bytes != tc.want || err != nil || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
				t.Errorf("%d bytes, %q, %v", bytes, why, err)
			}
		})
	}
}
