package cephbenchmark

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/standalone"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

func failWithForeignJob(seen facts) (plan, bool) {
	mismatch := cmp.Or(seen.jobMismatch, seen.background.mismatch)
	return fail(v1alpha1.ReasonClientsLost, string(mismatch)), !mismatch.Matches()
}

func removeUnrecorded(seen facts) (plan, bool) {
	p := plan{step: stepRemoveUnrecorded, progress: "making pool and clients", outcome: preparing("Replacing a Job whose UID the operator could not record.")}
	return p.atMost(prepareWithin, "unrecorded Job", kstatus.Outcome{
		Reason: v1alpha1.ReasonNotPrepared, Message: fmt.Sprintf("The removal of an unrecorded Job took longer than %v:", prepareWithin),
	}), seen.unrecorded != nil
}

func failWithoutJob(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClientsLost, "The Job of the clients was deleted, and not by the operator."), seen.jobLost
}

// finishReplacing continues the replacement that switchToStandalone has begun and marked with
// AnnotationUnreachable. It ignores the annotation on a Job that no standalone client can replace: there, a
// user has set it.
func finishReplacing(seen facts) (plan, bool) {
	if seen.job == nil || seen.job.Annotations[clientjob.AnnotationUnreachable] == "" || seen.asStandalone(seen.currentRun()).Check() != nil {
		return plan{}, false
	}
	return replaceClients("A standalone client replaces the client, because the manager could not reach it."), true
}

// forPreparation is the name of the wait for the objects that clients need.
const forPreparation = "preparation"

func prepareClients(seen facts) (plan, bool) {
	p := plan{step: stepPrepare, progress: "making pool and clients", outcome: preparing("Creating what the clients need.")}
	return p.atMost(prepareWithin, forPreparation, kstatus.Outcome{
		Reason: v1alpha1.ReasonNotPrepared, Message: fmt.Sprintf("The clients' preparation took longer than %v:", prepareWithin),
	}), seen.job == nil || seen.lacksSecret() || seen.lacksBackground()
}

// lacksSecret reports whether the clients' Secret may still be missing.
func (f facts) lacksSecret() bool {
	return !f.memory.secretMade && len(clientview.Addresses(f.pods)) < int(f.spec.Template.Clients.Count)
}

// lacksBackground reports whether the Job of the background load must still be created.
func (f facts) lacksBackground() bool {
	return f.hasBackground() && f.memory.backgroundJob == "" && f.job.DeletionTimestamp.IsZero()
}

// followLog waits for the reports of a standalone client.
func followLog(seen facts) (plan, bool) {
	if !seen.standalone() || seen.allRunsEnded() || seen.endedByLog() || len(seen.pods) == 0 || !seen.job.DeletionTimestamp.IsZero() {
		return plan{}, false
	}
	run := seen.currentRun()
	p := waiting(v1alpha1.ReasonRunning, fmt.Sprintf("Run %d of %d. %s", run, seen.spec.Repetitions, standalone.Misses()), clientview.LogEvery)
	p.run, p.progress = run, seen.next.Step
	if p.progress == "" {
		p.progress = "a standalone client is at work"
	}
	switch pod := &seen.pods[0]; {
	case pod.Status.Phase == corev1.PodRunning:
		return p, true
	case clientview.PodEnded(pod) && seen.logsPending():
		p.again = clientview.LogAgain
		return p, true
	}
	return plan{}, false // The client has not started yet, or its final log does not show how the run has ended.
}

// concludeFromLogs concludes a run whose phases had all ended before a client's pod ended: the log of the
// pod has the missing reports. It does not apply to a run with a background load, because such a load
// reports only when the manager stops it.
func concludeFromLogs(seen facts) (plan, bool) {
	if seen.standalone() || seen.hasBackground() || len(seen.logs) == 0 || seen.allRunsEnded() || !seen.job.DeletionTimestamp.IsZero() {
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
	return f.tasks != nil && !slices.ContainsFunc(f.script.Phases, func(p workload.Phase) bool {
		return !f.tasks.All(workload.TaskID(f.currentRun(), p.Name), func(s task.State) bool { return s == task.Done })
	})
}

func failWithJob(seen facts) (plan, bool) {
	if seen.allRunsEnded() || seen.endedByLog() {
		return plan{}, false
	}
	if !seen.job.DeletionTimestamp.IsZero() {
		return fail(v1alpha1.ReasonClientsLost, "The Job of the clients is being deleted, and not by the operator."), true
	}
	message, lost := clientview.Lost(seen.job, seen.pods)
	return fail(v1alpha1.ReasonClientsLost, message), lost
}

// failWithoutBackground ends a session whose background load was lost.
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
	message, lost := clientview.Lost(seen.background.job, seen.background.pods)
	return fail(v1alpha1.ReasonBackgroundLoadLost, "The background load is lost. "+message), lost
}

// scheduleWithin is the age that all pods must reach before a pod without a node is reported. While
// Kubernetes binds a pod's volume, which usually takes seconds, it calls the pod unschedulable.
const scheduleWithin = 10 * time.Second

// podsWaiting returns why the pods do not run yet, or false if all of them do.
func (f facts) podsWaiting() (kstatus.Outcome, bool) {
	pods := f.pods
	o, waits := clientview.Waiting(pods, int(f.spec.Template.Clients.Count), f.hint)
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
	case !waits || seen.endedByLog():
		return plan{}, false
	case seen.now.Sub(seen.job.CreationTimestamp.Time) > seen.settings.Pods.StartTimeout.Duration:
		if o.Reason == v1alpha1.ReasonPreparing {
			o.Reason = v1alpha1.ReasonClientsNotStarted
		}
		return fail(o.Reason, fmt.Sprintf("The clients did not start within %v: %s", seen.settings.Pods.StartTimeout.Duration, o.Message)), true
	}
	p := waiting(o.Reason, o.Message, 5*time.Second)
	p.progress = "starting clients"
	return p, true
}

func switchToStandalone(seen facts) (plan, bool) {
	since, why := seen.lost()
	if why == nil || seen.now.Sub(since) < aloneAfter || seen.reached() || seen.asStandalone(seen.currentRun()).Check() != nil {
		return plan{}, false
	}
	return replaceClients(fmt.Sprintf("The client's pod runs but does not answer on its port: %v. "+
		"A standalone client replaces it and reports through its log. %s", why, standalone.NetworkAdvice())), true
}

func replaceClients(message string) plan {
	p := plan{step: stepReplace, progress: "replacing the client", outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonClientsUnreachable, Message: message,
	}}
	return p.atMost(prepareWithin, "replacement", p.outcome)
}

// unreachableAfter is how long runners may be unreachable before the benchmark fails. Within that time, a
// manager can start on another node, or a node's network can restart.
const unreachableAfter = 2 * time.Minute

func waitForRunners(seen facts) (plan, bool) {
	since, why := seen.lost()
	switch {
	case why == nil && seen.heard():
		return plan{}, false
	case why == nil:
		return plan{step: stepWait, progress: "starting clients", outcome: preparing("Waiting for the clients to answer.")}, true
	}
	message := fmt.Sprintf("A client's pod runs but does not answer on its port: %v. %s", why, standalone.NetworkAdvice())
	if err := seen.asStandalone(seen.currentRun()).Check(); err != nil && !seen.reached() {
		message += " Results cannot come through logs instead, because " + err.Error() + "."
	}
	if seen.now.Sub(since) > unreachableAfter {
		return fail(v1alpha1.ReasonClientsUnreachable, message), true
	}
	if seen.now.Sub(since) < 10*time.Second {
		return plan{step: stepWait, again: 10 * time.Second, progress: "starting clients", outcome: preparing("Waiting for the clients to answer.")}, true
	}
	return waiting(v1alpha1.ReasonClientsUnreachable, message, 10*time.Second), true
}
