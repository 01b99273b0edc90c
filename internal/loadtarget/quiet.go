package loadtarget

import (
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/workload"
)

// freshFor is the maximum age of a sample that decides whether a run may begin.
const freshFor = 3 * clusterwatch.SampleEvery

// Obstacles returns the reasons why a run may not begin now. Its second result is false if the cluster
// cannot be judged; the only obstacle then says why.
func (t Target) Obstacles() (obstacles []quiescence.Obstacle, known bool) {
	if len(t.Samples) == 0 || t.Now.Sub(t.Samples[len(t.Samples)-1].Time) > freshFor {
		message := "Ceph has not answered for some seconds."
		if t.Err != nil {
			message = t.Err.Error()
		}
		return []quiescence.Obstacle{{Code: v1alpha1.ReasonClusterUnreachable, Message: message, Waits: true}}, false
	}
	if reason := t.Rook.Unsettled(); reason != "" {
		return []quiescence.Obstacle{{Code: v1alpha1.ReasonWaitingForQuiescence, Message: reason, Waits: true}}, false
	}
	latest := t.Samples[len(t.Samples)-1]
	found := quiescence.Check(quiescence.Facts{
		Phase: t.Rook.Phase, Status: latest.Status, PoolIO: latest.PoolIO, DF: t.df(),
		OSDMap: t.Survey.OSDMap, OSDs: t.targetOSDs(), Versions: t.Survey.Versions,
		Config: t.Survey.Config, OwnPools: t.PoolNames(), Demand: t.Demand(),
	}, t.Quiescence, t.expectedWarnings())
	return append(found, t.noRoom()...), true
}

// Disturbances returns the disturbances between start and end, except the effects of the expected outage.
func (t Target) Disturbances(start, end time.Time, expected *quiescence.Outage) []quiescence.Disturbance {
	return quiescence.Judge(quiescence.Observation{
		Start: start, End: end, Samples: clusterwatch.SamplesUntil(t.Samples, end),
		OwnPools: t.PoolNames(), OwnIOUnknown: t.Template.Target.PersistentVolumeClaim != nil, Expected: t.expectedWarnings(), Outage: expected,
	}, t.Quiescence)
}

// Demand returns the data and PGs that the benchmark adds to the cluster. It excludes the writes of loads that
// create objects until their time is over, because their amount is not known beforehand. [Target.Room] limits
// these writes.
func (t Target) Demand() quiescence.Demand {
	d := t.spread()
	if t.Exists {
		return d // These data and PGs were accounted for before the execution's first Job was created.
	}
	d.Bytes = t.Script.DatasetBytes()
	d.RawBytes = int64(float64(d.Bytes) * t.Overhead())
	switch target := t.Template.Target; {
	case target.ExistingPool != nil:
		d.Pool = t.DataPool()
	case target.ScratchPool != nil:
		for _, pool := range t.ScratchPools() {
			d.PGReplicas += placement.PGReplicas(pool)
		}
		d.PGReplicas = max(0, d.PGReplicas-t.sharedPGReplicas())
	}
	return d
}

// sharedPGReplicas returns the number of PGs of the shared pool, if the pool exists. Each PG counts once
// for each of its OSDs. The benchmark uses or replaces these PGs.
func (t Target) sharedPGReplicas() int {
	replicas := 0
	if t.Shared {
		for _, pool := range t.Pools() {
			replicas += pool.PGNum * pool.Size
		}
	}
	return replicas
}

// spread returns a demand that says only on which OSDs the data are stored.
func (t Target) spread() quiescence.Demand {
	d := quiescence.Demand{DeviceClasses: t.DeviceClasses()}
	if confined := t.Confined(); confined != nil {
		d.OnOSDs = int(confined.Count)
	}
	return d
}

// expectedWarnings returns the health warnings that the benchmark's own pool causes.
func (t Target) expectedWarnings() []quiescence.Expectation {
	var pools []ceph.Pool
	for number, pool := range workload.ScratchPools(t.all()) {
		pools = append(pools, placement.Pools(number, pool)...)
	}
	if len(pools) == 0 {
		return nil
	}
	expected := quiescence.PoolWarnings(pools, t.knownPools())
	if t.Exists { // Before the own pools exist, MANY_OBJECTS_PER_PG is about other pools.
		expected = append(expected, quiescence.Expectation{Code: "MANY_OBJECTS_PER_PG", Pools: len(pools)})
	}
	// Ceph raises this warning after a pool's creation, until Rook sets the pool's application.
	return append(expected, quiescence.Expectation{Code: "POOL_APP_NOT_ENABLED"})
}
