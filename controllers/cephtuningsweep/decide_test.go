package cephtuningsweep

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// today is the time of the facts in tests.
func today() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// atWork returns the facts of a sweep that has its plan and the lock, before its first run.
func atWork(t *testing.T, change ...func(*facts)) facts {
	t.Helper()
	s := &v1alpha1.CephTuningSweep{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "s", UID: "1", Generation: 3, Finalizers: []string{Finalizer}},
		Spec: v1alpha1.CephTuningSweepSpec{
			ClusterRef: v1alpha1.ClusterReference{Namespace: rookNamespace, Name: clusterName}, RunID: "1", Mode: v1alpha1.SweepModeRun,
			Template: v1alpha1.BenchmarkTemplate{
				Target: v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}}, Clients: v1alpha1.Clients{Count: 1},
				Phases: []v1alpha1.Phase{{Name: "write", Fio: &v1alpha1.Fio{}}},
			},
			Parameters: []v1alpha1.Parameter{{
				Name: "profile", Config: &v1alpha1.ConfigParameter{Section: "osd", Option: "osd_mclock_profile"},
				Values: []v1alpha1.ParameterValue{"high_client_ops"},
			}},
			Objective: v1alpha1.Objective{
				MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: v1alpha1.MetricIOPS}, MinimumEffect: "10%", Equivalence: "5%",
			},
			Strategy:   v1alpha1.Strategy{Blocks: v1alpha1.Blocks{Min: 3, Max: 3}, ControlInterval: 4, ConfirmationBlocks: 3},
			Confidence: "0.95",
			Quiescence: v1alpha1.Quiescence{Timeout: metav1.Duration{Duration: 30 * time.Minute}},
		},
		Status: v1alpha1.CephTuningSweepStatus{
			ObservedGeneration: 3, ObservedRunID: "1", StartTime: &metav1.Time{Time: today().Add(-time.Hour)},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue},
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRunning},
			},
			Plan: &v1alpha1.SweepPlan{
				PlannerVersion: sweep.Version, Seed: new(int64(11)),
				Baseline: []v1alpha1.BaselineValue{{Name: "profile", Value: v1alpha1.Unset}},
			},
		},
	}
	f := facts{
		now: today(), pace: DefaultPace(), sweep: s, settings: allowances(), known: true,
		memory: memory{lock: &lock.Grant{Held: true}}, rook: &rook.ClusterInfo{FSID: "f"}, locked: true, open: true,
	}
	f.cluster = f.settings.Clusters[0]
	f.observePlan()
	if f.planErr != nil {
		t.Fatal(f.planErr)
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

// with sets a condition, or replaces it.
func with(kind string, status metav1.ConditionStatus, reason string) func(*facts) {
	return func(f *facts) {
		setCondition(&f.sweep.Status, kind, status, kstatus.Outcome{Reason: reason, Message: "Because of X."})
	}
}

func idle(f *facts) {
	f.sweep.Status.Conditions, f.memory, f.locked = nil, memory{}, false
}

func fresh(f *facts) {
	idle(f)
	f.sweep.Status, f.design, f.next = v1alpha1.CephTuningSweepStatus{}, nil, sweep.Decision{}
}

func planless(f *facts) {
	f.sweep.Status.Plan, f.design, f.next = nil, nil, sweep.Decision{}
}

func deletedNow(f *facts) {
	f.sweep.DeletionTimestamp = &metav1.Time{Time: today()}
}

// working returns what a step works with.
func working(seen facts) pass {
	after := seen.memory
	return pass{facts: seen, memory: &after}
}

func suspendedNow(f *facts) { f.sweep.Spec.Suspend = true }

func anotherRun(f *facts) { f.sweep.Spec.RunID = "2" }

func planMode(f *facts) { f.sweep.Spec.Mode = v1alpha1.SweepModePlan }

func notThere(f *facts) { f.rookErr = errors.New("there is no CephCluster") }

func outside(f *facts) { f.open, f.opens = false, today().Add(time.Hour) }

func unlocked(f *facts) { f.locked, f.memory.lock = false, nil }

func journalOf(name string, there bool) func(*facts) {
	return func(f *facts) {
		f.journal = &tuning.Journal{Sweep: tuning.Sweep{Namespace: "bench", Name: name, UID: "1"}}
		f.otherIsThere = there
	}
}

func child(conditions ...string) func(*facts) {
	return func(f *facts) {
		f.child = &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		for _, kind := range conditions {
			f.child.Status.Conditions = append(f.child.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
		}
	}
}

// applied says that Ceph has the settings of the next configuration.
func applied(settled bool) func(*facts) {
	return func(f *facts) {
		f.memory.trial = trialMemory{number: f.run(), want: []tuning.Change{}, settled: settled}
	}
}

func concluded(f *facts) {
	f.next = sweep.Decision{Action: sweep.Conclude, Conclusion: &sweep.Conclusion{}}
}

// waited says that the sweep has waited for the same thing for longer than quiescence.timeout.
func waited(subject string) func(*facts) {
	return func(f *facts) {
		f.headway.Waiting = reconcile.Waiting{For: subject, Since: today().Add(-31 * time.Minute)}
	}
}

// upgrade says that Ceph or Rook has another version than in the sweep's plan.
func upgrade(change func(*rook.ClusterInfo)) func(*facts) {
	return func(f *facts) {
		f.sweep.Status.Environment = &v1alpha1.Environment{CephVersion: "18.2.7", RookVersion: "v1.17.2"}
		f.rook.RookVersion = "v1.17.2"
		change(f.rook)
	}
}

// wantMemory checks that decide has not changed the memory.
func wantMemory(t *testing.T, after, before facts) {
	t.Helper()
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(before.memory, after.memory, all); diff != "" {
		t.Errorf("decide has changed the memory (-before +after):\n%s", diff)
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		seen        []func(*facts)
		want        step
		wantThen    ending
		wantReason  string
		wantMessage string // a part of it
	}{
		"a deleted one restores": {seen: []func(*facts){deletedNow}, want: stepRestore, wantThen: endsDeleted, wantReason: v1alpha1.ReasonRestoring},
		"also one that has another run ID, fails and is suspended": {
			seen: []func(*facts){deletedNow, anotherRun, suspendedNow, with(v1alpha1.ConditionFailed, "False", "X")}, want: stepRestore, wantThen: endsDeleted,
		},
		"also one that has ended":  {seen: []func(*facts){idle, with(v1alpha1.ConditionComplete, "True", "Complete"), deletedNow}, want: stepRestore, wantThen: endsDeleted},
		"one that has ended rests": {seen: []func(*facts){idle, with(v1alpha1.ConditionComplete, "True", "Complete")}, want: reconcile.StepNone},
		"one that has failed rests, also where nothing is allowed any more": {
			seen: []func(*facts){idle, with(v1alpha1.ConditionFailed, "True", "X"), func(f *facts) { f.settings.Clusters = nil }}, want: reconcile.StepNone,
		},
		"one that has ended notes a change that asks for no run": {
			seen: []func(*facts){idle, with(v1alpha1.ConditionComplete, "True", "Complete"), suspendedNow, func(f *facts) { f.sweep.Generation++ }}, want: reconcile.StepAcknowledge,
		},
		"one that has ended begins another run": {
			seen: []func(*facts){idle, with(v1alpha1.ConditionComplete, "True", "Complete"), anotherRun}, want: reconcile.StepBegin, wantReason: v1alpha1.ReasonPreparing,
		},
		"another run waits until everything is restored": {
			seen: []func(*facts){anotherRun, with(v1alpha1.ConditionFailed, "False", "X")}, want: stepRestore, wantThen: endsReplaced, wantMessage: "before run 2 begins",
		},
		"one that fails restores first, also if it is suspended": {
			seen: []func(*facts){suspendedNow, with(v1alpha1.ConditionFailed, "False", v1alpha1.ReasonLockLost)}, want: stepRestore, wantThen: endsFailed, wantMessage: "of X",
		},
		"Ceph does not answer for too long": {
			seen: []func(*facts){func(f *facts) {
				f.headway.Note(stepApply, "", "", false, errors.New("no monitor answers"), today().Add(-31*time.Minute))
				f.headway.Note(stepApply, "", "", false, errors.New("still none"), today().Add(-time.Minute))
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable, wantMessage: "made no progress for 30m0s: still none",
		},
		"it did answer meanwhile": {
			seen: []func(*facts){func(f *facts) {
				f.headway.Note(stepApply, "", "", false, errors.New("no monitor answers"), today().Add(-31*time.Minute))
				f.headway.Note(stepApply, "", "", false, nil, today().Add(-30*time.Minute))
				f.headway.Note(stepApply, "", "", false, errors.New("again none"), today().Add(-time.Minute))
			}},
			want: stepApply,
		},
		"only the lock could be renewed": {
			seen: []func(*facts){func(f *facts) {
				f.headway.Note(stepApply, "", "", false, errors.New("no manager answers"), today().Add(-31*time.Minute))
				f.headway.Note(reconcile.StepLock, "", "", false, nil, today().Add(-30*time.Minute))
				f.headway.Note(stepApply, "", "", false, errors.New("still none"), today().Add(-time.Minute))
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable, wantMessage: "made no progress for 30m0s: still none",
		},
		"only the lock was in trouble, and is had again": {
			seen: []func(*facts){func(f *facts) {
				f.headway.Note(reconcile.StepLock, "", "", false, errors.New("no monitor answers"), today().Add(-31*time.Minute))
				f.headway.Note(reconcile.StepLock, "", "", false, nil, today().Add(-30*time.Minute))
			}},
			want: stepApply,
		},
		"Rook was upgraded": {
			seen: []func(*facts){upgrade(func(i *rook.ClusterInfo) { i.RookVersion = "v1.17.3" })},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterChanged, wantMessage: "from v1.17.2 to v1.17.3",
		},
		"Ceph begins to be upgraded": {
			seen: []func(*facts){upgrade(func(i *rook.ClusterInfo) { i.Image, i.RunningImage = "ceph:19", "ceph:18" })},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterChanged, wantMessage: "from image ceph:18 to ceph:19",
		},
		"some daemons are upgraded": {
			seen: []func(*facts){upgrade(func(i *rook.ClusterInfo) { i.CephVersions = map[string]int{"18.2.7": 3, "19.2.0": 1} })},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterChanged, wantMessage: "18.2.7 and 19.2.0",
		},
		"neither takes the verdict from a sweep that has one": {
			seen: []func(*facts){concluded, upgrade(func(i *rook.ClusterInfo) { i.RookVersion = "v1.17.3" }), func(f *facts) {
				f.headway.Note(stepApply, "", "", false, errors.New("no monitor answers"), today().Add(-31*time.Minute))
			}},
			want: stepRestore, wantThen: endsComplete,
		},
		"nothing was upgraded": {
			seen: []func(*facts){upgrade(func(i *rook.ClusterInfo) { i.CephVersions = map[string]int{"18.2.7": 4} })}, want: stepApply,
		},
		"a suspended one restores": {seen: []func(*facts){suspendedNow, child()}, want: stepRestore, wantThen: endsPaused},
		"a suspended one waits":    {seen: []func(*facts){idle, suspendedNow}, want: reconcile.StepIdle, wantReason: v1alpha1.ReasonSuspended},
		"also a new one":           {seen: []func(*facts){fresh, suspendedNow}, want: reconcile.StepIdle, wantReason: v1alpha1.ReasonSuspended},
		"a cluster that is not allowed": {
			seen: []func(*facts){fresh, func(f *facts) { f.settings.Clusters = nil }}, want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed,
		},
		"one in a namespace where benchmarks may not run stalls": {
			seen: []func(*facts){fresh, func(f *facts) { f.refused = "Not here." }}, want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "Not here.",
		},
		"a cluster that is not allowed any more": {
			seen: []func(*facts){func(f *facts) { f.settings.Clusters = nil }}, want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotAllowed,
		},
		"no identity that may tune": {
			seen: []func(*facts){fresh, func(f *facts) { f.settings.Clusters[0].Identities.Tuner = "" }}, want: reconcile.StepStall, wantMessage: "identities.tuner",
		},
		"a new one begins":            {seen: []func(*facts){fresh}, want: reconcile.StepBegin, wantReason: v1alpha1.ReasonPreparing},
		"one that is resumed goes on": {seen: []func(*facts){idle}, want: reconcile.StepBegin},
		"nothing before the finalizer": {
			seen: []func(*facts){planless, unlocked, func(f *facts) { f.sweep.Finalizers = nil }}, want: reconcile.StepProtect,
		},
		"a cluster that is not there": {seen: []func(*facts){notThere, unlocked}, want: reconcile.StepWait, wantReason: v1alpha1.ReasonClusterUnreachable, wantMessage: "no CephCluster"},
		"is not waited for endlessly": {
			seen: []func(*facts){notThere, waited("cluster")}, want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable,
		},
		"but longer if it came back meanwhile": {seen: []func(*facts){notThere, waited("plan")}, want: reconcile.StepWait},
		"only a plan needs no lock":            {seen: []func(*facts){planMode, planless, unlocked, outside, journalOf("other", true)}, want: stepPlan},
		"an unknown time zone": {
			seen: []func(*facts){func(f *facts) { f.openErr = errors.New("window.timeZone") }}, want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "timeZone",
		},
		"the window closes while something is changed": {
			seen: []func(*facts){outside, journalOf("s", false)}, want: stepRestore, wantThen: endsClosed,
		},
		"the window closes while the lock is held":  {seen: []func(*facts){outside}, want: stepRestore, wantThen: endsClosed},
		"outside of the window a run goes on":       {seen: []func(*facts){outside, child()}, want: stepWatch},
		"outside of the window one is concluded":    {seen: []func(*facts){outside, concluded}, want: stepRestore, wantThen: endsComplete},
		"outside of the window nothing begins":      {seen: []func(*facts){outside, unlocked}, want: reconcile.StepWait, wantReason: v1alpha1.ReasonWaitingForWindow, wantMessage: "2026-11-21T13:00:00Z"},
		"a sweep that has to restore gets the lock": {seen: []func(*facts){unlocked, journalOf("other", true)}, want: stepYield, wantReason: v1alpha1.ReasonQueued, wantMessage: "bench/other"},
		"also if it was taken already":              {seen: []func(*facts){journalOf("other", true)}, want: stepYield},
		"nothing without the lock":                  {seen: []func(*facts){planless, unlocked}, want: reconcile.StepLock},
		"nothing before the lock is renewed":        {seen: []func(*facts){child(), func(f *facts) { f.locked = false }}, want: reconcile.StepLock},
		"orphaned changes are restored":             {seen: []func(*facts){planless, journalOf("other", false)}, want: stepRestoreOther, wantReason: v1alpha1.ReasonRestoring, wantMessage: "bench/other"},
		"its own changes stay":                      {seen: []func(*facts){journalOf("s", false)}, want: stepApply},
		"the plan":                                  {seen: []func(*facts){planless}, want: stepPlan, wantReason: v1alpha1.ReasonPreparing},
		"a plan that did not come":                  {seen: []func(*facts){planless, waited("plan")}, want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable},
		"a cluster that did not become quiet": {
			seen: []func(*facts){planless, waited("plan"), with(v1alpha1.ConditionReady, "False", v1alpha1.ReasonWaitingForQuiescence)},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonWaitingForQuiescence, wantMessage: "of X",
		},
		"a plan that cannot be carried out": {
			seen: []func(*facts){func(f *facts) { f.sweep.Status.Plan.Refusals = []string{"No.", "Never."} }}, want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "No. Never.",
		},
		"a plan of another planner": {
			seen: []func(*facts){func(f *facts) {
				f.sweep.Status.Plan.PlannerVersion++
				f.observePlan()
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonPlannerChanged, wantMessage: "runID",
		},
		"an edited ledger": {
			seen: []func(*facts){func(f *facts) {
				f.sweep.Status.Trials = []v1alpha1.Trial{{Number: 1, State: "fast"}}
				f.observePlan()
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "status.trials",
		},
		"a verdict":                           {seen: []func(*facts){concluded}, want: stepRestore, wantThen: endsComplete},
		"a run that has ended":                {seen: []func(*facts){child(v1alpha1.ConditionComplete)}, want: stepEnter, wantMessage: "Run 1: baseline"},
		"a run that cannot begin":             {seen: []func(*facts){child(v1alpha1.ConditionStalled)}, want: stepEnter},
		"a run that has failed and cleans up": {seen: []func(*facts){child(v1alpha1.ConditionFailed, v1alpha1.ConditionReconciling)}, want: stepWatch},
		"a run that goes on":                  {seen: []func(*facts){child(v1alpha1.ConditionReconciling)}, want: stepWatch, wantReason: v1alpha1.ReasonRunning},
		"the next configuration":              {seen: []func(*facts){}, want: stepApply, wantReason: v1alpha1.ReasonSettling, wantMessage: "Run 1: baseline"},
		"the next one, after that of another run": {
			seen: []func(*facts){applied(true), func(f *facts) { f.memory.trial.number = 7 }}, want: stepApply,
		},
		"a cluster that has yet to settle": {seen: []func(*facts){applied(false)}, want: stepSettle, wantReason: v1alpha1.ReasonSettling},
		"a cluster that has settled":       {seen: []func(*facts){applied(true)}, want: stepMeasure, wantReason: v1alpha1.ReasonRunning},
		"a winner is brought back to stay": {
			seen: []func(*facts){concluded, journalOf("s", false), func(f *facts) {
				f.sweep.Spec.KeepScope = v1alpha1.ScopePool
				f.sweep.Spec.OnCompletion, f.next.Conclusion.Winner = v1alpha1.CompletionKeepBest, 1
			}},
			want: stepApply, wantMessage: "high_client_ops",
		},
		"a verdict, where nothing is allowed any more": {
			seen: []func(*facts){concluded, func(f *facts) { f.settings.Clusters = nil }}, want: stepRestore, wantThen: endsComplete,
		},
		"a verdict, and the cluster is not there": {seen: []func(*facts){concluded, notThere, waited("cluster")}, want: stepRestore, wantThen: endsComplete},
		"a verdict, and another has the lock":     {seen: []func(*facts){concluded, unlocked}, want: stepRestore, wantThen: endsComplete},
		"a winner to be kept, and the cluster is not there for too long": {
			seen: []func(*facts){concluded, notThere, waited("cluster"), func(f *facts) {
				f.sweep.Spec.KeepScope = v1alpha1.ScopePool
				f.sweep.Spec.OnCompletion, f.next.Conclusion.Winner = v1alpha1.CompletionKeepBest, 1
			}},
			want: stepGiveUpKeeping,
		},
		"a winner to be kept that is not allowed any more": {
			seen: []func(*facts){concluded, func(f *facts) {
				f.sweep.Spec.KeepScope = v1alpha1.ScopePool
				f.sweep.Spec.OnCompletion, f.next.Conclusion.Winner, f.settings.Clusters = v1alpha1.CompletionKeepBest, 1, nil
			}},
			want: stepRestore, wantThen: endsComplete,
		},
		"another Ceph cluster of the same name": {
			seen: []func(*facts){func(f *facts) {
				f.otherCeph, f.rookErr = "CephCluster c is another one", errors.New("it is another one")
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterChanged, wantMessage: "Change runID",
		},
		"a suspension that has begun is ended, though it was taken back": {
			seen: []func(*facts){func(f *facts) { f.memory.pauses = endsPaused }}, want: stepRestore, wantThen: endsPaused,
		},
		"so is the end of a window that is open again": {
			seen: []func(*facts){func(f *facts) { f.memory.pauses = endsClosed }}, want: stepRestore, wantThen: endsClosed,
		},
		"a benchmark that tears down": {
			seen: []func(*facts){child(v1alpha1.ConditionComplete, v1alpha1.ConditionReconciling), waited("plan")}, want: stepWatch,
		},
		"one that cannot": {
			seen: []func(*facts){child(v1alpha1.ConditionComplete, v1alpha1.ConditionReconciling), func(f *facts) {
				f.headway.Waiting = reconcile.Waiting{For: "the teardown of benchmark c, run 1: ", Since: today().Add(-61 * time.Minute)}
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonTearingDown, wantMessage: "No progress of the teardown of benchmark c for 1h0m0s",
		},
		"a benchmark that is suspended": {
			seen: []func(*facts){child(), waited("benchmark c, run 1: "), func(f *facts) { f.child.Spec.Suspend = true }},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "No progress of benchmark c for 30m0s",
		},
		"a session whose benchmark is suspended": {
			seen: []func(*facts){child(), waited("benchmark c, run 1: "), func(f *facts) {
				f.child.Spec.Suspend, f.child.UID = true, "c"
				f.sessions, f.next.Action = &sweepspec.Sessions{}, sweep.RunTrial
				f.memory.switching = sessionMemory{number: 1, child: "c"}
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "No progress of benchmark c for 30m0s",
		},
		"a benchmark that measures for long": {seen: []func(*facts){child(), waited("benchmark c, run 1: ")}, want: stepWatch},
		"but not for ever": {
			seen: []func(*facts){child(), func(f *facts) {
				f.headway.Waiting = reconcile.Waiting{For: "benchmark c, run 1: ", Since: today().Add(-27 * time.Hour)}
				f.sweep.Status.Plan.RunDuration = &metav1.Duration{Duration: time.Hour}
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "No progress of benchmark c for 26h0m0s",
		},
		"a winner that was kept": {
			seen: []func(*facts){concluded, journalOf("s", false), func(f *facts) {
				f.sweep.Spec.KeepScope = v1alpha1.ScopePool
				f.sweep.Spec.OnCompletion, f.next.Conclusion.Winner = v1alpha1.CompletionKeepBest, 1
				f.journal.Entries = []tuning.Entry{{State: tuning.Kept}}
			}},
			want: stepRestore, wantThen: endsComplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := atWork(t, c.seen...)
			got := decide(seen)
			wantMemory(t, seen, atWork(t, c.seen...))
			if got.Step != c.want || got.Detail.then != c.wantThen && c.wantThen != "" {
				t.Fatalf("%s, then %q (%+v); want %s, then %q", got.Step, got.Detail.then, got.Outcome, c.want, c.wantThen)
			}
			if c.wantReason != "" && got.Outcome.Reason != c.wantReason || !strings.Contains(got.Outcome.Message, c.wantMessage) {
				t.Errorf("outcome %+v, want %s: %q", got.Outcome, c.wantReason, c.wantMessage)
			}
			if waits := got.Step == reconcile.StepWait || got.Step == stepSettle || got.Step == stepWatch; waits && got.Again <= 0 {
				t.Errorf("%s is not looked at again", got.Step)
			}
		})
	}
}
