package clientview

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PodEnded reports whether a pod has succeeded or failed.
func PodEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Eviction describes the disruption by which Kubernetes ended a pod, such as an eviction or a preemption; ""
// without a disruption.
func Eviction(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return fmt.Sprintf(" (%s: %s)", condition.Reason, condition.Message)
		}
	}
	return ""
}

// HowEnded describes how a pod has ended, for example by the exit code of a container.
func HowEnded(pod *corev1.Pod) string {
	if pod.Status.Message != "" {
		return pod.Status.Message
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		ended := container.State.Terminated
		if ended == nil || (ended.ExitCode == 0 && container.Name != "client") {
			continue
		}
		text := fmt.Sprintf("container %s, %s, exit code %d", container.Name, ended.Reason, ended.ExitCode)
		if ended.Reason == "OOMKilled" {
			text += "; give clients more memory with spec.template.clients.resources.memory, or the background load with spec.template.backgroundLoad.resources.memory"
		}
		return text
	}
	return strings.TrimSpace(string(pod.Status.Phase) + " " + pod.Status.Reason)
}
