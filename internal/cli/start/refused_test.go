package start

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestOneCauseHasOneMessage(t *testing.T) {
	depth := field.NewPath("spec", "template", "phases").Index(0).Child("fio", "ioDepth")
	typo := apierrors.NewInvalid(schema.GroupKind{Kind: "CephBenchmark"}, "x", field.ErrorList{
		field.Invalid(depth, 99999, "should be less than or equal to 1024"),
		field.Invalid(depth, "object", "a rule about the same field"),
		field.Invalid(nil, "null", "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"),
	})
	err := invalid("CephBenchmark bench/x", typo)
	if want := "CephBenchmark bench/x is refused: spec.template.phases[0].fio.ioDepth: should be less than or equal to 1024"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if want := "CephBenchmark bench/x is refused: --depth: should be less than or equal to 1024"; inFlags(err).Error() != want {
		t.Errorf("got  %v\nwant %s", inFlags(err), want)
	}
	if !apierrors.IsInvalid(err) {
		t.Error("the API server's error is lost")
	}
	two := invalid("X", apierrors.NewInvalid(schema.GroupKind{}, "x", field.ErrorList{field.Required(field.NewPath("spec", "a"), ""), field.NotSupported(field.NewPath("spec", "b"), "c", []string{"d"})}))
	if want := "X is refused:\n- spec.a: Required value\n- spec.b: Unsupported value: \"c\": supported values: \"d\""; two.Error() != want {
		t.Errorf("got  %v\nwant %s", two, want)
	}
	if err := invalid("X", apierrors.NewForbidden(schema.GroupResource{}, "x", nil)); err != nil {
		t.Errorf("another error: %v", err)
	}
}
