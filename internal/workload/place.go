package workload

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/settings"
)

// DirectoryPath returns the path in a client's pod at which the claim of a target appears, if it has a file system.
func DirectoryPath(number int) string { return numbered("/data", number) }

// DevicePath returns the path in a client's pod at which the claim of a target appears, if it is a block device.
func DevicePath(number int) string { return numbered("/dev/cephtune", number) }

func numbered(path string, number int) string {
	if number == 0 {
		return path
	}
	return fmt.Sprintf("%s-%d", path, number)
}

// Places returns the place of each client of an execution in the target with the given number, among all targets. Everything
// that the clients create has a name that begins with the parameter owner, or is in a RADOS namespace with such a name. For
// some objects, [place.ObjectPrefix] comes before owner. If the caller sets the field DatasetOwner of the places, the names
// of the data that several runs share begin with DatasetOwner instead.
func Places(owner, ioUser string, template v1alpha1.BenchmarkTemplate, targets []v1alpha1.Target, number, cephMajor int, datasetBytes int64, block bool) []place.Place {
	if number > 0 {
		owner = fmt.Sprintf("%st%d", owner, number) // Targets may share a pool.
	}
	common := place.Place{
		CephMajor:    cephMajor,
		CephUser:     ioUser,
		Namespace:    owner,
		Owner:        owner,
		Clients:      int(template.Clients.Count),
		DatasetBytes: datasetBytes,
	}
	switch target := targets[number]; {
	case target.ScratchPool != nil:
		names := settings.ScratchNamesOf(PoolOf(targets, number))
		common.Pool = names.Pool
		if ec := target.ScratchPool.ErasureCoded; ec != nil {
			common.DataPool, common.DataChunks = names.Data, int(ec.DataChunks)
		}
		common.Image = place.ImageOf(target.ScratchPool.Image)
	case target.ExistingPool != nil:
		common.Pool, common.DataPool = string(target.ExistingPool.Name), string(target.ExistingPool.DataPool)
		common.Image = place.ImageOf(target.ExistingPool.Image)
	case block:
		common.Device = DevicePath(number)
	case target.PersistentVolumeClaim != nil:
		common.Directory = DirectoryPath(number)
	}
	common.Image.RolledBack = template.InitialState == v1alpha1.InitialStateRollback
	places := make([]place.Place, common.Clients)
	for i := range places {
		places[i] = common
		places[i].Client = i
	}
	return places
}

// PoolOf returns the number of the scratch pool of a target. Targets that differ only in their images share a pool, so the
// numbers of pools are without gaps. For other targets, it returns the number of the target.
func PoolOf(targets []v1alpha1.Target, number int) int {
	if targets[number].ScratchPool == nil {
		return number
	}
	pools := ScratchPools(targets[:number+1])
	return slices.IndexFunc(pools, func(p v1alpha1.ScratchPool) bool { return alike(p, *targets[number].ScratchPool) })
}

// ScratchPools returns the scratch pools of targets, by the number of the pool; nil without scratch pools.
func ScratchPools(targets []v1alpha1.Target) []v1alpha1.ScratchPool {
	var all []v1alpha1.ScratchPool
	for _, target := range targets {
		pool := target.ScratchPool
		if pool != nil && !slices.ContainsFunc(all, func(p v1alpha1.ScratchPool) bool { return alike(p, *pool) }) {
			all = append(all, *pool)
		}
	}
	return all
}

// alike reports whether two scratch pools differ at most in their images.
func alike(a, b v1alpha1.ScratchPool) bool {
	a.Image, b.Image = v1alpha1.Image{}, v1alpha1.Image{}
	return equality.Semantic.DeepEqual(a, b)
}

// Pools returns the names of the pools of all targets; nil for PersistentVolumeClaims.
func Pools(targets []v1alpha1.Target) []string {
	var names []string
	for number := range targets {
		for _, name := range PoolsOf(targets, number) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// PoolsOf returns the names of the pools of the target with the given number; nil for a PersistentVolumeClaim. The last of
// them stores the data.
func PoolsOf(targets []v1alpha1.Target, number int) []string {
	switch target := targets[number]; {
	case target.ScratchPool != nil:
		var names []string
		for _, p := range settings.CephPools(PoolOf(targets, number), *target.ScratchPool) {
			names = append(names, p.Name)
		}
		return names
	case target.ExistingPool != nil && target.ExistingPool.DataPool != "":
		return []string{string(target.ExistingPool.Name), string(target.ExistingPool.DataPool)}
	case target.ExistingPool != nil:
		return []string{string(target.ExistingPool.Name)}
	}
	return nil
}

// Duration returns the planned duration of one run: its ramps, rests and measurements.
func (s *Script) Duration() time.Duration {
	total := time.Duration(0)
	if s.Background != nil {
		total += s.Background.ramp
	}
	for _, p := range s.Phases {
		total += s.rest + time.Duration(p.Load.Timing().Seconds()*float64(time.Second))
	}
	return total
}

// Deadline returns the maximum lifetime of an execution's pods, in case no manager removes them earlier. It is
// four times the planned duration of the runs, plus the longest waits before each run, plus the time for
// preparation and teardown. A run waits for a quiescent cluster, for PGs that OSDs remove, and for its data.
// Each task also has its own deadline.
func (s *Script) Deadline(spec v1alpha1.CephBenchmarkSpec) time.Duration {
	prefill := time.Duration(0)
	for _, p := range s.Phases {
		for _, d := range p.Load.Datasets(s.Places[0]) {
			prefill += time.Duration(1+len(s.Elsewhere)) * prefillTimeout(d.Bytes)
		}
	}
	if s.Background != nil {
		for _, d := range s.Background.Load.Datasets(s.Background.Place) {
			prefill += prefillTimeout(d.Bytes)
		}
	}
	each := 4*s.Duration() + spec.Quiescence.Timeout.Duration + quiescence.RemovalWithin(spec.Quiescence)
	if s.resets() {
		each += tidyTimeout + prefill
	}
	if s.warm {
		each += prefill
	}
	return time.Hour + prefill + time.Duration(spec.Repetitions)*each
}
