package cephtuningsweep

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/sweepspec"
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

// A node that is gone must not hold the next runs, but any other failure leaves them where they are.
func TestForgetsLostNodes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	failed := func(reason string, status metav1.ConditionStatus) *v1alpha1.CephBenchmark {
		b := &v1alpha1.CephBenchmark{}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: status, Reason: reason}}
		return b
	}
	for name, c := range map[string]struct {
		child   *v1alpha1.CephBenchmark
		forgets bool
	}{
		"a lost node":    {failed(v1alpha1.ReasonNodeLost, metav1.ConditionTrue), true},
		"a lost client":  {failed(v1alpha1.ReasonClientsLost, metav1.ConditionTrue), false},
		"no failure":     {failed(v1alpha1.ReasonNodeLost, metav1.ConditionFalse), false},
		"no benchmark":   {nil, false},
		"none has ended": {&v1alpha1.CephBenchmark{}, false},
	} {
		s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "s", Annotations: map[string]string{AnnotationNodes: "2 node3", "theirs": "stays"}}}
		s.Spec.RunID = "2"
		r := &Reconciler{Options: Options{Shared: dependencies.Shared{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build()}}}
		if err := r.forgetLostNodes(t.Context(), facts{sweep: s}, c.child); err != nil {
			t.Fatal(err)
		}
		stored := &v1alpha1.CephTuningSweep{}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(s), stored); err != nil {
			t.Fatal(err)
		}
		if got := len(nodesOfRun(stored)) == 0; got != c.forgets || stored.Annotations["theirs"] != "stays" {
			t.Errorf("%s: annotations %v", name, stored.Annotations)
		}
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
	proper, err := archive.ConfigMap(child, &archive.Run{Number: 1, Phases: []archive.Phase{{Name: "a", Clients: []task.Report{{Result: &result.Result{
		SchemaVersion: 1, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{Operations: 1, Bytes: 4000, Seconds: 1, ShortestSeconds: 1},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	foreign, garbage := proper.DeepCopy(), proper.DeepCopy()
	foreign.OwnerReferences = nil
	garbage.BinaryData[archive.Key] = []byte("garbage")
	plan := resource.MustParse("7000")
	seen := facts{sweep: &v1alpha1.CephTuningSweep{}}
	seen.sweep.Status.Plan = &v1alpha1.SweepPlan{RunBytesWritten: &plan}
	for name, tc := range map[string]struct {
		there  []client.Object
		want   int64
		reason string
	}{
		"its own": {[]client.Object{proper}, 4000, ""},
		"foreign": {[]client.Object{foreign}, 7000, "does not have the results that the operator wrote for benchmark b"},
		"garbage": {[]client.Object{garbage}, 7000, "cannot be read"},
		"deleted": {nil, 7000, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Options: Options{Shared: dependencies.Shared{Reader: fake.NewClientBuilder().WithObjects(tc.there...).Build()}}}
			bytes, reason, err := r.writtenBytes(t.Context(), working(seen), child)
			if bytes != tc.want || err != nil || (reason == "") != (tc.reason == "") || !strings.Contains(reason, tc.reason) {
				t.Errorf("%d bytes, %q, %v", bytes, reason, err)
			}
		})
	}
}

// endless is an API server with more labelled objects than anybody reads.
type endless struct{ client.Reader }

// List implements client.Reader.
func (endless) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Limit == 0 {
		return errors.New("all objects at once take too much memory")
	}
	list.SetContinue("more")
	return nil
}

// Users can label any number of objects like those of a sweep. So the sweep's benchmarks come from the cache, and
// the other lists have an end.
func TestManyLabelledObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", UID: "u"}}
	s.Status.Plan = &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved}
	benchmark := func(name string, sweepUID types.UID, ended metav1.ConditionStatus) *v1alpha1.CephBenchmark {
		b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name), Labels: map[string]string{sweepspec.LabelSweep: "any"}}}
		b.Status.Trial = &v1alpha1.BenchmarkTrial{UID: sweepUID}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: ended}}
		return b
	}
	cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		benchmark("running", "u", "False"), benchmark("just-ended", "u", "False"), benchmark("gone", "u", "False"),
		benchmark("ended", "u", "True"), benchmark("foreign", "other", "False")).Build()
	present := fake.NewClientBuilder().WithScheme(scheme).WithObjects(benchmark("running", "u", "False"), benchmark("just-ended", "u", "True")).Build()
	r := &Reconciler{Options: Options{Shared: dependencies.Shared{Client: cached, Reader: endless{present}}}}
	seen := facts{sweep: s, sessions: &sweepspec.Sessions{}}
	if err := r.observeChildren(t.Context(), &seen); err != nil || len(seen.others) != 1 || seen.others[0].Name != "running" {
		t.Errorf("%d benchmarks, %v; want the one that runs", len(seen.others), err)
	}
	if err := r.removeArchives(t.Context(), working(seen)); err != nil {
		t.Errorf("the new run cannot begin: %v", err)
	}
	_, _, err := r.nodesOf(t.Context(), benchmark("running", "u", "False"))
	if _, tooMany := errors.AsType[*pages.TooManyError](err); !tooMany {
		t.Errorf("clients of which some may be missing: %v", err)
	}
}
