package cephbenchmark

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
)

// stillRemoved sets the number of PGs that OSDs are removing in the last sample. A negative number
// means that OSDs were not asked.
func stillRemoved(pgs int) func(*facts) {
	return func(f *facts) {
		sample := quiescence.Sample{Time: f.now}
		if pgs >= 0 {
			sample.Strays = &ceph.Strays{OSDs: 1, PGs: pgs}
		}
		f.Samples = []quiescence.Sample{sample}
	}
}

func TestWaitForRemoval(t *testing.T) {
	since := func(run int32, ago time.Duration) func(*facts) {
		return func(f *facts) { f.memory.removal.Begin(run, f.now.Add(-ago)) }
	}
	nothingMade := func(f *facts) { f.job = nil }
	second := func(f *facts) {
		f.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunValid}}
	}
	for name, test := range map[string]struct {
		seen       facts
		waits      bool
		wantReason string
	}{
		"nothing is left":                        {seen: atWork(stillRemoved(0))},
		"PGs are left before anything is made":   {seen: atWork(nothingMade, stillRemoved(48)), waits: true, wantReason: v1alpha1.ReasonWaitingForQuiescence},
		"PGs are left before a run":              {seen: atWork(stillRemoved(48)), waits: true, wantReason: v1alpha1.ReasonWaitingForQuiescence},
		"for a while":                            {seen: atWork(stillRemoved(48), since(1, time.Minute)), waits: true, wantReason: v1alpha1.ReasonWaitingForQuiescence},
		"and no longer":                          {seen: atWork(stillRemoved(48), since(1, quiescence.RemovalWait))},
		"nor again, once the pool is made":       {seen: atWork(stillRemoved(48), since(1, 10*time.Minute))},
		"each run has its own while":             {seen: atWork(second, stillRemoved(48), since(1, 10*time.Minute)), waits: true, wantReason: v1alpha1.ReasonWaitingForQuiescence},
		"OSDs were not asked":                    {seen: atWork(stillRemoved(-1)), waits: true},
		"a run is at work":                       {seen: atWork(stillRemoved(48), withTask(task.Measuring, ""))},
		"clients have not answered":              {seen: atWork(stillRemoved(48), func(f *facts) { f.tasks = nil })},
		"a pool that is being made is no unrest": {seen: atWork(nothingMade, stillRemoved(48), func(f *facts) { f.headway.Waiting.For = forPreparation })},
		"they may be removed meanwhile":          {seen: atWork(stillRemoved(-1), func(f *facts) { f.spec.Quiescence.AllowedWarnings = []v1alpha1.HealthCode{"STRAY_PGS"} })},
	} {
		t.Run(name, func(t *testing.T) {
			got, waits := waitForRemoval(test.seen)
			if waits != test.waits || got.Outcome.Reason != test.wantReason {
				t.Errorf("it waits: %t, with the reason %q, want %t, %q", waits, got.Outcome.Reason, test.waits, test.wantReason)
			}
			if waits && got.Deadline.Within != 0 {
				t.Errorf("it fails the benchmark after %v", got.Deadline.Within)
			}
		})
	}
}

// The wait is measured per run. Neither a new pass nor another wait in between restarts it, but the
// next run does.
func TestTheWaitForRemovalIsForOneRun(t *testing.T) {
	var m memory
	pass := func(p plan, seconds int) {
		(&Reconciler{}).waitFor(pass{facts: facts{now: today().Add(time.Duration(seconds) * time.Second)}, memory: &m}, p)
	}
	removing := func(run int32) plan {
		return plan{Step: reconcile.StepWait, Detail: detail{removes: true, run: run}}
	}
	pass(removing(1), 10)
	pass(removing(1), 20)
	pass(plan{Step: reconcile.StepWait}.AtMost(time.Hour, "quiet for run 1", cleaningUp()), 30)
	pass(removing(1), 40)
	now := today().Add(time.Minute)
	if got := m.removal.Lasted(1, now); got != 50*time.Second {
		t.Errorf("it has lasted %v, want 50s", got)
	}
	if got := m.removal.Lasted(2, now); got != 0 {
		t.Errorf("of the next run it has lasted %v already", got)
	}
	pass(removing(2), 50)
	if got := m.removal.Lasted(2, now); got != 10*time.Second {
		t.Errorf("of the next run it has lasted %v, want 10s", got)
	}
}

// The list of all PGs is costly. The manager does not request it while a run measures, or if the
// benchmark allows OSDs to remove PGs.
func TestWhenOSDsAreAskedWhatTheyHold(t *testing.T) {
	for name, test := range map[string]struct {
		seen facts
		want bool
	}{
		"before anything is made": {seen: atWork(func(f *facts) { f.job = nil }), want: true},
		"before a run":            {seen: atWork(), want: true},
		"during a run":            {seen: atWork(withTask(task.Measuring, ""))},
		"after the last":          {seen: atWork(func(f *facts) { f.spec.Repetitions = 0 })},
		"at the teardown":         {seen: atWork(deleted, func(f *facts) { f.job = nil })},
		"where they may remove":   {seen: atWork(func(f *facts) { f.spec.Quiescence.AllowedWarnings = []v1alpha1.HealthCode{"STRAY_PGS"} })},
	} {
		asks := test.seen.asks()
		if got := asks.BetweenRuns && asks.Strays; got != test.want {
			t.Errorf("%s: %+v", name, asks)
		}
	}
}

// The deadline of pods includes the time for which runs may wait.
func TestTheDeadlineHasRoomForTheWaitForRemoval(t *testing.T) {
	s := scriptOf(fakeLoad{})
	deadline := func(timeout time.Duration) time.Duration {
		return s.Deadline(v1alpha1.CephBenchmarkSpec{Repetitions: 2, Quiescence: v1alpha1.Quiescence{Timeout: metav1.Duration{Duration: timeout}}})
	}
	if got, want := deadline(30*time.Minute)-deadline(0), 2*(30*time.Minute+quiescence.RemovalWait); got != want {
		t.Errorf("there are %v for two runs to wait, want %v", got, want)
	}
}
