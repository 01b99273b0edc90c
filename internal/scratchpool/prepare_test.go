package scratchpool

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Ceph calls the placement groups of a new pool clean until it learns that they are not.
func TestPoolIsCleanOnceItHasSettled(t *testing.T) {
	begin := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	clean := &ceph.Status{PGs: 8, PGsByState: map[string]int{"active+clean": 8}}
	unclean := &ceph.Status{PGs: 8, PGsByState: map[string]int{"active+clean": 7, "peering": 1}}
	for name, c := range map[string]struct {
		looks []*ceph.Status // one a second
		used  bool
		want  bool
	}{
		"clean for a moment":              {looks: []*ceph.Status{clean, clean}},
		"clean for long enough":           {looks: []*ceph.Status{clean, clean, clean, clean}, want: true},
		"unclean meanwhile":               {looks: []*ceph.Status{clean, clean, unclean, clean, clean}},
		"unclean at first":                {looks: []*ceph.Status{unclean, clean, clean, clean, clean}, want: true},
		"unclean at last":                 {looks: []*ceph.Status{clean, clean, clean, clean, unclean}},
		"a pool that others have used":    {looks: []*ceph.Status{clean}, used: true, want: true},
		"such a pool while it is unclean": {looks: []*ceph.Status{unclean}, used: true},
	} {
		p, got := &Preparation{}, false
		for second, status := range c.looks {
			got = p.isClean(status, c.used, 3*time.Second, begin.Add(time.Duration(second)*time.Second))
		}
		if got != c.want {
			t.Errorf("%s: clean: %t, want %t", name, got, c.want)
		}
	}
}
