package gitops

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/cmd/wait"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// TestKstatus checks, at every stage of an object's life, the result of kstatus, which Flux waits
// for, and of "kubectl wait" for the conditions of an end. The files are the same as for Argo CD's
// health.
func TestKstatus(t *testing.T) {
	// The key is the health in Argo CD. The names of the files begin with it.
	same := map[string]struct {
		status status.Status
		waits  []string // the conditions that "kubectl wait" finds True
	}{
		"progressing": {status.InProgressStatus, nil},
		"suspended":   {status.InProgressStatus, nil},
		"healthy":     {status.CurrentStatus, []string{v1alpha1.ConditionReady, v1alpha1.ConditionComplete}},
		"degraded":    {status.FailedStatus, []string{v1alpha1.ConditionStalled, v1alpha1.ConditionFailed}},
	}
	for _, kind := range kinds() {
		for _, path := range stagesOf(t, kind) {
			t.Run(kind+"/"+path, func(t *testing.T) {
				object := &unstructured.Unstructured{Object: stage(t, kind, path)}
				name := strings.TrimSuffix(filepath.Base(path), ".yaml")
				health, stage, _ := strings.Cut(name, "_")
				want := same[health]
				if object.GetDeletionTimestamp() != nil {
					want.status = status.TerminatingStatus
				}
				got, err := status.Compute(object)
				if err != nil {
					t.Fatal(err)
				}
				if got.Status != want.status {
					t.Errorf("kstatus says %s (%s), want %s", got.Status, got.Message, want.status)
				}
				checkWaits(t, object, stage, want.waits)
			})
		}
	}
}

// checkWaits compares the conditions that "kubectl wait" finds True with the expected ones. It
// skips the conditions Complete and Failed in two cases: during the teardown they are True already,
// and a run that never began has neither.
func checkWaits(t *testing.T, object *unstructured.Unstructured, stage string, want []string) {
	t.Helper()
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionComplete, v1alpha1.ConditionStalled, v1alpha1.ConditionFailed} {
		end := condition == v1alpha1.ConditionComplete || condition == v1alpha1.ConditionFailed
		cleansUp := strings.Contains(stage, "cleaning_up") || stage == "failing" || strings.HasPrefix(stage, "deleting")
		neverBegun := strings.HasPrefix(stage, "not_allowed") || stage == "scheduled"
		if end && (cleansUp || neverBegun) {
			continue
		}
		if got := waited(t, object, condition); got != slices.Contains(want, condition) {
			t.Errorf("kubectl wait --for=condition=%s: %t, want %t", condition, got, !got)
		}
	}
}

// waited reports whether one check of "kubectl wait" finds a condition True.
func waited(t *testing.T, object *unstructured.Unstructured, condition string) bool {
	t.Helper()
	plural := strings.ToLower(object.GetKind()) + "s"
	kind := v1alpha1.GroupVersion.WithKind(object.GetKind())
	gvr := v1alpha1.GroupVersion.WithResource(plural)
	streams := genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}
	flags := wait.NewWaitFlags(genericclioptions.NewTestConfigFlags().WithClientConfig(noCluster()), streams)
	flags.ForCondition, flags.Timeout = []string{"condition=" + condition}, 0
	o, err := flags.ToOptions([]string{plural + "/" + object.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	o.DynamicClient = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(
		runtime.NewScheme(), map[schema.GroupVersionResource]string{gvr: kind.Kind + "List"}, object)
	info := &resource.Info{
		Name: object.GetName(), Namespace: object.GetNamespace(),
		Mapping: &meta.RESTMapping{Resource: gvr, GroupVersionKind: kind, Scope: meta.RESTScopeNamespace},
	}
	_, found, err := o.ConditionFn[0](t.Context(), info, o)
	if err != nil && !strings.Contains(err.Error(), "condition not met") {
		t.Fatal(err)
	}
	return found
}

// If kstatus were Current before the operator has seen an object, Flux would continue at once.
func TestNewObjectsAreInProgress(t *testing.T) {
	for _, kind := range kinds() {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
			"metadata": map[string]any{"name": "x", "namespace": metav1.NamespaceDefault, "generation": int64(1)},
			"spec":     map[string]any{"runID": "1"}, "status": defaultStatus(t, kind),
		}}
		got, err := status.Compute(object)
		if err != nil || got.Status != status.InProgressStatus {
			t.Errorf("a new %s: kstatus says %+v, %v; want InProgress", kind, got, err)
		}
	}
}

// defaultStatus returns the status that the API server gives to an object without one.
func defaultStatus(t *testing.T, kind string) any {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]struct {
							Default map[string]int64 `json:"default"`
						} `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	text, err := os.ReadFile("../../config/crd/bases/cephtune.dev_" + strings.ToLower(kind) + "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	for field, value := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Default {
		given[field] = value
	}
	return given
}

// noCluster returns a client configuration that connects to no server.
func noCluster() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"none": {Server: "https://127.0.0.1:1"}},
		Contexts:       map[string]*clientcmdapi.Context{"none": {Cluster: "none"}},
		CurrentContext: "none",
	}, nil)
}
