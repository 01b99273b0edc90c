package cephbenchmark

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
)

// Stories of nodes that die or hang: no kubelet confirms the end of their pods.
func nodeStories() map[string]story {
	return map[string]story{
		"a client's node dies": aNodeDies,
		"a node hangs":         aNodeHangs,
		"the manager dies with the node of a client": theManagerDiesWithANode,
		"a lost node returns in time":                aNodeReturnsInTime,
		"a benchmark on a lost node is deleted":      aBenchmarkOnALostNodeIsDeleted,
	}
}

// theirClient is the address in Ceph of the client in the first pod.
const theirClient = "10.1.0.1:0/4000000001"

// onANode returns a benchmark whose client measures on a node, and has an image open.
func (w *world) onANode() *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.set(func(k *kubelet) { k.node = "node3" })
	b := w.measuring()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Clients = map[string][]string{"io": {theirClient, "10.1.0.99:0/4000000002"}, "csi": {"10.1.0.1:0/4000000003"}}
		a.Images[settings.ScratchPool] = []string{"cephtune-image"}
		a.Watchers = map[string]string{settings.ScratchPool + "/cephtune-image": theirClient}
	})
	return b
}

// silence cuts the node of the first pod from everything. Its pod goes on.
func (w *world) silence() {
	w.kubelet.client(0).Break(errors.New("no route to host"))
	w.kubelet.set(func(k *kubelet) { k.silent[w.podOf(0).Name] = true })
}

// noticed plays the controller of nodes, which marks the pods of a lost node as not ready.
func (w *world) noticed() {
	w.podBecomes(0, func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}
	})
}

// blocked returns the addresses that are blocked in Ceph.
func (w *world) blocked() (all string) {
	w.ceph.Change(func(a *cephtest.Answers) { all = strings.Join(a.Blocked, " ") })
	return all
}

// untilBlocked waits until the client is blocked, and then until no new one counts.
func (w *world) untilBlocked() {
	w.t.Helper()
	w.eventually(func() string {
		if w.podOf(0).DeletionTimestamp.IsZero() {
			return "the pod is not deleted"
		}
		return ""
	})
	w.wait(time.Minute) // The grace period, and some time for a kubelet.
	w.eventually(w.notBlocked)
	w.wait(10 * time.Second)
}

// notBlocked says that the client is not blocked, or not it alone; "" if it is.
func (w *world) notBlocked() string {
	if got := w.blocked(); got != theirClient {
		return "blocked: " + got
	}
	return ""
}

// wantPodLeft checks that the pod was left to Kubernetes.
func (w *world) wantPodLeft() {
	w.t.Helper()
	if pod := w.podOf(0); pod.DeletionTimestamp.IsZero() || pod.Status.Phase != corev1.PodRunning {
		w.t.Errorf("the pod is %s, deleted %v", pod.Status.Phase, pod.DeletionTimestamp)
	}
	if got := w.blocked(); got != theirClient {
		w.t.Errorf("blocked are %q, want %q only", got, theirClient)
	}
}

func aNodeDies(w *world) {
	b := w.onANode()
	next := w.benchmark("next", oneWrite)
	w.untilReason(next, v1alpha1.ReasonQueued, "Ahead in the queue")
	w.silence()
	w.wait(30 * time.Second)
	w.untilReason(b, v1alpha1.ReasonClientsUnreachable, "on node node3", "If its node is well")
	w.noticed()
	w.wait(reconcile.MessageInterval)
	w.untilReason(b, v1alpha1.ReasonNodeLost, "lost contact with node node3", "does not answer")
	w.wait(reconcile.MessageInterval)
	w.untilReason(next, v1alpha1.ReasonQueued, "lost contact with node node3")
	w.wait(unreachableAfter)
	w.eventually(w.notBlocked)
	w.wait(10 * time.Second)
	w.until(b, "Stalled", func() bool { return isTrue(b, v1alpha1.ConditionStalled) })
	if states(b) != "Failed" || reasonOf(b) != v1alpha1.ReasonNodeLost || !strings.Contains(messageOf(b), "node3") {
		w.t.Errorf("runs %s, %s: %s", states(b), reasonOf(b), messageOf(b))
	}
	w.kubelet.set(func(k *kubelet) { clear(k.scripts) })
	w.until(next, "past the queue", func() bool { return reasonOf(next) != v1alpha1.ReasonQueued })
	if got := w.blocked(); got != theirClient {
		w.t.Errorf("blocked are %q", got)
	}
	w.untilComplete(next)
}

func aNodeHangs(w *world) {
	b := w.onANode()
	w.silence()
	w.wait(unreachableAfter + time.Minute)
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.untilBlocked()
	w.untilFailed(b, v1alpha1.ReasonClientsUnreachable, "node3")
	w.wantPodLeft()
}

func theManagerDiesWithANode(w *world) {
	b := w.onANode()
	w.silence()
	w.noticed()
	w.stop()
	w.wait(10 * time.Minute)
	if err := w.Delete(w.t.Context(), w.podOf(0), client.GracePeriodSeconds(15)); err != nil { // Kubernetes evicts it.
		w.t.Fatal(err)
	}
	w.start()
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.wait(time.Minute)
	w.eventually(w.notBlocked)
	w.restart() // The next manager blocks the client again, which does no harm.
	w.untilBlocked()
	w.untilFailed(b, v1alpha1.ReasonNodeLost, "node3")
	w.wantPodLeft()
}

func aNodeReturnsInTime(w *world) {
	b := w.onANode()
	w.silence()
	w.noticed()
	w.wait(30 * time.Second)
	w.untilReason(b, v1alpha1.ReasonNodeLost, "node3")
	w.kubelet.client(0).Break(nil)
	w.podBecomes(0, func(s *corev1.PodStatus) { s.Conditions = nil })
	w.untilReason(b, v1alpha1.ReasonRunning)
	w.wait(unreachableAfter)
	w.untilReason(b, v1alpha1.ReasonRunning)
	if got := w.blocked(); got != "" {
		w.t.Errorf("blocked are %q", got)
	}
}

func aBenchmarkOnALostNodeIsDeleted(w *world) {
	b := w.onANode()
	w.silence()
	w.noticed()
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilBlocked()
	w.untilGone(b)
	w.wantClean()
	w.wantPodLeft()
}
