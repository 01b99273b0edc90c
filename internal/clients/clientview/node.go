package clientview

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stuckAfter is how long after its grace period a pod may remain before it is stuck. A kubelet that works ends a pod
// within seconds.
const stuckAfter = 30 * time.Second

// LostNode reports whether Kubernetes has lost contact with the node of a pod, and since when. The controller of nodes
// then marks pods as not ready, although their containers were ready when the kubelet last reported: no kubelet reports
// that of a pod without readiness gates. So the manager needs no right to read nodes.
func LostNode(pod *corev1.Pod) (since time.Time, lost bool) {
	ready := conditionOf(pod, corev1.PodReady)
	containers := conditionOf(pod, corev1.ContainersReady)
	if PodEnded(pod) || ready == nil || containers == nil || ready.Status == corev1.ConditionTrue || containers.Status != corev1.ConditionTrue {
		return time.Time{}, false
	}
	return ready.LastTransitionTime.Time, true
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// LossOf says that Kubernetes has lost contact with the node of one of these pods; "" without such a pod.
func LossOf(pods []corev1.Pod) string {
	for i := range pods {
		if since, lost := LostNode(&pods[i]); lost {
			return fmt.Sprintf("Kubernetes has lost contact with node %s of pod %s at %s: the node is down, hangs, or is cut off.",
				pods[i].Spec.NodeName, pods[i].Name, since.UTC().Format("15:04:05Z"))
		}
	}
	return ""
}

// IsStuck reports whether Kubernetes should have ended a pod, but no kubelet confirms its end. The pod may still run.
func IsStuck(pod *corev1.Pod, now time.Time) bool {
	return !pod.DeletionTimestamp.IsZero() && !PodEnded(pod) && !neverBegins(pod) && now.Sub(pod.DeletionTimestamp.Time) > stuckAfter
}

// Stuck returns those of the pods that are stuck.
func Stuck(pods []corev1.Pod, now time.Time) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return !IsStuck(&pod, now) })
}
