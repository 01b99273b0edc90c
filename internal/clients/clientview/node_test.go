package clientview

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLostNodesAndStuckPods(t *testing.T) {
	now := time.Date(2026, 11, 30, 21, 4, 5, 0, time.UTC)
	ready := func(pod, containers corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodReady, Status: pod, LastTransitionTime: metav1.NewTime(now)},
			{Type: corev1.ContainersReady, Status: containers},
		}
	}
	for name, c := range map[string]struct {
		conditions []corev1.PodCondition
		phase      corev1.PodPhase
		deleted    time.Duration // since the end of the grace period; 0 if the pod is not deleted
		wantLost   bool
		wantStuck  bool
	}{
		"a running pod":               {conditions: ready(corev1.ConditionTrue, corev1.ConditionTrue), phase: corev1.PodRunning},
		"without conditions":          {phase: corev1.PodRunning},
		"its container is not ready":  {conditions: ready(corev1.ConditionFalse, corev1.ConditionFalse), phase: corev1.PodRunning},
		"its node is lost":            {conditions: ready(corev1.ConditionFalse, corev1.ConditionTrue), phase: corev1.PodRunning, wantLost: true},
		"and it is evicted":           {conditions: ready(corev1.ConditionFalse, corev1.ConditionTrue), phase: corev1.PodRunning, deleted: time.Second, wantLost: true},
		"and it does not end":         {conditions: ready(corev1.ConditionFalse, corev1.ConditionTrue), phase: corev1.PodRunning, deleted: time.Minute, wantLost: true, wantStuck: true},
		"its kubelet hangs":           {conditions: ready(corev1.ConditionTrue, corev1.ConditionTrue), phase: corev1.PodRunning, deleted: time.Minute, wantStuck: true},
		"it ended before its removal": {conditions: ready(corev1.ConditionFalse, corev1.ConditionTrue), phase: corev1.PodFailed, deleted: time.Minute},
		"it never got a node":         {phase: corev1.PodPending, deleted: time.Minute},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: c.phase, Conditions: c.conditions}}
		if c.phase != corev1.PodPending {
			pod.Spec.NodeName = "node3"
		}
		if c.deleted != 0 {
			pod.DeletionTimestamp = &metav1.Time{Time: now.Add(-c.deleted)}
		}
		loss := LossOf([]corev1.Pod{pod})
		if (loss != "") != c.wantLost || c.wantLost && !strings.Contains(loss, "node node3 of pod p at 21:04:05Z") {
			t.Errorf("%s: loss %q, want %t", name, loss, c.wantLost)
		}
		if got := IsStuck(&pod, now); got != c.wantStuck || len(Stuck([]corev1.Pod{pod}, now)) == 1 != got {
			t.Errorf("%s: stuck %t, want %t", name, got, c.wantStuck)
		}
	}
}
