package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

var noon = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

// begun says when a run began, and the reason in its object's condition Ready.
type begun struct {
	after  time.Duration
	reason string // of Ready; "" if the object is not running
}

func (b begun) status() (*metav1.Time, []metav1.Condition) {
	start := metav1.NewTime(noon.Add(b.after))
	if b.reason == "" {
		return &start, nil
	}
	return &start, []metav1.Condition{
		{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: b.reason},
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: b.reason, Message: b.reason},
	}
}

func benchmark(name string, b begun, edit func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	o := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID("b-" + name)}}
	o.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
	o.Status.StartTime, o.Status.Conditions = b.status()
	if edit != nil {
		edit(o)
	}
	return o
}

func tuning(name string, b begun, edit func(*v1alpha1.CephTuningSweep)) *v1alpha1.CephTuningSweep {
	o := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID("s-" + name)}}
	o.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
	o.Status.StartTime, o.Status.Conditions = b.status()
	if edit != nil {
		edit(o)
	}
	return o
}

func TestAhead(t *testing.T) {
	cases := map[string]struct {
		others   []client.Object
		restores bool
		want     string
	}{
		"nobody": {},
		"benchmarks wait for who restores": {
			others: []client.Object{
				benchmark("b", begun{-time.Hour, "Queued"}, nil), tuning("s", begun{-time.Minute, "Queued"}, nil),
			},
			restores: true,
			want:     "CephTuningSweep bench/s",
		},
		"a benchmark and a sweep, the first one first": {
			others: []client.Object{
				benchmark("b", begun{-time.Minute, "Queued"}, nil), tuning("s", begun{-time.Hour, "Running"}, nil),
			},
			want: "CephTuningSweep bench/s, CephBenchmark bench/b",
		},
		"later ones":                    {others: []client.Object{tuning("s", begun{time.Minute, "Queued"}, nil)}},
		"the same second, by name":      {others: []client.Object{tuning("a", begun{0, "Queued"}, nil), tuning("z", begun{0, "Queued"}, nil)}, want: "CephTuningSweep bench/a"},
		"one that is not at work":       {others: []client.Object{benchmark("b", begun{-time.Hour, ""}, nil)}},
		"one that waits for its window": {others: []client.Object{tuning("s", begun{-time.Hour, "WaitingForWindow"}, nil)}},
		"one that only plans": {others: []client.Object{tuning("s", begun{-time.Hour, "Preparing"}, func(s *v1alpha1.CephTuningSweep) {
			s.Spec.Mode = v1alpha1.SweepModePlan
		})}},
		"the benchmark of a sweep": {others: []client.Object{benchmark("b", begun{-time.Hour, "Running"}, func(b *v1alpha1.CephBenchmark) {
			b.Status.Trial = &v1alpha1.BenchmarkTrial{Sweep: "s", UID: "s-s"}
		})}},
		"one that only names a sweep as its owner": {
			others: []client.Object{benchmark("b", begun{-time.Hour, "Running"}, func(b *v1alpha1.CephBenchmark) {
				b.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CephTuningSweep", Name: "s", UID: "s-s", Controller: new(true)}}
			})},
			want: "CephBenchmark bench/b",
		},
		"the benchmark of another controller": {
			others: []client.Object{benchmark("b", begun{-time.Hour, "Running"}, func(b *v1alpha1.CephBenchmark) {
				b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Schedule", Name: "nightly", UID: "n", Controller: new(true)}}
			})},
			want: "CephBenchmark bench/b",
		},
		"a benchmark whose teardown is complete": {others: []client.Object{benchmark("b", begun{-time.Hour, "TearingDown"}, func(b *v1alpha1.CephBenchmark) {
			b.DeletionTimestamp, b.Finalizers = &noon, []string{"example.com/keep"}
		})}},
		"a sweep whose restore is complete": {others: []client.Object{tuning("s", begun{-time.Hour, "Restoring"}, func(s *v1alpha1.CephTuningSweep) {
			s.DeletionTimestamp, s.Finalizers = &noon, []string{"example.com/keep"}
		})}},
		"a benchmark that is torn down": {others: []client.Object{benchmark("b", begun{-time.Hour, "TearingDown"}, func(b *v1alpha1.CephBenchmark) {
			b.DeletionTimestamp, b.Finalizers = &noon, []string{"cephtune.dev/cleanup"}
		})}, want: "CephBenchmark bench/b"},
		"a sweep that restores": {others: []client.Object{tuning("s", begun{-time.Hour, "Restoring"}, func(s *v1alpha1.CephTuningSweep) {
			s.DeletionTimestamp, s.Finalizers = &noon, []string{"cephtune.dev/restore"}
		})}, want: "CephTuningSweep bench/s"},
		"another cluster": {others: []client.Object{benchmark("b", begun{-time.Hour, "Running"}, func(b *v1alpha1.CephBenchmark) {
			b.Spec.ClusterRef.Name = "other"
		})}},
		"many": {
			others: []client.Object{
				benchmark("b1", begun{-5 * time.Minute, "Queued"}, nil), benchmark("b2", begun{-4 * time.Minute, "Queued"}, nil),
				benchmark("b3", begun{-3 * time.Minute, "Queued"}, nil), benchmark("b4", begun{-2 * time.Minute, "Queued"}, nil),
				tuning("s", begun{-time.Minute, "Queued"}, nil),
			},
			want: "4 to 7 benchmarks and sweeps",
		},
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			me := tuning("me", begun{0, "Queued"}, nil)
			place, waits := OfSweep(me)
			if !waits {
				t.Fatal("it has no place in the queue")
			}
			place.Restores = tc.restores
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(tc.others, me)...).Build()
			line, err := Ahead(t.Context(), reader, place, func() (bool, error) { return false, nil })
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if line.Length > 0 {
				got = strings.TrimSuffix(strings.TrimPrefix(line.String(), "Ahead in the queue of the Ceph cluster: "), ".")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ahead (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLockHolderDoesNotWait(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tuning("s", begun{-time.Hour, "Running"}, nil)).Build()
	place, _ := OfSweep(tuning("me", begun{0, "Queued"}, nil))
	for name, tc := range map[string]struct {
		held bool
		err  error
		want int
	}{
		"somebody else":     {want: 1},
		"it has it":         {held: true},
		"an unknown object": {err: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := Ahead(t.Context(), reader, place, func() (bool, error) { return tc.held, tc.err })
			if line.Length != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("ahead are %q, %v, want %d", line, err, tc.want)
			}
		})
	}
}

// What a long line says changes only when it has halved.
func TestLineSaysHowLongItIs(t *testing.T) {
	places := make([]Place, 1000)
	for i := range places {
		places[i] = Place{Ref: objectref.Ref{Kind: "CephBenchmark", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}, Start: metav1.NewTime(noon.Add(time.Duration(i) * time.Second))}
	}
	texts := map[string]bool{}
	for length := 4; length < len(places); length++ {
		texts[ahead(places[length], places).String()] = true
	}
	if len(texts) != 8 || !texts["Ahead in the queue of the Ceph cluster: 512 to 1023 benchmarks and sweeps."] {
		t.Errorf("lines say %v", texts)
	}
	for length, want := range map[int]time.Duration{1: 10 * time.Second, 7: 70 * time.Second, 60: 10 * time.Minute, 900: 10 * time.Minute} {
		if again := ahead(places[length], places).Again(); again != want {
			t.Errorf("with %d ahead, the next look is in %v, want %v", length, again, want)
		}
	}
}

func TestMoves(t *testing.T) {
	queued := benchmark("b", begun{0, "Queued"}, nil)
	for name, tc := range map[string]struct {
		before, after *v1alpha1.CephBenchmark
		want          bool
	}{
		"it joins":                {benchmark("b", begun{0, ""}, nil), queued, false},
		"it works":                {queued, benchmark("b", begun{0, "Running"}, nil), false},
		"it has ended":            {queued, benchmark("b", begun{0, ""}, nil), true},
		"it begins again":         {queued, benchmark("b", begun{time.Hour, "Queued"}, nil), true},
		"a node is lost":          {queued, benchmark("b", begun{0, "NodeLost"}, nil), true},
		"it belongs to a sweep":   {benchmark("b", begun{0, "Running"}, ofSweep), benchmark("b", begun{0, ""}, ofSweep), false},
		"it has lost a finalizer": {benchmark("b", begun{0, "TearingDown"}, deleted("cephtune.dev/cleanup")), benchmark("b", begun{0, "TearingDown"}, deleted("example.com/keep")), true},
	} {
		if got := Moves().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: the queue moves: %v, want %v", name, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		last *v1alpha1.CephBenchmark
		want bool
	}{
		"after its teardown": {benchmark("b", begun{0, "TearingDown"}, deleted("")), true},
		"after its end":      {benchmark("b", begun{0, ""}, deleted("")), false},
	} {
		if got := Moves().Delete(event.DeleteEvent{Object: tc.last}); got != tc.want {
			t.Errorf("gone %s: the queue moves: %v, want %v", name, got, tc.want)
		}
	}
}

func ofSweep(b *v1alpha1.CephBenchmark) { b.Status.Trial = &v1alpha1.BenchmarkTrial{Sweep: "s"} }

func deleted(finalizer string) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.DeletionTimestamp, b.Finalizers = &noon, []string{finalizer} }
}

func TestFront(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{benchmark("other", begun{-time.Hour, "Queued"}, func(b *v1alpha1.CephBenchmark) { b.Spec.ClusterRef.Name = "other" })}
	for i := range 6 {
		objects = append(objects, benchmark(fmt.Sprint("b", i), begun{time.Duration(i) * time.Minute, "Queued"}, nil))
	}
	objects = append(objects, tuning("s7", begun{time.Hour, "Queued"}, nil), tuning("s8", begun{2 * time.Hour, "Queued"}, nil))
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	ended := benchmark("gone", begun{0, ""}, nil)
	for kind, want := range map[string]string{"CephBenchmark": "bench/b0 bench/b1 bench/b2 bench/b3", "CephTuningSweep": "bench/s7"} {
		var got []string
		for _, request := range Front(reader, kind)(t.Context(), ended) {
			got = append(got, request.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v are woken, want %s", kind, got, want)
		}
	}
}
