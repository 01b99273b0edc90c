package clientview

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/runner"
)

// PodWaiting returns what a pod waits for, if that may need someone's help.
func PodWaiting(pod *corev1.Pod) (o kstatus.Outcome, waits bool) {
	if pod.Status.Phase != corev1.PodPending {
		return kstatus.Outcome{}, false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return kstatus.Outcome{Reason: v1alpha1.ReasonUnschedulable, Message: condition.Message}, true
		}
	}
	for _, container := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		waiting := container.State.Waiting
		if waiting == nil {
			continue
		}
		why := cmp.Or(waiting.Message, waiting.Reason)
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return kstatus.Outcome{Reason: v1alpha1.ReasonImagePullFailed, Message: fmt.Sprintf("image %s cannot be pulled: %s", container.Image, why)}, true
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return kstatus.Outcome{Reason: v1alpha1.ReasonClientsRefused, Message: fmt.Sprintf("container %s cannot be created: %s", container.Name, why)}, true
		}
	}
	return kstatus.Outcome{}, false
}

// Lost returns why the pods of a Job cannot continue, or false if they can.
func Lost(job *batchv1.Job, pods []corev1.Pod) (message string, lost bool) {
	for i := range pods {
		switch pod := &pods[i]; {
		case !pod.DeletionTimestamp.IsZero():
			return fmt.Sprintf("Pod %s is being deleted, and not by the operator%s.", pod.Name, Eviction(pod)), true
		case PodEnded(pod):
			return fmt.Sprintf("Pod %s has ended too early: %s%s.", pod.Name, HowEnded(pod), Eviction(pod)), true
		}
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		if condition.Type == batchv1.JobFailed || condition.Type == batchv1.JobFailureTarget || condition.Type == batchv1.JobComplete {
			return fmt.Sprintf("The Job of the clients has ended too early: %s %s", condition.Reason, condition.Message), true
		}
	}
	return "", false
}

// AllEnded reports whether all pods have ended.
func AllEnded(pods []corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !PodEnded(&pod) })
}

// Addresses returns the addresses of the running pods, by client.
func Addresses(pods []corev1.Pod) map[int]string {
	addresses := map[int]string{}
	for i := range pods {
		index, ok := clientjob.ClientIndex(&pods[i])
		if ok && pods[i].Status.Phase == corev1.PodRunning && pods[i].Status.PodIP != "" && pods[i].DeletionTimestamp.IsZero() {
			addresses[index] = net.JoinHostPort(pods[i].Status.PodIP, strconv.Itoa(runner.Port))
		}
	}
	return addresses
}

// Stuck returns the object whose events may explain a delay: a Job without pods, or the
// first pod that is scheduled and does not run; nil if nothing is stuck.
func Stuck(job *batchv1.Job, pods []corev1.Pod) client.Object {
	if len(pods) == 0 {
		return job
	}
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodPending {
			return &pods[i]
		}
	}
	return nil
}
