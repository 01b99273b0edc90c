package cephtuningsweep

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/rook"
)

func inertStories() map[string]story {
	return map[string]story{
		"mClock locks an option: refused":                     mClockLocks,
		"mClock takes an option back":                         mClockTakesBack,
		"an OSD has a value of its own":                       anOSDHasItsOwn,
		"an entry for one OSD comes before: refused":          anEntryShadows,
		"Rook sets the option: refused":                       rookSetsTheOption,
		"Rook sets a pool back in mid-sweep":                  rookSetsBack,
		"another client turns the autoscaler on in mid-sweep": theAutoscalerIsTurnedOn,
	}
}

// backfills varies an option that mClock controls itself.
var backfills = strings.Replace(profile, "{option: osd_mclock_profile}, values: [high_client_ops]", `{option: osd_max_backfills}, values: ["4"]`, 1)

func mClockLocks(w *world) {
	before := w.state()
	s := w.create("s", backfills)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "osd_mclock_override_recovery_settings")
	w.wantUntouched(before)
}

// The OSDs have another scheduler while the sweep is planned, and mClock later.
func mClockTakesBack(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: "osd_op_queue", Value: "wpq"}}
	})
	for osd := range 3 {
		w.ceph.Restart(osd)
	}
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", backfills)
	w.awaitChild()
	w.ceph.Act(func(c *cephtest.Cluster) { c.MClock = true })
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("TrialInvalid", "their scheduler mClock locks it")
	w.wantInvalid(s, v1alpha1.TrialInert)
	w.wantState(before)
}

// wantInvalid checks that the only candidate of a sweep has no valid run.
func (w *world) wantInvalid(s *v1alpha1.CephTuningSweep, because v1alpha1.TrialReason) {
	w.t.Helper()
	if s.Status.Verdict != v1alpha1.VerdictInvalid || trialsThatAre(s, because) == 0 {
		w.t.Errorf("verdict %s after %v, want Invalid with runs that are %s: %s", s.Status.Verdict, validities(s), because, s.Status.Summary)
	}
}

func anOSDHasItsOwn(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.ceph.SetLocally(1, "osd_mclock_profile", "balanced")
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("TrialInvalid", "osd.1: the running value balanced is set in the OSD itself (override)")
	w.wantInvalid(s, v1alpha1.TrialInert)
	w.wantState(before)
}

func anEntryShadows(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.ConfigDump = []ceph.ConfigEntry{{Section: "osd.1", Name: "osd_mclock_profile", Value: "balanced", Runtime: true}}
	})
	before := w.state()
	s := w.create("s", profile)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "osd.1 (balanced)")
	w.wantUntouched(before)
}

func rookSetsTheOption(w *world) {
	before := w.state()
	w.rook.set(func(f *fakeRook) {
		f.owned = rook.Owned{CephConfig: map[string]map[string]string{"osd": {"osd_mclock_profile": "balanced"}}}
	})
	s := w.create("s", profile)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "spec.cephConfig")
	w.wantUntouched(before)
}

// Another user edits the CephBlockPool after the plan was made.
func rookSetsBack(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", pgsInPlace)
	w.awaitChild()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Rook = map[string]map[string]string{"open": {"pg_num": "32"}} })
	w.rook.set(func(f *fakeRook) {
		f.owned = rook.Owned{PoolParameters: map[string]map[string]string{"open": {"pg_num": "32"}}}
	})
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("TrialInvalid", "Rook set pg_num of pool open back to 32")
	w.wantInvalid(s, v1alpha1.TrialInert)
	w.wantState(before)
}

func theAutoscalerIsTurnedOn(w *world) {
	w.ceph.Act(func(c *cephtest.Cluster) { c.Autoscaler = map[string]int{"open": 32} })
	before := w.state()
	w.bench.set(func(b *bench) {
		b.holdIf = func(*v1alpha1.CephBenchmark) bool { return w.ceph.Pool("open").PGNum == 64 }
	})
	s := w.create("s", pgsInPlace)
	w.await(s, "in the run of a candidate", func(*v1alpha1.CephTuningSweep) bool {
		return w.ceph.Pool("open").PGNum == 64 && len(running(w.children())) > 0
	})
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.OSDMap.Pools[0].AutoscaleMode = "on" })
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("TrialInvalid", "pg_autoscale_mode of pool open is on, not off")
	if s.Status.Verdict != v1alpha1.VerdictEquivalent || trialsThatAre(s, v1alpha1.TrialChanged) != 1 {
		w.t.Errorf("verdict %s after %v, want one run Changed and the others to count: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
	w.wantState(before)
}
