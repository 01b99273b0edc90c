package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"
)

// namesEverywhere has NAME wherever the values accept a name.
const namesEverywhere = `
clusters: [{namespace: "NAME-rook", name: "NAME", storageClasses: [{name: "NAME", maxTotal: "100"}], existingPools: ["NAME"]}]
benchmarkNamespaces: ["NAME"]
options: [{name: osd_x, values: ["NAME"]}]
imagePullSecrets: [{name: "NAME"}]
images: {operator: {tag: "NAME"}, tools: {repository: "NAME", tag: "NAME"}}
manager: {priorityClassName: "NAME", podLabels: {team: "NAME"}, podAnnotations: {team: "NAME"}, nodeSelector: {team: "NAME"}}
benchmarkPods: {priorityClassName: "NAME", labels: {team: "NAME"}, nodeSelector: {team: "NAME"}}
serviceAccount: {name: "NAME", annotations: {team: "NAME"}}
metrics: {certificateSecret: "NAME", readers: [{namespace: "NAME", name: "NAME"}]}
serviceMonitor: {enabled: true, additionalLabels: {release: "NAME"}}
prometheusRule: {enabled: true, additionalLabels: {release: "NAME"}}
networkPolicy: {metrics: {enabled: true}}
dashboards: {enabled: true, namespace: "NAME", labels: {team: "NAME"}}
powers: {dropCaches: true, restartOSDs: true, stopOSDs: true, placePGs: true}
watchAllNamespaces: WATCH
commonLabels: {team: "NAME"}
commonAnnotations: {team: "NAME"}
fullnameOverride: "FULL"
`

// TestNamesStayText renders the chart with names that YAML takes for numbers, truth values or nothing unless they
// are quoted. The result must equal that with an innocent name, apart from the name.
func TestNamesStayText(t *testing.T) {
	const innocent = "innocent"
	for _, full := range []string{"", "NAME"} {
		for _, watch := range []string{"false", "true"} {
			text := strings.NewReplacer("FULL", full, "WATCH", watch).Replace(namesEverywhere)
			as := func(name string) []any {
				made, err := renderChart(t, load(t), parseValues(t, strings.ReplaceAll(text, "NAME", name)), name, name+"-system")
				if err != nil {
					t.Fatal(err)
				}
				var objects []any
				for _, object := range made.objects {
					objects = append(objects, object.Object)
				}
				return objects
			}
			plain := as(innocent)
			for _, name := range []string{"123", "0", "1e3", "0x1f", "0o17", "017", "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "2026-01-02"} {
				want := map[string]any{}
				for _, object := range plain {
					object = renamed(t, object, innocent, name)
					want[idOf(object)] = object
				}
				got := map[string]any{}
				for _, object := range as(name) {
					object = renamed(t, object, innocent, name)
					got[idOf(object)] = object
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}

// renamed replaces a name in all texts. It parses the operator config, and drops its checksum.
func renamed(t *testing.T, value any, from, to string) any {
	t.Helper()
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, from, to)
	case []any:
		all := make([]any, len(value))
		for i := range value {
			all[i] = renamed(t, value[i], from, to)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, inner := range value {
			switch text, isText := inner.(string); {
			case key == "checksum/config":
				continue
			case key == "config.yaml" && isText:
				var config any
				if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
					t.Fatal(err)
				}
				inner = config
			}
			all[strings.ReplaceAll(key, from, to)] = renamed(t, inner, from, to)
		}
		return all
	}
	return value
}

// idOf names an object by its kind, namespace and name.
func idOf(object any) string {
	all := object.(map[string]any)
	metadata := all["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return strings.Join([]string{all["kind"].(string), namespace, name}, "/")
}

// TestReleasedChartNamesDigests renders a chart with digests, as "make release" writes them.
func TestReleasedChartNamesDigests(t *testing.T) {
	digest := func(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }
	values := `
clusters: [{namespace: rook-ceph, name: c}, {namespace: rook-old, name: old, toolsImage: {tag: 0.1.0-ceph18}}]
benchmarkNamespaces: [b]
images: {operator: {tag: 0.1.0}, tools: {tag: 0.1.0-ceph20}}
global: {imageRegistry: mirror.example.org}
`
	chart := load(t)
	written := "ghcr.io/cephtune/cephtune:0.1.0: " + digest("a") + "\nghcr.io/cephtune/tools:0.1.0-ceph20: " + digest("b") + "\nghcr.io/cephtune/tools:0.1.0-ceph18: " + digest("c") + "\n"
	chart.Files = append([]*helmchart.File{{Name: "digests.yaml", Data: []byte(written)}}, without(chart.Files, "digests.yaml")...)
	made, err := renderChart(t, chart, parseValues(t, values), release, namespace)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, object := range made.objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for name, count := range map[string]int{
		"mirror.example.org/cephtune/cephtune:0.1.0@" + digest("a"): 5, "mirror.example.org/cephtune/tools:0.1.0-ceph20@" + digest("b"): 2,
		"mirror.example.org/cephtune/tools:0.1.0-ceph18@" + digest("c"): 1,
	} {
		if got := strings.Count(all.String(), name); got != count {
			t.Errorf("%s: %d times, want %d", name, got, count)
		}
	}
	if got := strings.Count(all.String(), "mirror.example.org/"); got != 8 {
		t.Errorf("%d images, want 8, each with a digest", got)
	}
}

func without(files []*helmchart.File, name string) []*helmchart.File {
	var rest []*helmchart.File
	for _, f := range files {
		if f.Name != name {
			rest = append(rest, f)
		}
	}
	return rest
}
