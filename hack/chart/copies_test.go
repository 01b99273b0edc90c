package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCopies checks that CRDs, alerts and dashboards pass through the chart's templates unchanged,
// including braces and large numbers.
func TestCopies(t *testing.T) {
	made := mustRender(t, valuesOf(t, "monitoring"))
	t.Run("CRDs", func(t *testing.T) {
		for _, file := range glob(t, "config/crd/bases/*.yaml") {
			want := parse(t, read(t, file))[0]
			got := find(t, made.objects, id(want))
			if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id(want), diff)
			}
			for key, value := range want.GetAnnotations() {
				if got.GetAnnotations()[key] != value {
					t.Errorf("%s has no annotation %s", id(want), key)
				}
			}
		}
	})
	t.Run("alerts", func(t *testing.T) {
		want := parse(t, read(t, root+"/config/prometheus/rules.yaml"))[0]
		got := find(t, made.objects, "PrometheusRule cephtune-system/cephtune-manager")
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("alerts (-want +got):\n%s", diff)
		}
	})
	t.Run("dashboards", func(t *testing.T) {
		for _, file := range glob(t, "dashboards/*.json") {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			o := find(t, made.objects, "ConfigMap monitoring/cephtune-dashboard-"+name)
			got, _, err := unstructured.NestedString(o.Object, "data", name+".json")
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(got) != strings.TrimSpace(read(t, file)) {
				t.Errorf("%s is another one in its ConfigMap", file)
			}
		}
	})
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

// CRDs that Helm may remove have no annotation. Those that stay have Helm's annotation to keep
// them.
func TestCRDsAreKept(t *testing.T) {
	const policy = "helm.sh/resource-policy"
	for values, want := range map[string]string{"{}": "keep", "crds: {keep: false}": ""} {
		found := 0
		for _, o := range mustRender(t, parseValues(t, values)).objects {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			found++
			if o.GetAnnotations()[policy] != want {
				t.Errorf("with %s, %s of %s is %q, want %q", values, policy, id(o), o.GetAnnotations()[policy], want)
			}
		}
		if all := len(glob(t, "config/crd/bases/*.yaml")); found != all {
			t.Errorf("with %s, %d CRDs are rendered, want %d", values, found, all)
		}
	}
}

// TestReleaseFitsIntoASecret checks the size of a release, because Helm stores chart and manifest
// in a Secret, which may have at most one MiB.
func TestReleaseFitsIntoASecret(t *testing.T) {
	made := mustRender(t, valuesOf(t, "monitoring"))
	text, err := json.Marshal([]any{load(t), made.objects})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	got := base64.StdEncoding.EncodedLen(packed.Len())
	t.Logf("%d bytes of %d", got, limit)
	if got > limit/2 {
		t.Errorf("a release takes %d bytes of a Secret's %d: more than half of that leaves too little room to grow", got, limit)
	}
}
