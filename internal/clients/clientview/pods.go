package clientview

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/runner"
)

// podWaiting returns what a pod waits for, if a user may have to act on it.
func podWaiting(pod *corev1.Pod) (o kstatus.Outcome, waits bool) {
	if pod.Status.Phase != corev1.PodPending {
		return kstatus.Outcome{}, false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return kstatus.Outcome{Reason: v1alpha1.ReasonUnschedulable, Message: condition.Message}, true
		}
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := container.State.Waiting
		if waiting == nil {
			continue
		}
		reason := cmp.Or(waiting.Message, waiting.Reason)
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
			return kstatus.Outcome{Reason: v1alpha1.ReasonImagePullFailed, Message: fmt.Sprintf("image %s cannot be pulled: %s", container.Image, reason)}, true
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return kstatus.Outcome{Reason: v1alpha1.ReasonClientsRefused, Message: fmt.Sprintf("container %s cannot be created: %s", container.Name, reason)}, true
		}
	}
	return kstatus.Outcome{}, false
}

// Waiting returns what the pods of the clients wait for, or false if all wanted clients run. The
// parameter hint is Kubernetes' last warning, or "".
func Waiting(pods []corev1.Pod, wanted int, hint string) (o kstatus.Outcome, waits bool) {
	if len(pods) == 0 && hint != "" {
		return kstatus.Outcome{Reason: v1alpha1.ReasonClientsRefused, Message: "Kubernetes refuses to make the clients' pods: " + hint}, true
	}
	if o, waits := firstWaiting(pods, ""); waits {
		return o, true
	}
	running := len(Addresses(pods, wanted))
	o = kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: fmt.Sprintf("%d of %d clients run.", running, wanted)}
	if hint != "" {
		o = kstatus.Outcome{Reason: v1alpha1.ReasonClientsNotStarted, Message: o.Message + " Kubernetes warns: " + hint}
	}
	return o, running < wanted
}

// BackgroundWaiting returns what the pod of the background load waits for, or false if it runs.
func BackgroundWaiting(pods []corev1.Pod, hint string) (o kstatus.Outcome, waits bool) {
	if o, waits := firstWaiting(pods, ", of the background load"); waits {
		return o, true
	}
	o = kstatus.Outcome{Reason: v1alpha1.ReasonPreparing, Message: "The pod of the background load is being started."}
	if hint != "" {
		o = kstatus.Outcome{Reason: v1alpha1.ReasonClientsNotStarted, Message: "The pod of the background load does not run. Kubernetes warns: " + hint}
	}
	return o, len(Addresses(pods, 1)) == 0
}

func firstWaiting(pods []corev1.Pod, subject string) (o kstatus.Outcome, waits bool) {
	for i := range pods {
		if o, waits := podWaiting(&pods[i]); waits {
			o.Message = fmt.Sprintf("Pod %s%s: %s", pods[i].Name, subject, o.Message)
			return o, true
		}
	}
	return kstatus.Outcome{}, false
}

// Lost returns why the pods of a Job with a number of clients cannot continue, or false if they can.
func Lost(job *batchv1.Job, pods []corev1.Pod, count int) (message string, lost bool) {
	clients := map[int]string{}
	for i := range pods {
		index, exists := clientjob.ClientIndex(&pods[i], count)
		other := clients[index]
		if exists {
			clients[index] = pods[i].Name
		}
		switch pod := &pods[i]; {
		case !exists:
			return fmt.Sprintf("Pod %s has no index of a client, so it is not the operator's, or somebody changed its labels.", pod.Name), true
		case other != "":
			return fmt.Sprintf("Pods %s and %s are both client %d, so one of them is not the operator's.", other, pod.Name, index), true
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

// AllEnded reports whether all pods have ended, or never begin.
func AllEnded(pods []corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !PodEnded(&pod) && !neverBegins(&pod) })
}

// neverBegins reports whether a pod is deleted before it got a node. Only a finalizer, which any user can set, keeps
// such a pod.
func neverBegins(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero() && pod.Spec.NodeName == "" && pod.Status.Phase == corev1.PodPending
}

// Addresses returns the addresses of the running pods of a number of clients, by client. Pods that are being deleted do
// not count.
func Addresses(pods []corev1.Pod, clients int) map[int]string {
	addresses := map[int]string{}
	for i := range pods {
		index, ok := clientjob.ClientIndex(&pods[i], clients)
		if ok && pods[i].Status.Phase == corev1.PodRunning && pods[i].Status.PodIP != "" && pods[i].DeletionTimestamp.IsZero() {
			addresses[index] = net.JoinHostPort(pods[i].Status.PodIP, strconv.Itoa(runner.Port))
		}
	}
	return addresses
}
