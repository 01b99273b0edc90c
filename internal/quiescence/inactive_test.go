package quiescence

import (
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

func TestInactive(t *testing.T) {
	pg := func(id, state string) ceph.PG { return ceph.PG{ID: id, State: state} }
	type look struct {
		after time.Duration // since the previous sample
		pgs   []ceph.PG
	}
	down, fine := pg("1.3", "down"), pg("1.4", "active+undersized+degraded")
	for name, tc := range map[string]struct {
		looks []look
		want  string // a part of the message after the last sample, where all earlier ones have none; "" for none
	}{
		"all are active":                  {[]look{{0, []ceph.PG{fine}}, {11 * time.Second, []ceph.PG{fine}}, {11 * time.Second, []ceph.PG{fine}}}, ""},
		"one is not, for a moment":        {[]look{{0, []ceph.PG{down}}, {2 * time.Second, []ceph.PG{fine}}, {19 * time.Second, nil}}, ""},
		"one is not, for as long as ever": {[]look{{0, []ceph.PG{down}}, {10 * time.Second, []ceph.PG{down}}, {10 * time.Second, []ceph.PG{down}}}, ""},
		"one is not, for longer": {
			[]look{{0, []ceph.PG{down}}, {10 * time.Second, []ceph.PG{down, fine}}, {11 * time.Second, []ceph.PG{down}}},
			"placement groups have been inactive for more than 20s, so clients wait: 1.3 (down)",
		},
		"in one state and another": {[]look{
			{0, []ceph.PG{pg("1.3", "peering")}}, {10 * time.Second, []ceph.PG{pg("1.3", "stale+active+clean")}}, {11 * time.Second, []ceph.PG{pg("1.3", "undersized+degraded+peered")}},
		}, "1.3 (undersized+degraded+peered)"},
		"one after another": {[]look{
			{0, []ceph.PG{pg("1.3", "peering")}}, {10 * time.Second, []ceph.PG{pg("1.4", "peering")}}, {11 * time.Second, []ceph.PG{pg("1.5", "peering")}},
		}, ""},
		"again, after it was active":        {[]look{{0, []ceph.PG{down}}, {10 * time.Second, nil}, {2 * time.Second, []ceph.PG{down}}, {11 * time.Second, []ceph.PG{down}}}, ""},
		"no samples for a while":            {[]look{{0, []ceph.PG{down}}, {16 * time.Second, []ceph.PG{down}}, {10 * time.Second, []ceph.PG{down}}}, ""},
		"a manager that knows nothing yet":  {[]look{{0, []ceph.PG{pg("1.3", "unknown")}}, {11 * time.Second, []ceph.PG{pg("1.3", "unknown")}}, {11 * time.Second, []ceph.PG{pg("1.3", "unknown")}}}, ""},
		"a runner that does not tell of it": {[]look{{0, []ceph.PG{pg("1.3", "")}}, {11 * time.Second, []ceph.PG{pg("1.3", "")}}, {11 * time.Second, []ceph.PG{pg("1.3", "")}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var inactive Inactive
			moment := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			for n, look := range tc.looks {
				moment = moment.Add(look.after)
				var danger *Danger
				inactive, danger = inactive.Next(moment, look.pgs)
				want := tc.want
				if n < len(tc.looks)-1 {
					want = ""
				}
				if (danger != nil) != (want != "") || danger != nil && !strings.Contains(danger.Message, want) {
					t.Errorf("look %d: danger %+v, want %q", n+1, danger, want)
				}
			}
		})
	}
}

func TestHasInactive(t *testing.T) {
	for name, tc := range map[string]struct {
		state   string
		manager bool
		want    bool
	}{
		"peering":                   {"peering", true, true},
		"active":                    {"active+clean", true, false},
		"unknown":                   {"unknown", true, false},
		"peering, without a sample": {"peering", false, false},
	} {
		if got := HasInactive(&ceph.Status{ManagerActive: tc.manager, PGsByState: map[string]int{tc.state: 1}}); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
