package sweepspec

import (
	"cmp"
	"slices"

	"github.com/cephtune/cephtune/internal/settings"
)

// ConfinesOSDs reports whether a sweep confines its scratch pools to some OSDs.
func ConfinesOSDs(spec *Spec) bool { return FewestOSDs(spec) > 0 }

// FewestOSDs returns the smallest number of OSDs to which a sweep confines a scratch pool; 0 if it confines none.
func FewestOSDs(spec *Spec) int {
	fewest := 0
	for _, t := range variants(spec) {
		if pool := t.Target.ScratchPool; pool != nil && pool.OSDSelection != nil && (fewest == 0 || int(pool.OSDSelection.Count) < fewest) {
			fewest = int(pool.OSDSelection.Count)
		}
	}
	return fewest
}

// DeviceClasses returns the device classes of a sweep's scratch pools, sorted and without duplicates; none if the sweep names
// none, or has no scratch pools.
func DeviceClasses(spec *Spec) []string {
	var classes []string
	for _, t := range variants(spec) {
		if pool := t.Target.ScratchPool; pool != nil && pool.DeviceClass != "" {
			classes = append(classes, pool.DeviceClass)
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// RawBytesPerByte returns how many bytes OSDs store for each byte of a client. It returns the maximum over the scratch
// pools of a sweep. The target must be a scratch pool.
func RawBytesPerByte(spec *Spec) float64 {
	most := 0.0
	for _, t := range variants(spec) {
		most = max(most, settings.DataPool(*t.Target.ScratchPool).Overhead())
	}
	return most
}

// Volumes returns the volumes that the runs of a sweep create, one entry for each StorageClass. Each entry has the size
// of the largest run.
func Volumes(spec *Spec) []settings.Volumes {
	all, clients := variants(spec), int32(0)
	for _, t := range all {
		clients = max(clients, t.Clients.Count)
	}
	var volumes []settings.Volumes
	for _, t := range all {
		t.Clients.Count = clients
		volumes = append(volumes, settings.VolumesOf(t)...)
	}
	slices.SortFunc(volumes, func(a, b settings.Volumes) int { return cmp.Compare(a.Class, b.Class) })
	return slices.Compact(volumes)
}
