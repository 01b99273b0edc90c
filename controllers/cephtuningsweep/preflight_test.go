package cephtuningsweep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/tuning"
)

func TestSentence(t *testing.T) {
	for given, want := range map[string]string{
		"":                              "",
		"the pool is gone":              "The pool is gone.",
		"The pool is gone.":             "The pool is gone.",
		"it is gone!":                   "It is gone!",
		"pg_num of pool open is 32":     "pg_num of pool open is 32.",
		"profile=fast leaves the race":  "profile=fast leaves the race.",
		"osd.1: the value is balanced":  "osd.1: the value is balanced.",
		"3 copies of objects to create": "3 copies of objects to create.",
	} {
		if got := sentence(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func pgNumOf(pool string) []v1alpha1.Parameter {
	return []v1alpha1.Parameter{{
		Name: "pg_num", PoolOption: &v1alpha1.PoolOptionParameter{Option: "pg_num", Pool: v1alpha1.PoolName(pool), Role: v1alpha1.PoolRoleData},
	}}
}

// TestDemand checks the placement groups that a configuration adds, which count for the limit of
// PGs per OSD, and how many bytes OSDs store for each byte that clients write.
func TestDemand(t *testing.T) {
	p := &preflight{known: tuning.Known{Facts: tuning.Facts{OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{
		{Name: "open", PGNum: 32, Size: 2}, {Name: "coded", PGNum: 32, Size: 6, DataChunks: 4},
	}}}}}
	for name, c := range map[string]struct {
		target       v1alpha1.Target
		value        cephvalue.Value
		wantPGs      int
		wantOverhead float64
	}{
		"a scratch pool": {v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}}}, cephvalue.Of("64"), 192, 3},
		"an erasure-coded one": {v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{
			DataChunks: 4, CodingChunks: 2,
			Metadata: v1alpha1.MetadataPool{Size: 1},
		}}}, cephvalue.Of("64"), 416, 1.5},
		"one without a number":       {v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}}}, cephvalue.Unset(), 96, 3},
		"more PGs for a pool":        {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}, cephvalue.Of("64"), 64, 2},
		"fewer PGs for a pool":       {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}, cephvalue.Of("16"), -32, 2},
		"data in a pool that codes":  {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open", DataPool: "coded"}}, cephvalue.Of("64"), 192, 1.5},
		"a pool that is not known":   {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "other"}}, cephvalue.Of("64"), 0, 3},
		"a claim, whose pool is not": {v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{}}, cephvalue.Unset(), 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.CephTuningSweepSpec{Template: v1alpha1.BenchmarkTemplate{Target: c.target}, Parameters: pgNumOf("")}
			if got := p.addedPGs(spec, map[string]cephvalue.Value{"pg_num": c.value}); got != c.wantPGs {
				t.Errorf("%d PGs and copies are added, want %d", got, c.wantPGs)
			}
			if got := p.overhead(spec); got != c.wantOverhead {
				t.Errorf("overhead %v, want %v", got, c.wantOverhead)
			}
		})
	}
}

// The size of prefilled data is projected, if the data is in the cluster.
func TestDemandOfData(t *testing.T) {
	const mib = 1 << 20
	bench := func(mode v1alpha1.RadosBenchMode) v1alpha1.Phase {
		return v1alpha1.Phase{Name: "p", RadosBench: &v1alpha1.RadosBench{
			Mode: mode, BlockSize: resource.MustParse("4Mi"), Concurrency: 16, Duration: metav1.Duration{Duration: time.Minute},
		}}
	}
	reads := []v1alpha1.Phase{bench(v1alpha1.RadosBenchWrite), bench(v1alpha1.RadosBenchSeq)}
	p := &preflight{known: tuning.Known{Facts: tuning.Facts{OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{{Name: "open", PGNum: 32, Size: 2}}}}}}
	for name, c := range map[string]struct {
		target v1alpha1.Target
		phases []v1alpha1.Phase
		want   quiescence.Demand
	}{
		"a scratch pool": {
			v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}, DeviceClass: "ssd"}},
			reads,
			quiescence.Demand{Bytes: 200 * mib, RawBytes: 600 * mib, DeviceClasses: []string{"ssd"}}, // There is no configuration, so it adds no PGs.
		},
		"an existing pool":   {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}, reads, quiescence.Demand{Bytes: 200 * mib, RawBytes: 400 * mib, Pool: "open"}},
		"data elsewhere":     {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "meta", DataPool: "open"}}, reads, quiescence.Demand{Bytes: 200 * mib, RawBytes: 400 * mib, Pool: "open"}},
		"writes alone":       {v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}, reads[:1], quiescence.Demand{Pool: "open"}},
		"a claim, elsewhere": {v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{}}, reads, quiescence.Demand{}},
	} {
		spec := &v1alpha1.CephTuningSweepSpec{Template: v1alpha1.BenchmarkTemplate{Target: c.target, Phases: c.phases, Clients: v1alpha1.Clients{Count: 2}}}
		if diff := cmp.Diff(c.want, p.demand(spec, nil, 100*mib)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
