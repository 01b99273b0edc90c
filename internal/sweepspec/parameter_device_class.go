package sweepspec

import (
	"regexp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// deviceClass varies the device class of the OSDs that store the scratch pool.
type deviceClass struct{ anyKind }

// deviceClassName matches the valid values of scratchPool.deviceClass. The schema has the
// limit of 63 characters as a separate rule, not in its pattern.
var deviceClassName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

func (deviceClass) wanted(_ *Spec, value cephvalue.Value) string {
	if !value.Set || !deviceClassName.MatchString(value.Text) {
		return "the name of a device class, such as ssd"
	}
	return ""
}

func (k deviceClass) inTemplate(spec *Spec) (cephvalue.Value, error) {
	pool := spec.Template.Target.ScratchPool
	if pool == nil || pool.DeviceClass == "" {
		return cephvalue.Value{}, refuse("parameter %s has no baseline: set target.scratchPool.deviceClass, or baseline.values", k.Name)
	}
	return cephvalue.Of(pool.DeviceClass), nil
}

func (deviceClass) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	if pool := t.Target.ScratchPool; pool != nil {
		pool.DeviceClass = value.Text
	}
	return nil
}

// aims: each target has a pool of its own.
func (deviceClass) aims(spec *Spec) bool { return spec.Template.Target.ScratchPool != nil }

func (k deviceClass) notAimed(spec *Spec, facts Facts) string { return k.notStanding(spec, facts) }

func (deviceClass) traits() traits {
	return traits{pool: true, noPatch: "There is no patch for the device class: changing it moves all data of a pool."}
}
