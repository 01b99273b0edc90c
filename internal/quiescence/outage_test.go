package quiescence

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// without returns a cluster without some of its three OSDs.
func without(osds int) func(*Sample) {
	return func(s *Sample) {
		s.Status.OSDs, s.Status.UpOSDs, s.Status.InOSDs = 3, 3-osds, 3
		s.Status.OSDsUpSince = int64(osds)
		s.Status.DegradedObjects = int64(100 * osds)
		s.Status.PGsByState = map[string]int{"active+undersized+degraded": 33}
		s.Status.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{
			{Code: "OSD_DOWN", Severity: "HEALTH_WARN"}, {Code: "OSD_FLAGS", Severity: "HEALTH_WARN"}, {Code: "PG_DEGRADED", Severity: "HEALTH_WARN"},
		}}
	}
}

func whole(s *Sample) { s.Status.OSDs, s.Status.UpOSDs, s.Status.InOSDs = 3, 3, 3 }

func both(changes ...func(*Sample)) func(*Sample) {
	return func(s *Sample) {
		for _, change := range changes {
			change(s)
		}
	}
}

// Effects of the benchmark's own outage are expected, and nothing else is.
func TestOutageExplainsItsDisturbances(t *testing.T) {
	stopped := &Outage{OSDs: 1, UpOSDs: 3, InOSDs: 3, Begin: after(9), Stop: after(10)}
	back := &Outage{OSDs: 1, UpOSDs: 3, InOSDs: 3, Begin: after(9), Stop: after(10), NoupUnset: after(40), Clean: after(50)}
	moved := &Outage{OSDs: 1, UpOSDs: 3, InOSDs: 3, Begin: after(9), Stop: after(10), Out: true}
	up := *back
	up.Up, up.Clean = after(42), time.Time{}
	inactive := both(without(1), peering)
	out := both(without(1), func(s *Sample) { s.Status.InOSDs = 2 })
	unavailable := func(s *Sample) {
		peering(s)
		s.Status.Health.Checks = append(s.Status.Health.Checks, ceph.HealthCheck{Code: "PG_AVAILABILITY", Severity: "HEALTH_WARN"})
	}
	lasting := func(n int, between ...func(*Sample)) []func(*Sample) {
		all := []func(*Sample){whole, whole, whole}
		for range n {
			all = append(all, without(1))
		}
		return append(all, between...)
	}
	for name, tc := range map[string]struct {
		observation Observation
		outage      *Outage
		want        []Kind
		// aborts reports whether one of the disturbances aborts the run.
		aborts bool
	}{
		"one OSD less":                     {observed(lasting(3)...), stopped, nil, false},
		"without an outage":                {observed(lasting(1)...), nil, []Kind{KindHealthWarning, KindOSDChange, KindRecovery}, false},
		"before it":                        {observed(without(1), whole, whole), stopped, []Kind{KindHealthWarning, KindRecovery}, false},
		"PGs that peer":                    {observed(whole, whole, whole, inactive, without(1)), stopped, nil, false},
		"PGs without progress":             {observed(lasting(4, inactive)...), stopped, []Kind{KindInactivePGs}, true},
		"another OSD":                      {observed(lasting(1, without(2))...), stopped, []Kind{KindOSDChange}, true},
		"another one, in its place":        {observed(lasting(9)...), &up, []Kind{KindOSDChange}, true},
		"an OSD that is taken for lost":    {observed(lasting(1, out)...), stopped, []Kind{KindOSDChange}, true},
		"one that is meant to be":          {observed(lasting(1, out)...), moved, nil, false},
		"PGs that peer then":               {observed(lasting(5, both(out, unavailable), out, both(out, unavailable), out)...), moved, nil, false},
		"PGs without progress then":        {observed(lasting(5, both(out, unavailable), both(out, unavailable))...), moved, []Kind{KindInactivePGs}, true},
		"HEALTH_ERR":                       {observed(lasting(1, both(without(1), failed))...), stopped, []Kind{KindHealthError}, true},
		"a warning that has nothing to do": {observed(lasting(1, both(without(1), warned("MON_DOWN", "1/3")))...), stopped, []Kind{KindHealthWarning}, false},
		"other clients":                    {observed(lasting(1, both(without(1), busy))...), stopped, []Kind{KindForeignIO}, false},
		"from the stop until it is whole":  {observed(lasting(5, whole, whole, whole)...), back, nil, false},
		"what follows long after":          {observed(lasting(5, whole, whole, whole, whole, whole, whole, whole, recovering)...), back, []Kind{KindRecovery}, false},
		"an OSD that goes after it":        {observed(lasting(5, whole, whole, whole, whole, whole, whole, whole, without(1))...), back, []Kind{KindHealthWarning, KindOSDChange, KindRecovery}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.observation
			o.Outage = tc.outage
			aborts := false
			var kinds []Kind
			for _, d := range Judge(o, v1alpha1.Quiescence{}) {
				kinds = append(kinds, d.Kind)
				aborts = aborts || d.Action == v1alpha1.DisturbanceAbort
			}
			if len(kinds) != len(tc.want) || aborts != tc.aborts {
				t.Fatalf("%v, aborts: %t; want %v, %t", kinds, aborts, tc.want, tc.aborts)
			}
			for i := range kinds {
				if kinds[i] != tc.want[i] {
					t.Errorf("%v, want %v", kinds, tc.want)
				}
			}
		})
	}
}

func TestOSDsThatAreDownOnPurposeAreNoDanger(t *testing.T) {
	status := &ceph.Status{OSDs: 3, UpOSDs: 2, InOSDs: 3, PGsByState: map[string]int{"active+undersized+degraded": 33}}
	if d := DangerDuringRestart(status, 1); d != nil {
		t.Errorf("%+v", d)
	}
	if DangerDuringRestart(status, 0) == nil {
		t.Error("an OSD that nobody has stopped is no danger")
	}
	if status.UpOSDs = 1; DangerDuringRestart(status, 1) == nil {
		t.Error("another OSD is no danger")
	}
}

// The grace begins with each event that makes placement groups peer.
func TestPeeringGrace(t *testing.T) {
	d := &Outage{Stop: start, NoupUnset: start.Add(time.Minute)}
	for seconds, want := range map[int]bool{-6: false, -4: true, 0: true, 20: true, 21: false, 54: false, 56: true, 80: true, 81: false} {
		if got := d.peers(after(seconds)); got != want {
			t.Errorf("%d s: %t, want %t", seconds, got, want)
		}
	}
}
