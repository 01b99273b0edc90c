package clientview

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestWaitingForPods(t *testing.T) {
	runs := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "s-0", Labels: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
	unscheduled := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "s-1"}, Status: corev1.PodStatus{
		Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node"}},
	}}
	creating := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "s-1"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for name, c := range map[string]struct {
		pods                        []corev1.Pod
		hint                        string
		reason, message, background string // "" if it does not wait
	}{
		"all run":          {pods: []corev1.Pod{runs}},
		"none yet":         {reason: v1alpha1.ReasonPreparing, message: "0 of 1 clients", background: "is being started"},
		"none are allowed": {hint: "exceeded quota", reason: v1alpha1.ReasonClientsRefused, message: "exceeded quota", background: "warns: exceeded quota"},
		"no node":          {pods: []corev1.Pod{runs, unscheduled}, reason: v1alpha1.ReasonUnschedulable, message: "Pod s-1: no node", background: "Pod s-1, of the background load: no node"},
		"being created":    {pods: []corev1.Pod{creating}, reason: v1alpha1.ReasonPreparing, message: "0 of 1 clients run.", background: "is being started"},
		"a warning":        {pods: []corev1.Pod{creating}, hint: "no mount", reason: v1alpha1.ReasonClientsNotStarted, message: "run. Kubernetes warns: no mount", background: "warns: no mount"},
	} {
		t.Run(name, func(t *testing.T) {
			o, waits := Waiting(c.pods, 1, c.hint)
			if waits != (c.reason != "") || waits && (o.Reason != c.reason || !strings.Contains(o.Message, c.message)) {
				t.Errorf("clients: %t, %+v; want %s, %s", waits, o, c.reason, c.message)
			}
			o, waits = BackgroundWaiting(c.pods, c.hint)
			if waits != (c.background != "") || waits && !strings.Contains(o.Message, c.background) {
				t.Errorf("background load: %t, %+v; want %s", waits, o, c.background)
			}
		})
	}
}

// A user can create a pod for the Job that no node fits, with a finalizer. A teardown must not wait for it.
func TestAPodThatNeverBeginsHasEnded(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"deleted before it got a node": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: corev1.PodStatus{Phase: corev1.PodPending}}, true},
		"waits for a node":             {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, false},
		"deleted on a node": {corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodPending},
		}, false},
		"ends": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false},
	} {
		if got := AllEnded([]corev1.Pod{c.pod}); got != c.want {
			t.Errorf("%s: ended %t, want %t", name, got, c.want)
		}
	}
}

// Any user may change labels. A runner with another index than those of the clients would be asked for what does not
// exist, or the operator would wait for the runner that it replaces.
func TestAPodWithAnotherIndexIsNoClient(t *testing.T) {
	for index, want := range map[string]bool{"0": true, "1": true, "2": false, "-1": false, "-2": false, "": false, "x": false} {
		pods := []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "s-1", Labels: map[string]string{batchv1.JobCompletionIndexAnnotation: index}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		}}
		if got := len(Addresses(pods, 2)) == 1; got != want {
			t.Errorf("index %q: a client is %t, want %t", index, got, want)
		}
		if message, lost := Lost(&batchv1.Job{}, pods, 2); lost == want || lost && !strings.Contains(message, "Pod s-1 has no index of a client") {
			t.Errorf("index %q: lost %t: %s", index, lost, message)
		}
	}
}
