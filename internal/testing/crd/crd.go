// Package crd reads the schemas of the CRDs, for tests of code that must match them.
package crd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Schema returns the schema of a kind, whose name is in the plural, such as cephtuningsweeps. The argument
// root is the folder of the module.
func Schema(t testing.TB, root, kind string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(root, "config/crd/bases", "cephtune.dev_"+kind+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(manifest, crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// Field returns the schema of a field, such as status.plan.refusals. "[]" after a field means its items.
func Field(t testing.TB, schema *apiextensionsv1.JSONSchemaProps, path string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	current := *schema
	for name := range strings.SplitSeq(path, ".") {
		name, items := strings.CutSuffix(name, "[]")
		field, known := current.Properties[name]
		if !known || items && field.Items == nil {
			t.Fatalf("the schema has no field %s", path)
		}
		if current = field; items {
			current = *field.Items.Schema
		}
	}
	return current
}
