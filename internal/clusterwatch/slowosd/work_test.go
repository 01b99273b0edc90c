package slowosd

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
)

func TestTypical(t *testing.T) {
	look := func(seconds int, osds ...ceph.OSDIO) Look {
		return Look{Time: start.Add(time.Duration(seconds) * time.Second), OSDs: osds}
	}
	writes := func(id int, operations float64) ceph.OSDIO {
		return ceph.OSDIO{ID: id, WriteOperationsPerSecond: operations, WriteBytesPerSecond: 4096 * operations}
	}
	for name, tc := range map[string]struct {
		looks []Look
		want  []ceph.OSDIO
	}{
		"no samples":              {nil, nil},
		"unreported work":         {[]Look{look(15), look(25)}, nil},
		"one look":                {[]Look{look(15, writes(1, 30), writes(0, 20))}, []ceph.OSDIO{writes(0, 20), writes(1, 30)}},
		"the median of several":   {[]Look{look(12, writes(0, 20)), look(20, writes(0, 900)), look(28, writes(0, 30))}, []ceph.OSDIO{writes(0, 30)}},
		"samples without the OSD": {[]Look{look(12, writes(0, 20)), look(20), look(28, writes(0, 30))}, []ceph.OSDIO{writes(0, 25)}},
		"0 is no answer of a busy OSD": {
			[]Look{look(12, writes(0, 20)), look(20, writes(0, 0)), look(28, writes(0, 0))}, []ceph.OSDIO{writes(0, 20)},
		},
		"0 is one of an idle OSD": {[]Look{look(12, writes(0, 0)), look(20, writes(0, 0))}, []ceph.OSDIO{writes(0, 0)}},
		"each figure has its median": {
			[]Look{look(12, ceph.OSDIO{ReadOperationsPerSecond: 1, ReadBytesPerSecond: 8}), look(20, ceph.OSDIO{ReadOperationsPerSecond: 5, ReadBytesPerSecond: 4, WriteOperationsPerSecond: 2})},
			[]ceph.OSDIO{{ReadOperationsPerSecond: 3, ReadBytesPerSecond: 6, WriteOperationsPerSecond: 1}},
		},
		"looks that are about the time before, or after": {
			[]Look{look(9, writes(0, 1)), look(10, writes(0, 20)), look(30, writes(0, 20)), look(31, writes(0, 1))}, []ceph.OSDIO{writes(0, 20)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.looks)
			for range 5 { // whatever the order of maps
				if diff := cmp.Diff(tc.want, Typical(tc.looks, start, start.Add(30*time.Second))); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
			if fmt.Sprint(tc.looks) != before {
				t.Error("its argument was changed")
			}
		})
	}
}
