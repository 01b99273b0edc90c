package sweepspec

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
)

// Change is one Ceph setting that a sweep varies, with its value in one configuration.
type Change struct {
	Parameter v1alpha1.ParameterName
	// Config names an option of Ceph's central configuration. For an option of a pool, Config is nil, and
	// Pool and Option are set.
	Config *v1alpha1.ConfigParameter
	Pool   v1alpha1.PoolName
	Option v1alpha1.OptionName
	// Value is the value to set. The zero value unsets the option.
	Value cephvalue.Value
}

// Changes returns the settings of existing objects that a sweep varies, with their values in one
// configuration, in the order of the parameters. The baseline has changes too, since its values may differ
// from Ceph's current ones. Options of scratch pools and of the load are in the template of a run's
// benchmark, so Changes omits them.
func Changes(spec *Spec, values map[string]cephvalue.Value) []Change {
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

// OwnChanges returns the options of scratch pools that a sweep varies, with their values in one
// configuration, in the order of the parameters. Separate runs create their pools with these options.
// Sessions switch the options under load.
func OwnChanges(spec *Spec, values map[string]cephvalue.Value) []Change {
	scratch := spec.Template.Target.ScratchPool
	if scratch == nil {
		return nil
	}
	var all []Change
	for _, p := range spec.Parameters {
		if p.PoolOption == nil {
			continue
		}
		pool := v1alpha1.PoolName(settings.ScratchPool)
		if scratch.ErasureCoded != nil && p.PoolOption.Role != v1alpha1.PoolRoleMetadata {
			pool = settings.ScratchDataPool
		}
		all = append(all, Change{Parameter: p.Name, Pool: pool, Option: p.PoolOption.Option, Value: values[string(p.Name)]})
	}
	return all
}

// poolOf returns the name of the existing pool that a parameter changes.
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
