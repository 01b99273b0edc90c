package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// source is a Go module with CRDs among its files. The checksum database does not know
// every version of Rook, which is why sums are written down here.
type source struct {
	module, version, sum string
	// files are patterns.
	files []string
}

// sources are those of the CRDs that the chart's objects are of, and are checked with.
func sources() []source {
	return []source{
		{ // as in test/lab/versions.env
			module: "github.com/rook/rook", version: "v1.17.2",
			sum:   "h1:pb64owmhpZDM997MDHCWoLCIUvOgXUTqKpe8QmXTh00=",
			files: []string{"deploy/examples/crds.yaml"},
		},
		{
			module: "github.com/prometheus-operator/prometheus-operator", version: "v0.93.1",
			sum: "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
			files: []string{
				"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
				"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
			},
		},
		{
			module: "github.com/grafana/grafana-operator/v5", version: "v5.24.0",
			sum:   "h1:7NvVn7J7hknBBWte99giWEK4TV5qYfZdvDIW8WeU3oU=",
			files: []string{"config/crd/bases/grafana.integreatly.org_grafanadashboards.yaml"},
		},
	}
}

// TestObjectsAreValid checks every object of every variant: those of Kubernetes against
// its types, the others against the schema of their CRD. Fields that those do not know are
// errors, though the API server would only drop them.
func TestObjectsAreValid(t *testing.T) {
	schemas := newSchemas(t)
	for _, variant := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			for _, object := range mustRender(t, valuesOf(t, variant)).objects {
				if err := schemas.check(t, object); err != nil {
					t.Errorf("%s: %v", id(object), err)
				}
			}
		})
	}
}

// The check itself finds what is wrong.
func TestTheCheckFindsWhatIsWrong(t *testing.T) {
	schemas := newSchemas(t)
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {port: 1}}`:                                                                   "unknown field",
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: 1}}`:                                                                  "cannot unmarshal",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a}, spec: {caps: {mon: allow r}, cap: x}}`:                               "spec.cap",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a}, spec: {caps: {mon: [allow r]}}}`:                                     "spec.caps.mon",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a}}`:                                                                     "spec: Required",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a}, spec: {selector: {}, endpoints: [{honourLabels: true}]}}`: "spec.endpoints[0].honourLabels",
		`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`:                                                                           "no schema",
	} {
		err := schemas.check(t, parse(t, text)[0])
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// schemas are all kinds that are known.
type schemas struct {
	decoder runtime.Decoder
	scheme  *runtime.Scheme
	custom  map[schema.GroupVersionKind]*customSchema
}

type customSchema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newSchemas(t *testing.T) *schemas {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &schemas{
		scheme:  scheme,
		decoder: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(),
		custom:  map[schema.GroupVersionKind]*customSchema{},
	}
	for _, from := range sources() {
		folder := moduleFolder(t, from)
		for _, pattern := range from.files {
			files, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s %s has no %s", from.module, from.version, pattern)
			}
			for _, file := range files {
				s.add(t, read(t, file))
			}
		}
	}
	for _, file := range glob(t, "config/crd/bases/*.yaml") {
		s.add(t, read(t, file))
	}
	return s
}

// moduleFolder has Go download a module, outside of any other, and returns its folder.
func moduleFolder(t *testing.T, from source) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", from.module+"@"+from.version)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "GONOSUMDB="+from.module, "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("download %s@%s: %v: %s", from.module, from.version, err, out)
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Sum != from.sum {
		t.Fatalf("%s@%s has the sum %s, want %s", from.module, from.version, got.Sum, from.sum)
	}
	return got.Dir
}

// add takes the CRDs of a file.
func (s *schemas) add(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(document), crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			s.custom[kind] = newCustomSchema(t, version.Schema.OpenAPIV3Schema)
		}
	}
}

func newCustomSchema(t *testing.T, from *apiextensionsv1.JSONSchemaProps) *customSchema {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	return &customSchema{
		structural: structural, validator: validator,
		rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

func (s *schemas) check(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	kind := object.GroupVersionKind()
	if s.scheme.Recognizes(kind) {
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		_, _, err = s.decoder.Decode(text, nil, nil)
		return err
	}
	custom, known := s.custom[kind]
	if !known {
		return fmt.Errorf("no schema of %s is known: name its module among the sources", kind)
	}
	return custom.check(t, object)
}

func (c *customSchema) check(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	content := object.DeepCopy().Object
	unknown := pruning.PruneWithOptions(content, c.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return fmt.Errorf("unknown fields %s", strings.Join(unknown, ", "))
	}
	problems := validation.ValidateCustomResource(nil, object.Object, c.validator)
	if c.rules != nil {
		broken, _ := c.rules.Validate(t.Context(), nil, c.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
		problems = append(problems, broken...)
	}
	return problems.ToAggregate()
}
