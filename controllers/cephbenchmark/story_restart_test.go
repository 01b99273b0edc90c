package cephbenchmark

import (
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of managers that end in the middle of something. The next manager must continue without
// their memory, and must not invent what is unknown.
func restartStories() map[string]story {
	return map[string]story{
		"in the queue":                         restartedInTheQueue,
		"while a deleted pool is removed":      restartedWhileADeletedPoolIsRemoved,
		"while the pool is made":               restartedWhileThePoolIsMade,
		"while clients prefill":                restartedWhileClientsPrefill,
		"while one client measures":            restartedWhileOneClientMeasures,
		"while two clients are ready":          restartedWhileTwoClientsAreReady,
		"while two clients measure":            restartedWhileTwoClientsMeasure,
		"between runs":                         restartedBetweenRuns,
		"while everything is removed":          restartedWhileEverythingIsRemoved,
		"while measuring, and suspended":       restartedAndSuspended,
		"holding the lock, not first by name":  restartedHoldingTheLock,
		"another has taken the lock":           restartedWithoutTheLock,
		"while removing takes its time":        restartedInALongTeardown,
		"and the Job is gone":                  restartedWithoutTheJob,
		"the finalizer was taken off by force": theFinalizerWasTakenOff,
	}
}

func restartedInTheQueue(w *world) {
	w.lockElsewhere()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonQueued)
	w.restart()
	w.unlockElsewhere()
	w.untilComplete(b)
}

// The time already waited is unknown, so the benchmark waits for the full time again, and then
// continues.
func restartedWhileADeletedPoolIsRemoved(w *world) {
	w.strays(3, 48)
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 48, OSDs: 3)")
	w.wait(quiescence.RemovalWait / 2)
	w.stop()
	w.strays(3, 17)
	w.start()
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 17, OSDs: 3)")
	w.wait(quiescence.RemovalWait)
	w.untilComplete(b)
	w.wantMarkedWithRemoval(b, 1, "(PGs: 17, OSDs: 3)")
}

func restartedWhileThePoolIsMade(w *world) {
	w.rook.making = "Rook is slow"
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonPreparing, "slow")
	w.restart()
	w.rook.set(func(f *fakeRook) { f.making = "" })
	w.untilComplete(b)
	if w.rook.made != 1 {
		w.t.Errorf("the pool was made %d times", w.rook.made)
	}
}

func restartedWhileClientsPrefill(w *world) {
	w.kubelet.script("data-", runnertest.Script{Preparing: held})
	b := w.benchmark("b", oneRead, clients(2), func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Dataset.Size = "Auto" })
	w.untilTask(0, "data-", task.Preparing)
	w.untilTask(1, "data-", task.Preparing)
	w.restart()
	w.kubelet.proceed("data-")
	w.untilComplete(b)
	if n := len(w.kubelet.client(0).Tasks()); states(b) != "Valid" || n != 2 {
		w.t.Errorf("runs %s of %d tasks", states(b), n)
	}
}

func restartedWhileOneClientMeasures(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.restart()
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if n := len(w.kubelet.client(0).Tasks()); states(b) != "Valid" || n != 2 {
		w.t.Errorf("runs %s of %d tasks", states(b), n)
	}
}

// unsign removes what versions without signatures did not write.
func unsign(s *v1alpha1.CephBenchmarkStatus) {
	s.Clients = nil
	for i := range s.Runs {
		s.Runs[i].ResultsDigest = ""
	}
}

func restartedWhileTwoClientsAreReady(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Preparing: held})
	b := w.benchmark("b", oneWrite, clients(2))
	w.untilTask(0, "r1-write", task.Preparing)
	w.untilTask(1, "r1-write", task.Preparing)
	w.stop()
	w.kubelet.proceed("r1-")
	w.untilTask(0, "r1-write", task.Ready)
	w.untilTask(1, "r1-write", task.Ready)
	w.start()
	w.untilComplete(b)
	if states(b) != "Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func restartedWhileTwoClientsMeasure(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, clients(2), runs(2))
	w.untilTask(0, "r1-write", task.Measuring)
	w.untilTask(1, "r1-write", task.Measuring)
	w.restart()
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if states(b) != "Invalid, Valid" || !strings.Contains(b.Status.Runs[0].Reason, "unknown whether the clients started together") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func restartedBetweenRuns(w *world) {
	measuring(w, 30000, 10)
	w.kubelet.script("r2-", runnertest.Script{Preparing: held})
	b := w.benchmark("b", oneWrite, clients(2), runs(3))
	w.untilTask(0, "r2-write", task.Preparing)
	w.restart()
	w.kubelet.proceed("r2-")
	w.untilComplete(b)
	if len(b.Status.Runs) != 3 || b.Status.Phases[0].ValidRuns != 3 {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func restartedWhileEverythingIsRemoved(w *world) {
	w.rook.removing = "Rook is slow"
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonTearingDown, "slow")
	if !isTrue(b, v1alpha1.ConditionComplete) || b.Status.Headline == "" {
		w.t.Errorf("there are no results yet: %+v", b.Status)
	}
	w.restart()
	w.rook.set(func(f *fakeRook) { f.removing = "" })
	w.untilComplete(b)
}

func restartedAndSuspended(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.stop()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.start()
	w.untilObserved(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
}

// Both began within the same second. By name, "a" comes first, although "z" has the lock. "z" must
// not wait for "a", which waits for it.
func restartedHoldingTheLock(w *world) {
	w.rook.making = "Rook is slow"
	first := w.benchmark("z", oneWrite)
	w.untilReason(first, v1alpha1.ReasonPreparing, "slow")
	second := w.benchmark("a", oneWrite)
	w.untilReason(second, v1alpha1.ReasonQueued)
	w.stop()
	w.editStatus(second, func(s *v1alpha1.CephBenchmarkStatus) { s.StartTime = first.Status.StartTime })
	w.rook.set(func(f *fakeRook) { f.making = "" })
	w.start()
	w.until(first, "Ready", func() bool { return isTrue(first, v1alpha1.ConditionReady) })
	w.untilComplete(second)
}

func restartedWithoutTheLock(w *world) {
	b := w.measuring()
	w.stop()
	w.lockElsewhere()
	w.start()
	w.untilFailed(b, v1alpha1.ReasonLockLost, "CephTuningSweep/far/away")
}

// longTeardown returns a benchmark that cannot remove an image in an existing pool.
func (w *world) longTeardown() *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.ceph.Change(func(a *cephtest.Answers) { a.Errors["RemoveImage"] = errors.New("it has a watcher") })
	b := w.benchmark("b", onPool)
	w.until(b, "begun", func() bool { return b.Status.ObservedRunID != "" })
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images["open"] = []string{clientjob.ExecutionOf(b.UID, "1").Name + "-0-w1x64m-0"}
	})
	w.untilReason(b, v1alpha1.ReasonTearingDown)
	w.untilItTriesAgain()
	return b
}

// untilItTriesAgain waits until the teardown tries to remove an image again.
func (w *world) untilItTriesAgain() {
	w.t.Helper()
	tried := len(w.ceph.Calls("RemoveImage"))
	w.eventually(func() string {
		if !w.looksSince("RemoveImage", tried) {
			return "nobody tries to remove the image"
		}
		return ""
	})
}

// lease returns the lock in Kubernetes.
func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cephtune-" + fsid}, lease); err != nil {
		w.t.Fatal(err)
	}
	return lease
}

// A teardown may take longer than the lock lasts. The next in the queue must wait anyway, and so
// must another Kubernetes cluster.
func restartedInALongTeardown(w *world) {
	b := w.longTeardown()
	next := w.benchmark("next", oneWrite)
	w.untilReason(next, v1alpha1.ReasonQueued)
	w.stop()
	w.editStatus(next, func(s *v1alpha1.CephBenchmarkStatus) {
		s.StartTime = &metav1.Time{Time: b.Status.StartTime.Add(-time.Hour)}
	})
	w.start()
	for range 4 {
		w.wait(lock.RenewAfter + time.Second)
		w.eventually(func() string {
			w.look()
			if renewed := w.lease().Spec.RenewTime.Time; w.now().Sub(renewed) > lock.RenewAfter {
				return fmt.Sprintf("the lock was renewed at %v for the last time, by a clock that shows %v", renewed, w.now())
			}
			return ""
		})
	}
	w.untilReason(next, v1alpha1.ReasonQueued, "CephBenchmark/"+w.namespace+"/b/")
	if reasonOf(b) != v1alpha1.ReasonTearingDown {
		w.t.Errorf("%+v", b.Status)
	}
	w.ceph.Change(func(a *cephtest.Answers) { clear(a.Errors) })
	w.until(b, "Ready", func() bool { return isTrue(b, v1alpha1.ConditionReady) })
	w.until(next, "at work", func() bool { return reasonOf(next) != v1alpha1.ReasonQueued })
}

// A benchmark removes its own data even if another holder has the lock. It must neither take the
// lock back nor release it.
func itsLockIsLostInALongTeardown(w *world) {
	b := w.longTeardown()
	w.leaseGoesTo("CephBenchmark/far/away/1")
	w.wait(lock.RenewAfter + time.Second)
	w.untilItTriesAgain()
	w.ceph.Change(func(a *cephtest.Answers) { clear(a.Errors) })
	w.until(b, "Ready", func() bool { return isTrue(b, v1alpha1.ConditionReady) })
	w.ceph.Change(func(a *cephtest.Answers) {
		if left := a.Images["open"]; len(left) > 0 {
			w.t.Errorf("images %v are left", left)
		}
	})
	if holder := *w.lease().Spec.HolderIdentity; holder != "CephBenchmark/far/away/1" {
		w.t.Errorf("%s has the lock now", holder)
	}
}

// Nothing shows any more whether a measurement has ended, so the run begins again.
func restartedWithoutTheJob(w *world) {
	b := w.measuring()
	w.stop()
	w.deleteJob(b)
	w.kubelet.script("r1-", runnertest.Script{})
	w.start()
	w.untilComplete(b)
}

func theFinalizerWasTakenOff(w *world) {
	b := w.measuring()
	noFinalizer := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	if err := w.Patch(w.t.Context(), b, noFinalizer); err != nil {
		w.t.Fatal(err)
	}
	// The operator adds the finalizer again while the object exists.
	w.look()
	w.until(b, "protected", func() bool { return len(b.Finalizers) == 1 })
	w.delete(b)
	w.wantClean()
	w.eventually(func() string {
		if _, ok := w.reconciler.live.Followed(client.ObjectKeyFromObject(b)); ok {
			return "its execution is followed still"
		}
		return ""
	})
}
