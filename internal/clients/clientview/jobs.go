package clientview

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
)

// Jobs reads the Jobs of executions, their pods, and Kubernetes' warnings about them.
type Jobs struct {
	Client client.Reader // from a cache
	Reader client.Reader // without a cache
}

// Get returns a Job, or nil if it does not exist. Callers set existed to true if this process has seen the Job
// before: then Get does not trust a cache without the Job, and also reads from the API server.
func (j Jobs) Get(ctx context.Context, key types.NamespacedName, existed bool) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := j.Client.Get(ctx, key, job)
	if apierrors.IsNotFound(err) && existed {
		err = j.Reader.Get(ctx, key, job)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // The Job does not exist, which is not an error.
	}
	if err != nil {
		return nil, fmt.Errorf("read Job %s: %w", key.Name, err)
	}
	return job, nil
}

// Pods returns the pods of a Job. Pods of an earlier Job with its name do not count, and neither do pods that name
// the Job as owner, but that the Job's selector does not select: Kubernetes does not end those with the Job.
func (j Jobs) Pods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	pods, err := j.PodsNamed(ctx, job.Namespace, job.Name)
	if err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of Job %s: %w", job.Name, err)
	}
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return !metav1.IsControlledBy(&pod, job) || job.Spec.Selector != nil && !selector.Matches(labels.Set(pod.Labels))
	}), nil
}

// PodsNamed returns the pods of all Jobs that have or had these names.
func (j Jobs) PodsNamed(ctx context.Context, namespace string, jobs ...string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, job := range jobs {
		var pods corev1.PodList
		if err := j.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{clientjob.LabelExecution: job}); err != nil {
			return nil, fmt.Errorf("list the pods of Job %s: %w", job, err)
		}
		all = append(all, pods.Items...)
	}
	return all, nil
}

// hintAfter is how long after the creation of a Job its pods may be missing or pending, before Hint
// reads events to find the reason.
const hintAfter = 5 * time.Second

// maxWarnings is about how many warnings Hint reads. Kubernetes counts repeated warnings in few events, but users can
// create any number of them.
const maxWarnings = 100

// Hint returns Kubernetes' last warning about a Job whose pods do not start, or about one of the
// pods; "" without a warning, or before hintAfter has passed. Only these warnings show problems of
// quotas, pod security and mounts.
func (j Jobs) Hint(ctx context.Context, job *batchv1.Job, pods []corev1.Pod, now time.Time) (string, error) {
	stuck := stuckObject(job, pods)
	if stuck == nil || now.Sub(job.CreationTimestamp.Time) <= hintAfter {
		return "", nil
	}
	var latest corev1.Event
	read := 0
	warnings := pages.Of[corev1.EventList](ctx, j.Reader, client.InNamespace(stuck.GetNamespace()), client.MatchingFields{
		"involvedObject.uid": string(stuck.GetUID()), "type": corev1.EventTypeWarning,
	})
	for page, err := range warnings {
		if client.IgnoreNotFound(err) != nil { // A list may be "not found" while the namespace is being deleted.
			return "", fmt.Errorf("read the events of %s: %w", stuck.GetName(), err)
		}
		for _, event := range page.Items {
			if !timeOf(event).Before(timeOf(latest)) {
				latest = event
			}
		}
		if read += len(page.Items); read >= maxWarnings {
			break
		}
	}
	return latest.Message, nil
}

// timeOf returns when an event last happened. Events of the group events.k8s.io, such as those of
// the scheduler, may lack LastTimestamp.
func timeOf(e corev1.Event) time.Time {
	last := e.EventTime.Time
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	return last
}

// stuckObject returns the object whose events may explain a delay: a Job without pods, or the
// first pod that is pending; nil if nothing is stuck.
func stuckObject(job *batchv1.Job, pods []corev1.Pod) client.Object {
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
