package cephbenchmark

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/rook"
)

func TestNeverHeld(t *testing.T) {
	at := func(minutes int) time.Time { return today().Add(time.Duration(minutes) * time.Minute) }
	other := func(since, renewed int) lock.Grant {
		return lock.Grant{Holder: "CephBenchmark/far/away/1", Since: at(since), Expires: at(renewed).Add(lock.Duration)}
	}
	for name, tc := range map[string]struct {
		lease lock.Grant
		want  bool
	}{
		"it was never taken":                     {lease: lock.Grant{}, want: true},
		"given back before the session began":    {lease: lock.Grant{Expires: at(-1).Add(lock.Duration)}, want: true},
		"given back since":                       {lease: lock.Grant{Expires: at(1).Add(lock.Duration)}},
		"another has had it all the time":        {lease: other(-1, 5), want: true},
		"another had it and stopped renewing it": {lease: other(-9, -5), want: true},
		"another has taken it since":             {lease: other(1, 5)},
	} {
		if got := neverHeld(tc.lease, today()); got != tc.want {
			t.Errorf("%s: certain %t, want %t", name, got, tc.want)
		}
	}
}

// A CephCluster whose status has lost its FSID does not end a teardown that may have to bring OSDs up.
func TestTearDownWaitsForTheFSID(t *testing.T) {
	waits, err := (&Reconciler{}).restoreOwnOSDs(t.Context(), facts{rook: &rook.ClusterInfo{}})
	if err != nil || waits.IsDone() {
		t.Errorf("waits %q, %v; want it to wait", waits, err)
	}
}

// The pools to look into at the end depend on what is known about the session.
func TestPoolsToLookInto(t *testing.T) {
	noJob := func(f *facts) { f.job = nil }
	open := func(f *facts) { f.cluster.ExistingPools = []string{"open", "more"} }
	for name, tc := range map[string]struct {
		seen facts
		want int
	}{
		"the Job has the reason":             {seen: atWork(open)},
		"no Job was seen":                    {seen: atWork(open, noJob), want: 2},
		"the Job is gone":                    {seen: atWork(open, noJob, func(f *facts) { f.memory.madeJob, f.memory.fromBeginning = "1", true }), want: 2},
		"there never was one":                {seen: atWork(open, noJob, func(f *facts) { f.memory.fromBeginning = true })},
		"it was removed, after all the rest": {seen: atWork(open, noJob, func(f *facts) { f.memory.madeJob, f.memory.teardown.JobRemoved = "1", true })},
	} {
		if got := tc.seen.poolsThatStay(); len(got) != tc.want {
			t.Errorf("%s: %v, want %d", name, got, tc.want)
		}
	}
}
