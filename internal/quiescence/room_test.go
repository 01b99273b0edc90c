package quiescence

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func TestRawRoom(t *testing.T) {
	three := func(used ...int64) []ceph.OSD {
		var osds []ceph.OSD
		for id, u := range used {
			osds = append(osds, ceph.OSD{ID: id, DeviceClass: "ssd", TotalBytes: 100 * gib, UsedBytes: u * gib})
		}
		return osds
	}
	cases := map[string]struct {
		osds   []ceph.OSD
		demand Demand
		ratio  float64
		want   int64 // GiB
	}{
		// The room ends when one OSD reaches 85 GiB, assuming that it gets a quarter more than its
		// share.
		"empty OSDs":                 {osds: three(0, 0, 0), want: 204},
		"the fullest OSD decides":    {osds: three(0, 35, 60), want: 60},
		"a nearfull OSD":             {osds: three(0, 0, 85), want: 0},
		"an OSD beyond that":         {osds: three(0, 0, 99), want: 0},
		"another ratio":              {osds: three(0, 0, 0), ratio: 0.5, want: 120},
		"a larger OSD gets more":     {osds: append(three(35, 35), ceph.OSD{ID: 2, DeviceClass: "ssd", TotalBytes: 200 * gib}), want: 160},
		"OSDs of another class":      {osds: append(three(35, 35), ceph.OSD{ID: 2, DeviceClass: "hdd", TotalBytes: 1000 * gib}), demand: Demand{DeviceClasses: []string{"ssd"}}, want: 80},
		"two classes":                {osds: append(three(35, 35), ceph.OSD{ID: 2, DeviceClass: "hdd", TotalBytes: 50 * gib}), demand: Demand{DeviceClasses: []string{"ssd", "hdd"}}, want: 34},
		"an OSD that is out":         {osds: append(three(35, 35), ceph.OSD{ID: 2, DeviceClass: "ssd"}), want: 80},
		"confined to two, of any":    {osds: three(0, 35, 60), demand: Demand{OnOSDs: 2}, want: 40},
		"no OSD that could store it": {osds: three(0), demand: Demand{DeviceClasses: []string{"nvme"}}, want: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := RawRoom(tc.osds, &ceph.OSDMap{NearFullRatio: tc.ratio}, tc.demand); got/gib != tc.want {
				t.Errorf("room for %d GiB, want %d", got/gib, tc.want)
			}
		})
	}
}

func TestOutOfRoom(t *testing.T) {
	check := func(code, severity string) ceph.HealthCheck {
		return ceph.HealthCheck{Code: code, Severity: severity, Summary: "1 of them"}
	}
	muted := func(c ceph.HealthCheck) ceph.HealthCheck {
		c.Muted = true
		return c
	}
	cases := map[string]struct {
		checks  []ceph.HealthCheck
		allowed []v1alpha1.HealthCode
		want    string // a part of it; "" if there is enough room
	}{
		"healthy":                    {},
		"another warning":            {checks: []ceph.HealthCheck{check("SLOW_OPS", "HEALTH_WARN")}},
		"nearfull":                   {checks: []ceph.HealthCheck{check("OSD_NEARFULL", "HEALTH_WARN")}, want: "OSD_NEARFULL (1 of them)"},
		"nearfull, which is allowed": {checks: []ceph.HealthCheck{check("OSD_NEARFULL", "HEALTH_WARN")}, allowed: []v1alpha1.HealthCode{"OSD_NEARFULL"}},
		"nearfull, which is muted":   {checks: []ceph.HealthCheck{muted(check("OSD_NEARFULL", "HEALTH_WARN"))}},
		"full, which is muted":       {checks: []ceph.HealthCheck{muted(check("OSD_FULL", "HEALTH_ERR"))}, want: "OSD_FULL"},
		"too full for backfill, which cannot be allowed": {
			checks: []ceph.HealthCheck{check("OSD_BACKFILLFULL", "HEALTH_WARN")}, allowed: []v1alpha1.HealthCode{"OSD_BACKFILLFULL", "OSD_NEARFULL"}, want: "OSD_BACKFILLFULL",
		},
		"full":                          {checks: []ceph.HealthCheck{check("OSD_FULL", "HEALTH_ERR")}, want: "OSD_FULL"},
		"full, which cannot be allowed": {checks: []ceph.HealthCheck{check("OSD_FULL", "HEALTH_ERR")}, allowed: []v1alpha1.HealthCode{"OSD_FULL"}, want: "OSD_FULL"},
		"a pool at its quota":           {checks: []ceph.HealthCheck{check("POOL_FULL", "HEALTH_WARN")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := OutOfRoom(&ceph.Status{Health: ceph.Health{Checks: tc.checks}}, v1alpha1.Quiescence{AllowedWarnings: tc.allowed})
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
