package cephbenchmark

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/workload"
)

// The background load has its own Job, pod and runner, because a runner executes one task at a time. In a
// client's pod, the load would also take CPU from the measurement.

// backgroundFacts holds the observations of the background load. It is empty if the template has no such
// load.
type backgroundFacts struct {
	job  *batchv1.Job
	lost bool // the Job was created and is gone; only a teardown by the manager may delete it
	// mismatch says that another user's Job has the name of the Job.
	mismatch clientjob.Mismatch
	pods     []corev1.Pod
	// runners has at most one entry, with the index 0.
	runners map[int]clientview.View
	tasks   workload.Tasks // nil if the runner has not answered yet
}

// backgroundIndex is the index of the background load's runner in a map that also has the clients' runners.
// The indexes of those begin at 0.
const backgroundIndex = -1

func (f facts) hasBackground() bool { return f.spec.Template.BackgroundLoad != nil }

// heard reports whether all runners have answered.
func (f facts) heard() bool {
	return f.tasks != nil && (!f.hasBackground() || f.background.tasks != nil)
}

// begun reports whether a run has begun: one of its phases, or its background load, was assigned to a
// runner.
func (f facts) begun(run int32) bool {
	return f.tasks.Begun(run) || f.background.tasks.Has(workload.BackgroundID(run))
}

// everyone returns the runners of the clients and the background load.
func (f facts) everyone() []clientview.View {
	all := make([]clientview.View, 0, len(f.runners)+1)
	for i := range f.clients() {
		if view, ok := f.runners[i]; ok {
			all = append(all, view)
		}
	}
	if view, ok := f.background.runners[0]; ok {
		all = append(all, view)
	}
	return all
}

// party returns the runners that execute a move, and the statuses of their tasks.
func (f facts) party(mv workload.Move) (map[int]clientview.View, workload.Tasks) {
	if mv.Background {
		return f.background.runners, f.background.tasks
	}
	return f.runners, f.tasks
}

// observeBackgroundJob observes the Job of the background load and its pod.
func (r *Reconciler) observeBackgroundJob(ctx context.Context, seen *facts) error {
	if !seen.hasBackground() {
		return nil
	}
	jobs := r.jobs()
	job, err := jobs.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: seen.execution.Background().Name}, seen.recorded().BackgroundJobUID != "" || seen.memory.taken)
	if err != nil {
		return err
	}
	if job == nil {
		seen.background.lost = seen.memory.backgroundJob != ""
		return nil
	}
	origin, err := r.maker().BackgroundOrigin(seen.benchmark, seen.job, job, seen.recorded().BackgroundJobUID)
	if err != nil {
		return err
	}
	if !origin.Ours {
		seen.background.mismatch = origin.Mismatch
		return nil
	}
	if seen.background.job = job; origin.Unrecorded && seen.unrecorded == nil {
		seen.unrecorded = job
	}
	if seen.background.pods, err = jobs.Pods(ctx, job); err != nil || seen.hint != "" {
		return err
	}
	seen.hint, err = jobs.Hint(ctx, job, seen.background.pods, seen.now)
	return err
}
