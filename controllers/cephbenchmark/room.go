package cephbenchmark

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// A full OSD stops everybody's writes, so that no benchmark may get that far: what only time
// ends is bounded by the room that there is, and a cluster that is about to be full is left.

// targetOSDs are the OSDs of the target as of the last look: those that an existing pool is on,
// or all that there are.
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

// df is the room of the cluster as of the last look.
func (f facts) df() *ceph.DF {
	if len(f.Extras) > 0 {
		return f.Extras[len(f.Extras)-1].DF
	}
	return f.Survey.DF
}

// available is how many bytes are free on the OSDs of the target.
func (f facts) available() int64 {
	var bytes int64
	for _, osd := range quiescence.Serving(f.targetOSDs(), f.deviceClass()) {
		bytes += osd.AvailableBytes
	}
	return bytes
}

// dataPool is the pool of the target that the data goes to; "" for a claim.
func (f facts) dataPool() string {
	pools := f.targetPools()
	if len(pools) == 0 {
		return ""
	}
	return pools[len(pools)-1]
}

// room is how much each client, and the background load, may write in addition to the datasets,
// at least a byte; 0 if that is not known.
func (f facts) room(s *workload.Script) int64 {
	if f.Survey == nil || f.dataPool() == "" {
		return 0
	}
	return max(f.roomInAll(s)/s.Writers(), 1)
}

// roomInAll is the room for all of them together; 0 or less if nothing is free.
func (f facts) roomInAll(s *workload.Script) int64 {
	bytes := float64(quiescence.RawRoom(f.targetOSDs(), f.Survey.OSDMap, f.spread())) / f.overhead()
	if pool := f.existingPool(); pool != nil {
		bytes = min(bytes, f.roomInQuotas(pool))
	}
	return int64(bytes) - s.DatasetBytes()
}

// roomInQuotas is half of the room that the quotas of an existing pool leave, since others
// write, too.
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

// smallestObjectBytes is the least that rados bench writes into a new object.
func (f facts) smallestObjectBytes() float64 {
	smallest := math.Inf(1)
	for _, b := range f.radosBenches() {
		if newObjects(b) {
			object := ptr.Deref(b.ObjectSize, b.BlockSize)
			smallest = min(smallest, object.AsApproximateFloat64())
		}
	}
	return smallest
}

// noRoom is the obstacle of a benchmark without room for its writes beyond the datasets. It
// waits, because removed pools free their room.
func (f facts) noRoom() []quiescence.Obstacle {
	if f.job != nil || f.memory.standalone || f.dataPool() == "" || !f.writesNewObjects() {
		return nil
	}
	return quiescence.RoomForObjects(f.room(f.script))
}

func (f facts) writesNewObjects() bool { return slices.ContainsFunc(f.radosBenches(), newObjects) }

// radosBenches are those of the phases and of the background load, and nil for other engines.
func (f facts) radosBenches() []*v1alpha1.RadosBench {
	var benches []*v1alpha1.RadosBench
	if b := f.spec.Template.BackgroundLoad; b != nil {
		benches = append(benches, b.RadosBench)
	}
	for _, p := range f.spec.Template.Phases {
		benches = append(benches, p.RadosBench)
	}
	return benches
}

// newObjects reports whether rados bench writes more and more objects.
func newObjects(b *v1alpha1.RadosBench) bool {
	return b != nil && b.Mode == v1alpha1.RadosBenchWrite && !b.ReuseObjects
}

// writeLess is what helps where there is no room.
const writeLess = "Make room, or have it write less: a shorter phase, a smaller dataset, or reuseObjects in rados bench."

// stoppedByRoom is the end of a benchmark whose task ended because it may write no more, as
// it would in any other run.
func (f facts) stoppedByRoom(run int32, failed workload.Failure) (plan, bool) {
	if failed.Failure.Reason != task.FailureReason(engine.EndedEarly) || f.roomBytes == 0 || !f.boundByRoom(run, failed) {
		return plan{}, false
	}
	text := fmt.Sprintf("Task %s may write %s, which fits before an OSD may be nearfull or half of what a quota leaves is used, and had written that before its time was over. %s", failed.ID, mebibytes(f.roomBytes), writeLess)
	return fail(v1alpha1.ReasonOutOfRoom, text), true
}

// boundByRoom reports whether nothing else ends a task before its time.
func (f facts) boundByRoom(run int32, failed workload.Failure) bool {
	if failed.Background {
		return f.spec.Template.BackgroundLoad != nil && newObjects(f.spec.Template.BackgroundLoad.RadosBench)
	}
	return slices.ContainsFunc(f.spec.Template.Phases, func(p v1alpha1.Phase) bool {
		return workload.TaskID(run, p.Name) == failed.ID && newObjects(p.RadosBench)
	})
}

// full reports whether, by the last look, an OSD takes no more writes.
func (f facts) full() bool {
	return len(f.Samples) > 0 && slices.ContainsFunc(f.Samples[len(f.Samples)-1].Status.Health.Checks, func(c ceph.HealthCheck) bool {
		return c.Code == "OSD_FULL"
	})
}

// mebibytes writes bytes as Kubernetes does, in whole MiB.
func mebibytes(bytes int64) string {
	return resource.NewQuantity(bytes>>20<<20, resource.BinarySI).String()
}
