package chart

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// pairing is a kustomization and the values with which the chart must render the same objects.
type pairing struct {
	kustomization, values string
	// missing are objects that only config/ has, and more are objects that only the chart has, each
	// with the reason.
	missing, more map[string]string
}

// everywhere are objects of the chart that no kustomization has.
func everywhere() map[string]string {
	const test, hook = "of helm test", "of the hook that refuses to be uninstalled"
	return map[string]string{
		"ServiceAccount cephtune-system/cephtune-install-check":   test,
		"Role cephtune-system/cephtune-install-check":             test,
		"RoleBinding cephtune-system/cephtune-install-check":      test,
		"ClusterRole /cephtune-install-check":                     test,
		"ClusterRoleBinding /cephtune-install-check":              test,
		"Pod cephtune-system/cephtune-install-check":              test,
		"ServiceAccount cephtune-system/cephtune-uninstall-check": hook,
		"Role cephtune-system/cephtune-uninstall-check":           hook,
		"RoleBinding cephtune-system/cephtune-uninstall-check":    hook,
		"Job cephtune-system/cephtune-uninstall-check":            hook,
	}
}

const byHelm = "Helm makes the namespace of the release, with --create-namespace"

func pairings() []pairing {
	const cluster = "clusters: [{namespace: rook-ceph, name: my-cluster}]\nbenchmarkNamespaces: [cephtune-bench]\n"
	reason := "config/default leaves what is in Rook's namespace and in those of benchmarks to other kustomizations, and the chart makes both by its lists"
	return []pairing{
		{
			kustomization: "config/namespaced", values: cluster,
			missing: map[string]string{"Namespace /cephtune-system": byHelm},
		},
		{
			kustomization: "config/default", values: cluster + "watchAllNamespaces: true\nnetworkPolicy: {enabled: false}\n",
			missing: map[string]string{"Namespace /cephtune-system": byHelm},
			more: map[string]string{
				"Namespace /cephtune-bench":                      reason,
				"Role cephtune-bench/cephtune-benchmarks":        reason,
				"RoleBinding cephtune-bench/cephtune-benchmarks": reason,
				"CephClient rook-ceph/cephtune-observer":         reason,
				"CephClient rook-ceph/cephtune-io":               reason,
				"CephClient rook-ceph/cephtune-tuner":            reason,
				"Role rook-ceph/cephtune-manager":                reason,
				"RoleBinding rook-ceph/cephtune-manager":         reason,
				"Role rook-ceph/cephtune-tuner":                  reason,
				"RoleBinding rook-ceph/cephtune-tuner":           reason,
			},
		},
	}
}

// TestEqualsConfig compares the objects that the chart renders with those of kustomizations. A user
// who moves from one to the other must get the same rights.
func TestEqualsConfig(t *testing.T) {
	for _, pair := range pairings() {
		t.Run(pair.kustomization, func(t *testing.T) {
			want := normalizeAll(t, kustomize(t, pair.kustomization))
			got := normalizeAll(t, mustRender(t, parseValues(t, pair.values)).objects)
			for name, object := range want {
				switch _, allowed := pair.missing[name]; {
				case got[name] == nil && !allowed:
					t.Errorf("the chart has no %s", name)
				case got[name] != nil && allowed:
					t.Errorf("the chart has %s, which is said to be missing", name)
				case got[name] != nil:
					if diff := cmp.Diff(object, got[name]); diff != "" {
						t.Errorf("%s (-config +chart):\n%s", name, diff)
					}
				}
			}
			wantMore(t, pair, want, got)
		})
	}
}

func wantMore(t *testing.T, pair pairing, want, got map[string]map[string]any) {
	t.Helper()
	expected := everywhere()
	maps.Copy(expected, pair.more)
	for name := range got {
		if _, allowed := expected[name]; want[name] == nil && !allowed {
			t.Errorf("%s has no %s, which the chart renders", pair.kustomization, name)
		}
	}
	for name := range expected {
		if got[name] == nil {
			t.Errorf("the chart has no %s, which is said to be more", name)
		}
	}
}

// TestPowersEqualConfig compares the powers and the monitoring, each of which has its own
// kustomization. It leaves out config/network-policy, because that would keep "helm test" from the
// metrics.
func TestPowersEqualConfig(t *testing.T) {
	const values = `
clusters: [{namespace: rook-ceph, name: my-cluster}]
benchmarkNamespaces: [cephtune-bench]
powers: {dropCaches: true, restartOSDs: true, stopOSDs: true}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
dashboards: {enabled: true, namespace: default}
`
	got := normalizeAll(t, mustRender(t, parseValues(t, values)).objects)
	for _, kustomization := range []string{
		"config/bench", "config/ceph", "config/ceph-tuner", "config/ceph-cache-dropper", "config/ceph-osd-restarter", "config/ceph-osd-stopper", "config/prometheus", "config/crd",
	} {
		for name, want := range normalizeAll(t, kustomize(t, kustomization)) {
			if diff := cmp.Diff(want, got[name]); diff != "" {
				t.Errorf("%s of %s (-config +chart):\n%s", name, kustomization, diff)
			}
		}
	}
}

func kustomize(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root+"/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// normalizeAll removes differences that are intended, and returns the objects by name.
func normalizeAll(t *testing.T, objects []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, object := range objects {
		normalize(t, object)
		all[id(object)] = object.Object
	}
	return all
}

// normalize removes these intended differences:
//   - labels for the release and the chart of an object, and the selectors that use them. They
//     keep two releases apart;
//   - the label of all cephtune objects. Some kustomizations leave it out, but not where a
//     selector uses it;
//   - annotations for Helm, and the checksum that restarts the manager after a change of the
//     operator config. kustomize adds a hash to the ConfigMap's name instead;
//   - comments and default values in the operator config;
//   - imagePullPolicy, for which kustomizations rely on the default of Kubernetes.
func normalize(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if strings.HasPrefix(object.GetName(), "cephtune-config") {
		object.SetName("cephtune-config")
		text, _, err := unstructured.NestedString(object.Object, "data", "config.yaml")
		if err != nil {
			t.Fatal(err)
		}
		object.Object["data"] = sameSettings(t, text)
	}
	labels := object.GetLabels()
	delete(labels, "app.kubernetes.io/name")
	object.SetLabels(labels)
	withoutHelm(object.Object)
}

// sameSettings parses an operator config, so that its format does not matter.
func sameSettings(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// withoutHelm removes what Helm adds, at all levels. It changes the value in place.
func withoutHelm(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if ignored(key, child) {
				delete(v, key)
				continue
			}
			v[key] = withoutHelm(child)
			// Maps that are empty now contained only entries of Helm.
			if labels, ok := v[key].(map[string]any); ok && len(labels) == 0 && (key == "annotations" || key == "labels") {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutHelm(v[i])
		}
	case string:
		if strings.HasPrefix(v, "cephtune-config-") {
			return "cephtune-config"
		}
	}
	return value
}

func ignored(key string, value any) bool {
	name, isText := value.(string)
	switch key {
	case "app.kubernetes.io/managed-by":
		return name == "Helm"
	case "app.kubernetes.io/part-of", "app.kubernetes.io/instance", "app.kubernetes.io/version", "checksum/config", "imagePullPolicy":
		return isText
	}
	return strings.HasPrefix(key, "helm.sh/")
}

// TestNormalizeLeavesTheRest checks that normalize keeps everything else.
func TestNormalizeLeavesTheRest(t *testing.T) {
	const text = `{apiVersion: v1, kind: Service, metadata: {name: a, labels: {helm.sh/chart: c, app.kubernetes.io/managed-by: cephtune}}, spec: {ports: [{port: 1}]}}`
	got := normalizeAll(t, parse(t, text))["Service /a"]
	want := map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"app.kubernetes.io/managed-by": "cephtune"}},
		"spec":     map[string]any{"ports": []any{map[string]any{"port": int64(1)}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
