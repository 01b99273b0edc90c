package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

const (
	release          = "cephtune"
	releaseNamespace = "cephtune-system"
)

// mover does what docs/howto/move-between-helm-and-kustomize.md says.
type mover struct {
	t          *testing.T
	api        client.Client
	kubeconfig string
}

// TestMovingKeepsEverything moves from kustomize to Helm and back, with a real Helm. Benchmarks
// must stay the same objects. Ceph's identities must stay the same on the way to Helm.
func TestMovingKeepsEverything(t *testing.T) {
	m := newMover(t)
	m.applyKustomize()
	benchmark := m.makeBenchmark()
	client1 := m.uidOfClient()

	values := filepath.Join(t.TempDir(), "values.yaml")
	const text = "clusters: [{namespace: rook-ceph, name: my-cluster}]\nbenchmarkNamespaces: [" + benchNamespace + "]\n"
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	install := []string{"install", release, filepath.Join(apiserver.Root(t), "charts", "cephtune"), "-f", values}
	if err := m.helm(install...); err == nil {
		t.Fatal("Helm takes what is another's without being told to: the page says too much")
	}
	m.removeDeployment()
	if err := m.helm(append(install, "--take-ownership")...); err != nil {
		t.Fatal(err)
	}
	m.wantManagedBy("Helm")
	m.wantBenchmark(benchmark)
	if client2 := m.uidOfClient(); client2 != client1 {
		t.Errorf("the CephClient is %s and was %s: its key is another", client2, client1)
	}

	m.wantKeptCRDs()
	// The hooks are left out, because nothing runs their pods here.
	if err := m.helm("uninstall", release, "--no-hooks"); err != nil {
		t.Fatal(err)
	}
	m.applyKustomize()
	m.wantManagedBy("")
	m.wantBenchmark(benchmark)
}

func newMover(t *testing.T) *mover {
	t.Helper()
	config := apiserver.Start(t)
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: foreignCRDs(t), ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	scheme := newScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	create(t, api, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: rookNamespace}})
	return &mover{t: t, api: api, kubeconfig: kubeconfigOf(t, config)}
}

func kubeconfigOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	const name = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a tool of a module below hack, or of the checkout, and returns its output.
func (m *mover) run(folder string, args ...string) ([]byte, error) {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), "go", append([]string{"tool"}, args...)...)
	command.Dir = filepath.Join(apiserver.Root(m.t), folder)
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		m.t.Logf("go tool %v: %v: %s%s", args, err, out, failure.String())
	}
	return out, err
}

func (m *mover) helm(args ...string) error {
	m.t.Helper()
	_, err := m.run("hack/chart", append([]string{"helm", "--kubeconfig", m.kubeconfig, "-n", releaseNamespace}, args...)...)
	return err
}

// applyKustomize does what "make deploy" does, without the CRDs, which the API server already has.
// It does not force: a value that another manager has set differently is a conflict.
func (m *mover) applyKustomize() {
	m.t.Helper()
	text, err := m.run(".", "-modfile=hack/tools/go.mod", "kustomize", "build", "config/namespaced")
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(m.t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		m.t.Fatal(err)
	}
	for _, object := range manifests(m.t, file) {
		if object.GetKind() == "CustomResourceDefinition" {
			continue
		}
		if err := m.api.Apply(deadline(m.t), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl")); err != nil {
			m.t.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (m *mover) makeBenchmark() *v1alpha1.CephBenchmark {
	m.t.Helper()
	b := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "kept"},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef: v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"},
			Template: v1alpha1.BenchmarkTemplate{
				Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}}},
				Phases: []v1alpha1.Phase{{Name: "write", RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite}}},
			},
		},
	}
	create(m.t, m.api, b)
	return b
}

func (m *mover) wantBenchmark(original *v1alpha1.CephBenchmark) {
	m.t.Helper()
	current := &v1alpha1.CephBenchmark{}
	if err := m.api.Get(deadline(m.t), client.ObjectKeyFromObject(original), current); err != nil {
		m.t.Fatal(err)
	}
	if current.UID != original.UID || current.DeletionTimestamp != nil {
		m.t.Errorf("the benchmark is %s and was %s, deleted %v", current.UID, original.UID, current.DeletionTimestamp)
	}
}

func (m *mover) uidOfClient() types.UID {
	m.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephClient"})
	if err := m.api.Get(deadline(m.t), client.ObjectKey{Namespace: rookNamespace, Name: "cephtune-tuner"}, o); err != nil {
		m.t.Fatal(err)
	}
	return o.GetUID()
}

func managerKey() client.ObjectKey {
	return client.ObjectKey{Namespace: releaseNamespace, Name: "cephtune-manager"}
}

func (m *mover) removeDeployment() {
	m.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: managerKey().Namespace, Name: managerKey().Name}}
	if err := m.api.Delete(deadline(m.t), d, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		m.t.Fatal(err)
	}
}

// wantManagedBy checks the label of the Deployment that tells doctor how cephtune was installed.
func (m *mover) wantManagedBy(want string) {
	m.t.Helper()
	d := &appsv1.Deployment{}
	if err := m.api.Get(deadline(m.t), managerKey(), d); err != nil {
		m.t.Fatal(err)
	}
	if got := d.Labels["app.kubernetes.io/managed-by"]; got != want || (want != "") != (d.Annotations["meta.helm.sh/release-name"] == release) {
		m.t.Errorf("the Deployment is managed by %q, with the annotations %v, want %q", got, d.Annotations, want)
	}
}

func (m *mover) wantKeptCRDs() {
	m.t.Helper()
	for _, name := range []string{"cephbenchmarks.cephtune.dev", "cephtuningsweeps.cephtune.dev"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := m.api.Get(deadline(m.t), client.ObjectKey{Name: name}, crd); err != nil {
			m.t.Fatal(err)
		}
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			m.t.Errorf("CRD %s is not kept: %v", name, crd.Annotations)
		}
	}
}
