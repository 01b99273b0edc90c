package crd

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Admission sets defaults and validates objects with one schema, as the API server does. It is safe for concurrent
// use.
type Admission struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// NewAdmission compiles a schema and its CEL rules, which takes a second. The argument root is set for the schema of
// whole objects, and not for the schema of a field.
func NewAdmission(t testing.TB, props *apiextensionsv1.JSONSchemaProps, root bool) *Admission {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	return &Admission{structural: structural, validator: validator, rules: cel.NewValidator(structural, root, celconfig.PerCallLimit)}
}

// Default sets the defaults of the schema.
func (a *Admission) Default(object map[string]any) { defaulting.Default(object, a.structural) }

// Validate checks an object against the schema and the CEL rules. The argument old is nil when the object is
// created.
func (a *Admission) Validate(ctx context.Context, object, old map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, a.validator)
	if len(errs) > 0 {
		return errs // The API server does not evaluate the rules of an object that does not have the schema's types.
	}
	if a.rules == nil {
		return nil
	}
	var before any
	if old != nil {
		before = old
	}
	errs, _ = a.rules.Validate(ctx, nil, a.structural, object, before, celconfig.RuntimeCELCostBudget)
	return errs
}
