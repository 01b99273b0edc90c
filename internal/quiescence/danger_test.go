package quiescence

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
)

func TestDangerDuringRestart(t *testing.T) {
	healthy := ceph.Status{Health: ceph.Health{Status: "HEALTH_OK"}, OSDs: 4, InOSDs: 3, UpOSDs: 3}
	warned := func(check ceph.HealthCheck) ceph.Status {
		s := healthy
		s.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{check}}
		return s
	}
	down := healthy
	down.UpOSDs = 2
	failing := warned(ceph.HealthCheck{Code: "PG_DAMAGED", Severity: "HEALTH_ERR", Summary: "1 pg inconsistent"})
	failing.Health.Status = "HEALTH_ERR"
	cases := map[string]struct {
		status     ceph.Status
		want       string // a part of the message; "" for none
		wantAtOnce bool
	}{
		"one that is healthy, with an OSD that is out": {status: healthy},
		"errors":              {status: failing, want: "PG_DAMAGED", wantAtOnce: true},
		"an OSD that is down": {status: down, want: "1 of 3 OSDs"},
		"an OSD that is down, hidden by one that is up but out": {
			status: warned(ceph.HealthCheck{Code: "OSD_DOWN", Severity: "HEALTH_WARN", Count: 1}), want: "1 of 3 OSDs",
		},
		"OSDs that fill up": {status: warned(ceph.HealthCheck{Code: "OSD_NEARFULL", Severity: "HEALTH_WARN", Summary: "1 nearfull osd(s)"}), want: "OSD_NEARFULL"},
		"muted":             {status: warned(ceph.HealthCheck{Code: "OSD_NEARFULL", Severity: "HEALTH_WARN", Muted: true})},
		"a muted error":     {status: warned(ceph.HealthCheck{Code: "OSD_FULL", Severity: "HEALTH_ERR", Summary: "1 full osd(s)", Muted: true}), want: "OSD_FULL"},
		"another warning":   {status: warned(ceph.HealthCheck{Code: "SLOW_OPS", Severity: "HEALTH_WARN"})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := DangerDuringRestart(&tc.status, 0)
			if (got != nil) != (tc.want != "") {
				t.Fatalf("danger %+v, want %q", got, tc.want)
			}
			if got != nil && (!strings.Contains(got.Message, tc.want) || got.AtOnce != tc.wantAtOnce) {
				t.Errorf("danger %+v, want %q, at once %t", got, tc.want, tc.wantAtOnce)
			}
		})
	}
}
