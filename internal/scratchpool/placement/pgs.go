package placement

import (
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

const paramPGNum = "pg_num"

// These figures determine the number of PGs of a scratch pool without pg_num. Ceph's target is 100 PGs per
// OSD (mon_target_pg_per_osd). pgsPerOSD is lower, because the target includes all other pools.
const (
	pgsPerOSD = 32
	// fewestPGs is Ceph's default for a pool with the autoscaler off
	// (osd_pool_default_pg_num).
	fewestPGs = 32
	// mostPGs limits the time for creating and removing a pool for each run.
	mostPGs = 256
)

// DefaultPGs returns the number of PGs for a scratch pool without pg_num. It is the smallest power of two,
// from 32 to 256, with which each OSD has at least 32 PG copies or chunks on average. It is 256 if no such
// power suffices.
func DefaultPGs(copies, osds int) int {
	pgs := fewestPGs
	for pgs < mostPGs && pgs*copies < pgsPerOSD*osds {
		pgs *= 2
	}
	return pgs
}

// Sized returns a copy of a scratch pool in which each Ceph pool has a pg_num. A default depends at most on
// the pool's size and on the number of OSDs of the device class, but not on other pools. So every run of a
// sweep gets the same number.
func Sized(spec v1alpha1.ScratchPool, osds []ceph.OSD) v1alpha1.ScratchPool {
	sized := *spec.DeepCopy()
	count := 0
	for _, osd := range osds {
		if spec.DeviceClass == "" || osd.DeviceClass == spec.DeviceClass {
			count++
		}
	}
	switch ec, replicated := sized.ErasureCoded, sized.Replicated; {
	case ec != nil:
		sized.Parameters = withPGs(sized.Parameters, DefaultPGs(int(ec.DataChunks+ec.CodingChunks), count))
		ec.Metadata.Parameters = withPGs(ec.Metadata.Parameters, fewestPGs) // The metadata pool contains little data.
	case replicated != nil:
		sized.Parameters = withPGs(sized.Parameters, DefaultPGs(int(replicated.Size), count))
	}
	return sized
}

func withPGs(params map[string]v1alpha1.ParameterValue, pgs int) map[string]v1alpha1.ParameterValue {
	if params == nil {
		params = map[string]v1alpha1.ParameterValue{}
	}
	if asked := params[paramPGNum]; asked == "" || asked == v1alpha1.Unset {
		params[paramPGNum] = v1alpha1.ParameterValue(strconv.Itoa(pgs))
	}
	return params
}

// Pools returns the Ceph pools of a target's scratch pool with their names and sizes, and with their
// numbers of PGs if the spec has them.
func Pools(target int, spec v1alpha1.ScratchPool) []ceph.Pool {
	var pools []ceph.Pool
	for _, p := range settings.CephPools(target, spec) {
		pgs, err := strconv.Atoi(string(p.Parameters[paramPGNum]))
		if err != nil {
			pgs = 0 // pg_num is missing, or is not a number, which Ceph refuses with a clear error.
		}
		pools = append(pools, ceph.Pool{Name: p.Name, Size: p.Size, PGNum: pgs})
	}
	return pools
}

// PGReplicas returns the number of PGs that a pool from [Sized] adds to the cluster. Each PG
// counts once for each of its OSDs.
func PGReplicas(sized v1alpha1.ScratchPool) int {
	replicas := 0
	for _, pool := range Pools(0, sized) {
		replicas += pool.PGNum * pool.Size
	}
	return replicas
}
