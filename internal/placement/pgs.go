package placement

import (
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

const paramPGNum = "pg_num"

// The numbers of PGs of a scratch pool that names none. Ceph aims at 100 for each OSD, of all
// pools together (mon_target_pg_per_osd), and other pools exist.
const (
	pgsPerOSD = 32
	// fewestPGs is what Ceph makes a pool with whose autoscaler is off
	// (osd_pool_default_pg_num).
	fewestPGs = 32
	// mostPGs bounds how long a pool takes to be made and removed, for each run.
	mostPGs = 256
)

// DefaultPGs is how many PGs a scratch pool is made with that names no number: the least
// power of two that gives each of its OSDs 32, with its copies or chunks, but no fewer than
// 32 and no more than 256.
func DefaultPGs(copies, osds int) int {
	pgs := fewestPGs
	for pgs < mostPGs && pgs*copies < pgsPerOSD*osds {
		pgs *= 2
	}
	return pgs
}

// Sized is a scratch pool with the numbers of PGs that it does not name, for the OSDs that
// there are. They depend on no other pool, so that every run of a sweep gets the same.
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
		ec.Metadata.Parameters = withPGs(ec.Metadata.Parameters, fewestPGs) // Little is in it.
	case replicated != nil:
		sized.Parameters = withPGs(sized.Parameters, DefaultPGs(int(replicated.Size), count))
	}
	return sized
}

func withPGs(params map[string]v1alpha1.ParameterValue, pgs int) map[string]v1alpha1.ParameterValue {
	if params == nil {
		params = map[string]v1alpha1.ParameterValue{}
	}
	if params[paramPGNum] == "" {
		params[paramPGNum] = v1alpha1.ParameterValue(strconv.Itoa(pgs))
	}
	return params
}

// Pools are the pools of Ceph that a scratch pool consists of, with their names, sizes and,
// where the spec has them, numbers of PGs.
func Pools(spec v1alpha1.ScratchPool) []ceph.Pool {
	pool := func(name string, size int, params map[string]v1alpha1.ParameterValue) ceph.Pool {
		pgs, err := strconv.Atoi(string(params[paramPGNum]))
		if err != nil {
			pgs = 0 // Ceph refuses it, and says so.
		}
		return ceph.Pool{Name: name, Size: size, PGNum: pgs}
	}
	switch ec, replicated := spec.ErasureCoded, spec.Replicated; {
	case ec != nil:
		return []ceph.Pool{
			pool(settings.ScratchPool, int(ec.Metadata.Size), ec.Metadata.Parameters),
			pool(settings.ScratchDataPool, int(ec.DataChunks+ec.CodingChunks), spec.Parameters),
		}
	case replicated != nil:
		return []ceph.Pool{pool(settings.ScratchPool, int(replicated.Size), spec.Parameters)}
	}
	return nil
}

// PGReplicas are the PGs that a pool as [Sized] returns it adds to the cluster, each
// counted once for each OSD that it is on.
func PGReplicas(sized v1alpha1.ScratchPool) int {
	replicas := 0
	for _, pool := range Pools(sized) {
		replicas += pool.PGNum * pool.Size
	}
	return replicas
}
