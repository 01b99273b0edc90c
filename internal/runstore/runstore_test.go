package runstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/reference"
)

// storeOf returns the store of a benchmark in an API server that has the given objects.
func storeOf(t *testing.T, hooks interceptor.Funcs, objects ...client.Object) Store {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(hooks).Build()
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "b", UID: "u"}}
	b.Spec.RunID, b.Status.ObservedRunID, b.Status.StartTime = "1", "1", &metav1.Time{Time: time.Unix(1, 0)}
	return Store{Client: c, Reader: c, Benchmark: b}
}

func runOf(number int32, reason string) conclusion.Run {
	state := v1alpha1.RunValid
	if reason != "" {
		state = v1alpha1.RunInvalid
	}
	return conclusion.Run{Run: archive.Run{Number: number, State: state, Reason: reason}}
}

func TestResultsOfAnEarlierAttemptCount(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	name, _, err := s.Write(t.Context(), runOf(1, "the earlier process saw a scrub"))
	if err != nil {
		t.Fatal(err)
	}
	again, kept, err := s.Write(t.Context(), runOf(1, ""))
	if err != nil || again != name || !strings.Contains(kept.Reason, "scrub") {
		t.Errorf("%s: %q, %v; want the results of the first attempt, in %s", again, kept.Reason, err, name)
	}
}

func TestRunsAreReadUnlessTheyAreKnown(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	name, _, err := s.Write(t.Context(), runOf(2, ""))
	if err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "foreign"}}
	if err := s.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	s.Benchmark.Status.Runs = []v1alpha1.BenchmarkRun{
		{Number: 2, State: v1alpha1.RunValid, Results: name},
		{Number: 3, State: v1alpha1.RunInvalid, Reason: "a scrub", Results: "never read"},
		{Number: 4, State: v1alpha1.RunValid, Results: "gone"},
		{Number: 5, State: v1alpha1.RunValid, Results: "foreign"},
	}
	known := map[int32]conclusion.Run{1: runOf(1, "known")}
	runs, err := s.Runs(t.Context(), 5, known)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"known", "", "a scrub", "ConfigMap gone, were deleted", "cannot be read"} {
		if got := runs[i].Reason; want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
	if _, err := s.Runs(t.Context(), 6, known); err == nil || !strings.Contains(err.Error(), "no run 6") {
		t.Errorf("a run that status does not have: %v", err)
	}
}

func TestPruneKeepsTheLatestSessions(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	for session, runID := range []v1alpha1.RunID{"1", "2"} {
		s.Benchmark.Status.ObservedRunID, s.Benchmark.Status.StartTime = runID, &metav1.Time{Time: time.Unix(int64(session), 0)}
		if _, _, err := s.Write(t.Context(), runOf(1, "")); err != nil {
			t.Fatal(err)
		}
	}
	if waits, err := s.Prune(t.Context(), 1); err != nil || !waits.IsDone() {
		t.Fatal(waits, err)
	}
	left, err := list(t.Context(), s.Reader, s.Benchmark)
	if err != nil || len(left) != 1 {
		t.Errorf("%d ConfigMaps, %v; want those of one session", len(left), err)
	}
}

func TestReferenceThatCannotBeRead(t *testing.T) {
	fails := func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("a timeout")
	}
	missing := func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "cephbenchmarks"}, "nightly")
	}
	for name, c := range map[string]struct {
		hooks interceptor.Funcs
		want  string
	}{
		"missing":    {interceptor.Funcs{Get: missing}, "there is no CephBenchmark nightly in this namespace: create it"},
		"unreadable": {interceptor.Funcs{Get: fails}, "CephBenchmark nightly cannot be read: run again with another runID (a timeout)"},
		"unfinished": {interceptor.Funcs{}, "nightly is not Complete"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeOf(t, c.hooks, &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "n"}})
			got := s.References(t.Context(), []v1alpha1.Expectation{{}, {Reference: "nightly"}, {Reference: "nightly"}}, reference.Workload{})
			if len(got) != 1 || !strings.Contains(got["nightly"].Unusable, c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}
