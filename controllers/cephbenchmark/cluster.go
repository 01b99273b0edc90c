package cephbenchmark

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/workload"
)

// freshFor is the greatest age of a sample that decides whether a run may begin.
const freshFor = 3 * clusterwatch.SampleEvery

// obstacles returns the reasons why a run may not begin at present.
func (f facts) obstacles() []quiescence.Obstacle {
	if len(f.Samples) == 0 || f.now.Sub(f.Samples[len(f.Samples)-1].Time) > freshFor {
		message := "Ceph has not answered for some seconds."
		if f.Err != nil {
			message = f.Err.Error()
		}
		return []quiescence.Obstacle{{Code: v1alpha1.ReasonClusterUnreachable, Message: message, Waits: true}}
	}
	if why := f.rook.Unsettled(); why != "" {
		return []quiescence.Obstacle{{Code: v1alpha1.ReasonWaitingForQuiescence, Message: why, Waits: true}}
	}
	latest := f.Samples[len(f.Samples)-1]
	found := quiescence.Check(quiescence.Facts{
		Phase: f.rook.Phase, Status: latest.Status, PoolIO: latest.PoolIO, DF: f.df(),
		OSDMap: f.Survey.OSDMap, OSDs: f.targetOSDs(), Versions: f.Survey.Versions,
		Config: f.Survey.Config, OwnPools: f.targetPools(), Demand: f.demand(),
	}, f.spec.Quiescence, f.expectedWarnings())
	return slices.Concat(found, f.noRoom(), f.unrested())
}

// demand returns the data and PGs that the benchmark adds to the cluster. The writes of
// time-bound phases are not known beforehand; room limits them.
func (f facts) demand() quiescence.Demand {
	d := f.spread()
	if f.job != nil || f.memory.standalone {
		return d // The pool exists already.
	}
	d.Bytes = f.script.DatasetBytes()
	d.RawBytes = int64(float64(d.Bytes) * f.overhead())
	switch target := f.spec.Template.Target; {
	case target.ExistingPool != nil:
		d.Pool = f.dataPool()
	case target.ScratchPool != nil:
		d.PGReplicas = max(0, placement.PGReplicas(*f.scratchPool())-f.sharedPGReplicas())
	}
	return d
}

// sharedPGReplicas returns the number of PG replicas of the shared pool, if it exists. The
// benchmark uses or replaces them.
func (f facts) sharedPGReplicas() int {
	replicas := 0
	if f.sharesPool() {
		for _, pool := range f.pools() {
			replicas += pool.PGNum * pool.Size
		}
	}
	return replicas
}

// spread returns the demand with its distribution over OSDs.
func (f facts) spread() quiescence.Demand {
	d := quiescence.Demand{DeviceClass: f.deviceClass()}
	if confined := f.confined(); confined != nil {
		d.OnOSDs = int(confined.Count)
	}
	return d
}

// scratchPool returns the scratch pool of the target with all PG numbers, including defaults for
// those that the spec omits; nil for another target.
func (f facts) scratchPool() *v1alpha1.ScratchPool {
	pool := f.spec.Template.Target.ScratchPool
	if pool == nil {
		return nil
	}
	sized := placement.Sized(*pool, f.Survey.OSDs)
	return &sized
}

// cephMajor returns the oldest major version of the daemons; 0 if unknown. The administrator
// chooses tools of the same version.
func (f facts) cephMajor() int {
	if f.Survey == nil {
		return 0
	}
	oldest := 0
	for version := range f.Survey.Versions.Overall {
		begin, _, _ := strings.Cut(version, ".")
		if major, err := strconv.Atoi(begin); err == nil && (oldest == 0 || major < oldest) {
			oldest = major
		}
	}
	return oldest
}

// copies returns how many OSDs have a part of each PG of the target.
func (f facts) copies() int {
	switch target := f.spec.Template.Target; {
	case target.ScratchPool != nil && target.ScratchPool.ErasureCoded != nil:
		return int(target.ScratchPool.ErasureCoded.DataChunks + target.ScratchPool.ErasureCoded.CodingChunks)
	case target.ScratchPool != nil && target.ScratchPool.Replicated != nil:
		return int(target.ScratchPool.Replicated.Size)
	}
	if pool := f.existingPool(); pool != nil {
		return pool.Size
	}
	return 1
}

// existingPool returns the existing pool that stores the data; nil for another target.
func (f facts) existingPool() *ceph.Pool {
	pools := f.pools()
	if f.spec.Template.Target.ExistingPool == nil || len(pools) == 0 {
		return nil
	}
	return &pools[len(pools)-1]
}

// dataChunks returns the number of data chunks of an erasure-coded target; 0 for a replicated
// one.
func (f facts) dataChunks() int {
	if pool := f.spec.Template.Target.ScratchPool; pool != nil && pool.ErasureCoded != nil {
		return int(pool.ErasureCoded.DataChunks)
	}
	if f.Survey == nil {
		return 0
	}
	if pool := f.existingPool(); pool != nil {
		return pool.DataChunks
	}
	return 0
}

// overhead returns how many bytes OSDs store for one byte of a client.
func (f facts) overhead() float64 { return float64(f.copies()) / float64(max(f.dataChunks(), 1)) }

func (f facts) deviceClass() string {
	if pool := f.spec.Template.Target.ScratchPool; pool != nil {
		return pool.DeviceClass
	}
	return ""
}

// expectedWarnings returns the health warnings that the benchmark's own pool causes.
func (f facts) expectedWarnings() []quiescence.Expectation {
	pool := f.spec.Template.Target.ScratchPool
	if pool == nil {
		return nil
	}
	own := placement.Pools(*pool)
	expected := quiescence.PoolWarnings(own, f.knownPools())
	if f.job != nil { // The pools exist: before that, the warning is about pools of others.
		expected = append(expected, quiescence.Expectation{Code: "MANY_OBJECTS_PER_PG", Pools: len(own)})
	}
	// Ceph shows this warning between a pool's creation and Rook's next step.
	return append(expected, quiescence.Expectation{Code: "POOL_APP_NOT_ENABLED"})
}

// knownPools returns all pools of the last OSD map; none if no map was read.
func (f facts) knownPools() []ceph.Pool {
	switch {
	case f.memory.osdMap != nil: // This map is from after the creation of the scratch pool.
		return f.memory.osdMap.Pools
	case f.Survey != nil:
		return f.Survey.OSDMap.Pools
	}
	return nil
}

// disturbances returns the disturbances in all phases of a run so far.
func (f facts) disturbances(run int32) []quiescence.Disturbance {
	var all []quiescence.Disturbance
	for _, p := range f.script.Phases {
		if id := workload.TaskID(run, p.Name); f.tasks.Has(id) {
			all = append(all, f.disturbancesOf(run, id)...)
		}
	}
	return all
}

// disturbancesOf returns the disturbances during one task; none if it has not begun.
func (f facts) disturbancesOf(run int32, id string) []quiescence.Disturbance {
	start := f.memory.noted.StartedAt[id]
	if start.IsZero() {
		start = f.tasks.StartTime(id) // After a restart of the manager, only a node's clock has the start.
	}
	if start.IsZero() {
		return nil
	}
	end, ended := f.memory.noted.EndedAt[id]
	if !ended {
		end = f.now
	}
	return quiescence.Judge(quiescence.Observation{
		Start: start, End: end, Samples: clusterwatch.SamplesUntil(f.Samples, end),
		OwnPools: f.targetPools(), Expected: f.expectedWarnings(), Outage: f.expectedOutage(run),
	}, f.spec.Quiescence)
}

// dataset returns how much each client prefills, and whether all of it may fit into the OSDs'
// caches.
func (f facts) dataset() (bytes int64, cached bool, err error) {
	free := int64(float64(f.available()) / f.overhead() * f.share())
	if f.spec.Template.InitialState == v1alpha1.InitialStateRollback {
		free /= 2 // The snapshot keeps overwritten data.
	}
	bytes, cached, err = quiescence.DatasetBytes(f.spec.Template.Dataset, int(f.spec.Template.Clients.Count), f.Survey.CacheBytes, free)
	if err != nil {
		return 0, false, fmt.Errorf("size the dataset: %w", err)
	}
	return bytes, cached, nil
}

// share returns the share of all OSDs that stores the data.
func (f facts) share() float64 {
	confined := f.confined()
	osds := quiescence.Serving(f.targetOSDs(), f.deviceClass())
	if confined == nil || len(osds) == 0 {
		return 1
	}
	return min(1, float64(confined.Count)/float64(len(osds)))
}

// targetPools returns the names of the pools that store the data.
func (f facts) targetPools() []string { return workload.Pools(f.spec.Template.Target) }

// pools returns the target pools from the OSD map.
func (f facts) pools() []ceph.Pool {
	var pools []ceph.Pool
	for _, pool := range f.knownPools() {
		if slices.Contains(f.targetPools(), pool.Name) {
			pools = append(pools, pool)
		}
	}
	return pools
}

// pgs returns the placement groups of all pools, read after the scratch pool was created.
func (f facts) pgs() []ceph.PG {
	if f.memory.pgs != nil {
		return f.memory.pgs
	}
	return f.Survey.PGs
}

// detail returns the environment with everything that its digest covers.
func (f facts) detail() quiescence.Detail {
	return quiescence.Describe(quiescence.Inputs{
		FSID: f.Survey.OSDMap.FSID, Versions: f.Survey.Versions, RookVersion: f.rook.RookVersion,
		OSDs: f.Survey.OSDs, DeviceClass: f.deviceClass(), Pools: f.pools(), Config: f.Survey.Config,
		Images: imagesOf(f.pods), Nodes: nodesOf(f.pods), ConfinedTo: f.osds(),
		Background: describeBackground(f.spec.Template.BackgroundLoad), BackgroundNodes: nodesOf(f.background.pods),
		InitialState: f.spec.Template.InitialState, OSDCaches: f.spec.Template.OSDCaches,
	})
}

// imagesOf returns the images that the clients' containers actually run, by their purpose.
func imagesOf(pods []corev1.Pod) map[string]string {
	images := map[string]string{}
	for i := range pods {
		for _, container := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			images[map[string]string{"install": "runner", "client": "tools"}[container.Name]] = container.ImageID
		}
	}
	return images
}

func nodesOf(pods []corev1.Pod) []quiescence.Node {
	var nodes []quiescence.Node
	for i := range pods {
		node := quiescence.Node{Name: pods[i].Spec.NodeName}
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
