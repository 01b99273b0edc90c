package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// counter is a kind whose objects count their passes. Its facts and its memory are the number of passes of a run.
type counter struct {
	*Loop[*v1alpha1.CephBenchmark, v1alpha1.CephBenchmarkStatus, int, struct{}, int]

	client client.Client
	events *events.FakeRecorder
	now    time.Time
	// blind is the error of an observation, and failure that of a step. reason and message are the outcome of steps.
	blind, failure  error
	reason, message string
	recorded, ended int
}

func newCounter(t *testing.T, objects ...client.Object) *counter {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &counter{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.CephBenchmark{}).Build(),
		events: events.NewFakeRecorder(16), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), reason: "Counting",
	}
	var seen *v1alpha1.CephBenchmark
	c.Loop = &Loop[*v1alpha1.CephBenchmark, v1alpha1.CephBenchmarkStatus, int, struct{}, int]{
		Client: c.client, Reader: c.client, Recorder: c.events, Now: func() time.Time { return c.now }, Finalizer: CleanupFinalizer,
		New: func() *v1alpha1.CephBenchmark { return &v1alpha1.CephBenchmark{} },
		Status: func(b *v1alpha1.CephBenchmark) (*v1alpha1.CephBenchmarkStatus, []metav1.Condition) {
			return &b.Status, b.Status.Conditions
		},
		Rests: func(*v1alpha1.CephBenchmark) bool { return false },
		RunOf: func(b *v1alpha1.CephBenchmark) string { return string(b.Spec.RunID) },
		Fresh: func() int { return 0 },
		Observe: func(_ context.Context, b *v1alpha1.CephBenchmark, p Pass[int]) (int, error) {
			seen = b
			return p.Memory, c.blind
		},
		Blind:    func(*v1alpha1.CephBenchmark, time.Time) int { return 0 },
		Decide:   func(int) Plan[struct{}] { return Plan[struct{}]{Step: StepWait, Again: time.Minute} },
		Describe: func(int, Plan[struct{}]) Decision { return Decision{} },
		Act: func(_ context.Context, passes int, _ Plan[struct{}]) (Effect[v1alpha1.CephBenchmarkStatus], int, error) {
			return Effect[v1alpha1.CephBenchmarkStatus]{Outcome: kstatus.Outcome{Reason: c.reason, Message: c.message}}, passes + 1, c.failure
		},
		StatusAfter: func(_, _ int, p Plan[struct{}], e Effect[v1alpha1.CephBenchmarkStatus], err error) *v1alpha1.CephBenchmark {
			after := seen.DeepCopy()
			kstatus.MarkReconciling(&after.Status.Conditions, 1, kstatus.OfPass(p.Outcome, e.Outcome, err, seen.Status.Conditions))
			return after
		},
		Recorded: func(_, _ *v1alpha1.CephBenchmarkStatus) { c.recorded++ },
		End:      func(types.NamespacedName) time.Duration { c.ended++; return time.Second },
	}
	return c
}

// pass carries out a pass of the object b, and returns the message in its status.
func (c *counter) pass(t *testing.T) (message string, again time.Duration, err error) {
	t.Helper()
	key := types.NamespacedName{Namespace: "ns", Name: "b"}
	result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	b := &v1alpha1.CephBenchmark{}
	if found := c.client.Get(t.Context(), key, b); client.IgnoreNotFound(found) != nil {
		t.Fatal(found)
	}
	return kstatus.Current(b.Status.Conditions).Message, result.RequeueAfter, err
}

func benchmark(runID v1alpha1.RunID) *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: "1"}, Spec: v1alpha1.CephBenchmarkSpec{RunID: runID}}
}

func TestPassWritesMessagesAtIntervals(t *testing.T) {
	c := newCounter(t, benchmark("1"))
	for _, step := range []struct {
		after           time.Duration
		reason, message string
		want            string
		recorded        int
	}{
		{0, "Counting", "one", "one", 1},
		{time.Second, "Counting", "two", "one", 1},
		{time.Second, "Resting", "three", "three", 2},
		{MessageInterval, "Resting", "four", "four", 3},
		{MessageInterval, "Resting", "four", "four", 3},
	} {
		c.now, c.reason, c.message = c.now.Add(step.after), step.reason, step.message
		got, again, err := c.pass(t)
		if err != nil || got != step.want || again != time.Minute || c.recorded != step.recorded {
			t.Errorf("%s: status says %q, next pass in %v, %d writes, %v; want %q, %d writes", step.message, got, again, c.recorded, err, step.want, step.recorded)
		}
	}
	if n := len(c.events.Events); n != 2 {
		t.Errorf("%d events, want one for each reason", n)
	}
}

// A queued object is not observed. But the cache may show an earlier run or another object of that name as queued.
func TestQueuedObjectIsNotObserved(t *testing.T) {
	c := newCounter(t, benchmark("1"))
	c.blind = errors.New("it was observed")
	c.Queued = func(ctx context.Context, b *v1alpha1.CephBenchmark, p Pass[int]) (int, bool, error) {
		_, _ = c.Observe(ctx, b, p)
		return p.Memory, true, nil
	}
	for range 2 {
		if _, again, err := c.pass(t); err != nil || again != time.Minute {
			t.Errorf("next pass in %v, %v", again, err)
		}
	}
	if n := c.remembered(benchmark("1")).find("1", c.Fresh).memory; n != 2 {
		t.Errorf("it remembers %d passes, want 2", n)
	}
	for name, later := range map[string]*v1alpha1.CephBenchmark{"run": benchmark("2"), "object": {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: "2"}}} {
		c.remembered(later).find("2", c.Fresh)
		if _, _, err := c.pass(t); !errors.Is(err, c.blind) {
			t.Errorf("the cache shows an earlier %s: %v, want an observation", name, err)
		}
	}
}

func TestFailedPassWritesItsError(t *testing.T) {
	c := newCounter(t, benchmark("1"))
	c.failure = errors.New("no monitor answers")
	if got, _, err := c.pass(t); !errors.Is(err, c.failure) || got != "no monitor answers" {
		t.Errorf("after a failed step: status says %q, error %v", got, err)
	}
	c.blind = errors.New("no API server answers")
	if got, _, err := c.pass(t); !errors.Is(err, c.blind) || got != "no API server answers" {
		t.Errorf("after a failed observation: status says %q, error %v", got, err)
	}
}

func TestObjectWithoutRunHasNoMemory(t *testing.T) {
	c := newCounter(t, benchmark(""))
	c.blind = errors.New("no API server answers")
	if got, _, err := c.pass(t); !errors.Is(err, c.blind) || got != "" {
		t.Errorf("status says %q, error %v; want no status", got, err)
	}
	if c.remembered(benchmark("")).run != nil {
		t.Error("it has a memory")
	}
}

func TestMemoryIsThatOfOneRun(t *testing.T) {
	c := newCounter(t, benchmark("1"))
	passes := func(run string) int {
		return c.remembered(benchmark("1")).find(run, c.Fresh).memory
	}
	for range 2 {
		if _, _, err := c.pass(t); err != nil {
			t.Fatal(err)
		}
	}
	if n := passes("1"); n != 2 {
		t.Errorf("it remembers %d passes, want 2", n)
	}
	if n := passes("2"); n != 0 {
		t.Errorf("another run remembers %d passes", n)
	}
	if n := passes("1"); n != 0 {
		t.Errorf("the first run still remembers %d passes", n)
	}
}

// Another object may get the name of a deleted one before a pass has seen that it is gone.
func TestObjectOfThatNameHasNoMemory(t *testing.T) {
	c := newCounter(t)
	c.remembered(benchmark("1")).find("1", c.Fresh).memory = 7
	other := benchmark("1")
	other.UID = "2"
	if known := c.remembered(other); known.run != nil || known.log.known {
		t.Errorf("it remembers %+v", known)
	}
}

func TestGoneObjectIsForgotten(t *testing.T) {
	c := newCounter(t, benchmark("1"))
	if _, _, err := c.pass(t); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Delete(t.Context(), benchmark("1")); err != nil {
		t.Fatal(err)
	}
	if _, again, err := c.pass(t); err != nil || again != time.Second || c.ended != 1 || len(c.memories.byObject) != 0 {
		t.Errorf("next look in %v, ended %d times, %d memories, %v", again, c.ended, len(c.memories.byObject), err)
	}
}

func TestEventsWithOneReasonAreJoined(t *testing.T) {
	got := Joined([]Event{Warning("A", "One."), Normal("A", "Two."), Warning("A", "Three."), Warning("B", "Four.")})
	var texts []string
	for _, e := range got {
		texts = append(texts, e.Type+" "+e.Reason+": "+e.Message)
	}
	if all, want := strings.Join(texts, "; "), "Warning A: One. Three.; Normal A: Two.; Warning B: Four."; all != want {
		t.Errorf("%s, want %s", all, want)
	}
}
