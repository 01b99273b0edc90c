package v1alpha1_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// Fields whose schema comes from Kubernetes.
var notOurs = map[string]bool{
	".apiVersion": true, ".kind": true, ".metadata": true,
	".spec.template.clients.tolerations": true,
	".status.conditions":                 true,
}

func TestEveryFieldIsDocumentedAndBounded(t *testing.T) {
	for name, schema := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			walk(schema, "", func(path string, s apiextensionsv1.JSONSchemaProps) {
				field := path[strings.LastIndex(path, ".")+1:]
				if !strings.HasSuffix(path, "[]") && !strings.HasPrefix(s.Description, field+" ") {
					t.Errorf("%s: the description has to start with %q, got %q", path, field, s.Description)
				}
				if bound := missingBound(path, s); bound != "" {
					t.Errorf("%s has no %s", path, bound)
				}
			})
		})
	}
}

// missingBound names the marker that a schema lacks.
func missingBound(path string, s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Type == "array" && s.MaxItems == nil:
		return "maxItems"
	case s.Type == "array" && s.XListType == nil:
		return "listType"
	case s.AdditionalProperties != nil && s.MaxProperties == nil:
		return "maxProperties"
	case s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time":
		return "maxLength"
	case s.Type == "integer" && strings.HasPrefix(path, ".spec.") && (s.Minimum == nil || s.Maximum == nil):
		return "minimum or maximum"
	default:
		return ""
	}
}

func TestStatusStaysSmall(t *testing.T) {
	const wantAtMost = 128 << 10
	for name, schema := range schemas(t) {
		status := schema.Properties["status"] // The schemas are made anew for each test.
		delete(status.Properties, "trials")   // A trial has the fields of one design only, and few have many comparisons: see TestTheWorstStatusFits.
		delete(status.Properties, "runs")     // It is empty if there are trials.
		all := status.Properties
		for _, absent := range []string{"diagnosis", "phases"} { // A diagnosis has no phases.
			status.Properties = maps.Clone(all)
			delete(status.Properties, absent)
			if got := maxSize(name+".status", status); got > wantAtMost {
				t.Errorf("%s: a status without %s may have %d bytes, want at most %d", name, absent, got, wantAtMost)
			}
		}
	}
	status := schemas(t)["CephTuningSweep"].Properties["status"]
	for field, want := range map[string]int{"configurations": 256} {
		if got := maxSize("", *status.Properties[field].Items.Schema); got > want {
			t.Errorf("an entry of %s may have %d bytes, want at most %d", field, got, want)
		}
	}
}

// maxSize is the length of the longest JSON that a schema allows, for values in
// which nothing has to be escaped.
func maxSize(path string, s apiextensionsv1.JSONSchemaProps) int {
	// Condition messages may have 32 KiB each, but the operator keeps to 1 KiB and
	// to the types that it has: Restored is for sweeps alone, and an object has at most
	// one of Reconciling and Stalled. What is beside the message takes 182 bytes with a
	// reason of 28.
	const conditionSize = 1024 + 192
	switch {
	case path == "CephBenchmark.status.conditions":
		return 4 * conditionSize
	case path == "CephTuningSweep.status.conditions":
		return 5 * conditionSize
	case path == "CephBenchmark.status.phases":
		return phasesSize(path, s)
	case s.Type == "object":
		size := len("{}")
		for name, property := range s.Properties {
			size += len(`"":,`) + len(name) + maxSize(path+"."+name, property)
		}
		return size
	case s.Type == "array":
		return len("[]") + int(*s.MaxItems)*(len(",")+maxSize(path+"[]", *s.Items.Schema))
	default:
		return maxScalarSize(s)
	}
}

// phasesSize is that of all phases of a benchmark. One of them may have an outage, and with
// that nine figures more than the others.
func phasesSize(path string, s apiextensionsv1.JSONSchemaProps) int {
	const ofOutage = 9
	phase := s.Items.Schema.DeepCopy()
	metrics := phase.Properties["metrics"]
	outage := ofOutage * (len(",") + maxSize(path+"[].metrics[]", *metrics.Items.Schema))
	*metrics.MaxItems -= ofOutage
	return len("[]") + int(*s.MaxItems)*(len(",")+maxSize(path+"[]", *phase)) + outage
}

func maxScalarSize(s apiextensionsv1.JSONSchemaProps) int {
	const (
		timestamp = len(`"2006-01-02T15:04:05Z"`)
		anything  = 20 // the digits of an int64, a quantity or a duration
	)
	longest := 0
	for _, value := range s.Enum {
		longest = max(longest, len(value.Raw))
	}
	switch {
	case longest > 0:
		return longest
	case s.Format == "date-time":
		return timestamp
	case s.Type == "string" && s.MaxLength != nil:
		return len(`""`) + int(*s.MaxLength)
	case s.Type == "integer" && s.Maximum != nil:
		digits := 1
		for value := *s.Maximum; value >= 10; value /= 10 {
			digits++
		}
		return digits
	default:
		return anything
	}
}

// walk visits every field below a schema that is ours.
func walk(s apiextensionsv1.JSONSchemaProps, path string, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	if notOurs[path] {
		return
	}
	if path != "" {
		visit(path, s)
	}
	for name, property := range s.Properties {
		walk(property, path+"."+name, visit)
	}
	if s.Items != nil {
		walk(*s.Items.Schema, path+"[]", visit)
	}
	if s.AdditionalProperties != nil {
		walk(*s.AdditionalProperties.Schema, path+"[]", visit)
	}
}

// schemas are those of the generated CRDs, by kind.
func schemas(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apiserver.Root(t), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no generated CRDs: %v", err)
	}
	byKind := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		byKind[crd.Spec.Names.Kind] = *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return byKind
}
