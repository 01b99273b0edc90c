package cephbenchmark

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/standalone"
	"github.com/cephtune/cephtune/internal/workload"
)

// aloneAfter is how long the manager tries to reach a runner that has never answered, before a standalone
// client replaces the client.
const aloneAfter = 30 * time.Second

// standalone reports whether the client is standalone.
func (f facts) standalone() bool {
	_, alone := clientjob.StandaloneFrom(f.job)
	return alone
}

// reached reports whether a runner of this Job has ever answered this process, or an earlier process
// according to status.
func (f facts) reached() bool {
	if f.memory.reached {
		return true
	}
	for _, run := range f.benchmark.Status.Runs {
		if run.StartTime != nil && !run.StartTime.Before(&f.job.CreationTimestamp) {
			return true
		}
	}
	return false
}

// asStandalone returns the session as a standalone client would carry it out, beginning with a
// given run.
func (f facts) asStandalone(from int32) standalone.Session {
	return standalone.Session{Spec: f.spec, Script: f.script, Cleanup: f.cleanupOf(0), From: from}
}

// removeUnrecorded removes a Job whose UID was not recorded. The rules for a session without that Job then create
// the new Job.
func (r *Reconciler) removeUnrecorded(ctx context.Context, seen facts) error {
	if seen.unrecorded == seen.job {
		seen.memory.secretMade, seen.memory.replacedJob = false, seen.job.UID
	}
	return r.maker().Remove(ctx, seen.unrecorded)
}

// replaceJob removes the Job of an unreachable client. The rules for a session without a Job
// then create the new Job.
func (r *Reconciler) replaceJob(ctx context.Context, seen facts, p plan) (effect, error) {
	if p.step == stepRemoveUnrecorded {
		return effect{again: time.Second}, r.removeUnrecorded(ctx, seen)
	}
	if seen.job.Annotations[clientjob.AnnotationUnreachable] == "" && !seen.memory.standalone {
		if err := r.maker().MarkUnreachable(ctx, seen.job); err != nil {
			return effect{}, err
		}
		r.recorder.Eventf(seen.benchmark, nil, corev1.EventTypeWarning, p.outcome.Reason, string(p.step), "%s", ellipsis.Cut(p.outcome.Message, 1024))
	}
	// Once the Job is gone, the rules check the cluster for quiescence again before they create the
	// new Job: a standalone client cannot wait for quiescence later.
	seen.memory.standalone, seen.memory.secretMade, seen.memory.replacedJob = true, false, seen.job.UID
	return effect{again: time.Second}, r.maker().Remove(ctx, seen.job)
}

// endedByLog reports whether the log of a standalone client shows how the current run has ended.
func (f facts) endedByLog() bool {
	return f.standalone() && f.tasks != nil && (f.next.Kind == workload.MoveEnd || f.next.Kind == workload.MoveFail)
}

// tasksOfRun returns the tasks from which the next move follows. For a standalone client, these exclude
// unfinished tasks of other runs.
func (f facts) tasksOfRun() workload.Tasks {
	if !f.standalone() {
		return f.tasks
	}
	return standalone.TasksOf(f.script, f.currentRun(), f.tasks)
}

// remark returns sentences for the summary if results are from logs, or have no signature; "" otherwise.
func (f facts) remark() string {
	unsigned := ""
	if slices.ContainsFunc(f.benchmark.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results != "" && run.ResultsDigest == "" }) {
		unsigned = " Results of the first runs are unsigned, because an earlier version of the operator wrote them."
	}
	return unsigned + f.logRemark()
}

func (f facts) logRemark() string {
	switch {
	case f.standalone():
		return " A standalone client ran, because the manager could not reach the client: the results are from its log."
	case len(f.logs) > 0:
		return " The last run is from the logs of pods that had ended."
	}
	return ""
}
