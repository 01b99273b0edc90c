package outage

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
)

func TestUnavailable(t *testing.T) {
	m := func(down ...int) *ceph.OSDMap {
		m := osds(down...)
		m.OSDs = append(m.OSDs, ceph.OSDState{ID: 3, Up: true})
		m.Pools = []ceph.Pool{
			{ID: 1, Name: "three", Size: 3, MinSize: 2},
			{ID: 2, Name: "two", Size: 2, MinSize: 1},
			{ID: 3, Name: "all", Size: 2, MinSize: 2},
			{ID: 4, Name: "chunks", Type: "erasure", Size: 4, MinSize: 3, DataChunks: 2},
		}
		return m
	}
	scrubbed, moving, unknown := pg(1, 0, 1, 2), pg(1, 0, 1, 2), pg(1)
	scrubbed.State, moving.State, unknown.State = "active+clean+scrubbing+deep", "active+undersized+degraded", "unknown"
	for name, tc := range map[string]struct {
		osdMap  *ceph.OSDMap
		pgs     []ceph.PG
		without []int
		want    string // empty: they stay available
	}{
		"one of three copies": {pgs: []ceph.PG{pg(1, 1, 0, 2)}, without: []int{1}},
		"two of three copies": {
			pgs: []ceph.PG{pg(1, 1, 0, 2)}, without: []int{1, 0},
			want: "placement groups may become unavailable without osd.0, osd.1 (1 in all): 1.0 would have fewer OSDs left (1) than it needs (2, min_size of pool three)",
		},
		"two of three, the last among": {pgs: []ceph.PG{pg(1, 1, 0, 2)}, without: []int{1, 2}, want: "1.0 would have fewer OSDs left (1)"},
		"one of two copies":            {pgs: []ceph.PG{pg(2, 0, 1)}, without: []int{0}},
		"both copies":                  {pgs: []ceph.PG{pg(2, 0, 1)}, without: []int{0, 1}, want: "would have fewer OSDs left (0) than it needs (1"},
		"one where all are needed":     {pgs: []ceph.PG{pg(3, 0, 1)}, without: []int{0}, want: "would have fewer OSDs left (1) than it needs (2, min_size of pool all)"},
		"a chunk that can be spared":   {pgs: []ceph.PG{pg(4, 3, 1, 0, 2)}, without: []int{3}},
		"two chunks":                   {pgs: []ceph.PG{pg(4, 3, 1, 0, 2)}, without: []int{3, 1}, want: "would have fewer OSDs left (2) than it needs (3"},
		"one is missing already":       {pgs: []ceph.PG{pg(1, 1, 0)}, without: []int{1}, want: "would have fewer OSDs left (1)"},
		"one is down by the map":       {osdMap: m(2), pgs: []ceph.PG{pg(1, 1, 0, 2)}, without: []int{1}, want: "would have fewer OSDs left (1)"},
		"one is in no map":             {pgs: []ceph.PG{pg(1, 1, 0, 9)}, without: []int{1}, want: "would have fewer OSDs left (1)"},
		"a pool that is newer":         {pgs: []ceph.PG{pg(7, 1, 0, 2)}, without: []int{1}, want: "7.0 belongs to a pool that is not in the OSD map"},
		"a scrub":                      {pgs: []ceph.PG{scrubbed}, without: []int{1}},
		"not clean":                    {pgs: []ceph.PG{moving}, without: []int{1}, want: `is "active+undersized+degraded", not clean`},
		"not known":                    {pgs: []ceph.PG{unknown}, without: []int{1}, want: `is "unknown", not clean`},
		"no placement groups":          {without: []int{1}},
		"several":                      {pgs: []ceph.PG{pg(3, 0, 1), pg(2, 0, 1), pg(1, 0, 1, 2)}, without: []int{0, 1}, want: "(3 in all)"},
	} {
		osdMap := tc.osdMap
		if osdMap == nil {
			osdMap = m()
		}
		if got := Unavailable(osdMap, tc.pgs, tc.without); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q in it", name, got, tc.want)
		}
	}
}
