package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
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
	"github.com/cephtune/cephtune/internal/archive/reference"
	"github.com/cephtune/cephtune/internal/archive/store"
	"github.com/cephtune/cephtune/internal/conclusion"
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
	b.Status.Clients = &v1alpha1.BenchmarkClients{Nonce: "nonce"}
	return Store{Client: c, Reader: c, Benchmark: b, MasterKey: make([]byte, 32)}
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
	stored, _, err := s.Write(t.Context(), runOf(1, "the earlier process saw a scrub"))
	if err != nil {
		t.Fatal(err)
	}
	again, kept, err := s.Write(t.Context(), runOf(1, ""))
	if err != nil || again != stored || !strings.Contains(kept.Reason, "scrub") {
		t.Errorf("%s: %q, %v; want the results of the first attempt, in %s", again, kept.Reason, err, stored)
	}
}

// forge replaces a ConfigMap by a copy with another run, as any user of the namespace can. The copy keeps the
// metadata, and so the signature, the owner and the labels.
func forge(t *testing.T, s Store, name string, run *archive.Run) {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, cm); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	forged, err := archive.ConfigMap(s.Benchmark, run)
	if err != nil {
		t.Fatal(err)
	}
	forged.Name, forged.Annotations = name, cm.Annotations
	if cm.Name != "" {
		if err := s.Client.Delete(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Client.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
}

// A ConfigMap that names the benchmark as its controller proves nothing, because any user can create one.
func TestForeignResultsAreNotAccepted(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	forged := runOf(1, "").Run
	forged.InitialState = "forged"
	forge(t, s, archive.Name(s.Benchmark, 1), &forged)
	stored, kept, err := s.Write(t.Context(), runOf(1, ""))
	if err != nil || kept.InitialState == "forged" || stored.Name == archive.Name(s.Benchmark, 1) {
		t.Fatalf("%s has %+v, %v", stored, kept, err)
	}
	again, _, err := s.Write(t.Context(), runOf(1, ""))
	if err != nil || again != stored {
		t.Errorf("after a crash, the results are in %s, %v; they are already in %s", again, err, stored)
	}
	s.Benchmark.Status.Runs = []v1alpha1.BenchmarkRun{stored.Entry(kept)}
	if runs, err := s.Runs(t.Context(), 1, nil); err != nil || runs[0].Reason != "" {
		t.Errorf("%+v, %v", runs, err)
	}
	forge(t, s, stored.Name, &forged)
	if runs, err := s.Runs(t.Context(), 1, nil); err != nil || !strings.Contains(runs[0].Reason, "does not have the results that the operator wrote") {
		t.Errorf("replaced results are accepted: %+v, %v", runs, err)
	}
}

// The loop over names is bounded, and the error says what to do.
func TestResultsHaveFewNames(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	names, err := archive.Names(s.MasterKey, "u", archive.Name(s.Benchmark, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		forge(t, s, name, &archive.Run{Number: 1, State: v1alpha1.RunValid})
	}
	if _, _, err := s.Write(t.Context(), runOf(1, "")); err == nil || !strings.Contains(err.Error(), "delete one of them") {
		t.Errorf("got %v", err)
	}
}

func TestRunsAreReadUnlessTheyAreKnown(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	stored, _, err := s.Write(t.Context(), runOf(2, ""))
	if err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "foreign"}}
	if err := s.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	s.Benchmark.Status.Runs = []v1alpha1.BenchmarkRun{
		{Number: 2, State: v1alpha1.RunValid, Results: stored.Name},
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

func TestPruneKeepsTheLatestExecutions(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	for execution, runID := range []v1alpha1.RunID{"1", "2"} {
		s.Benchmark.Status.ObservedRunID, s.Benchmark.Status.StartTime = runID, &metav1.Time{Time: time.Unix(int64(execution), 0)}
		if _, _, err := s.Write(t.Context(), runOf(1, "")); err != nil {
			t.Fatal(err)
		}
	}
	// Newer results of a stranger must not displace the operator's, and the operator deletes only its own.
	s.Benchmark.Status.StartTime = &metav1.Time{Time: time.Unix(9, 0)}
	forge(t, s, "theirs", &archive.Run{Number: 1, State: v1alpha1.RunValid})
	prune(t, s, 1)
	left, err := store.List(t.Context(), s.Reader, "bench", client.MatchingLabels(archive.Labels("b")), func(*metav1.PartialObjectMetadata) (bool, error) { return true, nil })
	if err != nil || len(left) != 2 {
		t.Errorf("%d ConfigMaps, %v; want those of one execution, and the stranger's", len(left), err)
	}
}

// Other users can write any number of ConfigMaps with the labels of results. That neither takes the manager's memory nor
// stops the teardown.
func TestPruneAmongManyStrangers(t *testing.T) {
	lists := 0
	endless := func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if (&client.ListOptions{}).ApplyOptions(options).Limit == 0 {
			return errors.New("all results at once take too much memory")
		}
		lists++
		defer list.SetContinue("more")
		if lists > 1 {
			return nil
		}
		return c.List(ctx, list, options...)
	}
	s := storeOf(t, interceptor.Funcs{List: endless})
	var names []string
	for execution, runID := range []v1alpha1.RunID{"1", "2"} {
		s.Benchmark.Status.ObservedRunID, s.Benchmark.Status.StartTime = runID, &metav1.Time{Time: time.Unix(int64(execution), 0)}
		stored, _, err := s.Write(t.Context(), runOf(1, ""))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, stored.Name)
	}
	prune(t, s, 1)
	for i, name := range names {
		err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: name}, &corev1.ConfigMap{})
		if kept := err == nil; kept != (i == 1) {
			t.Errorf("execution %d: %v; want only the latest", i, err)
		}
	}
}

// A user deletes old results and creates them again from a copy, which has a genuine signature and the latest time of
// creation. They must not displace the present results.
func TestPruneDeletesCopiesOfOldResults(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	var names []string
	for start := range int64(2) {
		s.Benchmark.Status.StartTime = &metav1.Time{Time: time.Unix(start, 0)}
		stored, _, err := s.Write(t.Context(), runOf(1, ""))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, stored.Name)
	}
	var copied corev1.ConfigMap
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: names[0]}, &copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Delete(t.Context(), copied.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	copied.ResourceVersion, copied.CreationTimestamp = "", metav1.NewTime(time.Unix(99, 0))
	if err := s.Client.Create(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	wantPruned(t, s, names[1])
}

func TestPruneKeepsTheResultsInStatusIfTheClockWasSetBack(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	var names []string
	for _, start := range []int64{50, 1} {
		s.Benchmark.Status.StartTime = &metav1.Time{Time: time.Unix(start, 0)}
		stored, kept, err := s.Write(t.Context(), runOf(1, ""))
		if err != nil {
			t.Fatal(err)
		}
		names, s.Benchmark.Status.Runs = append(names, stored.Name), []v1alpha1.BenchmarkRun{stored.Entry(kept)}
	}
	wantPruned(t, s, names...)
}

// prune deletes the results of all but the latest executions.
func prune(t *testing.T, s Store, historyLimit int32) {
	t.Helper()
	signed, err := s.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(t.Context(), signed, historyLimit); err != nil {
		t.Fatal(err)
	}
}

// wantPruned prunes the results to those of one execution, and checks which are left.
func wantPruned(t *testing.T, s Store, want ...string) {
	t.Helper()
	prune(t, s, 1)
	left, err := s.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range left {
		got = append(got, m.Name)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// Any user may write a start into results that have no signature.
func TestUnsignedResultsHaveNoStart(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	unsigned := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: "b-1", Annotations: map[string]string{archive.AnnotationExecutionStart: "2099-01-01T00:00:00Z"},
	}}
	s.Benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Results: "b-1"}}
	if trusts, err := s.trusts(s.Benchmark, &unsigned); err != nil || !trusts || unsigned.Annotations[archive.AnnotationExecutionStart] != "" {
		t.Errorf("%t for %+v, %v", trusts, unsigned, err)
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

// unsign removes the signatures of a benchmark's results.
func unsign(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
	t.Helper()
	for _, run := range b.Status.Runs {
		cm := &corev1.ConfigMap{}
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: run.Results}, cm); err != nil {
			t.Fatal(err)
		}
		cm.Annotations = nil
		if err := s.Client.Update(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
}

// The verdict of a gate must not depend on results that another user wrote.
func TestReferencesAreSignedOrNamedAsUnsigned(t *testing.T) {
	environment := json.RawMessage("{}")
	for name, c := range map[string]struct {
		change   func(t *testing.T, s Store, b *v1alpha1.CephBenchmark)
		runs     int
		unsigned bool
	}{
		"signed": {func(*testing.T, Store, *v1alpha1.CephBenchmark) {}, 2, false},
		"one is replaced": {func(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
			forge(t, s, b.Status.Runs[0].Results, &archive.Run{Number: 1, State: v1alpha1.RunValid, Environment: environment, InitialState: "forged"})
		}, 0, false},
		"one is deleted": {func(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
			if err := s.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Status.Runs[1].Results}}); err != nil {
				t.Fatal(err)
			}
		}, 0, false},
		"one is added": {func(t *testing.T, s Store, _ *v1alpha1.CephBenchmark) {
			forge(t, s, "added", &archive.Run{Number: 3, State: v1alpha1.RunValid, Environment: environment, InitialState: "forged"})
		}, 2, false},
		"one is added, of another execution": {func(t *testing.T, s Store, _ *v1alpha1.CephBenchmark) {
			s.Benchmark.Status.StartTime = &metav1.Time{Time: time.Unix(5, 0)}
			forge(t, s, "added", &archive.Run{Number: 1, State: v1alpha1.RunValid, Environment: environment, InitialState: "forged"})
		}, 2, false},
		"of an earlier version": {func(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
			unsign(t, s, b)
			for i := range b.Status.Runs {
				b.Status.Runs[i].ResultsDigest = ""
			}
		}, 2, true},
		"of an earlier version, replaced": {func(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
			b.Status.Runs[0].ResultsDigest = ""
			forge(t, s, b.Status.Runs[0].Results, &archive.Run{Number: 1, State: v1alpha1.RunValid, Environment: environment, InitialState: "forged"})
		}, 2, true},
		"of an earlier version, two executions": {func(t *testing.T, s Store, b *v1alpha1.CephBenchmark) {
			b.Status.Clients = nil
			for i := range b.Status.Runs {
				b.Status.Runs[i].ResultsDigest = ""
			}
			s.Benchmark.Status.StartTime = &metav1.Time{Time: time.Unix(5, 0)}
			forge(t, s, "day-before", &archive.Run{Number: 1, State: v1alpha1.RunValid, Environment: environment})
		}, 3, true},
		"of an earlier execution": {func(_ *testing.T, _ Store, b *v1alpha1.CephBenchmark) {
			b.Status.Runs, b.Status.ObservedRunID = nil, "2"
		}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeOf(t, interceptor.Funcs{})
			b := s.Benchmark.DeepCopy()
			for number := int32(1); number <= 2; number++ {
				run := runOf(number, "")
				run.Environment = environment
				stored, run, err := s.Write(t.Context(), run)
				if err != nil {
					t.Fatal(err)
				}
				b.Status.Runs = append(b.Status.Runs, stored.Entry(run))
			}
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
			c.change(t, s, b)
			if err := s.Client.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			got := s.References(t.Context(), []v1alpha1.Expectation{{Reference: "b"}}, reference.Workload{})["b"]
			if len(got.Runs) != c.runs || got.Unsigned != c.unsigned || got.UID != "u" || (got.Unusable == "") != (c.runs > 0) {
				t.Errorf("%d runs, unsigned %t, %q; want %d and %t", len(got.Runs), got.Unsigned, got.Unusable, c.runs, c.unsigned)
			}
		})
	}
}

// A user who has copied results without their signature, and given them another execution, must not choose the latest one.
func TestRecordedResultsAreOfTheExecutionInStatus(t *testing.T) {
	s := storeOf(t, interceptor.Funcs{})
	b := s.Benchmark.DeepCopy()
	for number := int32(1); number <= 2; number++ {
		run := runOf(number, "")
		run.Environment = json.RawMessage("{}")
		stored, run, err := s.Write(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		b.Status.Runs = append(b.Status.Runs, stored.Entry(run))
	}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
	unsign(t, s, b)
	cm := &corev1.ConfigMap{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: b.Status.Runs[1].Results}, cm); err != nil {
		t.Fatal(err)
	}
	cm.Labels[archive.LabelExecution] = "later"
	for _, err := range []error{s.Client.Update(t.Context(), cm), s.Client.Create(t.Context(), b)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := s.References(t.Context(), []v1alpha1.Expectation{{Reference: "b"}}, reference.Workload{})["b"].Runs
	if len(got) != 2 || got[0].Execution != archive.Execution(b) || got[1].Execution != archive.Execution(b) {
		t.Errorf("runs %+v, want two of execution %s", got, archive.Execution(b))
	}
}
