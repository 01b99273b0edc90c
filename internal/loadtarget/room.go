package loadtarget

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// A full OSD blocks the writes of all clients, so no benchmark may fill an OSD. Phases that
// create objects until their time is over have a write limit, which depends on the free space and the quota. A
// benchmark also ends early if OSDs are about to be full.

// targetOSDs returns the OSDs that may store the target's data: the OSDs of an existing pool, those in the CRUSH
// root of scratch pools, or else all OSDs.
// It takes them from the last Extra that has OSDs, or else from the survey.
func (t Target) targetOSDs() []ceph.OSD {
	osds := t.Survey.OSDs
	for _, more := range t.Extras {
		if more.OSDs != nil {
			osds = more.OSDs
		}
	}
	pool := t.existingPool()
	switch scratch := t.Template.Target.ScratchPool; {
	case scratch != nil && t.Survey != nil:
		return placement.UsableOSDs(osds, t.Survey.Tree, *scratch)
	case pool == nil:
		return osds
	}
	holds := placement.Holding(pool.ID, t.Survey.PGs)
	var selected []ceph.OSD
	for _, osd := range osds {
		if holds[osd.ID] {
			selected = append(selected, osd)
		}
	}
	if len(selected) == 0 {
		return osds
	}
	return selected
}

// df returns the space in the cluster from the last Extra, or else from the survey.
func (t Target) df() *ceph.DF {
	if len(t.Extras) > 0 {
		return t.Extras[len(t.Extras)-1].DF
	}
	return t.Survey.DF
}

// available returns how many bytes are free on the OSDs of the targets; of several device classes, on the OSDs of the fullest.
func (t Target) available() int64 {
	free := func(osds []ceph.OSD) (bytes int64) {
		for _, osd := range osds {
			bytes += osd.AvailableBytes
		}
		return bytes
	}
	least := free(quiescence.Serving(t.targetOSDs(), ""))
	for _, class := range t.DeviceClasses() {
		least = min(least, free(quiescence.Serving(t.targetOSDs(), class)))
	}
	return least
}

// DataPool returns the pool of the template's target that stores the data; "" for a claim.
func (t Target) DataPool() string {
	pools := workload.PoolsOf(t.all(), 0)
	if len(pools) == 0 {
		return ""
	}
	return pools[len(pools)-1]
}

// Room returns how many bytes each client, and also the background load, may write in addition to the
// datasets. It returns 0 if the room is unknown, for example for a claim, and otherwise at least 1.
func (t Target) Room(s *workload.Script) int64 {
	if t.Survey == nil || t.DataPool() == "" {
		return 0
	}
	return max(t.roomInAll(s)/s.Writers(), 1)
}

// roomInAll returns the space in bytes for all clients and the background load together; 0 or less if
// nothing is free.
func (t Target) roomInAll(s *workload.Script) int64 {
	bytes := float64(quiescence.RawRoom(t.targetOSDs(), t.Survey.OSDMap, t.spread())) / t.Overhead()
	if pool := t.existingPool(); pool != nil {
		bytes = min(bytes, t.roomInQuotas(pool))
	}
	return int64(bytes) - s.DatasetBytes()
}

// roomInQuotas returns half of the bytes that the quotas of an existing pool leave, because other clients
// write too. Without quotas, it returns +Inf.
func (t Target) roomInQuotas(pool *ceph.Pool) float64 {
	var holds ceph.PoolDF
	for _, p := range t.df().Pools {
		if p.Name == pool.Name {
			holds = p
		}
	}
	left := math.Inf(1)
	if pool.QuotaMaxBytes > 0 {
		left = float64(pool.QuotaMaxBytes - holds.StoredBytes)
	}
	if pool.QuotaMaxObjects > 0 {
		left = min(left, float64(pool.QuotaMaxObjects-holds.Objects)*t.smallestObjectBytes())
	}
	return left / 2
}

// smallestObjectBytes returns the size of the smallest new objects that the loads write; +Inf if they write
// none.
func (t Target) smallestObjectBytes() float64 {
	smallest := math.Inf(1)
	for _, load := range t.loads() {
		if load.NewObjectBytes > 0 {
			smallest = min(smallest, float64(load.NewObjectBytes))
		}
	}
	return smallest
}

// noRoom returns an obstacle if the benchmark has too little space for its writes beyond the datasets. The
// benchmark then waits, because OSDs free the space of removed pools with a delay.
func (t Target) noRoom() []quiescence.Obstacle {
	if t.Exists || t.DataPool() == "" || !t.writesNewObjects() {
		return nil
	}
	return quiescence.RoomForObjects(t.Room(t.Script))
}

func (t Target) writesNewObjects() bool { return slices.ContainsFunc(t.loads(), newObjects) }

// loads returns the traits of all phases; the background load is one of them.
func (t Target) loads() []engine.Traits {
	var loads []engine.Traits
	for _, p := range t.Template.Phases {
		loads = append(loads, engine.TraitsOf(&p))
	}
	return loads
}

func (t Target) backgroundTraits() engine.Traits {
	if phase := t.Template.Background(); phase != nil {
		return engine.TraitsOf(phase)
	}
	return engine.Traits{}
}

func newObjects(t engine.Traits) bool { return t.NewObjectBytes > 0 }

// boundByRoom reports whether a task may have ended early because of its write limit.
func (t Target) boundByRoom(run int32, failed workload.Failure) bool {
	if failed.Background {
		return newObjects(t.backgroundTraits())
	}
	return slices.ContainsFunc(t.Script.Phases, func(p workload.Phase) bool {
		grows, ok := p.Load.(engine.Growing)
		return ok && workload.TaskID(run, p.Name) == failed.ID && slices.ContainsFunc(t.Script.Places, grows.BoundByRoom)
	})
}

// writeLess is advice for a cluster without space.
const writeLess = "Free space, or write less: use a shorter phase, a smaller dataset, or reuseObjects in rados bench."

// StoppedByRoom returns a message if a task ended early and may have reached its write limit; "" otherwise.
// The parameter limit is the write limit in bytes; 0 if unknown. The task would end early in every other run
// too.
func (t Target) StoppedByRoom(run int32, failed workload.Failure, limit int64) string {
	if failed.Failure.Reason != task.FailureReason(engine.EndedEarly) || limit == 0 || !t.boundByRoom(run, failed) {
		return ""
	}
	return fmt.Sprintf("Task %s ended early, because it had written its limit of %s. More could make an OSD nearfull or use more than half of the remaining quota. %s", failed.ID,
		mebibytes(limit), writeLess)
}

// OutOfRoom returns a message if OSDs were about to be full in the last sample; "" otherwise.
func (t Target) OutOfRoom() string {
	if len(t.Samples) == 0 {
		return ""
	}
	reason := quiescence.OutOfRoom(t.Samples[len(t.Samples)-1].Status, t.Quiescence)
	if reason == "" {
		return ""
	}
	return fmt.Sprintf("OSDs are running out of space: %s. The benchmark was stopped, and its data are being removed. %s", reason, writeLess)
}

// mebibytes formats bytes as a Kubernetes quantity, rounded down to whole MiB.
func mebibytes(bytes int64) string {
	return resource.NewQuantity(bytes>>20<<20, resource.BinarySI).String()
}

// Full reports whether, in the last sample, an OSD accepts no more writes.
func (t Target) Full() bool {
	return len(t.Samples) > 0 && slices.ContainsFunc(t.Samples[len(t.Samples)-1].Status.Health.Checks, func(c ceph.HealthCheck) bool {
		return c.Code == "OSD_FULL"
	})
}

// Dataset returns how many bytes each client prefills, and whether they are so few that the OSDs'
// caches may serve many reads.
func (t Target) Dataset() (bytes int64, cached bool, err error) {
	free := int64(float64(t.available()) / t.Overhead() * t.share() / float64(len(t.all())))
	if t.Template.InitialState == v1alpha1.InitialStateRollback {
		free /= 2 // The snapshot keeps overwritten data.
	}
	bytes, cached, err = quiescence.DatasetBytes(t.Template.Dataset, int(t.Template.Clients.Count), t.Survey.CacheBytes, free)
	if err != nil {
		return 0, false, fmt.Errorf("size the dataset: %w", err)
	}
	return bytes, cached, nil
}

// share returns the fraction of the target's OSDs that stores the data, from 0 to 1.
func (t Target) share() float64 {
	confined := t.Confined()
	if confined == nil {
		return 1
	}
	osds := quiescence.Serving(t.targetOSDs(), t.Template.Target.ScratchPool.DeviceClass)
	return min(1, float64(confined.Count)/float64(max(1, len(osds))))
}
