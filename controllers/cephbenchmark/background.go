package cephbenchmark

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/workload"
)

// A background load has a Job, a pod and a runner of its own: a runner executes one task at a
// time, and in a client's pod the load would take CPU from the measurement. The clients' Job
// owns its Job, so that one API write deletes both.

// backgroundFacts holds the observations of the background load; empty if there is none.
type backgroundFacts struct {
	job  *batchv1.Job
	lost bool // it was created, and something other than the manager deleted it
	pods []corev1.Pod
	// runners has only the index 0.
	runners map[int]clientview.View
	tasks   workload.Tasks // nil if the runner has not answered yet
}

// backgroundIndex is the background load's index among the runners that are followed.
const backgroundIndex = -1

func (f facts) hasBackground() bool { return f.spec.Template.BackgroundLoad != nil }

// heard reports whether all runners have answered.
func (f facts) heard() bool {
	return f.tasks != nil && (!f.hasBackground() || f.background.tasks != nil)
}

// begun reports whether a run has begun: any of its tasks was handed over.
func (f facts) begun(run int32) bool {
	return f.tasks.Begun(run) || f.background.tasks.Has(workload.BackgroundID(run))
}

// everyone returns the runners of the clients and the background load.
func (f facts) everyone() []clientview.View {
	all := make([]clientview.View, 0, len(f.runners)+1)
	for i := range int(f.spec.Template.Clients.Count) {
		if view, ok := f.runners[i]; ok {
			all = append(all, view)
		}
	}
	if view, ok := f.background.runners[0]; ok {
		all = append(all, view)
	}
	return all
}

// party returns the runners that a move concerns, and the statuses of their tasks.
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
	key := types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: seen.session.Background().Name}
	job := &batchv1.Job{}
	err := r.client.Get(ctx, key, job)
	if apierrors.IsNotFound(err) && seen.memory.backgroundJob != "" {
		err = r.reader.Get(ctx, key, job) // The cache may be late.
	}
	if apierrors.IsNotFound(err) {
		seen.background.lost = seen.memory.backgroundJob != ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Job of the background load: %w", err)
	}
	if !metav1.IsControlledBy(job, seen.job) {
		return nil // A Job of an earlier session that is about to be deleted, or a foreign one, which prepare reports.
	}
	seen.background.job = job
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{clientjob.LabelSession: job.Name}); err != nil {
		return fmt.Errorf("list the pods of the background load: %w", err)
	}
	seen.background.pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) })
	if stuck := clientview.Stuck(job, seen.background.pods); stuck != nil && seen.hint == "" && seen.now.Sub(job.CreationTimestamp.Time) > hintAfter {
		seen.hint, err = r.lastWarning(ctx, stuck)
	}
	return err
}

// makeBackground creates the background load's Job, which the clients' Job owns. The Job may
// exist already if the manager was restarted.
func (r *Reconciler) makeBackground(ctx context.Context, seen facts, clients *batchv1.Job, spec clientjob.Spec) error {
	if !seen.hasBackground() || seen.memory.backgroundJob != "" {
		return nil
	}
	job := clientjob.BackgroundJobOf(spec)
	if err := controllerutil.SetControllerReference(clients, job, r.client.Scheme()); err != nil {
		return fmt.Errorf("own the Job of the background load: %w", err)
	}
	err := r.client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		there := &batchv1.Job{}
		if err := r.reader.Get(ctx, client.ObjectKeyFromObject(job), there); err != nil {
			return fmt.Errorf("read the Job of the background load: %w", err)
		}
		if !metav1.IsControlledBy(there, clients) {
			return fmt.Errorf("the Job %s has the name that the background load needs: delete it, or wait until it is gone", job.Name)
		}
		job, err = there, nil
	}
	if err != nil {
		return fmt.Errorf("create the Job of the background load: %w", err)
	}
	seen.memory.backgroundJob = job.UID
	return nil
}
