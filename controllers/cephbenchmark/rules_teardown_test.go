package cephbenchmark

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/task"
)

func TestTearDownGoesPartByPart(t *testing.T) {
	// done makes these parts complete.
	done := func(parts ...part) func(*facts) {
		return func(f *facts) {
			for _, p := range parts {
				f.memory.tornDown[p] = true
			}
		}
	}
	inCeph := func(f *facts) { f.inCeph = true }
	noJob := func(f *facts) { f.job, f.pods, f.tasks = nil, nil, nil }
	ended := func(f *facts) { f.pods[0].Status.Phase = corev1.PodSucceeded }
	existing := func(f *facts) {
		f.spec.Template.Target.ExistingPool = &v1alpha1.ExistingPool{Name: "open"}
	}
	answers := func(f *facts) { f.runners = map[int]clientview.View{0: {}} }
	orphan := func(f *facts) { f.orphans = []corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodRunning}}} }
	for name, c := range map[string]struct {
		change []func(*facts)
		want   part
	}{
		"OSDs come first":                   {[]func(*facts){inCeph, withTask(task.Measuring, "")}, partRestoreOSDs},
		"nothing can be in Ceph":            {[]func(*facts){withTask(task.Measuring, "")}, partCancelClients},
		"a client is at work":               {[]func(*facts){inCeph, done(partRestoreOSDs), withTask(task.Measuring, "")}, partCancelClients},
		"clients answer":                    {[]func(*facts){answers, withTask(task.Done, "")}, partFinish},
		"clients do not answer":             {[]func(*facts){withTask(task.Done, "")}, partSuspend},
		"a client is out of reach":          {[]func(*facts){answers, func(f *facts) { f.runners[0] = clientview.View{Err: errors.New("refused"), Since: f.now} }}, partSuspend},
		"clients have just been asked":      {[]func(*facts){answers, func(f *facts) { f.memory.finished, f.memory.finishedAt = true, f.now }}, partWait},
		"clients were asked long ago":       {[]func(*facts){answers, func(f *facts) { f.memory.finished, f.memory.finishedAt = true, f.now.Add(-time.Minute) }}, partSuspend},
		"pods of a deleted Job run":         {[]func(*facts){noJob, orphan, func(f *facts) { f.memory.orphansSince = f.now }}, partWait},
		"they are kept on purpose":          {[]func(*facts){noJob, orphan, func(f *facts) { f.memory.orphansSince = f.now.Add(-time.Hour) }}, partPrune},
		"a pool that stays":                 {[]func(*facts){inCeph, done(partRestoreOSDs), ended, existing}, partLeftovers},
		"the Job of such a pool":            {[]func(*facts){inCeph, done(partRestoreOSDs, partLeftovers), ended, existing}, partJob},
		"a scratch pool of an unknown spec": {[]func(*facts){inCeph, done(partRestoreOSDs, partLeftovers), noJob}, partPool},
		"the Job is being deleted":          {[]func(*facts){ended, func(f *facts) { f.job.DeletionTimestamp = &metav1.Time{Time: f.now} }}, partJob},
		"everything but the lock":           {[]func(*facts){inCeph, done(partRestoreOSDs, partLeftovers, partPool, partPrune), noJob}, partLock},
		"everything":                        {[]func(*facts){inCeph, done(partRestoreOSDs, partLeftovers, partPool, partPrune, partLock), noJob}, partNone},
	} {
		change := append([]func(*facts){deleted}, c.change...)
		if got := decide(atWork(change...)); got.step != stepTearDown || got.tearing.part != c.want {
			t.Errorf("%s: %s %q, want part %q", name, got.step, got.tearing.part, c.want)
		}
	}
}

// Clients that are still at work may write after something was removed.
func TestTearDownRemovesAgainWhatClientsWroteMeanwhile(t *testing.T) {
	parts := tornParts{partRestoreOSDs: true, partLeftovers: true, partPool: true, partPrune: true, partLock: true}
	parts.note(partWait, false)
	if !parts[partRestoreOSDs] || !parts[partPrune] || parts[partLeftovers] || parts[partPool] || parts[partLock] {
		t.Errorf("complete are %v, want the OSDs and the results only", parts)
	}
}

// On full OSDs, the tools would wait for space when they remove their data.
func TestFullOSDsKeepClientsFromCleaningUp(t *testing.T) {
	full := clusterwatch.View{Samples: []quiescence.Sample{{Status: &ceph.Status{Health: ceph.Health{Checks: []ceph.HealthCheck{{Code: "OSD_FULL"}}}}}}}
	seen := atWork(deleted, withTask(task.Done, ""))
	seen.memory.remember(seen)
	if seen.memory.clientCleanupFailed {
		t.Error("it failed before OSDs were full")
	}
	seen.View = full
	seen.memory.remember(seen)
	seen.View = clusterwatch.View{}
	seen.memory.remember(seen)
	if !seen.memory.clientCleanupFailed || !seen.memory.backgroundCleanupFailed {
		t.Error("the clients are asked to remove their data, though OSDs were full")
	}
}
