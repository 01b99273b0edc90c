package chart

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// annotation parses an annotation for Artifact Hub.
func annotation(t *testing.T, name string, target any) {
	t.Helper()
	text := load(t).Metadata.Annotations["artifacthub.io/"+name]
	if text == "" {
		t.Fatalf("there is no annotation artifacthub.io/%s", name)
	}
	if err := yaml.UnmarshalStrict([]byte(text), target); err != nil {
		t.Fatal(err)
	}
}

// TestImages checks that the images in Artifact Hub's annotation are the rendered ones, and with their platforms
// those in images/references.env.
func TestImages(t *testing.T) {
	var images []struct {
		Name, Image string
		Platforms   []string
	}
	annotation(t, "images", &images)
	references := read(t, root+"/images/references.env")
	reference := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(references)
		if found == nil {
			t.Fatalf("images/references.env has no %s", name)
		}
		return found[1]
	}
	want := []string{reference("OPERATOR_IMAGE") + ":" + reference("IMAGE_TAG"), reference("TOOLS_IMAGE") + ":" + reference("IMAGE_TAG")}
	var listed, run []string
	for _, image := range images {
		listed = append(listed, image.Image)
		if platforms := strings.Join(image.Platforms, ","); platforms != reference("NODE_PLATFORMS") {
			t.Errorf("Artifact Hub has %s for %s", image.Image, platforms)
		}
	}
	for _, object := range mustRender(t, valuesOf(t, "default")).objects {
		run = append(run, imagesIn(object.Object)...)
	}
	slices.Sort(run)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("images of Artifact Hub (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Compact(run)); diff != "" {
		t.Errorf("images that are run (-want +got):\n%s", diff)
	}
}

// imagesIn returns the images of containers.
func imagesIn(value any) []string {
	var all []string
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if text, ok := child.(string); ok && key == "image" {
				all = append(all, text)
			}
			all = append(all, imagesIn(child)...)
		}
	case []any:
		for _, child := range v {
			all = append(all, imagesIn(child)...)
		}
	}
	return all
}

// TestCRDsAreDescribed checks that Artifact Hub's annotation has each CRD with the CRD's own description, so that a
// listing claims nothing else, and that its examples are samples. Tests of the API check that the API server admits these.
func TestCRDsAreDescribed(t *testing.T) {
	var described []struct{ Kind, Version, Name, DisplayName, Description string }
	annotation(t, "crds", &described)
	var examples []map[string]any
	annotation(t, "crdsExamples", &examples)
	var got, want []string
	for _, crd := range described {
		got = append(got, crd.Name+" "+crd.Kind+" "+crd.Version+": "+crd.Description)
	}
	for _, file := range glob(t, "config/crd/bases/*.yaml") {
		var crd struct {
			Metadata struct{ Name string }
			Spec     struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema struct{ Description string } `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &crd); err != nil {
			t.Fatal(err)
		}
		version := crd.Spec.Versions[0]
		description := strings.Join(strings.Fields(version.Schema.OpenAPIV3Schema.Description), " ")
		want = append(want, crd.Metadata.Name+" "+crd.Spec.Names.Kind+" "+version.Name+": "+description)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CRDs of Artifact Hub (-want +got):\n%s", diff)
	}
	for i, sample := range []string{"cephbenchmark_radosbench.yaml", "cephtuningsweep_pg_num.yaml"} {
		want := map[string]any{}
		if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root, "config/samples", sample))), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, examples[i]); diff != "" {
			t.Errorf("example of Artifact Hub against %s (-want +got):\n%s", sample, diff)
		}
	}
}

// TestNotes checks that the notes depend on the given values.
func TestNotes(t *testing.T) {
	for variant, want := range map[string][]string{
		"default":      {"list no CephCluster", "kubectl get cephclusters -A", "status stays empty"},
		"one-cluster":  {"CephCluster rook-ceph/my-cluster", "kubectl -n rook-ceph get cephclients", "helm test cephtune -n cephtune-system", "kubectl -n cephtune-bench get"},
		"two-clusters": {"on the pools replicapool, ec_data.1", "without changing its settings"},
		"all-powers":   {"with the power dropCaches", "with the power placePGs", "with the power restartOSDs", "with the power stopOSDs", "also removes the CRDs"},
		"minimal":      {"cephClients.create is false", "rbac.create is false"},
	} {
		notes := mustRender(t, valuesOf(t, variant)).notes
		for _, text := range want {
			if !strings.Contains(notes, text) {
				t.Errorf("%s: no %q in the notes\n%s", variant, text, notes)
			}
		}
	}
}

// TestEveryValueIsDescribed checks that the schema and the README have every value of values.yaml.
// helm-docs silently leaves out values without a comment.
func TestEveryValueIsDescribed(t *testing.T) {
	chart := load(t)
	var schema struct{ Properties map[string]any }
	if err := yaml.Unmarshal(chart.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	properties := schema.Properties
	readme := read(t, filepath.Join(chartFolder, "README.md"))
	for name := range chart.Values {
		if properties[name] == nil {
			t.Errorf("values.schema.json does not know %s", name)
		}
		if !strings.Contains(readme, "| "+name) {
			t.Errorf("README.md does not have %s: make chart", name)
		}
	}
	for name := range properties {
		if _, known := chart.Values[name]; !known && name != "global" && name != "enabled" {
			t.Errorf("values.yaml has no %s, which the schema knows", name)
		}
	}
}

// TestTheSchemaDescribesEveryNode checks each value in values.yaml, and each definition.
func TestTheSchemaDescribesEveryNode(t *testing.T) {
	chart := load(t)
	var schema map[string]any
	if err := yaml.Unmarshal(chart.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	definitions := schema["definitions"].(map[string]any)
	for name, definition := range definitions {
		if definition.(map[string]any)["description"] == nil {
			t.Errorf("the definition %s has no description", name)
		}
	}
	nodes := 0
	var check func(properties any, values map[string]any, path string)
	check = func(properties any, values map[string]any, path string) {
		known, isMap := properties.(map[string]any)
		for name, value := range values {
			property, found := known[name].(map[string]any)
			if !isMap || !found {
				continue // of a definition; TestEveryValueIsDescribed finds others
			}
			nodes++
			if text, _ := property["description"].(string); text == "" {
				t.Errorf("%s%s has no description: make chart", path, name)
			}
			if below, isMap := value.(map[string]any); isMap {
				check(property["properties"], below, path+name+".")
			}
		}
	}
	check(schema["properties"], chart.Values, "")
	if nodes < 90 {
		t.Errorf("only %d nodes", nodes)
	}
}

// TestTheSchemaHasNoFreeMaps checks that each map in the schema says what may be in it, except for objects that the API
// server checks, and for values of other charts.
func TestTheSchemaHasNoFreeMaps(t *testing.T) {
	free := map[string]bool{"/properties/global": true, "/properties/extraObjects/items": true, "/definitions/volumeSource": true}
	var schema any
	if err := yaml.Unmarshal(load(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var walk func(node any, path string)
	walk = func(node any, path string) {
		switch n := node.(type) {
		case map[string]any:
			kinds, several := n["type"].([]any)
			if isMap := n["type"] == "object" || several && slices.Contains(kinds, any("object")); isMap && n["additionalProperties"] == nil && !free[path] {
				t.Errorf("%s takes anything", path)
			}
			for name, below := range n {
				walk(below, path+"/"+name)
			}
		case []any:
			for _, below := range n {
				walk(below, path)
			}
		}
	}
	walk(schema, "")
}

// TestScreenshots checks that the pictures of Artifact Hub's annotation are in this repository.
func TestScreenshots(t *testing.T) {
	var pictures []struct{ Title, URL string }
	annotation(t, "screenshots", &pictures)
	const images = "https://raw.githubusercontent.com/cephtune/cephtune/main/"
	for _, picture := range pictures {
		name, published := strings.CutPrefix(picture.URL, images)
		if picture.Title == "" || !published || !strings.HasPrefix(read(t, root+"/"+name), "\x89PNG") {
			t.Errorf("%q is not a picture below %s", picture, images)
		}
	}
	if len(pictures) == 0 {
		t.Error("there are no pictures")
	}
}
