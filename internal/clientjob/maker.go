package clientjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Maker creates, changes and removes the Jobs and Secrets of sessions.
type Maker struct {
	Client client.Client
	Reader client.Reader // without a cache
	// MasterKey is the secret from which the keys of sessions are derived.
	MasterKey []byte
}

// MakeJob creates the Job of the clients, with its sealed input.
func (m Maker) MakeJob(ctx context.Context, j Spec, in Input) (*batchv1.Job, error) {
	job := JobOf(j)
	in.Spec = j.Spec
	var err error
	if job.Annotations, err = in.annotations(); err != nil {
		return nil, err
	}
	if err := j.Session.Seal(m.MasterKey, job); err != nil {
		return nil, err
	}
	if err := controllerutil.SetControllerReference(j.Benchmark, job, m.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own the Job: %w", err)
	}
	if err := m.Client.Create(ctx, job); err != nil {
		return nil, fmt.Errorf("create the Job of the clients: %w", err)
	}
	return job, nil
}

// MakeSecret creates the Secret with which the pods reach Ceph and authenticate their manager.
// With tasks, it is the Secret of a standalone client. The Job owns the Secret, so Kubernetes
// deletes both together. Pods that start before the Secret exists wait for it. The Secret may exist
// already if the manager was restarted.
func (m Maker) MakeSecret(ctx context.Context, j Spec, job *batchv1.Job, conf, keyring string, tasks []byte) error {
	key, err := j.Session.Key(m.MasterKey)
	if err != nil {
		return err
	}
	secret := SecretOf(j.Benchmark, j.Session, conf, keyring, key)
	if tasks != nil {
		secret.Name = SecretName(j.Session, true)
		secret.Data[TasksFile] = tasks
		delete(secret.Data, SessionKey) // A standalone runner accepts no requests.
	}
	if err := controllerutil.SetControllerReference(job, secret, m.Client.Scheme()); err != nil {
		return fmt.Errorf("own the Secret: %w", err)
	}
	if err := m.Client.Create(ctx, secret); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create the Secret of the clients: %w", err)
	}
	return nil
}

// MakeBackground creates the Job of the background load, and returns its UID. The clients' Job owns
// this Job, so that one API request deletes both. The Job of the background load may exist already
// if the manager was restarted.
func (m Maker) MakeBackground(ctx context.Context, j Spec, clients *batchv1.Job) (types.UID, error) {
	job := BackgroundJobOf(j)
	if err := controllerutil.SetControllerReference(clients, job, m.Client.Scheme()); err != nil {
		return "", fmt.Errorf("own the Job of the background load: %w", err)
	}
	err := m.Client.Create(ctx, job)
	if err == nil {
		return job.UID, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the Job of the background load: %w", err)
	}
	there := &batchv1.Job{}
	if err := m.Reader.Get(ctx, client.ObjectKeyFromObject(job), there); err != nil {
		return "", fmt.Errorf("read the Job of the background load: %w", err)
	}
	if !metav1.IsControlledBy(there, clients) {
		return "", fmt.Errorf("the Job %s has the name that the background load needs: delete it, or wait until it is gone", job.Name)
	}
	return there.UID, nil
}

// MarkUnreachable marks a Job that is about to be replaced, so that a restarted manager continues
// the replacement.
func (m Maker) MarkUnreachable(ctx context.Context, job *batchv1.Job) error {
	before := job.DeepCopy()
	job.Annotations[AnnotationUnreachable] = "true"
	if err := m.Client.Patch(ctx, job, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("mark Job %s as unreachable: %w", job.Name, err)
	}
	return nil
}

// Suspend makes Kubernetes end the pods of a Job. The Job itself stays, because it holds the
// session's input.
func (m Maker) Suspend(ctx context.Context, job *batchv1.Job) error {
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		return nil
	}
	before := job.DeepCopy()
	job.Spec.Suspend = new(true)
	if err := m.Client.Patch(ctx, job, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("stop the pods of Job %s: %w", job.Name, err)
	}
	return nil
}

// Remove removes a Job, unless it is nil or being deleted. Kubernetes deletes its pods and Secret
// with it.
func (m Maker) Remove(ctx context.Context, job *batchv1.Job) error {
	if job == nil || !job.DeletionTimestamp.IsZero() {
		return nil
	}
	policy := metav1.DeletePropagationForeground
	err := m.Client.Delete(ctx, job, &client.DeleteOptions{
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &job.UID},
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove Job %s: %w", job.Name, err)
	}
	return nil
}
