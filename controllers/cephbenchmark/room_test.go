package cephbenchmark

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/workload"
)

// The room of an existing pool is limited by its own OSDs, by its copies or coding chunks, and by
// its quota.
func TestRoomOfAnExistingPool(t *testing.T) {
	const gib = 1 << 30
	existing := func(pool ceph.Pool) facts {
		return atWork(func(f *facts) {
			f.job = nil
			f.spec.Template.Target = v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "p"}}
			f.Survey.OSDMap.Pools = []ceph.Pool{pool}
			f.Survey.DF = &ceph.DF{Pools: []ceph.PoolDF{{Name: "p", StoredBytes: 4 * gib, Objects: 1024}}}
			f.spec.Template.Phases = []v1alpha1.Phase{
				{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi")}},
				{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("1Mi"), ObjectSize: new(resource.MustParse("2Mi"))}},
				{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchSeq, BlockSize: resource.MustParse("64Ki")}},
			}
			f.Survey.PGs = []ceph.PG{{PoolID: 7, Acting: []int{0, 1, 2147483647}}, {PoolID: 8, Acting: []int{2}}}
			f.Survey.OSDs = []ceph.OSD{
				{ID: 0, TotalBytes: 100 * gib},
				{ID: 1, TotalBytes: 100 * gib},
				{ID: 2, TotalBytes: 100 * gib, UsedBytes: 99 * gib}, // used by another pool
			}
		})
	}
	// Two OSDs hold 170 GiB until they are nearfull. A fifth of that is kept free.
	cases := map[string]struct {
		pool ceph.Pool
		want int64 // GiB
	}{
		"two copies":         {ceph.Pool{ID: 7, Name: "p", Size: 2}, 68},
		"erasure coding":     {ceph.Pool{ID: 7, Name: "p", Size: 3, DataChunks: 2}, 90},
		"an unknown coding":  {ceph.Pool{ID: 7, Name: "p", Size: 4, ErasureCodeProfile: "x"}, 34},
		"a quota":            {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxBytes: 10 * gib}, 3},
		"a quota beyond it":  {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxBytes: 1000 * gib}, 68},
		"a quota of objects": {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxObjects: 5 * 1024}, 4},
		"a huge one":         {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxObjects: 1 << 62}, 68},
		"no PG is known":     {ceph.Pool{ID: 9, Name: "p", Size: 2}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := existing(tc.pool)
			if got := f.roomInAll(f.script); got/gib != tc.want {
				t.Errorf("room for %d GiB, want %d", got/gib, tc.want)
			}
		})
	}
}

// Several clients and a background load share the room.
func TestRoomIsShared(t *testing.T) {
	f := atWork(func(f *facts) {
		f.job = nil
		f.spec.Template.Target = v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 1}}}
		f.Survey.OSDs = []ceph.OSD{{ID: 0, TotalBytes: 1000}}
	})
	f.script = scriptOf(3, fakeLoad{})
	f.script.Background = &workload.Background{Load: fakeLoad{}}
	if got := f.room(f.script); got != 170 {
		t.Errorf("each may write %d bytes, want 170", got)
	}
	f.spec.Template.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{}}
	if got := f.room(f.script); got != 0 {
		t.Errorf("room of a claim is %d, want 0, since nobody knows", got)
	}
}
