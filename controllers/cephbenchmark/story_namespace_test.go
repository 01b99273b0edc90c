package cephbenchmark

import (
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/rights"
)

// Stories of benchmarks whose namespace is deleted with all its content and the manager's rights in
// it. Nothing may remain of what the benchmark has created elsewhere.
func namespaceStories() map[string]story {
	return map[string]story{
		"in the queue": withItsNamespace(func(w *world) *v1alpha1.CephBenchmark {
			w.lockElsewhere()
			b := w.benchmark("b", oneWrite)
			w.untilReason(b, v1alpha1.ReasonQueued)
			return b
		}),
		"while clients measure": withItsNamespace(func(w *world) *v1alpha1.CephBenchmark { return w.measuring(clients(2)) }),
		"while a client does not answer": withItsNamespace(func(w *world) *v1alpha1.CephBenchmark {
			b := w.measuring(clients(2))
			w.kubelet.client(1).Break(errors.New("no route to host"))
			return b
		}),
		"while there is no claim": withItsNamespace(func(w *world) *v1alpha1.CephBenchmark {
			b := w.benchmark("b", onClaim)
			w.untilReason(b, v1alpha1.ReasonClaimNotFound)
			return b
		}),
		"after the end": withItsNamespace(func(w *world) *v1alpha1.CephBenchmark {
			b := w.benchmark("b", oneWrite)
			w.untilComplete(b)
			return b
		}),
		"and a pool of others is as it was":            aPoolOfOthersWithTheNamespace,
		"and its Jobs go last":                         jobsGoLast,
		"and pods end later":                           podsEndAfterTheNamespace,
		"and pods do not end":                          podsOutliveTheNamespace,
		"while an OSD is down":                         anOSDIsDownWithTheNamespace,
		"while an OSD is down and the manager is away": anOSDIsDownAndNobodyLooks,
		"and the manager is restarted meanwhile":       restartedWithoutTheNamespace,
		"the rights are taken, and it stays":           theRightsAreTaken,
	}
}

// deleteNamespace does what Kubernetes does when a namespace is deleted.
func (w *world) deleteNamespace() {
	w.t.Helper()
	w.beginToDeleteNamespace()
	w.deleteAllOf(&batchv1.Job{}, &v1alpha1.CephBenchmark{}, &corev1.Secret{}, &corev1.Pod{})
}

// beginToDeleteNamespace removes the rights first, which is the worst case, because the order is
// undefined. Journals and locks stay: outside tests, they are in the manager's own namespace.
func (w *world) beginToDeleteNamespace() {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}); err != nil {
		w.t.Fatal(err)
	}
	rights.TakeAll(w.t, w.Client, w.server, w.namespace)
	for _, result := range w.results() {
		if err := w.Delete(w.t.Context(), &result); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) deleteAllOf(kinds ...client.Object) {
	w.t.Helper()
	for _, kind := range kinds {
		err := w.DeleteAllOf(w.t.Context(), kind, client.InNamespace(w.namespace),
			client.PropagationPolicy(metav1.DeletePropagationBackground), client.GracePeriodSeconds(0))
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func withItsNamespace(it func(*world) *v1alpha1.CephBenchmark) story {
	return func(w *world) {
		b := it(w)
		w.deleteNamespace()
		w.untilGone(b)
		w.wantClean()
	}
}

// poolOfOthers returns a benchmark that measures on an existing pool, in which its execution has left
// data.
func (w *world) poolOfOthers() *v1alpha1.CephBenchmark {
	w.t.Helper()
	b := w.measuring(func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.Target = v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}
	})
	left := clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images["open"] = []string{"precious", left + "-image-0"}
		a.Objects["open/"] = []string{"precious", "benchmark_data_" + left + "-0-x"}
	})
	return b
}

func (w *world) wantPoolOfOthers() {
	w.t.Helper()
	w.ceph.Change(func(a *cephtest.Answers) {
		if left := fmt.Sprint(a.Images["open"], a.Objects["open/"]); left != "[precious] [precious]" {
			w.t.Errorf("images and objects %s are left, want those of others", left)
		}
	})
}

func aPoolOfOthersWithTheNamespace(w *world) {
	b := w.poolOfOthers()
	w.deleteNamespace()
	w.untilGone(b)
	w.wantClean()
	w.wantPoolOfOthers()
}

// Clients that still run remove their data themselves.
func jobsGoLast(w *world) {
	b := w.poolOfOthers()
	w.beginToDeleteNamespace()
	w.deleteAllOf(&v1alpha1.CephBenchmark{})
	w.untilTask(0, leftovers.TaskID, task.Done)
	w.untilReason(b, v1alpha1.ReasonTearingDown, "The Job of the clients is being removed")
	w.wantPoolOfOthers()
	w.deleteAllOf(&batchv1.Job{}, &corev1.Secret{}, &corev1.Pod{})
	w.untilGone(b)
	w.wantClean()
}

// Data that clients write until they end must also be removed.
func podsEndAfterTheNamespace(w *world) {
	b := w.poolOfOthers()
	w.kubelet.set(func(k *kubelet) { k.keeps = true })
	w.beginToDeleteNamespace()
	w.deleteAllOf(&batchv1.Job{}, &v1alpha1.CephBenchmark{})
	w.untilReason(b, v1alpha1.ReasonTearingDown, "The Job is deleted")
	if calls := w.ceph.Calls("RemoveImage"); len(calls) > 0 {
		w.t.Errorf("%v while a client may write", calls)
	}
	w.deleteAllOf(&corev1.Pod{})
	w.untilGone(b)
	w.wantClean()
	w.wantPoolOfOthers()
}

// Pods on a lost node never end. The benchmark must not wait for them forever.
func podsOutliveTheNamespace(w *world) {
	b := w.poolOfOthers()
	w.kubelet.set(func(k *kubelet) { k.keeps = true })
	w.beginToDeleteNamespace()
	w.deleteAllOf(&batchv1.Job{}, &v1alpha1.CephBenchmark{})
	w.untilReason(b, v1alpha1.ReasonTearingDown, "The Job is deleted")
	w.wait(teardown.OrphansWithin + time.Second)
	w.untilGone(b)
	w.wantPoolOfOthers()
}

func anOSDIsDownWithTheNamespace(w *world) {
	b := w.inOutage()
	w.deleteNamespace()
	w.untilUp()
	w.untilGone(b)
	w.wantClean()
	w.wantNoJournal()
}

// The manager did not run meanwhile, and knows only the journal.
func anOSDIsDownAndNobodyLooks(w *world) {
	b := w.inOutage()
	w.stop()
	w.deleteNamespace()
	w.start()
	w.eventually(func() string {
		if w.up() {
			return ""
		}
		w.wait(time.Second)
		return "the OSD is not up, or may not be"
	})
	w.untilGone(b)
	w.wantClean()
	w.wantNoJournal()
}

// The manager must start although it may list neither Jobs nor pods any more.
func restartedWithoutTheNamespace(w *world) {
	b := w.poolOfOthers()
	w.stop()
	w.deleteNamespace()
	w.start()
	w.untilGone(b)
	w.wantClean()
	w.wantPoolOfOthers()
}

// If the namespace stays, the missing rights are a problem that status must report.
func theRightsAreTaken(w *world) {
	b := w.measuring()
	giveBack := rights.Take(w.t, w.Client, w.server, w.namespace)
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilReason(b, v1alpha1.ReasonTearingDown, "forbidden")
	if message := messageOf(b); !strings.Contains(message, "jobs") || !strings.Contains(message, w.namespace) {
		w.t.Errorf("it says %q, want which right is missing", message)
	}
	giveBack()
	w.look()
	w.untilGone(b)
	w.wantClean()
}
