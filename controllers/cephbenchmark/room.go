package cephbenchmark

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// A full OSD blocks the writes of all clients, so no benchmark may fill one. The free space
// limits the writes of phases that only time ends, and the benchmark ends when the cluster is
// about to be full.

// targetOSDs returns the OSDs of the target from the last sample: the OSDs of an existing pool,
// or all OSDs.
func (f facts) targetOSDs() []ceph.OSD {
	osds := f.Survey.OSDs
	for _, more := range f.Extras {
		if more.OSDs != nil {
			osds = more.OSDs
		}
	}
	pool := f.existingPool()
	if pool == nil {
		return osds
	}
	var own []ceph.OSD
	for _, osd := range osds {
		if slices.ContainsFunc(f.Survey.PGs, func(pg ceph.PG) bool { return pg.PoolID == pool.ID && slices.Contains(pg.Acting, osd.ID) }) {
			own = append(own, osd)
		}
	}
	if len(own) == 0 {
		return osds
	}
	return own
}

// df returns the space in the cluster from the last sample.
func (f facts) df() *ceph.DF {
	if len(f.Extras) > 0 {
		return f.Extras[len(f.Extras)-1].DF
	}
	return f.Survey.DF
}

// available returns how many bytes are free on the OSDs of the target.
func (f facts) available() int64 {
	var bytes int64
	for _, osd := range quiescence.Serving(f.targetOSDs(), f.deviceClass()) {
		bytes += osd.AvailableBytes
	}
	return bytes
}

// dataPool returns the pool of the target that stores the data; "" for a claim.
func (f facts) dataPool() string {
	pools := f.targetPools()
	if len(pools) == 0 {
		return ""
	}
	return pools[len(pools)-1]
}

// room returns how many bytes each client, and the background load, may write in addition to the
// datasets, at least one byte; 0 if unknown.
func (f facts) room(s *workload.Script) int64 {
	if f.Survey == nil || f.dataPool() == "" {
		return 0
	}
	return max(f.roomInAll(s)/s.Writers(), 1)
}

// roomInAll returns the space for all clients and the background load together; 0 or less if
// nothing is free.
func (f facts) roomInAll(s *workload.Script) int64 {
	bytes := float64(quiescence.RawRoom(f.targetOSDs(), f.Survey.OSDMap, f.spread())) / f.overhead()
	if pool := f.existingPool(); pool != nil {
		bytes = min(bytes, f.roomInQuotas(pool))
	}
	return int64(bytes) - s.DatasetBytes()
}

// roomInQuotas returns half of the space that the quotas of an existing pool leave, because
// others write too.
func (f facts) roomInQuotas(pool *ceph.Pool) float64 {
	var holds ceph.PoolDF
	for _, p := range f.df().Pools {
		if p.Name == pool.Name {
			holds = p
		}
	}
	left := math.Inf(1)
	if pool.QuotaMaxBytes > 0 {
		left = float64(pool.QuotaMaxBytes - holds.StoredBytes)
	}
	if pool.QuotaMaxObjects > 0 {
		left = min(left, float64(pool.QuotaMaxObjects-holds.Objects)*f.smallestObjectBytes())
	}
	return left / 2
}

// smallestObjectBytes returns the size of the smallest new objects that the loads write.
func (f facts) smallestObjectBytes() float64 {
	smallest := math.Inf(1)
	for _, load := range f.loads() {
		if load.NewObjectBytes > 0 {
			smallest = min(smallest, float64(load.NewObjectBytes))
		}
	}
	return smallest
}

// noRoom returns an obstacle if the benchmark has no space for its writes beyond the datasets.
// The benchmark then waits: OSDs free the space of removed pools with a delay.
func (f facts) noRoom() []quiescence.Obstacle {
	if f.job != nil || f.memory.standalone || f.dataPool() == "" || !f.writesNewObjects() {
		return nil
	}
	return quiescence.RoomForObjects(f.room(f.script))
}

func (f facts) writesNewObjects() bool { return slices.ContainsFunc(f.loads(), newObjects) }

// loads returns the traits of the phases and of the background load.
func (f facts) loads() []engine.Traits {
	loads := []engine.Traits{f.backgroundTraits()}
	for _, p := range f.spec.Template.Phases {
		loads = append(loads, engine.TraitsOf(&p))
	}
	return loads
}

func (f facts) backgroundTraits() engine.Traits {
	if f.spec.Template.BackgroundLoad == nil {
		return engine.Traits{}
	}
	phase := f.spec.Template.BackgroundLoad.AsPhase()
	return engine.TraitsOf(&phase)
}

func newObjects(t engine.Traits) bool { return t.NewObjectBytes > 0 }

// writeLess is advice for a cluster without space.
const writeLess = "Free space, or write less: use a shorter phase, a smaller dataset, or reuseObjects in rados bench."

// stoppedByRoom returns the outcome of a benchmark whose task reached its write limit. Every
// other run would reach it too.
func (f facts) stoppedByRoom(run int32, failed workload.Failure) (plan, bool) {
	if failed.Failure.Reason != task.FailureReason(engine.EndedEarly) || f.roomBytes == 0 || !f.boundByRoom(run, failed) {
		return plan{}, false
	}
	text := fmt.Sprintf("Task %s ended early, because it had written its limit of %s. More could make an OSD nearfull or use more than half of what a quota leaves. %s", failed.ID, mebibytes(f.roomBytes), writeLess)
	return fail(v1alpha1.ReasonOutOfRoom, text), true
}

// boundByRoom reports whether only the write limit can end a task early.
func (f facts) boundByRoom(run int32, failed workload.Failure) bool {
	if failed.Background {
		return newObjects(f.backgroundTraits())
	}
	return slices.ContainsFunc(f.spec.Template.Phases, func(p v1alpha1.Phase) bool {
		return workload.TaskID(run, p.Name) == failed.ID && newObjects(engine.TraitsOf(&p))
	})
}

// full reports whether, in the last sample, an OSD accepts no more writes.
func (f facts) full() bool {
	return len(f.Samples) > 0 && slices.ContainsFunc(f.Samples[len(f.Samples)-1].Status.Health.Checks, func(c ceph.HealthCheck) bool {
		return c.Code == "OSD_FULL"
	})
}

// mebibytes writes bytes as Kubernetes does, in whole MiB.
func mebibytes(bytes int64) string {
	return resource.NewQuantity(bytes>>20<<20, resource.BinarySI).String()
}
