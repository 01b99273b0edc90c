package sweepspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

// kind answers all questions about a parameter that depend on what it varies. A new kind needs a field of
// v1alpha1.Parameter, a row of [kindOf], and a file parameter_KIND.go. Nothing else asks which kind a parameter has.
type kind interface {
	// wanted returns "" for a valid value. For an invalid value, it describes the valid values.
	wanted(spec *Spec, value cephvalue.Value) string
	// inTemplate returns the value that the spec's template has. It is the baseline if the spec names no other. For a
	// setting of Ceph that exists already, Ceph has the value, and inTemplate is not asked.
	inTemplate(spec *Spec) (cephvalue.Value, error)
	// set writes a valid value into the template of a trial's benchmark. A template without the part that the kind
	// varies stays as it is.
	set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error
	// setting returns the option of Ceph that the parameter varies, without a value; false if it varies none.
	setting(spec *Spec) (Change, bool)
	// aims says that a session compares values by aiming its clients at standing targets or other loads, and not by changing
	// Ceph.
	aims(spec *Spec) bool
	// notSwitched says why the parameter cannot change under a running load; "" if it can.
	notSwitched(spec *Spec, facts Facts) string
	// notAimed says why targets or loads with different values cannot stand at once; "" if they can.
	notAimed(spec *Spec, facts Facts) string
	// equal reports whether two texts are the same value.
	equal(a, b v1alpha1.ParameterValue) bool
	traits() traits
}

// traits are facts about all values of a parameter.
type traits struct {
	// pool says that a scratch pool has another form with each value, so runs with different values cannot share one.
	pool bool
	// data says why runs with different values cannot share data; "" if they can.
	data string
	// noPatch says why the value of a winner has no patch for Git. It is "" if the value has a patch, or if nobody
	// expects one.
	noPatch string
}

// kindOf returns the kind of a parameter.
func kindOf(p v1alpha1.Parameter) kind {
	base := anyKind{p}
	switch {
	case p.PoolOption != nil:
		return poolOption{base}
	case p.Config != nil:
		return config{base}
	case p.Workload != nil:
		return workload{base}
	case p.OSDCount != nil:
		return osdCount{base}
	case p.DeviceClass != nil:
		return deviceClass{base}
	case p.Redundancy != nil:
		return redundancy{base}
	case p.StorageClass != nil:
		return storageClass{base}
	case p.ImageObjectSize != nil:
		return imageObjectSize{base}
	default:
		return base
	}
}

// Plain returns a parameter of a kind without fields, by the name of the kind's field in v1alpha1.Parameter; false for
// another name.
func Plain(name string) (v1alpha1.Parameter, bool) {
	all := []v1alpha1.Parameter{
		{Name: "osdCount", OSDCount: &v1alpha1.OSDCountParameter{}},
		{Name: "deviceClass", DeviceClass: &v1alpha1.DeviceClassParameter{}},
		{Name: "redundancy", Redundancy: &v1alpha1.RedundancyParameter{}},
		{Name: "storageClass", StorageClass: &v1alpha1.StorageClassParameter{}},
		{Name: "imageObjectSize", ImageObjectSize: &v1alpha1.ImageObjectSizeParameter{}},
	}
	i := slices.IndexFunc(all, func(p v1alpha1.Parameter) bool { return strings.EqualFold(string(p.Name), name) })
	if i < 0 {
		return v1alpha1.Parameter{}, false
	}
	return all[i], true
}

// anyKind has the answers of most kinds. By itself, it is a parameter of a kind that only other versions of the operator
// know.
type anyKind struct{ v1alpha1.Parameter }

func (anyKind) wanted(*Spec, cephvalue.Value) string {
	return "left out, because this version of the operator does not know what the parameter varies"
}

func (k anyKind) inTemplate(*Spec) (cephvalue.Value, error) {
	return cephvalue.Value{}, refuse("this version of the operator does not know what parameter %s varies", k.Name)
}

func (anyKind) set(*v1alpha1.BenchmarkTemplate, cephvalue.Value) error { return nil }

func (anyKind) setting(*Spec) (Change, bool) { return Change{}, false }

func (k anyKind) notSwitched(*Spec, Facts) string {
	return "Parameter " + string(k.Name) + " cannot change under a running load."
}

func (anyKind) aims(*Spec) bool { return false }

func (k anyKind) notAimed(*Spec, Facts) string {
	return fmt.Sprintf("Parameter %s cannot change together with the pool or the load: give it a sweep of its own.", k.Name)
}

func (anyKind) equal(a, b v1alpha1.ParameterValue) bool { return a == b }

func (anyKind) traits() traits { return traits{} }

// variants returns templates for the largest and smallest demands of a sweep: the spec's template with the values of
// baseline.values, and this template with each other valid value of each parameter.
func variants(spec *Spec) []v1alpha1.BenchmarkTemplate {
	base := *spec.Template.DeepCopy()
	var all []v1alpha1.BenchmarkTemplate
	add := func(t *v1alpha1.BenchmarkTemplate, p v1alpha1.Parameter, text v1alpha1.ParameterValue) bool {
		value, varied := plannerValue(text), kindOf(p)
		return text != "" && !changesCeph(spec, p) && varied.wanted(spec, value) == "" && varied.set(t, value) == nil
	}
	for _, p := range spec.Parameters {
		if spec.Baseline != nil {
			add(&base, p, spec.Baseline.Values[string(p.Name)])
		}
	}
	for _, p := range spec.Parameters {
		for _, text := range valuesOf(spec, p) {
			if t := base.DeepCopy(); add(t, p, text) {
				all = append(all, *t)
			}
		}
	}
	return slices.Insert(all, 0, base)
}

// valuesOf returns all values that a spec has for a parameter: the values to try, and those of the baseline
// and of configurations. If the baseline or a configuration does not mention the parameter, its value is "".
func valuesOf(spec *Spec, p v1alpha1.Parameter) []v1alpha1.ParameterValue {
	values := slices.Clone(p.Values)
	if spec.Baseline != nil {
		values = append(values, spec.Baseline.Values[string(p.Name)])
	}
	for _, c := range spec.Configurations {
		values = append(values, c.Values[string(p.Name)])
	}
	return values
}

// checkValues checks the values of a configuration or a baseline. The schema cannot check them, because the
// kind of a parameter is in another part of the spec.
func checkValues(spec *Spec, c sweep.Configuration) error {
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		i := slices.IndexFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return string(p.Name) == name })
		if i < 0 {
			return refuse("configuration %s has a value for %s, which is not a parameter", c.Name, name)
		}
		if want := kindOf(spec.Parameters[i]).wanted(spec, c.Values[name]); want != "" {
			return refuse("configuration %s has %s=%s, which must be %s", c.Name, name, c.Values[name], want)
		}
	}
	return nil
}
