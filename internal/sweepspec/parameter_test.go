package sweepspec

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Each field of v1alpha1.Parameter that is a kind has a row of kindOf.
func TestEveryKindIsKnown(t *testing.T) {
	fields := reflect.TypeFor[v1alpha1.Parameter]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		var p v1alpha1.Parameter
		reflect.ValueOf(&p).Elem().Field(i).Set(reflect.New(field.Type.Elem()))
		if _, unknown := kindOf(p).(anyKind); unknown {
			t.Errorf("no kind for field %s", field.Name)
		}
		name := field.Tag.Get("json")
		if plain, found := Plain(name[:len(name)-len(",omitempty")]); found != (field.Type.Elem().NumField() == 0) || found && reflect.ValueOf(plain).Field(i).IsNil() {
			t.Errorf("%s: Plain finds %v, %+v", field.Name, found, plain)
		}
	}
	if refusal := kindOf(v1alpha1.Parameter{}).wanted(nil, plannerValue("1")); refusal == "" {
		t.Error("a value of an unknown kind is accepted")
	}
}

// The values of all samples are valid. What a kind writes into a template is what it reads there. Runs whose data lie in
// other images or pools share none.
func TestKindsReadWhatTheyWrite(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/cephtuningsweep_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s v1alpha1.CephTuningSweep
		if err := yaml.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Spec.Parameters {
			readsWhatItWrites(t, s.Spec, p)
		}
	}
}

func readsWhatItWrites(t *testing.T, spec Spec, p v1alpha1.Parameter) {
	t.Helper()
	k := kindOf(p)
	if wanted := k.wanted(&spec, plannerValue("#")); wanted == "" && len(Changes(&spec, nil))+len(OwnChanges(&spec, nil)) == 0 {
		t.Errorf("%s: the value # is accepted", p.Name)
	}
	for _, text := range valuesOf(&spec, p) {
		if text == "" {
			continue
		}
		value := plannerValue(text)
		if wanted := k.wanted(&spec, value); wanted != "" {
			t.Errorf("%s=%s has to be %s", p.Name, text, wanted)
		}
		if changesCeph(&spec, p) {
			continue
		}
		with := spec
		with.Template = *spec.Template.DeepCopy()
		if err := k.set(&with.Template, value); err != nil {
			t.Errorf("%s=%s: %v", p.Name, text, err)
		}
		if read, err := k.inTemplate(&with); err != nil || read != value {
			t.Errorf("%s=%s: it reads %v, %v", p.Name, text, read, err)
		}
		moved := !reflect.DeepEqual(placeOf(with.Template, 1), placeOf(spec.Template, 1))
		if per, reason := datasetPer(&spec, nil); moved && per == v1alpha1.MadeForBlock {
			t.Errorf("%s=%s: runs share data, although they are stored in another way: %s", p.Name, text, reason)
		}
	}
}
