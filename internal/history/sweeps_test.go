package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

func TestSweepsThatWouldTestADifference(t *testing.T) {
	option := func(section, mask, name, value string) ceph.ConfigEntry {
		return ceph.ConfigEntry{Section: section, Mask: mask, Name: name, Value: value}
	}
	replicated := func(pgs, size int, options map[string]string) ceph.Pool {
		return ceph.Pool{Name: "p", Type: "replicated", PGNum: pgs, Size: size, Options: options}
	}
	const command = "kubectl cephtune sweep "
	for name, c := range map[string]struct {
		before, after []ceph.ConfigEntry
		was, is       []ceph.Pool
		want          []string
	}{
		"changed": {
			before: []ceph.ConfigEntry{option("osd", "", "osd_memory_target", "4294967296")}, after: []ceph.ConfigEntry{option("osd", "", "osd_memory_target", "2147483648")},
			want: []string{command + "osd_memory_target=4294967296 --baseline osd_memory_target=2147483648 -n bench"},
		},
		"set and unset": {
			before: []ceph.ConfigEntry{option("osd", "", "osd_max_backfills", "1")}, after: []ceph.ConfigEntry{option("osd", "class:ssd", "osd_mclock_profile", "balanced")},
			want: []string{
				command + "osd_max_backfills=1 --baseline osd_max_backfills=Unset -n bench",
				command + "osd_mclock_profile=Unset --baseline osd_mclock_profile=balanced --mask class:ssd -n bench",
			},
		},
		"no option of all OSDs": {after: []ceph.ConfigEntry{
			option("osd.1", "", "osd_mclock_max_capacity_iops_ssd", "1"), option("global", "", "osd_pool_default_size", "2"), option("mon", "", "mon_max_pg_per_osd", "9"),
			option("osd", "rack:a", "osd_max_backfills", "2"), option("osd", "host:a", "debug_osd", "20"),
		}},
		"values that a shell or a list misreads": {after: []ceph.ConfigEntry{
			option("osd", "", "bluestore_rocksdb_options", "a=1,b=2"), option("osd", "", "osd_max_backfills", "$(id)"), option("osd", "host:a b", "osd_max_backfills", "2"),
		}},
		"pool": {
			was: []ceph.Pool{replicated(64, 3, map[string]string{"pg_num_min": "1"})}, is: []ceph.Pool{replicated(32, 2, map[string]string{"compression_mode": "force"})},
			want: []string{
				command + "pg_num=64 --baseline pg_num=32 -n bench", command + "redundancy=3 --baseline redundancy=2 -n bench",
				command + "compression_mode=Unset --baseline compression_mode=force -n bench",
			},
		},
		"another pool":           {was: []ceph.Pool{replicated(64, 3, nil)}, is: []ceph.Pool{{Name: "q", PGNum: 1}}},
		"a pool of another type": {was: []ceph.Pool{replicated(64, 3, nil)}, is: []ceph.Pool{{Name: "p", Type: "erasure", PGNum: 1, Size: 6, ErasureCodeProfile: "e"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := sweeps("bench", quiescence.Detail{Config: c.before, Pools: c.was}, quiescence.Detail{Config: c.after, Pools: c.is})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
