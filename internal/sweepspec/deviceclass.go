package sweepspec

import (
	"regexp"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// deviceClassName matches the valid values of scratchPool.deviceClass. The schema has the
// limit of 63 characters as a separate rule, not in its pattern.
var deviceClassName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// DeviceClasses returns the device classes of a sweep's scratch pools, sorted and without duplicates. The
// template's class is included unless baseline.values names a class, so it is included even if
// baseline.configuration gives the baseline another class. DeviceClasses returns nil if no parameter varies the
// device class.
func DeviceClasses(spec *Spec) []string {
	at := slices.IndexFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return p.DeviceClass != nil })
	if at < 0 {
		return nil
	}
	p := spec.Parameters[at]
	var classes []string
	for _, value := range valuesOf(spec, p) {
		classes = append(classes, string(value))
	}
	pool, isGiven := spec.Template.Target.ScratchPool, spec.Baseline != nil && spec.Baseline.Values[string(p.Name)] != ""
	if pool != nil && !isGiven {
		classes = append(classes, pool.DeviceClass)
	}
	slices.Sort(classes)
	return slices.DeleteFunc(slices.Compact(classes), func(class string) bool { return class == "" })
}

// deviceClassValue returns the template's device class, or an error if the template does not name one.
func deviceClassValue(spec *Spec, p v1alpha1.Parameter) (cephvalue.Value, error) {
	pool := spec.Template.Target.ScratchPool
	if pool == nil || pool.DeviceClass == "" {
		return cephvalue.Value{}, refuse("parameter %s has no baseline: set target.scratchPool.deviceClass, or baseline.values", p.Name)
	}
	return cephvalue.Of(pool.DeviceClass), nil
}
