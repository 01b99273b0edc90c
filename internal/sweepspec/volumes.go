package sweepspec

import (
	"cmp"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// Volumes returns the volumes that the runs of a sweep create, one entry for each StorageClass. Each entry has
// the size of the largest run. The template's class is included unless baseline.values names a class.
func Volumes(spec *Spec) []settings.Volumes {
	template := *spec.Template.DeepCopy()
	template.Clients.Count = mostClients(spec)
	volumes := settings.VolumesOf(template)
	at := slices.IndexFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return p.StorageClass != nil })
	if at < 0 || len(volumes) == 0 {
		return volumes
	}
	bytes, p := volumes[0].Bytes, spec.Parameters[at]
	if spec.Baseline != nil && spec.Baseline.Values[string(p.Name)] != "" {
		volumes = nil
	}
	for _, value := range valuesOf(spec, p) {
		if value != "" {
			volumes = append(volumes, settings.Volumes{Class: string(value), Bytes: bytes})
		}
	}
	slices.SortFunc(volumes, func(a, b settings.Volumes) int { return cmp.Compare(a.Class, b.Class) })
	return slices.Compact(volumes)
}

// mostClients returns the number of clients of the largest run. It ignores values above the schema's maximum,
// with which a sweep is refused.
func mostClients(spec *Spec) int32 {
	most := int64(spec.Template.Clients.Count)
	for _, p := range spec.Parameters {
		if p.Workload == nil || p.Workload.Field != v1alpha1.WorkloadClients {
			continue
		}
		for _, value := range valuesOf(spec, p) {
			if n, ok := loadNumber(p, value); ok && n <= boundOf(p.Workload.Field).high {
				most = max(most, n)
			}
		}
	}
	return int32(most) //nolint:gosec // The schema limits the template's number, and boundOf the others.
}
