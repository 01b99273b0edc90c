package clientjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/signature"
)

// Maker creates, suspends and removes the Jobs and Secrets of executions.
type Maker struct {
	Client client.Client
	// MasterKey is the secret from which the keys of executions and of signatures are derived.
	MasterKey []byte
}

// Files returns the files of the clients' Secret: how to reach Ceph, and the key that authenticates the manager.
func (m Maker) Files(s Execution, conf, keyring string) (map[string][]byte, error) {
	key, err := s.Key(m.MasterKey)
	return map[string][]byte{rook.ConfFile: []byte(conf), rook.KeyringFile: []byte(keyring), ExecutionKey: key}, err
}

// MakeJob creates the Job of the clients, with its signed input. Each call needs another nonce in status: so
// a second Job with the same signature is a copy.
func (m Maker) MakeJob(ctx context.Context, j Spec, in Input) (*batchv1.Job, error) {
	job := JobOf(j)
	in.Spec = j.Spec
	var err error
	if job.Annotations, err = in.annotations(); err != nil {
		return nil, err
	}
	statement, err := clientsStatement(j.Benchmark, j.Execution, job)
	if err != nil {
		return nil, err
	}
	if err := m.create(ctx, job, statement, j.Benchmark); err != nil {
		return nil, fmt.Errorf("create the Job of the clients: %w", err)
	}
	return job, nil
}

// create signs and creates a Job with an owner.
func (m Maker) create(ctx context.Context, job *batchv1.Job, statement signature.Statement, owner client.Object) error {
	text, err := statement.Sign(m.MasterKey)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, signature.Annotation, text)
	if err := controllerutil.SetControllerReference(owner, job, m.Client.Scheme()); err != nil {
		return err
	}
	return m.Client.Create(ctx, job)
}

// MakeSecret creates the Secret of the clients. The Job owns the Secret, so Kubernetes deletes both together.
// Pods that start before the Secret exists wait for it. A Secret with its name may exist already: that of a manager
// that was restarted, or another user's, which the runners refuse by its digest.
func (m Maker) MakeSecret(ctx context.Context, j Spec, job *batchv1.Job, files map[string][]byte) error {
	secret := SecretOf(j, files)
	if err := controllerutil.SetControllerReference(job, secret, m.Client.Scheme()); err != nil {
		return fmt.Errorf("own the Secret: %w", err)
	}
	if err := m.Client.Create(ctx, secret); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create the Secret of the clients: %w", err)
	}
	return nil
}

// MakeBackground creates the Job of the background load, and returns its UID. The clients' Job owns
// this Job, so that one API request deletes both.
func (m Maker) MakeBackground(ctx context.Context, j Spec, clients *batchv1.Job) (types.UID, error) {
	job := BackgroundJobOf(j)
	if err := m.create(ctx, job, backgroundStatement(j.Benchmark, clients, job), clients); err != nil {
		return "", fmt.Errorf("create the Job of the background load: %w", err)
	}
	return job.UID, nil
}

// Suspend makes Kubernetes end the pods of a Job. The Job itself stays, because it holds the
// execution's input.
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
	return m.remove(ctx, job, metav1.DeletePropagationForeground)
}

// Abandon removes a Job without waiting for its pods, even if the Job is being deleted already. Kubernetes removes the
// pods once their kubelets confirm that they have ended.
func (m Maker) Abandon(ctx context.Context, job *batchv1.Job) error {
	if job == nil {
		return nil
	}
	return m.remove(ctx, job, metav1.DeletePropagationBackground)
}

func (m Maker) remove(ctx context.Context, job *batchv1.Job, policy metav1.DeletionPropagation) error {
	err := m.Client.Delete(ctx, job, &client.DeleteOptions{
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &job.UID},
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove Job %s: %w", job.Name, err)
	}
	return nil
}
