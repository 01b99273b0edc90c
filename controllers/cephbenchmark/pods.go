package cephbenchmark

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientview"
)

// podsWaiting returns why the clients do not run yet; "" if all of them do.
func podsWaiting(seen facts) (reason, message string) {
	if len(seen.pods) == 0 && seen.hint != "" {
		return v1alpha1.ReasonClientsRefused, "Kubernetes refuses to make the clients' pods: " + seen.hint
	}
	for i := range seen.pods {
		if reason, message := podWaiting(&seen.pods[i]); reason != "" {
			return reason, fmt.Sprintf("Pod %s: %s", seen.pods[i].Name, message)
		}
	}
	running := len(addressesOf(seen.pods))
	switch {
	case running >= int(seen.spec.Template.Clients.Count) && seen.hasBackground():
		return seen.backgroundWaiting()
	case running >= int(seen.spec.Template.Clients.Count):
		return "", ""
	case seen.hint != "":
		return v1alpha1.ReasonClientsNotStarted, fmt.Sprintf("%d of %d clients run. Kubernetes warns: %s", running, seen.spec.Template.Clients.Count, seen.hint)
	}
	return v1alpha1.ReasonPreparing, fmt.Sprintf("%d of %d clients run.", running, seen.spec.Template.Clients.Count)
}

// podWaiting returns what a pod waits for, if that may need someone's help.
func podWaiting(pod *corev1.Pod) (reason, message string) {
	if pod.Status.Phase != corev1.PodPending {
		return "", ""
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return v1alpha1.ReasonUnschedulable, condition.Message
		}
	}
	for _, container := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		waiting := container.State.Waiting
		if waiting == nil {
			continue
		}
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return v1alpha1.ReasonImagePullFailed, fmt.Sprintf("image %s cannot be pulled: %s", container.Image, orReason(waiting))
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return v1alpha1.ReasonClientsRefused, fmt.Sprintf("container %s cannot be created: %s", container.Name, orReason(waiting))
		}
	}
	return "", ""
}

func orReason(waiting *corev1.ContainerStateWaiting) string {
	if waiting.Message == "" {
		return waiting.Reason
	}
	return waiting.Message
}

// jobFailure returns why the clients cannot continue; "" if they can.
func jobFailure(job *batchv1.Job, pods []corev1.Pod) (reason, message string) {
	for i := range pods {
		if reason, message := podFailure(&pods[i]); reason != "" {
			return reason, message
		}
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		if condition.Type == batchv1.JobFailed || condition.Type == batchv1.JobFailureTarget || condition.Type == batchv1.JobComplete {
			return v1alpha1.ReasonClientsLost, fmt.Sprintf("The Job of the clients has ended too early: %s %s", condition.Reason, condition.Message)
		}
	}
	return "", ""
}

// podFailure returns how a pod was lost.
func podFailure(pod *corev1.Pod) (reason, message string) {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return v1alpha1.ReasonClientsLost, fmt.Sprintf("Pod %s is being deleted, and not by the operator%s.", pod.Name, clientview.Eviction(pod))
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return v1alpha1.ReasonClientsLost, fmt.Sprintf("Pod %s has ended too early: %s%s.", pod.Name, clientview.HowEnded(pod), clientview.Eviction(pod))
	}
	return "", ""
}
