package clientjob

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

func makerOf(t *testing.T) Maker {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	// The API server gives each object a UID of its own.
	identify := interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		o.SetUID(uuid.NewUUID())
		return c.Create(ctx, o, opts...)
	}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(identify).Build()
	return Maker{Client: c, MasterKey: []byte("0123456789abcdef0123456789abcdef")}
}

// specOf returns the input of an execution with one client and a background load.
func specOf() Spec {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "b", UID: "u"}}
	b.Spec.Repetitions = 3
	b.Spec.Template.Clients.Count = 1
	b.Spec.Template.BackgroundLoad = &v1alpha1.BackgroundLoad{}
	b.Status.Clients = &v1alpha1.BenchmarkClients{Nonce: "nonce"}
	return Spec{Benchmark: b, Spec: b.Spec, Execution: ExecutionOf("u", "1"), Script: &workload.Script{}}
}

func TestInputOfAExecutionIsReadBack(t *testing.T) {
	m, j := makerOf(t), specOf()
	in := Input{DatasetBytes: 1 << 30, RoomBytes: 5, OSDs: []int{3, 1}}
	job, err := m.MakeJob(t.Context(), j, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := InputOf(job)
	got.OSDs = OSDsOf(job)
	in.Spec = j.Spec
	if diff := cmp.Diff(in, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSecretOfTheClients(t *testing.T) {
	m, j := makerOf(t), specOf()
	files, err := m.Files(j.Execution, "conf", "keyring")
	if err != nil {
		t.Fatal(err)
	}
	j.Secret, j.Digest = SecretName(j.Execution, "nonce"), runner.FilesDigest(files)
	job, err := m.MakeJob(t.Context(), j, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if name, digest := SecretIn(job); name != j.Secret || digest != j.Digest {
		t.Errorf("the pods mount %s with digest %q", name, digest)
	}
	for range 2 { // A restarted manager makes it again.
		if err := m.MakeSecret(t.Context(), j, job, files); err != nil {
			t.Fatal(err)
		}
	}
	secret := &corev1.Secret{}
	if err := m.Client.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: j.Execution.Name + "-nonce"}, secret); err != nil {
		t.Fatal(err)
	}
	if len(secret.Data[ExecutionKey]) != runner.KeyBytes || !metav1.IsControlledBy(secret, job) {
		t.Errorf("Secret %s: a key of %d bytes, owners %v", secret.Name, len(secret.Data[ExecutionKey]), secret.OwnerReferences)
	}
}

func TestJobIsSuspendedAndRemoved(t *testing.T) {
	m, j := makerOf(t), specOf()
	job, err := m.MakeJob(t.Context(), j, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Suspend(t.Context(), job), m.Suspend(t.Context(), job)); err != nil {
		t.Fatal(err)
	}
	if err := m.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil || !*job.Spec.Suspend {
		t.Errorf("suspended %v, %v", job.Spec.Suspend, err)
	}
	for _, removed := range []*batchv1.Job{job, job, nil} {
		if err := m.Remove(t.Context(), removed); err != nil {
			t.Error(err)
		}
	}
	if err := m.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		t.Errorf("after its removal, reading the Job gives %v", err)
	}
}
