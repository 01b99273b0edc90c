package sweepspec

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Change is one Ceph setting that a sweep varies, with its value in one configuration.
type Change struct {
	tuning.Change
	Parameter v1alpha1.ParameterName
	// Own says that the pool is the scratch pool of a trial, and Metadata that the option is of the pool for metadata.
	Own, Metadata bool
}

// ofOSDs reports whether the setting is an option of Ceph's central configuration, and not of a pool.
func (c Change) ofOSDs() bool { return c.Setting.Kind == tuning.KindConfig }

// MovesPGs reports whether the change splits or merges placement groups of a pool.
func (c Change) MovesPGs() bool { return !c.ofOSDs() && c.Setting.Option == optionPGNum }

// Place names the setting in words.
func (c Change) Place() string {
	switch {
	case c.Setting.Mask != "":
		return c.Setting.Option + " of the OSDs of " + c.Setting.Mask
	case c.ofOSDs():
		return c.Setting.Option + " of all OSDs"
	case c.Own:
		return c.Setting.Option + " of the pool"
	}
	return c.Setting.String()
}

// ForTuner returns changes as the tuner takes them.
func ForTuner(changes []Change) []tuning.Change {
	var all []tuning.Change
	for _, c := range changes {
		all = append(all, c.Change)
	}
	return all
}

// AllChanges returns the settings of Ceph that a sweep varies, with their values in one configuration, in the order of
// the parameters. The baseline has changes too, since its values may differ from Ceph's current ones.
func AllChanges(spec *Spec, values map[string]cephvalue.Value) []Change {
	var all []Change
	for _, p := range spec.Parameters {
		if change, varied := kindOf(p).setting(spec); varied {
			change.To = values[string(p.Name)]
			all = append(all, change)
		}
	}
	return all
}

// Changes returns the settings of OSDs and of existing pools. Options of scratch pools and of the load are in the
// template of a run's benchmark, so Changes omits them.
func Changes(spec *Spec, values map[string]cephvalue.Value) []Change {
	return slices.DeleteFunc(AllChanges(spec, values), func(c Change) bool { return c.Own })
}

// OwnChanges returns the options of scratch pools. Separate runs create their pools with these options. Sessions switch
// the options under load.
func OwnChanges(spec *Spec, values map[string]cephvalue.Value) []Change {
	return slices.DeleteFunc(AllChanges(spec, values), func(c Change) bool { return !c.Own })
}

// ChangesCeph reports whether any parameter is a setting of OSDs or of an existing pool.
func ChangesCeph(spec *Spec) bool { return len(Changes(spec, nil)) > 0 }

// changesCeph reports whether a parameter is a setting of OSDs or of an existing pool, and not of a scratch pool
// or of the load.
func changesCeph(spec *Spec, p v1alpha1.Parameter) bool {
	change, varied := kindOf(p).setting(spec)
	return varied && !change.Own
}
