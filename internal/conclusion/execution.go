// Package conclusion turns the facts about a benchmark's execution into results. It decides whether each run is
// valid, names the reason if not, and combines the valid runs into status. The package is pure, except that a
// Gathering fetches reports from clients.
package conclusion

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/reference"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/workload"
)

// Execution has the facts from which the runs of an execution are concluded.
type Execution struct {
	Now    time.Time
	Spec   v1alpha1.CephBenchmarkSpec
	Script *workload.Script
	// Tasks has the clients' tasks, and Background has the tasks of the background load.
	Tasks, Background workload.Tasks
	Notes             workload.Notes
	clusterwatch.View
	// TargetPools has the names of the target's pools, and Pools has their settings; both are empty for a
	// claim. PGs has all placement groups.
	TargetPools []string
	Pools       []ceph.Pool
	PGs         []ceph.PG
	Detail      quiescence.Detail
	// Disturbances holds the disturbances during each task, by the task's ID.
	Disturbances map[string][]quiescence.Disturbance
	Outage       outage.State
	// Cached says that the dataset is so small that the OSDs' caches may serve many reads.
	Cached bool
	// Overhead is how many bytes OSDs store for one byte of a client. UsedBefore is how many bytes the OSDs
	// used before the execution created any data.
	Overhead   float64
	UsedBefore int64
	// PoolOSDs are the IDs of the OSDs to which the scratch pool is confined.
	PoolOSDs []int32
	// Remark has sentences for the summary about results from logs or without a signature; "" otherwise.
	Remark string
}

// Workload returns digests of the phases, and the environment. An expectation may compare with a reference,
// another benchmark. The reference's runs count only if they measured the same workload.
func (s Execution) Workload() reference.Workload {
	w := reference.Workload{Digests: map[v1alpha1.PhaseName]string{}, Environment: s.Detail}
	for _, p := range s.Script.Phases {
		w.Digests[p.Name] = phaseDigest(p.Spec, &s.Spec.Template)
	}
	return w
}

// phaseDigest returns a digest of a phase's workload: specification, number and resources of clients, dataset,
// image, claim and outage. Equal workloads have equal digests. Pools, OSDs, nodes, the background load, the
// initial state of the data and the treatment of the OSDs' caches belong to the environment instead.
func phaseDigest(spec v1alpha1.Phase, t *v1alpha1.BenchmarkTemplate) string {
	asked := struct {
		Phase     v1alpha1.Phase
		Clients   int32
		Resources v1alpha1.ClientResources
		Dataset   v1alpha1.Dataset
		Image     v1alpha1.Image
		Claim     *v1alpha1.PersistentVolumeClaimTarget
		Outage    *v1alpha1.Outage `json:"Disruption"` // The old name keeps digests equal to those of earlier versions.
	}{
		Phase: spec, Clients: t.Clients.Count, Resources: t.Clients.Resources, Dataset: t.Dataset,
		Claim: t.Target.PersistentVolumeClaim, Outage: t.Outage,
	}
	switch {
	case t.Target.ScratchPool != nil:
		asked.Image = t.Target.ScratchPool.Image
	case t.Target.ExistingPool != nil:
		asked.Image = t.Target.ExistingPool.Image
	}
	return digestOf(asked)
}

// digestOf returns a digest of the JSON form of a value.
func digestOf(spec any) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return "" // The value was decoded from JSON, so encoding cannot fail.
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// placementOf counts the placement groups of each pool on each OSD.
func placementOf(pools []ceph.Pool, pgs []ceph.PG) []archive.Placement {
	var all []archive.Placement
	for _, pool := range pools {
		shares := map[int]archive.OSDShare{}
		for _, pg := range pgs {
			if pg.PoolID != pool.ID {
				continue
			}
			for _, osd := range pg.Acting {
				share := shares[osd]
				share.ID = osd
				share.PGs++
				if osd == pg.Primary {
					share.Primaries++
				}
				shares[osd] = share
			}
		}
		if len(shares) > 0 {
			byID := func(a, b archive.OSDShare) int { return cmp.Compare(a.ID, b.ID) }
			all = append(all, archive.Placement{Pool: pool.Name, OSDs: slices.SortedFunc(maps.Values(shares), byID)})
		}
	}
	return all
}
