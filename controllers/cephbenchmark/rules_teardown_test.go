package cephbenchmark

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
)

// The rules of a teardown depend on what the execution may have made. Package teardown tests the
// rules themselves.
func TestTearDownBegins(t *testing.T) {
	inCeph := func(f *facts) { f.inCeph = true }
	stopsOSDs := func(f *facts) { f.spec.Template.Outage = &v1alpha1.Outage{} }
	foreignJob := func(f *facts) { f.jobMismatch = clientjob.Mismatch("It was changed.") }
	unreadable := func(f *facts) { f.rook, f.rookErr = nil, errors.New("timed out") }
	noJob := func(f *facts) { f.job, f.pods, f.tasks = nil, nil, nil }
	for name, c := range map[string]struct {
		change []func(*facts)
		want   teardown.Part
	}{
		"OSDs may be down":                   {[]func(*facts){inCeph, stopsOSDs}, teardown.PartRestoreOSDs},
		"the spec is unknown":                {[]func(*facts){inCeph, foreignJob}, teardown.PartRestoreOSDs},
		"the Job is gone":                    {[]func(*facts){inCeph, noJob}, teardown.PartRestoreOSDs},
		"nothing can be in Ceph":             {[]func(*facts){stopsOSDs}, teardown.PartCancelClients},
		"a client measures":                  {[]func(*facts){inCeph}, teardown.PartCancelClients},
		"so it does without the CephCluster": {[]func(*facts){inCeph, unreadable}, teardown.PartCancelClients},
	} {
		change := append([]func(*facts){deleted, withTask(task.Measuring, "")}, c.change...)
		if got := decide(atWork(change...)); got.Step != stepTearDown || got.Detail.tearing.Part != c.want {
			t.Errorf("%s: %s %q, want part %q", name, got.Step, got.Detail.tearing.Part, c.want)
		}
	}
}

// On full OSDs, the tools would wait for space when they remove their data.
func TestTearDownRemembersFullOSDs(t *testing.T) {
	full := clusterwatch.View{Samples: []quiescence.Sample{{Status: &ceph.Status{Health: ceph.Health{Checks: []ceph.HealthCheck{{Code: "OSD_FULL"}}}}}}}
	var want teardown.Progress
	want.OSDsAreFull()
	seen := atWork(deleted, withTask(task.Done, ""))
	seen.memory.remember(seen)
	if reflect.DeepEqual(seen.memory.teardown, want) {
		t.Error("it was noted before OSDs were full")
	}
	seen.View = full
	seen.memory.remember(seen)
	seen.View = clusterwatch.View{}
	seen.memory.remember(seen)
	if !reflect.DeepEqual(seen.memory.teardown, want) {
		t.Errorf("%+v, want %+v", seen.memory.teardown, want)
	}
}
