package cephbenchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// If the network separates the manager from a client that has done nothing yet, a standalone
// client replaces that client. The runner of a standalone client reads all its tasks from a
// file, and reports through its log. logs.go turns the log into the answers of a reachable
// runner.

const (
	// maxTasksBytes is below the maximum size of a Secret.
	maxTasksBytes = 900 << 10
	// aloneAfter is how long the manager tries to reach a runner that has never answered.
	aloneAfter = 30 * time.Second
)

// aloneFrom returns the run with which a standalone client begins, or false if the Job's client
// is not standalone.
func aloneFrom(job *batchv1.Job) (int32, bool) {
	if job == nil {
		return 0, false
	}
	run, err := strconv.ParseInt(job.Annotations[clientjob.AnnotationStandalone], 10, 32)
	return int32(run), err == nil
}

// standalone reports whether the client is standalone.
func (f facts) standalone() bool {
	_, alone := aloneFrom(f.job)
	return alone
}

// reached reports whether a runner of this Job has ever answered this process or, according to
// status, an earlier one.
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

// whyNotStandalone returns why the clients need the manager; "" if a standalone client suffices.
func (f facts) whyNotStandalone() string {
	switch {
	case f.script.Switched:
		return "switching settings under load needs the clients' reports each second"
	case f.spec.Template.Clients.Count != 1:
		return "only the manager can start several clients together"
	case f.script.Background != nil:
		return "only the manager can stop the background load when the phases have ended"
	case f.spec.Template.Outage != nil:
		return "only the manager can stop OSDs"
	case f.script.DropCaches:
		return "only the manager can drop the caches of OSDs"
	}
	for _, p := range f.script.Phases {
		if load, ok := p.Load.(engine.Piloted); ok && load.NeedsPilot() {
			return fmt.Sprintf("phase %s is sized by pilots, which only the manager can evaluate", p.Name)
		}
	}
	if _, err := f.tasksJSON(f.currentRun()); err != nil {
		return err.Error()
	}
	return ""
}

// aloneTasks returns all tasks of a standalone client, beginning with a given run.
func (f facts) aloneTasks(from int32) ([]task.Task, error) {
	planned, err := f.script.Plan(from, f.spec.Repetitions)
	if err != nil {
		return nil, err
	}
	if steps := f.cleanupOf(0); len(steps) > 0 {
		planned = append(planned, task.Task{
			ID: cleanupID, Steps: steps, StepsTimeoutSeconds: cleanupTimeout.Seconds(), Always: true,
		})
	}
	return planned, nil
}

func (f facts) tasksJSON(from int32) ([]byte, error) {
	planned, err := f.aloneTasks(from)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(planned)
	if err != nil {
		return nil, fmt.Errorf("write the tasks: %w", err)
	}
	if len(data) > maxTasksBytes {
		return nil, fmt.Errorf("its %d tasks take %d bytes, and a Secret has room for %d", len(planned), len(data), maxTasksBytes)
	}
	return data, nil
}

// addTasks turns a Secret into the Secret of a standalone client.
func addTasks(secret *corev1.Secret, seen facts, from int32) error {
	data, err := seen.tasksJSON(from)
	if err != nil {
		return err
	}
	secret.Name = clientjob.SecretName(seen.session, true)
	secret.Data[clientjob.TasksFile] = data
	delete(secret.Data, clientjob.SessionKey) // A standalone runner accepts no requests.
	return nil
}

// networkAdvice returns advice about a network that blocks the manager.
func networkAdvice() string {
	return fmt.Sprintf("Let the manager reach port %d of the pods labelled %s=%s.", runner.Port, settings.LabelComponent, settings.ComponentBenchmark)
}

// replaceJob removes the Job of an unreachable client. The rules for a session without a Job
// then create the new Job.
func (r *Reconciler) replaceJob(ctx context.Context, seen facts, p plan) (effect, error) {
	if seen.job.Annotations[clientjob.AnnotationUnreachable] == "" && !seen.memory.standalone {
		before := seen.job.DeepCopy()
		seen.job.Annotations[clientjob.AnnotationUnreachable] = "true"
		if err := r.client.Patch(ctx, seen.job, client.MergeFrom(before)); err != nil {
			return effect{}, fmt.Errorf("mark Job %s as unreachable: %w", seen.job.Name, err)
		}
		r.recorder.Eventf(seen.benchmark, nil, corev1.EventTypeWarning, p.outcome.Reason, string(p.step), "%s", ellipsis.Cut(p.outcome.Message, 1024))
	}
	// These fields are reset so that the cluster is checked for quiescence again: a standalone
	// client cannot wait for it later.
	seen.memory.standalone, seen.memory.secretMade, seen.memory.replacedJob = true, false, seen.job.UID
	return effect{again: time.Second}, r.removeJob(ctx, seen)
}

// aloneMisses describes what a benchmark with a standalone client lacks.
func aloneMisses() string {
	return "The manager cannot reach the client, so a standalone client runs and reports through its log. " +
		"So the cluster is not checked before each run, no disturbance aborts a run, " +
		"and a node's clock decides which cluster events fall into a phase. " + networkAdvice()
}

// endedByLog reports whether the log of a standalone client shows how the current run has ended.
func (f facts) endedByLog() bool {
	return f.standalone() && f.tasks != nil && (f.next.Kind == workload.MoveEnd || f.next.Kind == workload.MoveFail)
}

// tasksOfRun returns the tasks without those of other runs. A standalone client may be ahead,
// because it does not wait for the manager to conclude a run.
func (f facts) tasksOfRun() workload.Tasks {
	if !f.standalone() {
		return f.tasks
	}
	tasks := workload.Tasks{{}}
	for id, status := range f.tasks[0] {
		if status.State.Ended() || f.script.IsOf(f.currentRun(), id) {
			tasks[0][id] = status
		}
	}
	return tasks
}

// remark returns a remark for the summary if a standalone client delivered the results; ""
// otherwise.
func (f facts) remark() string {
	switch {
	case f.standalone():
		return " A standalone client ran, because the manager could not reach the client: the results are from its log."
	case len(f.logs) > 0:
		return " The last run is from the logs of pods that had ended."
	}
	return ""
}
