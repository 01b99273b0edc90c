package chart

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

// TestGolden compares the rendered chart with golden files, so that a diff shows each change.
// Golden files contain only the names of copies, which TestCopies and TestEqualsConfig check.
func TestGolden(t *testing.T) {
	copies := copiedRules(t)
	for _, variant := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			made := mustRender(t, valuesOf(t, variant))
			var got strings.Builder
			seen := map[string]bool{}
			for _, object := range made.objects {
				if seen[id(object)] {
					t.Errorf("%s is there twice", id(object))
				}
				seen[id(object)] = true
				text, err := yaml.Marshal(elide(t, object, copies).Object)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString("---\n" + string(text))
			}
			for line := range strings.Lines(made.notes) {
				got.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
			}
			compareWithGolden(t, filepath.Join("testdata", "golden", variant+".yaml"), got.String())
		})
	}
}

func compareWithGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(read(t, file), got); diff != "" {
		t.Errorf("%s (-want +got); if it is meant to be so, go test -update:\n%s", file, diff)
	}
}

// elide replaces copies by the names of their sources.
func elide(t *testing.T, object *unstructured.Unstructured, copies []copiedRole) *unstructured.Unstructured {
	t.Helper()
	object = object.DeepCopy()
	switch object.GetKind() {
	case "CustomResourceDefinition":
		object.Object["spec"] = "as in config/crd/bases"
	case "PrometheusRule":
		object.Object["spec"] = "as in config/prometheus/rules.yaml"
	case "Role", "ClusterRole":
		for _, from := range copies {
			if reflect.DeepEqual(object.Object["rules"], from.rules) {
				object.Object["rules"] = "as " + from.name + " in " + from.file
			}
		}
	case "ConfigMap":
		data, _, err := unstructured.NestedStringMap(object.Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		for key := range data {
			if strings.HasSuffix(key, ".json") {
				data[key] = "as in dashboards"
			}
		}
		if err := unstructured.SetNestedStringMap(object.Object, data, "data"); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// copiedRole is a role whose rules the chart copies from config/.
type copiedRole struct {
	file, name string
	rules      any
}

func copiedRules(t *testing.T) []copiedRole {
	t.Helper()
	var all []copiedRole
	for _, pattern := range []string{"config/rbac/*.yaml", "config/*/role.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			for _, object := range parse(t, read(t, file)) {
				if strings.HasSuffix(object.GetKind(), "Role") {
					all = append(all, copiedRole{file: strings.TrimPrefix(file, root+"/"), name: object.GetName(), rules: object.Object["rules"]})
				}
			}
		}
	}
	return all
}
