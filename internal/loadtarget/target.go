// Package loadtarget describes the target of a benchmark in its Ceph cluster: pools, placement groups, OSDs and
// room for data. It also judges whether the cluster is quiescent enough for a run. The package is pure: it
// computes from facts that its caller has read.
package loadtarget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload"
)

// Target is the target of an execution, as far as it is known.
type Target struct {
	Template *v1alpha1.BenchmarkTemplate
	// Elsewhere has the targets that stand beside that of the template, of the same type.
	Elsewhere  []v1alpha1.Target
	Quiescence v1alpha1.Quiescence
	Now        time.Time
	Rook       *rook.ClusterInfo
	// Kubernetes is the version of the API server; "" if unknown.
	Kubernetes string
	clusterwatch.View
	// OSDMap and MadePGs were last read when the scratch pool was as specified and its PGs had settled;
	// nil before.
	OSDMap  *ceph.OSDMap
	MadePGs []ceph.PG
	// ConfinedTo are the OSDs to which the scratch pool is confined; empty for all.
	ConfinedTo []int
	// Shared says that the scratch pool also serves other runs of a sweep.
	Shared bool
	// Exists says that the clients' Job exists, and so do the pools. The execution's data and PGs were accounted for
	// before the Job was created.
	Exists bool
	Script *workload.Script
	// Pods are the pods of the clients, and BackgroundPods those of the background load.
	Pods, BackgroundPods []corev1.Pod
}

// CephMajor returns the oldest major version of the Ceph daemons; 0 if unknown.
func (t Target) CephMajor() int {
	if t.Survey == nil {
		return 0
	}
	oldest := 0
	for version := range t.Survey.Versions.Overall {
		begin, _, _ := strings.Cut(version, ".")
		if major, err := strconv.Atoi(begin); err == nil && (oldest == 0 || major < oldest) {
			oldest = major
		}
	}
	return oldest
}

// all returns the targets, by number.
func (t Target) all() []v1alpha1.Target {
	return append([]v1alpha1.Target{t.Template.Target}, t.Elsewhere...)
}

// dataPool describes the pool that stores the data of a target: one copy if it is unknown, for example for a claim.
func (t Target) dataPool(target v1alpha1.Target) settings.CephPool {
	if target.ScratchPool != nil {
		return settings.DataPool(*target.ScratchPool)
	}
	if pool := t.existingPool(); pool != nil {
		return settings.CephPool{Name: pool.Name, Size: pool.Size, DataChunks: pool.DataChunks}
	}
	return settings.CephPool{Size: 1}
}

// existingPool returns the existing pool that stores the data; nil if the target is not an existing pool,
// or the pool is unknown.
func (t Target) existingPool() *ceph.Pool {
	if t.Template.Target.ExistingPool == nil {
		return nil
	}
	return ceph.PoolNamed(t.Pools(), t.DataPool())
}

// DataChunks returns the number of data chunks of an erasure-coded target; 0 for a replicated or unknown
// pool, and for a claim.
func (t Target) DataChunks() int { return t.dataPool(t.Template.Target).DataChunks }

// Overhead returns how many bytes OSDs store for one byte of a client; 1 if unknown, for example for a claim. Of several
// targets, it is that of the one that stores the most.
func (t Target) Overhead() float64 {
	most := 0.0
	for _, target := range t.all() {
		most = max(most, t.dataPool(target).Overhead())
	}
	return most
}

// DeviceClasses returns the device classes to which the scratch pools are confined, sorted; none if a target may use all OSDs.
func (t Target) DeviceClasses() (classes []string) {
	for _, target := range t.all() {
		if target.ScratchPool == nil || target.ScratchPool.DeviceClass == "" {
			return nil
		}
		classes = append(classes, target.ScratchPool.DeviceClass)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// ScratchPools returns the scratch pools of all targets with all PG numbers, including defaults for
// those that the spec omits; nil without scratch pools.
func (t Target) ScratchPools() []v1alpha1.ScratchPool {
	all := workload.ScratchPools(t.all())
	for i, pool := range all {
		osds := t.Survey.OSDs
		if pool.CrushRoot != "" {
			osds = placement.UsableOSDs(osds, t.Survey.Tree, pool)
		}
		all[i] = placement.Sized(pool, osds)
	}
	return all
}

// Confined returns the selection of OSDs for the scratch pool; nil for all OSDs.
func (t Target) Confined() *v1alpha1.OSDSelection {
	if pool := t.Template.Target.ScratchPool; pool != nil {
		return pool.OSDSelection
	}
	return nil
}

// PoolNames returns the names of the pools of all targets. For a claim, it returns nil.
func (t Target) PoolNames() []string { return workload.Pools(t.all()) }

// Pools returns the pools of all targets, from the same OSD map as knownPools.
func (t Target) Pools() []ceph.Pool {
	var pools []ceph.Pool
	for _, pool := range t.knownPools() {
		if slices.Contains(t.PoolNames(), pool.Name) {
			pools = append(pools, pool)
		}
	}
	return pools
}

// knownPools returns all pools of the OSD map that was read while the scratch pool was prepared, or else of the
// survey; nil if no map was read.
func (t Target) knownPools() []ceph.Pool {
	switch {
	case t.OSDMap != nil: // This map was read after the creation of the scratch pool.
		return t.OSDMap.Pools
	case t.Survey != nil:
		return t.Survey.OSDMap.Pools
	}
	return nil
}

// PGs returns the placement groups of all pools, read after the scratch pool was created, or else
// those of the survey.
func (t Target) PGs() []ceph.PG {
	if t.MadePGs != nil {
		return t.MadePGs
	}
	return t.Survey.PGs
}

// Misplaced describes how the scratch pool's placement differs from the requested one; "" if it
// does not.
func (t Target) Misplaced(pgs []ceph.PG) string {
	if wrong := t.outsideClass(pgs); wrong != "" || t.Confined() == nil {
		return wrong
	}
	pools := t.Pools()
	for _, name := range t.PoolNames() {
		pool := ceph.PoolNamed(pools, name)
		if pool == nil {
			return "there is no pool " + name
		}
		osds := t.ConfinedTo
		if name == settings.ScratchPool && len(t.PoolNames()) > 1 {
			// The few metadata objects need not use all of these OSDs.
			osds = placement.Used(*pool, pgs, osds)
		}
		if wrong := placement.CheckConfined(*pool, pgs, osds); wrong != "" {
			return wrong
		}
	}
	return ""
}

// outsideClass describes the placement groups of a scratch pool on OSDs outside the requested CRUSH root or device
// class; "" without any.
func (t Target) outsideClass(pgs []ceph.PG) string {
	for number, target := range t.all() {
		if target.ScratchPool == nil || target.ScratchPool.DeviceClass == "" && target.ScratchPool.CrushRoot == "" {
			continue
		}
		pools, allowed := workload.PoolsOf(t.all(), number), t.mayUse(*target.ScratchPool)
		for _, pool := range t.Pools() {
			if wrong := placement.Outside(pool, pgs, allowed); wrong != "" && slices.Contains(pools, pool.Name) {
				return fmt.Sprintf("%s, but may use only OSDs %s", wrong, whichOSDs(*target.ScratchPool))
			}
		}
	}
	return ""
}

// mayUse returns the OSDs of a scratch pool's CRUSH root and device class.
func (t Target) mayUse(pool v1alpha1.ScratchPool) (osds []int) {
	for _, osd := range placement.UsableOSDs(t.Survey.OSDs, t.Survey.Tree, pool) {
		if pool.DeviceClass == "" || osd.DeviceClass == pool.DeviceClass {
			osds = append(osds, osd.ID)
		}
	}
	return osds
}

// whichOSDs describes the OSDs that a scratch pool may use.
func whichOSDs(pool v1alpha1.ScratchPool) string {
	var words []string
	if pool.CrushRoot != "" {
		words = append(words, "in the CRUSH root "+pool.CrushRoot)
	}
	if pool.DeviceClass != "" {
		words = append(words, "of device class "+pool.DeviceClass)
	}
	return strings.Join(words, " ")
}
