package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testFieldSelectors lists objects as kubectl get --field-selector does.
func testFieldSelectors(t *testing.T, c client.Client) {
	const selectors = "selectors"
	if err := c.Create(deadline(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: selectors}}); err != nil {
		t.Fatal(err)
	}
	for kind, text := range map[string]string{"CephBenchmark": minimalBenchmark, "CephTuningSweep": minimalSweep} {
		statuses := map[string]string{"ended": `{phase: Complete, verdict: Inconclusive}`, "elsewhere": `{phase: Running}`}
		for name, status := range statuses {
			object := parse(t, text)
			object.SetNamespace(selectors)
			object.SetName(name)
			mergeSpec(t, object, `{clusterRef: {name: `+name+`}}`)
			if err := c.Create(deadline(t), object); err != nil {
				t.Fatal(err)
			}
			writeStatus(t, c, object, status)
		}
		cases := map[string][]string{
			"status.phase=Complete":                                                {"ended"},
			"status.phase!=Complete":                                               {"elsewhere"},
			"status.verdict=Inconclusive":                                          {"ended"},
			"spec.clusterRef.name=elsewhere":                                       {"elsewhere"},
			"spec.clusterRef.namespace=rook-ceph":                                  {"elsewhere", "ended"},
			"spec.clusterRef.namespace=rook-ceph,status.verdict=,status.phase!=ab": {"elsewhere"},
		}
		for selector, want := range cases {
			t.Run(kind+" "+selector, func(t *testing.T) {
				if diff := cmp.Diff(want, selected(t, c, kind, selectors, selector)); diff != "" {
					t.Errorf("selected objects (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// selected returns the names of the objects that the API server selects, in alphabetical order.
func selected(t *testing.T, c client.Client, kind, namespace, selector string) []string {
	t.Helper()
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cephtune.dev/v1alpha1")
	list.SetKind(kind + "List")
	if err := c.List(deadline(t), list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: parsed}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range list.Items {
		names = append(names, object.GetName())
	}
	return names
}
