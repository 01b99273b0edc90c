package doctor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// fake is a cluster with some objects.
type fake struct {
	client.WithWatch

	err error // of the API server
}

func (f fake) Connect() (client.WithWatch, string, error) { return f.WithWatch, "default", nil }

func (f fake) ServerVersion() (string, error) { return "v1.36.3", f.err }

func installed(t *testing.T) fake {
	t.Helper()
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cephtune-system", Name: "cephtune-manager",
		Labels: map[string]string{"app.kubernetes.io/name": "cephtune", "app.kubernetes.io/component": "manager"},
	}}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Image: "cephtune:v0.1.0"}, {Image: "tools:20"}, {Image: "tools:20"}}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "cephtuningsweeps.cephtune.dev"}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}, {Name: "v1alpha0"}}
	ceph := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster",
		"metadata": map[string]any{"namespace": "rook-ceph", "name": "my-cluster"},
		"status":   map[string]any{"version": map[string]any{"version": "20.2.4-0"}},
	}}
	return fake{WithWatch: clitest.Holding(t, manager, crd, ceph)}
}

func TestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		from      fake
		line      string
		want, not []string
		code      int
	}{
		"everything": {
			installed(t), "",
			[]string{"Kubernetes                    v1.36.3", "cephtune.dev/v1alpha1", "cephtune:v0.1.0", "tools:20", "Ceph of rook-ceph/my-cluster  20.2.4-0"},
			[]string{"v1alpha0", "unknown, because"},
			exit.OK,
		},
		"the program alone asks no cluster": {fake{}, "--client", []string{"kubectl-cephtune"}, []string{"Kubernetes"}, exit.OK},
		"nothing is installed": {
			fake{WithWatch: clitest.Holding(t)},
			"",
			[]string{"v1.36.3", "the CRDs of cephtune are not installed", "not found in namespace cephtune-system"},
			nil, exit.OK,
		},
		"the cluster does not answer": {fake{WithWatch: clitest.Holding(t), err: errors.New("connection refused")}, "", []string{"connection refused", "kubectl-cephtune"}, nil, exit.Failure},
		"an argument":                 {fake{}, "client", []string{`unexpected argument "client"`}, nil, exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewVersionCommand(c.from), c.line, "")
			if got.Code() != c.code {
				t.Errorf("exit code %d, want %d", got.Code(), c.code)
			}
			for _, part := range c.want {
				if !strings.Contains(got.String(), part) {
					t.Errorf("no %q in\n%s", part, got)
				}
			}
			for _, part := range c.not {
				if strings.Contains(got.String(), part) {
					t.Errorf("%q in\n%s", part, got)
				}
			}
		})
	}
}

func TestVersionAsJSON(t *testing.T) {
	got := clitest.Execute(t, NewVersionCommand(installed(t)), "-o json", "")
	var out versions
	if err := json.Unmarshal([]byte(got.Stdout), &out); err != nil {
		t.Fatal(err, got)
	}
	if out.Kubernetes != "v1.36.3" || len(out.Operator) != 2 || len(out.CephClusters) != 1 || out.CephClusters[0].Version != "20.2.4-0" {
		t.Errorf("got %+v", out)
	}
}
