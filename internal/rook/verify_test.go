package rook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func TestVerifyPools(t *testing.T) {
	pool := func(change func(*ceph.Pool)) ceph.Pool {
		p := ceph.Pool{
			Name: "cephtune-scratch", Type: "replicated", Size: 3, AutoscaleMode: "off",
			PGNum: 32, PGNumTarget: 32, PGNumPending: 32, PGPlacementNum: 32, PGPlacementTarget: 32,
			Flags: []string{"bulk", "hashpspool", "noscrub", "selfmanaged_snaps"},
			Options: map[string]string{
				"compression_mode": "aggressive", "compression_min_blob_size": "8192", "compression_required_ratio": "0.87500000000000001",
				"target_size_bytes": "1073741824", "target_max_objects": "5000",
			},
		}
		change(&p)
		return p
	}
	plain := func(*ceph.Pool) {}
	copies := func(params map[string]v1alpha1.ParameterValue) v1alpha1.ScratchPool {
		return v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Parameters: params}
	}
	data := pool(func(p *ceph.Pool) {
		p.Name, p.Type, p.Size, p.Flags = "cephtune-scratch-data", "erasure", 6, []string{"ec_optimizations", "ec_overwrites"}
	})
	cases := map[string]struct {
		want  v1alpha1.ScratchPool
		pools []ceph.Pool
		diffs []string
	}{
		"no pool": {want: copies(nil), diffs: []string{"Ceph has no pool cephtune-scratch"}},
		"values in Ceph's own form": {
			want: copies(map[string]v1alpha1.ParameterValue{
				"pg_num": "32", "compression_mode": "aggressive", "compression_min_blob_size": "8K", "compression_required_ratio": "0.875",
				"target_size_bytes": "1Gi", "target_max_objects": "5k", "bulk": "true", "noscrub": "1", "nodeep-scrub": "false", "nodelete": "0",
				"compression_max_blob_size": "0", "csum_type": "unset",
			}),
			pools: []ceph.Pool{pool(func(p *ceph.Pool) { p.Name = "cephtune-scratch-data" }), pool(plain)},
		},
		"values that are others, and values that are not there": {
			want: copies(map[string]v1alpha1.ParameterValue{
				"compression_mode": "force", "compression_min_blob_size": "16K", "nodelete": "true", "hit_set_period": "10", "noscrub": "0",
			}),
			pools: []ceph.Pool{pool(plain)},
			diffs: []string{
				"pool cephtune-scratch has compression_min_blob_size 8192, not 16K",
				"pool cephtune-scratch has compression_mode aggressive, not force",
				"pool cephtune-scratch does not have hit_set_period set, which should be 10: Ceph refused it, or does not show it",
				"pool cephtune-scratch does not have nodelete set, which should be true: Ceph refused it, or does not show it",
				"pool cephtune-scratch has noscrub true, not 0",
			},
		},
		"flags that are called otherwise when they are set": {
			want: v1alpha1.ScratchPool{
				ErasureCoded: &v1alpha1.ErasureCodedPool{DataChunks: 4, CodingChunks: 2},
				Parameters:   map[string]v1alpha1.ParameterValue{"allow_ec_overwrites": "true", "allow_ec_optimizations": "true"},
			},
			pools: []ceph.Pool{pool(plain), data},
		},
		"a number of PGs that was refused, and the autoscaler on": {
			want:  copies(map[string]v1alpha1.ParameterValue{"pg_num": "512"}),
			pools: []ceph.Pool{pool(func(p *ceph.Pool) { p.AutoscaleMode = "on" })},
			diffs: []string{"pool cephtune-scratch has pg_autoscale_mode on, not off", "pool cephtune-scratch has pg_num 32, not 512"},
		},
		"a number of PGs on its way": {
			want:  copies(map[string]v1alpha1.ParameterValue{"pg_num": "32"}),
			pools: []ceph.Pool{pool(func(p *ceph.Pool) { p.PGPlacementNum = 16 })},
			diffs: []string{"pool cephtune-scratch is changing its number of PGs: pg_num is 32 of 32, pgp_num 16 of 32"},
		},
		"chunks": {want: erasureCoded, pools: []ceph.Pool{pool(plain), data}},
		"chunks instead of copies, and too few": {
			want:  erasureCoded,
			pools: []ceph.Pool{pool(func(p *ceph.Pool) { p.Type, p.Size = "erasure", 2 }), data},
			diffs: []string{"pool cephtune-scratch is erasure, not replicated", "pool cephtune-scratch has size 2, not 3"},
		},
		"metadata without data": {want: erasureCoded, pools: []ceph.Pool{pool(plain)}, diffs: []string{"Ceph has no pool cephtune-scratch-data"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.diffs, VerifyPools([]v1alpha1.ScratchPool{tc.want}, tc.pools)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSameValue(t *testing.T) {
	cases := map[string]struct {
		want, got string
		same      bool
	}{
		"the same":                     {"lz4", "lz4", true},
		"another case":                 {"LZ4", "lz4", true},
		"another word":                 {"lz4", "snappy", false},
		"true":                         {"1", "true", true},
		"not true":                     {"1", "false", false},
		"a number that is no truth":    {"2", "true", false},
		"one and a float":              {"1", "1.000000", true},
		"1024s":                        {"1M", "1048576", true},
		"thousands":                    {"1M", "1000000", true},
		"1024s with i and B":           {"64KiB", "65536", true},
		"an i is never thousands":      {"1Ki", "1000", false},
		"single precision":             {"0.1", "0.10000000149011612", true},
		"nearly":                       {"0.1", "0.1001", false},
		"a unit alone":                 {"K", "1024", false},
		"no number":                    {"nan", "0", false},
		"something instead of nothing": {"", "1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameValue(tc.want, tc.got); got != tc.same {
				t.Errorf("%q and %q: same %t, want %t", tc.want, tc.got, got, tc.same)
			}
		})
	}
}

func TestOvertaken(t *testing.T) {
	pool := func(name string, pgs, target int, mode string) ceph.Pool {
		return ceph.Pool{
			Name: name, AutoscaleMode: mode, PGNum: pgs, PGNumTarget: target, PGNumPending: pgs, PGPlacementNum: pgs, PGPlacementTarget: target,
		}
	}
	sixteen := map[string]v1alpha1.ParameterValue{"pg_num": "16"}
	replicated := v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Parameters: sixteen}
	coded := v1alpha1.ScratchPool{Parameters: sixteen, ErasureCoded: &v1alpha1.ErasureCodedPool{DataChunks: 2, CodingChunks: 1}}
	cases := map[string]struct {
		want      v1alpha1.ScratchPool
		pools     []ceph.Pool
		overtaken bool
	}{
		"as it was wanted":          {replicated, []ceph.Pool{pool("cephtune-scratch", 16, 16, "off")}, false},
		"settled at another number": {replicated, []ceph.Pool{pool("cephtune-scratch", 32, 32, "off")}, true},
		"on its way":                {replicated, []ceph.Pool{pool("cephtune-scratch", 1, 16, "off")}, false},
		"its autoscaler is on":      {replicated, []ceph.Pool{pool("cephtune-scratch", 32, 32, "on")}, false},
		"not there":                 {replicated, nil, false},
		"the data of coded ones":    {coded, []ceph.Pool{pool("cephtune-scratch", 32, 32, "on"), pool("cephtune-scratch-data", 32, 32, "off")}, true},
		"an unrequested number":     {v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}}, []ceph.Pool{pool("cephtune-scratch", 32, 32, "off")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Overtaken([]v1alpha1.ScratchPool{tc.want}, tc.pools); got != tc.overtaken {
				t.Errorf("overtaken is %t, want %t", got, tc.overtaken)
			}
		})
	}
}
