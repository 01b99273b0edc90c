package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
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
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: b.reason},
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
			want: "CephBenchmark bench/b1, CephBenchmark bench/b2, CephBenchmark bench/b3, and 2 more",
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
			names, err := Ahead(t.Context(), reader, place, func() (bool, error) { return false, nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Join(names, ", ")); diff != "" {
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
		held  bool
		err   error
		names int
	}{
		"somebody else":     {names: 1},
		"it has it":         {held: true},
		"an unknown object": {err: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			names, err := Ahead(t.Context(), reader, place, func() (bool, error) { return tc.held, tc.err })
			if len(names) != tc.names || !errors.Is(err, tc.err) {
				t.Errorf("ahead are %q, %v, want %d", names, err, tc.names)
			}
		})
	}
}
