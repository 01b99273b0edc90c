package sweepspec

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/testing/crd"
)

const root = "../.."

// admitted returns a sweep as the API server stores it, with the defaults of its schema.
func admitted(t testing.TB, text []byte) *v1alpha1.CephTuningSweep {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Schema(t, root, "cephtuningsweeps"), internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	defaulting.Default(object, structural)
	full, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.CephTuningSweep{}
	if err := yaml.UnmarshalStrict(full, s); err != nil {
		t.Fatal(err)
	}
	s.UID = "4f6b2e0c-0000-4000-8000-000000000001"
	return s
}

func sampleOf(t testing.TB, name string) *v1alpha1.CephTuningSweep {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config/samples", "cephtuningsweep_"+name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return admitted(t, text)
}

// specOf returns a small sweep with parts of its spec replaced.
func specOf(t testing.TB, patch string) *v1alpha1.CephTuningSweep {
	t.Helper()
	base := map[string]any{}
	if err := yaml.Unmarshal([]byte(minimal), &base); err != nil {
		t.Fatal(err)
	}
	changes := map[string]any{}
	if err := yaml.Unmarshal([]byte(patch), &changes); err != nil {
		t.Fatal(err)
	}
	base["spec"] = merged(base["spec"].(map[string]any), changes) //nolint:forcetypeassert,errcheck // Its type is known from above.
	text, err := yaml.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	return admitted(t, text)
}

const minimal = `
metadata: {name: minimal, namespace: cephtune-bench}
spec:
  clusterRef: {namespace: rook-ceph, name: my-cluster}
  template:
    target: {scratchPool: {replicated: {size: 3}}}
    phases:
    - {name: write, radosBench: {mode: Write}}
    - {name: fio, fio: {pattern: RandRead}}
  parameters:
  - {name: pg_num, poolOption: {option: pg_num}, values: ["8", "16"]}
  objective: {phase: write, metric: Bandwidth}
  strategy: {seed: 42}
`

// merged applies a JSON merge patch.
func merged(a, b map[string]any) map[string]any {
	for key, value := range b {
		inner, isMap := value.(map[string]any)
		old, wasMap := a[key].(map[string]any)
		switch {
		case value == nil:
			delete(a, key)
		case isMap && wasMap:
			a[key] = merged(old, inner)
		default:
			a[key] = value
		}
	}
	return a
}

// draft returns the plan of a sweep that begins.
func draft(t testing.TB, spec *Spec, facts Facts) (*v1alpha1.SweepPlan, *sweep.Planner) {
	t.Helper()
	plan, err := Draft(spec, facts)
	if err != nil {
		t.Fatal(err)
	}
	planner, err := PlannerOf(spec, plan)
	if err != nil {
		t.Fatal(err)
	}
	return plan, planner
}

// osds returns that many OSDs of one device class.
func osds(count int) []ceph.OSD {
	all := make([]ceph.OSD, count)
	for i := range all {
		all[i] = ceph.OSD{ID: i, DeviceClass: "ssd"}
	}
	return all
}

// text returns a value as YAML.
func text(t testing.TB, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
