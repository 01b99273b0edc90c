package sweepspec

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweep"
)

// Change is one setting of Ceph that a configuration needs while it is measured, on an object
// that exists before and after the sweep.
type Change struct {
	Parameter v1alpha1.ParameterName
	// Config is the option of Ceph's configuration, or nil for one of a pool: then
	// Pool and Option name it.
	Config *v1alpha1.ConfigParameter
	Pool   v1alpha1.PoolName
	Option v1alpha1.OptionName
	// Value is what it has to be, or unset.
	Value sweep.Value
}

// Changes are all settings of Ceph that a sweep varies, with the values of a configuration, in
// the order of the parameters. Those of the baseline are among them, since the baseline need
// not be what Ceph has now. Options of scratch pools and the load are not: those are in the
// child.
func Changes(spec *Spec, values map[string]sweep.Value) []Change {
	var all []Change
	for _, p := range spec.Parameters {
		if !changesCeph(spec, p) {
			continue
		}
		change := Change{Parameter: p.Name, Config: p.Config, Value: values[string(p.Name)]}
		if p.PoolOption != nil {
			change.Pool, change.Option = poolOf(spec, *p.PoolOption), p.PoolOption.Option
		}
		all = append(all, change)
	}
	return all
}

// poolOf is the pool, one that exists, that a parameter is about.
func poolOf(spec *Spec, p v1alpha1.PoolOptionParameter) v1alpha1.PoolName {
	target := spec.Template.Target.ExistingPool
	switch {
	case p.Pool != "" || target == nil:
		return p.Pool
	case p.Role != v1alpha1.PoolRoleMetadata && target.DataPool != "":
		return target.DataPool
	}
	return target.Name
}
