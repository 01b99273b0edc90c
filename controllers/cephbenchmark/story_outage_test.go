package cephbenchmark

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Stories of benchmarks with an outage. Whatever happens meanwhile, the OSDs must be up again
// before anything else of the benchmark is removed.
func outageStories() map[string]story {
	stories := map[string]story{
		"to the end":                            outageToTheEnd,
		"no identity may stop OSDs":             nobodyMayStopOSDs,
		"Ceph says that it is not ok":           notOKToStop,
		"Ceph is wrong that it is ok":           wronglyOKToStop,
		"Rook takes away OSDs":                  rookTakesAwayOSDs,
		"the data of too many others":           tooManyOthers,
		"the OSD does not come back":            theOSDDoesNotComeBack,
		"another OSD goes meanwhile":            anotherOSDGoes,
		"deleted in mid-outage":                 deletedInMidOutage,
		"suspended in mid-outage":               suspendedInMidOutage,
		"the client dies in mid-outage":         theClientDiesInMidOutage,
		"restarted in mid-outage":               restartedInMidOutage,
		"restarted, and PGs are inactive":       restartedWhilePGsAreInactive,
		"deleted while there is no Ceph":        deletedWithoutCeph,
		"left behind by one that is gone":       leftBehind,
		"orphaned, and no sweep follows":        leftBehindForGood,
		"the lock is lost in mid-outage":        theLockIsLostInMidOutage,
		"the manager is away for a time":        outageIsOrphaned,
		"twice, and not too often":              outageTwice,
		"Ceph's deadline gets shorter":          deadlineGetsShorter,
		"with a background load":                outageUnderBackgroundLoad,
		"it is unknown whether it was reported": unknownWhetherOSDWasStopped,
		"another client unsets noup too early":  somebodyUnsetsNoup,
		"orphaned only in Ceph":                 leftBehindInCeph,
		"its Lease is deleted":                  theLeaseIsDeleted,
	}
	for _, step := range tuning.Steps() {
		stories["killed at "+string(step)] = func(w *world) { w.killedInOutage(step) }
	}
	return stories
}

const outageWrite = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  outage: {phase: write, osds: [2], before: 5m, duration: 5m}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, rateIOPS: 500, ramp: 0s, duration: 15m}}
`

// reached kills the manager at a step, as a crash does: requests that it has begun are carried out,
// later ones are not.
func (w *world) reached(step tuning.Step, stop context.CancelFunc) error {
	kill := w.kill.Load()
	if kill == nil || *kill != step || !w.kill.CompareAndSwap(kill, nil) {
		return nil
	}
	stop()
	w.died <- struct{}{}
	return cephtest.ErrKilled
}

// up reports whether osd.2 is up and has no noup.
func (w *world) up() (up bool) {
	w.ceph.Change(func(a *cephtest.Answers) { up = a.OSDMap.OSDs[2].Up && len(a.OSDMap.OSDs[2].Flags) == 0 })
	return up
}

// The stories advance the clock, which also runs by itself. Even on a busy machine, a story takes
// less than this time.
const aWhile = 5 * time.Minute

// beforeOutage returns a benchmark that is measuring, before its OSD goes down.
func (w *world) beforeOutage(change ...func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.ceph.Act(func(c *cephtest.Cluster) { c.RecoveryLooks = 2 })
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", outageWrite, change...)
	w.untilTask(0, "r1-write", task.Measuring)
	return b
}

// inOutage returns a benchmark that has observed its OSD to be down.
func (w *world) inOutage(change ...func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	w.t.Helper()
	b := w.beforeOutage(change...)
	w.wait(aWhile)
	w.until(b, "without osd.2", func() bool {
		return !w.up() && b.Status.Progress != nil && strings.Contains(b.Status.Progress.Step, "osd.2 down")
	})
	return b
}

func (w *world) untilUp() {
	w.t.Helper()
	w.eventually(func() string {
		if !w.up() {
			return "the OSD is not up, or may not be"
		}
		return ""
	})
}

// wantNoJournal checks that no journal about OSDs remains.
func (w *world) wantNoJournal() {
	w.t.Helper()
	w.eventually(func() string {
		if left := w.key("cephtune/disruption"); left != "" {
			return "a journal is left in Ceph: " + left
		}
		err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cephtune-disruption-" + fsid}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			return "a journal is left in Kubernetes"
		}
		return ""
	})
}

func (w *world) stops() int { return len(w.ceph.Calls("MarkOSDsDown")) }

func outageToTheEnd(w *world) {
	b := w.inOutage(func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: v1alpha1.MetricTimeToClean, Direction: v1alpha1.DirectionTotal}, AtMost: "120s",
		}}
	})
	w.recovers(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	w.wantNoJournal()
	if states(b) != "Valid" || w.stops() != 1 || b.Status.Verdict != v1alpha1.BenchmarkPassed {
		w.t.Fatalf("%d stops, verdict %s of runs %+v", w.stops(), b.Status.Verdict, b.Status.Runs)
	}
	w.wantOutage()
	if marks := b.Status.Phases[0].Marks; len(marks) > 0 && marks[len(marks)-1] == v1alpha1.MarkNotSteady {
		w.t.Errorf("marks %v", marks)
	}
	for _, call := range w.ceph.Calls("SetNoUp") {
		if call.At.User != "stopper" {
			w.t.Errorf("%s was asked for by %s", call.Args, call.At.User)
		}
	}
}

// recovers waits until a benchmark's outage has ended and the cluster has recovered.
func (w *world) recovers(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	before := len(w.ceph.Calls("Recovered"))
	w.wait(aWhile)
	w.untilUp()
	w.until(b, "whole again", func() bool {
		w.look()
		return w.looksSince("Recovered", before)
	})
	// The query to Ceph does not show whether the reconciler has handled the answer, and status
	// shows it only after the phase. So the tool continues for a moment.
	time.Sleep(3 * time.Second)
}

// An OSD that was down in a run needs a rest before the next run. The survey from the beginning
// does not show that outage.
func outageTwice(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { // An OSD may be marked down four times in 100 min, so the phase is too short for a second time.
		a.ConfigDump = append(a.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_max_markdown_period", Value: "6000"})
	})
	w.kubelet.script("r2-", runnertest.Script{Measuring: time.Hour})
	b := w.inOutage(runs(2))
	w.recovers(b)
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "osd.2 may not be marked down again before")
	w.wait(20 * time.Minute)
	w.untilTask(0, "r2-write", task.Measuring)
	w.wait(aWhile)
	w.until(b, "without osd.2 again", func() bool { return !w.up() && strings.Contains(b.Status.Progress.Step, "osd.2 down") })
	w.recovers(b)
	w.kubelet.proceed("r2-")
	w.untilComplete(b)
	w.wantNoJournal()
	if states(b) != "Valid, Valid" || w.stops() != 2 {
		w.t.Errorf("%d stops, runs %+v", w.stops(), b.Status.Runs)
	}
	w.untilCounted(2, metrics.Outages, "Measured")
}

// The cluster's options have changed since the benchmark began.
func deadlineGetsShorter(w *world) {
	b := w.beforeOutage()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.ConfigDump = append(a.ConfigDump, ceph.ConfigEntry{Section: "mon", Name: "mon_osd_down_out_interval", Value: "300"})
	})
	w.wait(aWhile)
	w.untilFailed(b, v1alpha1.ReasonOutageRefused, "Ceph marks OSDs out that are down for 5m0s")
	if w.stops() > 0 {
		w.t.Error("it was stopped nevertheless")
	}
	w.untilCounted(1, metrics.Outages, "Refused")
}

// outageUnderBackgroundLoad has a background load with a runner of its own.
func outageUnderBackgroundLoad(w *world) {
	b := w.inOutage(func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.BackgroundLoad = &v1alpha1.BackgroundLoad{Phase: "other-users", Ramp: &metav1.Duration{}}
		b.Spec.Template.Phases = append(b.Spec.Template.Phases, v1alpha1.Phase{Name: "other-users", Fio: &v1alpha1.Fio{
			Pattern: v1alpha1.FioRandWrite, RateIOPS: new(int64(1000)),
		}})
	})
	w.recovers(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	w.wantNoJournal()
	w.wantOutage()
	run, err := archive.FromConfigMap(&w.results()[0])
	if err != nil {
		w.t.Fatal(err)
	}
	if states(b) != "Valid" || w.stops() != 1 || len(run.Phases[0].Background) == 0 {
		w.t.Errorf("runs %+v, %d stops, background %+v", b.Status.Runs, w.stops(), run.Phases[0].Background)
	}
	w.untilCounted(1, metrics.Outages, "Measured")
	w.untilCounted(1, metrics.OutageDuration, "clean")
}

// unknownWhetherOSDWasStopped loses the answer to the command that sets noup. Ceph carries the
// command out later, and it must be undone after that.
func unknownWhetherOSDWasStopped(w *world) {
	b := w.beforeOutage()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Lose = "SetNoUp" })
	w.wait(aWhile)
	w.eventually(func() string {
		w.look()
		if len(w.ceph.Calls("SetNoUp")) == 0 || w.key("cephtune/disruption") == "" {
			return "it was not asked for, or is in no journal"
		}
		return ""
	})
	time.Sleep(500 * time.Millisecond)
	w.ceph.Land()
	if w.up() {
		w.t.Error("it did not land")
	}
	w.wait(ceph.LongestChange + time.Second)
	w.untilUp()
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.wantClean()
	w.wantNoJournal()
	if w.stops() > 0 || !w.up() {
		w.t.Errorf("%d stops, and it may come up: %t", w.stops(), w.up())
	}
}

// somebodyUnsetsNoup unsets noup during the outage, which ends the outage.
func somebodyUnsetsNoup(w *world) {
	b := w.inOutage()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.OSDMap.OSDs[2].Flags = nil })
	w.ceph.BringUp(2)
	w.until(b, "Failed", func() bool {
		w.look()
		return isTrue(b, v1alpha1.ConditionFailed)
	})
	if !strings.Contains(b.Status.Runs[0].Reason, "came up before the outage was over") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
	w.wantClean()
	w.wantNoJournal()
	w.untilCounted(1, metrics.Outages, "Failed")
}

// The copy of the journal in Kubernetes was deleted together with its namespace and the Lease. The
// next holder of the lock finds the copy in Ceph. It does not know the Lease of the journal's
// epoch, and must still bring back all OSDs in the journal.
func leftBehindInCeph(w *world) {
	w.abandonInMidOutage()
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-disruption-" + fsid}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-" + fsid}},
	} {
		if err := w.Delete(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	fence := ceph.Fence{FSID: fsid, Epoch: 2e9}
	stopped := errors.Join(
		w.ceph.SetNoUp(w.t.Context(), ceph.Connection{}, fence, 1, true),
		w.ceph.MarkOSDsDown(w.t.Context(), ceph.Connection{}, fence, []int{1}),
	)
	if stopped != nil {
		w.t.Fatal(stopped)
	}
	w.ceph.Act(func(c *cephtest.Cluster) {
		j, err := tuning.Decode([]byte(c.Keys["cephtune/disruption"]))
		if err != nil {
			w.t.Error(err)
			return
		}
		j.Epoch = fence.Epoch
		other := j.Entries[0]
		other.Setting.OSD = 1
		j.Entries = append(j.Entries, other)
		text, _ := tuning.Encode(j)
		c.Keys["cephtune/disruption"] = string(text)
	})
	w.ceph.NewSidecar()
	w.ahead.Add(int64(11 * time.Minute)) // until its lock has expired
	w.theNextOneLetsItUp()
	w.ceph.Act(func(c *cephtest.Cluster) {
		if osd := c.Answers.OSDMap.OSDs[1]; !osd.Up || len(osd.Flags) > 0 {
			w.t.Errorf("osd.1 is up: %t, and has the flags %v", osd.Up, osd.Flags)
		}
	})
}

// The epochs must not start again: the sidecar would refuse to bring back an OSD.
func theLeaseIsDeleted(w *world) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-" + fsid}}
	lease.Spec.LeaseTransitions = new(int32(49))
	if err := w.Create(w.t.Context(), lease); err != nil {
		w.t.Fatal(err)
	}
	b := w.inOutage()
	if err := w.Delete(w.t.Context(), lease); err != nil {
		w.t.Fatal(err)
	}
	w.recovers(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	w.wantNoJournal()
	if states(b) != "Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// theNextOneLetsItUp starts a manager, and lets another benchmark take the lock.
func (w *world) theNextOneLetsItUp() {
	w.t.Helper()
	w.start()
	next := w.benchmark("next", oneWrite)
	w.untilReason(next, v1alpha1.ReasonRestoringOSDs, "osd.2")
	w.wait(ceph.LongestChange)
	w.untilUp()
	w.wantNoJournal()
}

// wantOutage checks that the archive of the only run contains the outage and its effects.
func (w *world) wantOutage() {
	w.t.Helper()
	run, err := archive.FromConfigMap(&w.results()[0])
	if err != nil {
		w.t.Fatal(err)
	}
	d := run.Phases[0].Outage
	if d == nil || d.StopTime == nil || d.NoupUnsetTime == nil || d.RecoveredObjects == nil || *d.RecoveredObjects == 0 {
		w.t.Fatalf("outage %+v", d)
	}
	for _, figure := range []v1alpha1.Decimal{d.SecondsToUp, d.SecondsToActive, d.SecondsToClean, d.DegradedObjectSeconds} {
		if figure == "" {
			w.t.Errorf("outage %+v", d)
		}
	}
	if d.DegradedObjectSeconds == "0" {
		w.t.Error("nothing was degraded")
	}
	if outage := d.NoupUnsetTime.Sub(d.StopTime.Time); outage < aWhile || outage > aWhile+time.Minute {
		w.t.Errorf("an outage of %v", outage)
	}
}

func nobodyMayStopOSDs(w *world) {
	w.wantStalled(w.benchmark("b", outageWrite, on("powerless")), "stopOSDs")
}

func notOKToStop(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.OKToStop = map[int]ceph.Stop{2: {Reason: "8 PGs would become offline"}} })
	b := w.beforeOutage()
	w.wait(aWhile)
	w.untilFailed(b, v1alpha1.ReasonOutageRefused, "8 PGs would become offline")
	if w.stops() > 0 || len(w.ceph.Calls("SetNoUp")) > 0 {
		w.t.Error("it was stopped nevertheless")
	}
	w.wantNoJournal()
}

// Ceph 20.2.4 says "ok to stop" although a placement group would have too few OSDs, if its last OSD
// is not among those to stop.
func wronglyOKToStop(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OKToStop = map[int]ceph.Stop{2: {OK: true, OSDs: []int{2}}}
		a.PGs = []ceph.PG{{ID: "1.0", State: "active+clean", PoolID: 1, Acting: []int{2, 0}, Primary: 2}}
		a.OSDMap.Pools = append(slices.Clip(a.OSDMap.Pools), ceph.Pool{ID: 1, Name: ".mgr", Size: 2, MinSize: 2})
	})
	b := w.beforeOutage()
	w.wait(aWhile)
	w.untilFailed(b, v1alpha1.ReasonOutageRefused, "1.0 would have fewer OSDs left (1) than it needs (2, min_size of pool .mgr)")
	if w.stops() > 0 || len(w.ceph.Calls("SetNoUp")) > 0 {
		w.t.Error("it was stopped nevertheless")
	}
	w.wantNoJournal()
}

func rookTakesAwayOSDs(w *world) {
	w.rook.set(func(f *fakeRook) { f.removesOSDs = true })
	b := w.benchmark("b", outageWrite)
	w.untilFailed(b, v1alpha1.ReasonOutageRefused, "removeOSDsIfOutAndSafeToRemove")
	if w.rook.made > 0 {
		w.t.Error("a pool was made for it")
	}
}

func tooManyOthers(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.PGs = []ceph.PG{{PoolID: 3, Acting: []int{0, 2}}} })
	b := w.benchmark("b", outageWrite)
	w.untilFailed(b, v1alpha1.ReasonOutageRefused, "(1 in all: open)", "outage.otherPools to 1")
}

func theOSDDoesNotComeBack(w *world) {
	b := w.inOutage()
	w.ceph.Act(func(c *cephtest.Cluster) { c.StayDown = map[int]bool{2: true} })
	w.wait(aWhile)
	w.eventually(func() string {
		flags := 0
		w.ceph.Change(func(a *cephtest.Answers) { flags = len(a.OSDMap.OSDs[2].Flags) })
		if flags > 0 {
			return "it may not come up yet"
		}
		return ""
	})
	time.Sleep(200 * time.Millisecond)
	w.wait(4 * time.Minute)
	w.until(b, "waiting for the OSD", func() bool {
		w.look()
		return isTrue(b, v1alpha1.ConditionFailed) && strings.Contains(messageOf(b), "Waiting for osd.2 to come up")
	})
	w.ceph.BringUp(2)
	w.look()
	w.until(b, "Stalled", func() bool { return isTrue(b, v1alpha1.ConditionStalled) })
	w.wantClean()
	w.wantNoJournal()
	if !strings.Contains(b.Status.Runs[0].Reason, "look at their pods") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func anotherOSDGoes(w *world) {
	b := w.inOutage()
	w.ceph.LoseOSD(1)
	w.look()
	w.untilUp()
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	if reason := b.Status.Runs[0].Reason; !strings.Contains(reason, "OSDChange") && !strings.Contains(reason, "osd.1 went down") {
		w.t.Errorf("reason %q", reason)
	}
	w.ceph.BringUp(1)
	w.look()
	w.wantClean()
	w.wantNoJournal()
}

func deletedInMidOutage(w *world) {
	b := w.inOutage()
	w.delete(b)
	w.untilUp()
	w.wantClean()
	w.wantNoJournal()
}

// A benchmark that is suspended during an outage must not continue until the end of the phase.
func suspendedInMidOutage(w *world) {
	b := w.inOutage()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilUp()
	w.untilReason(b, v1alpha1.ReasonSuspended)
	w.wantClean()
	w.wantNoJournal()
}

func theClientDiesInMidOutage(w *world) {
	b := w.inOutage()
	w.podBecomes(0, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	w.untilUp()
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.wantClean()
	w.wantNoJournal()
}

// The next manager does not know about the outage. The inactive placement groups that it sees must
// not hide the true reason: the restart.
func restartedWhilePGsAreInactive(w *world) {
	b := w.inOutage()
	w.restart()
	w.untilReason(b, v1alpha1.ReasonRestoringOSDs, "noup of osd.2 will be unset after")
	w.wait(ceph.LongestChange)
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.Status.PGsByState = map[string]int{"stale+active+clean": 8, "active+clean": 25}
	})
	w.until(b, "Failed", func() bool {
		w.look()
		return isTrue(b, v1alpha1.ConditionFailed)
	})
	if got := b.Status.Runs[0].Reason; !strings.Contains(got, "the manager restarted") || !strings.Contains(got, "8 stale+active+clean") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// The next manager first waits until requests of the previous one can no longer be carried out.
// Then it brings the OSD back before anything else. The run is invalid.
func restartedInMidOutage(w *world) {
	b := w.inOutage()
	w.restart()
	w.untilReason(b, v1alpha1.ReasonRestoringOSDs, "noup of osd.2 will be unset after")
	w.wait(ceph.LongestChange)
	w.untilUp()
	w.kubelet.proceed("r1-")
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	if !strings.Contains(b.Status.Runs[0].Reason, "the manager restarted") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
	w.wantClean()
	w.wantNoJournal()
}

func deletedWithoutCeph(w *world) {
	b := w.inOutage()
	mend := w.cutCeph()
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.until(b, "waiting for Ceph", func() bool { return strings.Contains(messageOf(b), "no monitor answers") })
	if w.up() {
		w.t.Error("it is up")
	}
	mend()
	w.look()
	w.untilUp()
	w.untilGone(b)
	w.wantNoJournal()
}

// abandonInMidOutage removes the finalizer of a benchmark and deletes it while no manager runs.
func (w *world) abandonInMidOutage() {
	w.t.Helper()
	b := w.inOutage()
	w.stop()
	noFinalizer := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	if err := w.Patch(w.t.Context(), b, noFinalizer); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{} })
	w.kubelet.script("r1-", runnertest.Script{})
}

// The next holder of the lock brings the OSD back before anything else.
func leftBehind(w *world) {
	w.abandonInMidOutage()
	w.ahead.Add(int64(11 * time.Minute)) // until its lock has expired
	w.theNextOneLetsItUp()
}

func leftBehindForGood(w *world) {
	w.abandonInMidOutage()
	w.keepEvery = 100 * time.Millisecond
	w.start()
	time.Sleep(time.Second)
	if w.up() {
		w.t.Error("it was let up before what the last manager has asked for must have ended")
	}
	w.eventually(func() string {
		if w.up() {
			return ""
		}
		w.ahead.Add(int64(time.Second))
		return "the OSD is not up, or may not be"
	})
	w.wantNoJournal()
	w.eventually(func() string {
		if left := w.key(lockKey); strings.Contains(left, "this-cluster") {
			return "the lock is left: " + left
		}
		return ""
	})
}

// The new holder of the lock has to bring the OSD back. This benchmark must not change anything
// without the lock.
func theLockIsLostInMidOutage(w *world) {
	b := w.inOutage()
	w.lockElsewhere()
	w.wait(aWhile)
	w.until(b, "told", func() bool { return strings.Contains(messageOf(b), "has the lock of the Ceph cluster") })
	if w.up() {
		w.t.Error("it was let up without the lock")
	}
	w.unlockElsewhere()
	w.look()
	w.untilUp()
	w.wait(time.Hour)
	w.delete(b)
	w.wantNoJournal()
}

// However late the manager looks, it must then bring the OSD back.
func outageIsOrphaned(w *world) {
	b := w.inOutage()
	w.wait(3 * aWhile)
	w.untilUp()
	w.delete(b)
	w.wantNoJournal()
}

// killedInOutage kills the manager at one step of stopping an OSD or of bringing it back.
func (w *world) killedInOutage(step tuning.Step) {
	b := w.beforeOutage()
	w.kill.Store(&step)
	w.wait(aWhile)
	if !w.diesBefore(func() bool { return len(w.ceph.Calls("MarkOSDsDown")) > 0 }) {
		w.wait(aWhile) // The step belongs to bringing the OSD back.
		if !w.diesBefore(func() bool { return false }) {
			w.t.Fatal("the manager was not killed: the step is never reached")
		}
	}
	w.restart()
	asked := w.now()
	w.until(b, "without OSDs that are down", func() bool {
		if strings.Contains(messageOf(b), "by an earlier manager") && w.now().Sub(asked) < 2*time.Minute {
			w.wait(ceph.LongestChange + time.Second)
		}
		return w.up() && w.key("cephtune/disruption") == ""
	})
	w.kubelet.proceed("r1-")
	w.until(b, "ended", func() bool {
		return isTrue(b, v1alpha1.ConditionFailed) || isTrue(b, v1alpha1.ConditionComplete)
	})
	if states(b) == "Valid" {
		w.t.Errorf("a run that a manager was killed in is evidence: %+v", b.Status.Runs)
	}
	w.wantClean()
	w.wantNoJournal()
}

// diesBefore reports whether the manager is killed before an event.
func (w *world) diesBefore(happened func() bool) bool {
	for deadline := time.Now().Add(soon); time.Now().Before(deadline) && !happened(); {
		select {
		case <-w.died:
			return true
		case <-time.After(50 * time.Millisecond):
		}
	}
	return false
}

// looksSince reports whether a verb was called more often than before.
func (w *world) looksSince(verb string, n int) bool { return len(w.ceph.Calls(verb)) > n }
