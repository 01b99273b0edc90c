// Package chart tests the Helm chart: what it renders, what it refuses, and that it equals config/.
// It is a separate module, to keep Helm out of the operator's dependencies.
package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	root        = "../.."
	chartFolder = root + "/charts/cephtune"

	// release and namespace are the names in the documentation. With them, the rendered names equal
	// those of config/.
	release   = "cephtune"
	namespace = "cephtune-system"
)

// variants returns the values files by name. The tests render the chart with each.
func variants(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".yaml")
	}
	return files
}

func valuesOf(t *testing.T, variant string) chartutil.Values {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join("testdata", "values", variant+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func parseValues(t *testing.T, text string) chartutil.Values {
	t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func load(t *testing.T) *helmchart.Chart {
	t.Helper()
	chart, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

// rendered is the result of rendering the chart.
type rendered struct {
	// objects has all objects, including those of hooks, sorted.
	objects []*unstructured.Unstructured
	notes   string
}

// render does what "helm template" does, including the check against the schema of values. It does
// not import Helm's code for clusters, which takes minutes to compile.
func render(t *testing.T, values chartutil.Values) (rendered, error) {
	t.Helper()
	return renderChart(t, load(t), values, release, namespace)
}

// renderChart renders a chart with other names of the release and its namespace.
func renderChart(t *testing.T, chart *helmchart.Chart, values chartutil.Values, release, namespace string) (rendered, error) {
	t.Helper()
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return rendered{}, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return rendered{}, err
	}
	made := rendered{}
	var manifests []string
	for name, text := range files {
		if filepath.Base(name) == "NOTES.txt" {
			made.notes = text
			continue
		}
		manifests = append(manifests, text)
	}
	made.objects = parse(t, strings.Join(manifests, "\n---\n"))
	return made, nil
}

func mustRender(t *testing.T, values chartutil.Values) rendered {
	t.Helper()
	made, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// parse refuses duplicate keys, as the API server does.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		content := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(content) > 0 {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(mustJSON(t, document)); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(id(a), id(b)) })
	return objects
}

func mustJSON(t *testing.T, text string) []byte {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return json
}

// id identifies an object by kind, namespace and name.
func id(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}

func find(t *testing.T, objects []*unstructured.Unstructured, wanted string) *unstructured.Unstructured {
	t.Helper()
	index := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return id(o) == wanted })
	if index < 0 {
		t.Fatalf("there is no %s", wanted)
	}
	return objects[index]
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
