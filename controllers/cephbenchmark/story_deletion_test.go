package cephbenchmark

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of deleted benchmarks: nothing of them may remain, and the deletion must complete.
func deletionStories() map[string]story {
	return map[string]story{
		"in the queue": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			w.lockElsewhere()
			b := w.benchmark("b", oneWrite)
			w.untilReason(b, v1alpha1.ReasonQueued)
			return b
		}),
		"waiting for quiet": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			w.warn()
			b := w.benchmark("b", oneWrite)
			w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence)
			return b
		}),
		"while the pool is made": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			w.rook.making = "Rook is slow"
			b := w.benchmark("b", oneWrite)
			w.untilReason(b, v1alpha1.ReasonPreparing, "slow")
			return b
		}),
		"while pods wait": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			w.kubelet.become = pending("ImagePullBackOff", "")
			b := w.benchmark("b", oneWrite)
			w.untilReason(b, v1alpha1.ReasonImagePullFailed)
			return b
		}),
		"while clients prefill": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			w.kubelet.script("data-", runnertest.Script{Preparing: time.Hour})
			b := w.benchmark("b", oneRead)
			w.untilTask(0, "data-", task.Preparing)
			return b
		}),
		"while clients measure": deletedWhen(func(w *world) *v1alpha1.CephBenchmark { return w.measuring(clients(2)) }),
		"after the end": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			b := w.benchmark("b", oneWrite)
			w.untilComplete(b)
			return b
		}),
		"while it is suspended": deletedWhen(func(w *world) *v1alpha1.CephBenchmark {
			b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true })
			w.untilReason(b, v1alpha1.ReasonSuspended)
			return b
		}),
		"while a client does not answer":                   deletedWhileAClientDoesNotAnswer,
		"before anything was made, and Ceph is not there":  deletedBeforeAnythingWasMade,
		"after it has cleaned up, and Ceph is not there":   deletedAfterItHasCleanedUp,
		"while Ceph is not there, until it is there again": deletedWhileCephIsNotThere,
		"after its clients and its lock are gone":          deletedAfterItHasLostEverything,
		"in the queue, by the next manager":                deletedInTheQueueByTheNextManager,
	}
}

func deletedWhen(it func(*world) *v1alpha1.CephBenchmark) story {
	return func(w *world) {
		w.delete(it(w))
		w.wantClean()
		if owner := w.rook.poolOwner(); owner.UID != "" {
			w.t.Errorf("the scratch pool of %s is left", owner)
		}
	}
}

func deletedWhileAClientDoesNotAnswer(w *world) {
	b := w.measuring(clients(2))
	w.kubelet.client(1).Break(errors.New("no route to host"))
	w.delete(b)
	w.wantClean()
}

func deletedBeforeAnythingWasMade(w *world) {
	w.cutCeph()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable)
	w.delete(b)
}

func deletedAfterItHasCleanedUp(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	w.cutCeph()
	w.delete(b)
}

// leaseGoesTo gives the lock in Kubernetes to another holder.
func (w *world) leaseGoesTo(holder string) {
	w.t.Helper()
	w.eventually(func() string { // The manager may renew it meanwhile.
		lease := w.lease()
		now := metav1.NewMicroTime(w.now())
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime = &holder, &now, &now
		if err := w.Update(w.t.Context(), lease); err != nil {
			return err.Error()
		}
		return ""
	})
}

// The next manager can only look for everything that the benchmark may have created.
func deletedAfterItHasLostEverything(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.Images["open"] = []string{"precious"} })
	b, namespace := w.lostWithItsJob(readOfOpenPool(), "open")
	w.leaseGoesTo("CephBenchmark/far/away/1")
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.untilGone(b)
	w.wantOnlyPrecious(namespace)
}

// A benchmark that has always waited for another one has created nothing. A new manager must see
// that too.
func deletedInTheQueueByTheNextManager(w *world) {
	first := w.benchmark("first", oneWrite)
	w.untilComplete(first) // This creates the Lease.
	w.leaseGoesTo("CephBenchmark/far/away/1")
	time.Sleep(time.Second) // Start times have a resolution of a second.
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonQueued, "far/away")
	w.stop()
	w.cutCeph()
	w.start()
	w.delete(b)
}

func deletedWhileCephIsNotThere(w *world) {
	b := w.measuring()
	mend := w.cutCeph()
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilReason(b, v1alpha1.ReasonTearingDown, "no monitor answers")
	mend()
	w.look()
	w.untilGone(b)
	w.wantClean()
}
