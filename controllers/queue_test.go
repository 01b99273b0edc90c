package controllers

import (
	gocmp "cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
)

// queueVariable names the variable with the number of benchmarks in TestQueueCosts and TestCostOfOneBenchmark. The defaults
// are small.
const queueVariable = "CEPHTUNE_QUEUE"

// play plays a story in a hall, in virtual time.
func play(t *testing.T, kinds memapi.Kinds, tell func(*hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, kinds)
		h.manage()
		defer time.Sleep(time.Minute) // Commands that have begun come to an end.
		defer func() { h.kill() }()
		tell(h)
	})
}

func compile(t *testing.T) memapi.Kinds {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	return memapi.CompileKinds(t, apiserver.Root(t))
}

// queueUp creates benchmarks, and a sweep as each object of the given number, and waits until all but the first are in the
// queue.
func (h *hall) queueUp(count, sweepEach int) {
	h.t.Helper()
	for i := range count {
		name := fmt.Sprintf("q%04d", i)
		if sweepEach > 0 && i%sweepEach == sweepEach-1 {
			h.create(sweep(name))
		} else {
			h.create(benchmark(name))
		}
		if i == 0 {
			h.awaitHolder(name, time.Minute)
			time.Sleep(time.Second) // Times of the queue have a resolution of a second.
		}
	}
	for h.queued() < count-1 {
		time.Sleep(5 * time.Second)
	}
}

// queued returns how many objects are in the queue, by their status.
func (h *hall) queued() (count int) {
	for _, o := range h.all() {
		if _, conditions := statusOf(o); kstatus.Current(conditions).Reason == v1alpha1.ReasonQueued {
			count++
		}
	}
	return count
}

func statusOf(o client.Object) (start *metav1.Time, conditions []metav1.Condition) {
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		return o.Status.StartTime, o.Status.Conditions
	case *v1alpha1.CephTuningSweep:
		return o.Status.StartTime, o.Status.Conditions
	}
	return nil, nil
}

// cost is what a manager asks for in a second.
type cost struct{ Reads, Writes, Commands float64 }

// cost returns the cost during a time.
func (h *hall) cost(during time.Duration) cost {
	reads, writes, commands := h.reads.Load(), h.writes.Load(), h.commands.Load()
	time.Sleep(during)
	per := func(n int64) float64 { return float64(n) / during.Seconds() }
	return cost{Reads: per(h.reads.Load() - reads), Writes: per(h.writes.Load() - writes), Commands: per(h.commands.Load() - commands)}
}

// queueLength returns the length of the queue that is measured.
func queueLength(t *testing.T, length int) int {
	t.Helper()
	if text := os.Getenv(queueVariable); text != "" {
		var err error
		if length, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return length
}

// A queue of any length costs less than one read a second, beside what the holder of the lock costs.
func TestQueueCosts(t *testing.T) {
	kinds, length := compile(t), queueLength(t, 60)
	// The holder fails after a quarter of an hour. All have corrected by then what they said about the queue while it grew.
	const settled, measured = 11 * time.Minute, 3 * time.Minute
	costs := func(count, sweepEach int) (total cost) {
		play(t, kinds, func(h *hall) {
			h.queueUp(count, sweepEach)
			time.Sleep(settled)
			total = h.cost(measured)
			for name, writes := range h.status {
				if writes > 5 {
					t.Errorf("status of %s was written %d times", name, writes)
				}
			}
		})
		return total
	}
	alone := costs(1, 0)
	for name, tc := range map[string]struct {
		sweepEach int
		reads     float64
	}{
		"benchmarks": {0, 0},
		"half of it sweeps, the first of which looks for what sweeps have left": {2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			many := costs(length+1, tc.sweepEach)
			t.Logf("a second: the holder alone %+.2v, with %d in the queue %+.2v", alone, length, many)
			if many.Reads-alone.Reads > tc.reads || many.Writes > alone.Writes || many.Commands > alone.Commands {
				t.Errorf("the queue costs %+v a second, the holder alone %+v", many, alone)
			}
		})
	}
}

// names returns the names of the benchmarks and sweeps in the order in which they began.
func (h *hall) names() (names []string) {
	all := h.all()
	slices.SortFunc(all, func(a, b client.Object) int {
		from, _ := statusOf(a)
		to, _ := statusOf(b)
		return gocmp.Or(from.Compare(to.Time), gocmp.Compare(a.GetName(), b.GetName()))
	})
	for _, o := range all {
		names = append(names, o.GetName())
	}
	return names
}

func (h *hall) find(name string) client.Object {
	h.t.Helper()
	all := h.all()
	i := slices.IndexFunc(all, func(o client.Object) bool { return o.GetName() == name })
	if i < 0 {
		h.t.Fatalf("%s does not exist", name)
	}
	return all[i]
}

func (h *hall) delete(name string) {
	h.t.Helper()
	if err := h.Delete(h.t.Context(), h.find(name)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hall) suspend(name string) {
	h.t.Helper()
	before := h.find(name)
	after := before.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // It is a copy.
	switch o := after.(type) {
	case *v1alpha1.CephBenchmark:
		o.Spec.Suspend = true
	case *v1alpha1.CephTuningSweep:
		o.Spec.Suspend = true
	}
	if err := h.Patch(h.t.Context(), after, client.MergeFrom(before)); err != nil {
		h.t.Fatal(err)
	}
}

// endsWithin is how long the teardown or the restore of a holder may take, and failsWithin how long a holder waits for its
// pool. startsWithin is how long the next in the queue may take to have the lock.
const endsWithin, failsWithin, startsWithin = 2 * time.Second, 15*time.Minute + 2*time.Second, 3 * time.Second

func TestQueueKeepsItsOrder(t *testing.T) {
	play(t, compile(t), func(h *hall) {
		h.queueUp(12, 3)
		within := startsWithin
		for i, name := range h.names() {
			waited := h.awaitHolder(name, within)
			within = endsWithin + startsWithin
			_, isSweep := h.find(name).(*v1alpha1.CephTuningSweep)
			t.Logf("%s has the lock after %v", name, waited)
			switch {
			case i%2 == 0:
				h.delete(name)
			case isSweep:
				h.suspend(name)
			default: // The benchmark fails.
				within = failsWithin + startsWithin
			}
		}
	})
}

// The front of the queue looks again even if no event wakes it.
func TestQueueSurvivesLostEvents(t *testing.T) {
	play(t, compile(t), func(h *hall) {
		h.queueUp(3, 0)
		h.delete("q0000")
		time.Sleep(2 * lag)
		h.mu.Lock()
		h.deaf = true
		h.mu.Unlock()
		waited := h.awaitHolder("q0001", endsWithin+queue.LookEvery+startsWithin)
		t.Logf("it has the lock after %v", waited)
	})
}

func TestQueueAfterRestart(t *testing.T) {
	play(t, compile(t), func(h *hall) {
		h.queueUp(30, 2)
		time.Sleep(11 * time.Minute)
		before, next, writes := h.holder(), h.names()[1], maps.Clone(h.status)
		h.kill()
		reads, commands := h.reads.Load(), h.commands.Load()
		h.manage()
		time.Sleep(10 * time.Second)
		t.Logf("within 10 s of a restart, %d reads and %d commands", h.reads.Load()-reads, h.commands.Load()-commands)
		if h.holder() != before {
			t.Errorf("%s has the lock, want %s", h.holder(), before)
		}
		writes[before] = h.status[before] // The new manager says what the holder does now.
		if diff := cmp.Diff(writes, h.status); diff != "" {
			t.Errorf("status was written (-before +after):\n%s", diff)
		}
		h.delete(before)
		h.awaitHolder(next, endsWithin+startsWithin)
	})
}
