package cephbenchmark

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
)

func failWithForeignJob(seen facts) (plan, bool) {
	mismatch := cmp.Or(seen.jobMismatch, seen.background.mismatch)
	return fail(v1alpha1.ReasonClientsLost, string(mismatch)), !mismatch.Matches()
}

func removeUnrecorded(seen facts) (plan, bool) {
	p := plan{Step: stepRemoveUnrecorded, Progress: "making pool and clients", Outcome: preparing("Replacing a Job whose UID the operator could not record.")}
	return p.AtMost(prepareWithin, "unrecorded Job", kstatus.Outcome{
		Reason: v1alpha1.ReasonNotPrepared, Message: fmt.Sprintf("The removal of an unrecorded Job took longer than %v:", prepareWithin),
	}), seen.unrecorded != nil
}

func failWithoutJob(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClientsLost, "The Job of the clients was deleted, and not by the operator."), seen.jobLost
}

// networkAdvice says which connections of the manager the network must allow, and how to find what denies them.
func (f facts) networkAdvice() string {
	return fmt.Sprintf("The manager must reach TCP port %d of the pods with the label %s=%s. Look for a policy that denies it, with "+
		"kubectl get networkpolicy -n %s, and allow it as config/bench/network_policy.yaml and the Helm chart do.",
		runner.Port, settings.LabelComponent, settings.ComponentBenchmark, f.benchmark.Namespace)
}

// forPreparation is the name of the wait for the objects that clients need.
const forPreparation = "preparation"

func prepareClients(seen facts) (plan, bool) {
	p := plan{Step: stepPrepare, Progress: "making pool and clients", Outcome: preparing("Creating what the clients need.")}
	return p.AtMost(prepareWithin, forPreparation, kstatus.Outcome{
		Reason: v1alpha1.ReasonNotPrepared, Message: fmt.Sprintf("The clients' preparation took longer than %v:", prepareWithin),
	}), seen.job == nil || seen.lacksSecret() || seen.lacksBackground()
}

// lacksSecret reports whether the clients' Secret may still be missing.
func (f facts) lacksSecret() bool {
	return !f.memory.secretMade && len(clientview.Addresses(f.pods, f.clients())) < f.clients()
}

// lacksBackground reports whether the Job of the background load must still be created.
func (f facts) lacksBackground() bool {
	return f.hasBackground() && f.memory.backgroundJob == "" && f.job.DeletionTimestamp.IsZero()
}

// concludeFromLogs concludes a run whose phases had all ended before a client's pod ended: the log of the
// pod has the missing reports. It does not apply to a run with a background load, because such a load
// reports only when the manager stops it.
func concludeFromLogs(seen facts) (plan, bool) {
	if seen.hasBackground() || len(seen.logs) == 0 || seen.allRunsEnded() || !seen.job.DeletionTimestamp.IsZero() {
		return plan{}, false
	}
	pending := seen.logsPending()
	for _, view := range seen.runners {
		pending = pending || (view.Snapshot == nil && view.Err == nil) // The runner has neither answered nor failed to answer yet.
	}
	if pending {
		return waiting(v1alpha1.ReasonRunning, "A client's pod has ended. Reading its log for results.", clientview.LogAgain), true
	}
	return conclude(seen.currentRun(), seen.misplaced), seen.phasesDone()
}

// phasesDone reports whether all clients have completed all phases of the current run.
func (f facts) phasesDone() bool {
	return f.tasks != nil && f.script.Done(f.currentRun(), f.tasks, &f.memory.noted)
}

func failWithJob(seen facts) (plan, bool) {
	if seen.allRunsEnded() {
		return plan{}, false
	}
	if !seen.job.DeletionTimestamp.IsZero() {
		return fail(v1alpha1.ReasonClientsLost, "The Job of the clients is being deleted, and not by the operator."), true
	}
	message, lost := clientview.Lost(seen.job, seen.pods, seen.clients())
	if loss := clientview.LossOf(evicted(seen.pods)); loss != "" { // Kubernetes evicts the pods of a lost node after minutes.
		return fail(v1alpha1.ReasonNodeLost, loss), true
	}
	return fail(v1alpha1.ReasonClientsLost, message), lost
}

// evicted returns those of the pods that are being deleted.
func evicted(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return pod.DeletionTimestamp.IsZero() })
}

// failWithoutBackground ends an execution whose background load was lost.
func failWithoutBackground(seen facts) (plan, bool) {
	switch {
	case !seen.hasBackground() || seen.allRunsEnded():
		return plan{}, false
	case seen.background.lost:
		return fail(v1alpha1.ReasonBackgroundLoadLost, "The Job of the background load was deleted, and not by the operator."), true
	case seen.background.job == nil:
		return plan{}, false
	case !seen.background.job.DeletionTimestamp.IsZero():
		return fail(v1alpha1.ReasonBackgroundLoadLost, "The Job of the background load is being deleted, and not by the operator."), true
	}
	message, lost := clientview.Lost(seen.background.job, seen.background.pods, 1)
	return fail(v1alpha1.ReasonBackgroundLoadLost, "The background load is lost. "+message), lost
}

// scheduleWithin is the age that all pods must reach before a pod without a node is reported. While
// Kubernetes binds a pod's volume, which usually takes seconds, it calls the pod unschedulable.
const scheduleWithin = 10 * time.Second

// podsWaiting returns why the pods do not run yet, or false if all of them do.
func (f facts) podsWaiting() (kstatus.Outcome, bool) {
	pods := f.pods
	o, waits := clientview.Waiting(pods, f.clients(), f.hint)
	if !waits && f.hasBackground() {
		pods = f.background.pods
		o, waits = clientview.BackgroundWaiting(pods, f.hint)
	}
	isNew := func(pod corev1.Pod) bool { return f.now.Sub(pod.CreationTimestamp.Time) < scheduleWithin }
	if o.Reason == v1alpha1.ReasonUnschedulable && slices.ContainsFunc(pods, isNew) {
		return preparing("New pods are waiting for a node and their volumes."), true
	}
	return o, waits
}

func waitForPods(seen facts) (plan, bool) {
	o, waits := seen.podsWaiting()
	switch {
	case !waits:
		return plan{}, false
	case seen.now.Sub(seen.job.CreationTimestamp.Time) > seen.settings.Pods.StartTimeout.Duration:
		if o.Reason == v1alpha1.ReasonPreparing {
			o.Reason = v1alpha1.ReasonClientsNotStarted
		}
		return fail(o.Reason, fmt.Sprintf("The clients did not start within %v: %s", seen.settings.Pods.StartTimeout.Duration, o.Message)), true
	}
	p := waiting(o.Reason, o.Message, 5*time.Second)
	p.Progress = "starting clients"
	return p, true
}

// unreachableAfter is how long runners may be unreachable before the benchmark fails. Within that time, a
// manager can start on another node, or a node's network can restart.
const unreachableAfter = 2 * time.Minute

func waitForRunners(seen facts) (plan, bool) {
	since, cause := seen.lost()
	switch {
	case cause == nil && seen.heard():
		return plan{}, false
	case cause == nil:
		return plan{Step: reconcile.StepWait, Progress: "starting clients", Outcome: preparing("Waiting for the clients to answer.")}, true
	}
	o := seen.silence(cause)
	if seen.now.Sub(since) > unreachableAfter {
		return fail(o.Reason, o.Message), true
	}
	if seen.now.Sub(since) < 10*time.Second {
		return plan{Step: reconcile.StepWait, Again: 10 * time.Second, Progress: "starting clients", Outcome: preparing("Waiting for the clients to answer.")}, true
	}
	return waiting(o.Reason, o.Message, 10*time.Second), true
}

// silence says why runners do not answer. Kubernetes notices only after most of a minute that a node is lost; until
// then, the message says where the pod runs.
func (f facts) silence(cause error) kstatus.Outcome {
	silent := f.silentPods()
	if loss := clientview.LossOf(silent); loss != "" {
		return kstatus.Outcome{Reason: v1alpha1.ReasonNodeLost, Message: loss + " Its client does not answer."}
	}
	pod := "A client's pod"
	if len(silent) > 0 {
		pod = fmt.Sprintf("Pod %s on node %s", silent[0].Name, silent[0].Spec.NodeName)
	}
	return kstatus.Outcome{Reason: v1alpha1.ReasonClientsUnreachable, Message: fmt.Sprintf(
		"%s runs but does not answer on its port: %v. If its node is well: %s", pod, cause, f.networkAdvice())}
}

// silentPods returns the pods whose runners do not answer.
func (f facts) silentPods() []corev1.Pod {
	var silent []corev1.Pod
	for _, party := range []struct {
		pods    []corev1.Pod
		runners map[int]clientview.View
		clients int
	}{{f.pods, f.runners, f.clients()}, {f.background.pods, f.background.runners, 1}} {
		for i := range party.pods {
			if index, ok := clientjob.ClientIndex(&party.pods[i], party.clients); ok && party.runners[index].Err != nil {
				silent = append(silent, party.pods[i])
			}
		}
	}
	return silent
}
