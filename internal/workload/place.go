package workload

import (
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/settings"
)

// These are the paths in a client's pod at which a claim appears: a directory for a file system, or a device.
const (
	DirectoryPath = "/data"
	DevicePath    = "/dev/cephtune"
)

// Places returns the place of each client of an execution. Everything that the clients create has a name that
// begins with the parameter owner, or is in a RADOS namespace with such a name. For some objects,
// [place.ObjectPrefix] comes before owner. If the caller sets the field DatasetOwner of the places, the names
// of the data that several runs share begin with DatasetOwner instead.
func Places(owner, ioUser string, template v1alpha1.BenchmarkTemplate, cephMajor int, datasetBytes int64, block bool) []place.Place {
	common := place.Place{
		CephMajor:    cephMajor,
		CephUser:     ioUser,
		Namespace:    owner,
		Owner:        owner,
		Clients:      int(template.Clients.Count),
		DatasetBytes: datasetBytes,
	}
	switch target := template.Target; {
	case target.ScratchPool != nil:
		common.Pool = settings.ScratchPool
		if target.ScratchPool.ErasureCoded != nil {
			common.DataPool = settings.ScratchDataPool
		}
		common.Image = place.ImageOf(target.ScratchPool.Image)
	case target.ExistingPool != nil:
		common.Pool, common.DataPool = string(target.ExistingPool.Name), string(target.ExistingPool.DataPool)
		common.Image = place.ImageOf(target.ExistingPool.Image)
	case block:
		common.Device = DevicePath
	case target.PersistentVolumeClaim != nil:
		common.Directory = DirectoryPath
	}
	common.Image.RolledBack = template.InitialState == v1alpha1.InitialStateRollback
	places := make([]place.Place, common.Clients)
	for i := range places {
		places[i] = common
		places[i].Client = i
	}
	return places
}

// Pools returns the names of a target's pools; nil for a PersistentVolumeClaim.
func Pools(target v1alpha1.Target) []string {
	switch {
	case target.ScratchPool != nil && target.ScratchPool.ErasureCoded != nil:
		return []string{settings.ScratchPool, settings.ScratchDataPool}
	case target.ScratchPool != nil:
		return []string{settings.ScratchPool}
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
		timing := p.Load.Timing()
		total += s.rest + time.Duration((timing.RampSeconds+timing.MeasuredSeconds)*float64(time.Second))
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
			prefill += prefillTimeout(d.Bytes)
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
