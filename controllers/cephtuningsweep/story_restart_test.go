package cephtuningsweep

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Stories of options that OSDs read only when they start.
func restartStories() map[string]story {
	return map[string]story{
		"OSDs are restarted one by one, and again after the restore": osdsAreRestarted,
		"without leave to restart it is refused by name":             restartsAreRefused,
		"an OSD does not start with a value":                         anOSDDoesNotStart,
		"another OSD goes down while one restarts":                   anotherOSDGoesDown,
		"in the end an OSD does not restart":                         anOSDDoesNotEnd,
		"in the end Ceph cannot spare any OSD":                       noOSDIsSpared,
		"in the end Ceph is wrong that it can spare one":             theClusterIsWronglySpared,
		"in the end OSDs may not be restarted any more":              theRestarterIsWithdrawn,
		"it is gone, and the next one does not restart OSDs":         theNextDoesNotRestart,
	}
}

// shards is a sweep over an option that OSDs read only when they start.
func shards() string {
	return strings.NewReplacer("osd_mclock_profile", "osd_op_num_shards", "high_client_ops", `"2"`).Replace(profile)
}

func restarting() string { return shards() + "guardrails: {osdRestarts: Allow}\n" }

// runsWith returns the number of shards with which each OSD runs.
func (w *world) runsWith() (values []string) {
	w.t.Helper()
	running, err := w.ceph.RunningConfig(w.t.Context(), ceph.Connection{}, []int{0, 1, 2}, []string{"osd_op_num_shards"})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, osd := range running {
		option, _ := osd.Option("osd_op_num_shards")
		values = append(values, option.Value)
	}
	return values
}

// wantShards checks the number of shards of the running OSDs.
func (w *world) wantShards(want ...string) {
	w.t.Helper()
	if now := w.runsWith(); !slices.Equal(now, want) {
		w.t.Errorf("OSDs run with %v shards, want %v", now, want)
	}
}

func osdsAreRestarted(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(*v1alpha1.CephBenchmark) float64 {
			if slices.ContainsFunc(w.runsWith(), func(shards string) bool { return shards != "2" }) {
				return 1000
			}
			return 1500
		}
	})
	s := w.create("s", restarting())
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictSuperior {
		w.t.Errorf("verdict %s, want Superior: %s", s.Status.Verdict, s.Status.Summary)
	}
	w.wantState(before)
	w.rook.set(func(f *fakeRook) {
		// OSDs restart before each run, and at the end.
		if want := (len(s.Status.Trials) + 1) * 3; len(f.restarted) != want {
			w.t.Errorf("%d restarts, want %d: %v", len(f.restarted), want, f.restarted)
		}
		for batch := range slices.Chunk(f.restarted, 3) {
			if slices.Sort(batch); !slices.Equal(batch, []int{0, 1, 2}) {
				w.t.Errorf("restarts %v, want each OSD once for each run", f.restarted)
			}
		}
	})
	w.wantShards("0", "0", "0")
}

func restartsAreRefused(w *world) {
	s := w.create("s", shards())
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	if message := messageOf(s); !strings.Contains(message, "osd_op_num_shards") || !strings.Contains(message, "restart") {
		w.t.Errorf("it says %q, want the option and that it needs a restart", message)
	}
}

// crashLoop lets OSDs fail to start with the sweep's value, and start again without it.
func (w *world) crashLoop() {
	w.rook.set(func(f *fakeRook) {
		f.starts = func(int) bool {
			_, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_op_num_shards")
			return !set
		}
	})
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.After = func(verb string) error {
			if verb == "RemoveConfig" {
				for osd := range 3 {
					w.ceph.BringUp(osd)
				}
			}
			return nil
		}
	})
}

// awaitDown waits until an OSD is down.
func (w *world) awaitDown(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	w.await(s, "restarting an OSD that does not come up", func(*v1alpha1.CephTuningSweep) bool {
		down := false
		w.ceph.Act(func(c *cephtest.Cluster) {
			down = slices.ContainsFunc(c.Answers.OSDMap.OSDs, func(o ceph.OSDState) bool { return !o.Up })
		})
		return down
	})
}

// awaitCalls waits for a number of further calls of a verb.
func (w *world) awaitCalls(s *v1alpha1.CephTuningSweep, verb string, n int) {
	w.t.Helper()
	before := len(w.ceph.Calls(verb))
	w.await(s, "asking Ceph", func(*v1alpha1.CephTuningSweep) bool { return len(w.ceph.Calls(verb)) >= before+n })
}

func anOSDDoesNotStart(w *world) {
	before := w.state()
	w.crashLoop()
	s := w.create("s", restarting())
	w.awaitDown(s)
	w.advance(s, startWithin-time.Minute)
	w.awaitCalls(s, "Status", 5)
	if w.await(s, "there", func(*v1alpha1.CephTuningSweep) bool { return true }); !hasReason(v1alpha1.ReasonSettling)(s) {
		w.t.Errorf("after four minutes it is at %s: %s, want it to wait for the OSD", reasonOf(s), messageOf(s))
	}
	w.advance(s, 2*time.Minute)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "osd.0 has not come up 5m0s after its restart with ")
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "osd_op_num_shards")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "")
	w.wantState(before)
	w.wantShards("0", "0", "0")
}

// The sweep must fail at once, without any wait.
func anotherOSDGoesDown(w *world) {
	before := w.state()
	w.crashLoop()
	s := w.create("s", restarting())
	w.awaitDown(s)
	w.ceph.LoseOSD(1)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "2 of 3 OSDs")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "")
	w.wantState(before)
}

// inRestartedRun returns a sweep that is measuring with restarted OSDs.
func (w *world) inRestartedRun() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	changed := func() bool {
		_, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_op_num_shards")
		return set
	}
	w.bench.set(func(b *bench) { b.holdIf = func(*v1alpha1.CephBenchmark) bool { return changed() } })
	s := w.create("s", restarting())
	w.await(s, "in the run of a candidate", func(*v1alpha1.CephTuningSweep) bool {
		return changed() && len(running(w.children())) > 0
	})
	w.wantShards("2", "2", "2")
	return s
}

// suspendUntil suspends a sweep, and lets it try to restore for a while.
func (w *world) suspendUntil(s *v1alpha1.CephTuningSweep, while time.Duration) {
	w.t.Helper()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "restarting OSDs in the end", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "Restarting")
	})
	w.advance(s, while)
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
}

// wantNotRestarted checks what the sweep reports about OSDs that still run with its value, and that
// the sweep can be deleted.
func (w *world) wantNotRestarted(s *v1alpha1.CephTuningSweep, before, reason string) {
	w.t.Helper()
	for _, message := range []string{"osd_op_num_shards", reason, "osd.0, osd.1, osd.2", "kubectl -n rook-ceph delete pod -l app=rook-ceph-osd,ceph-osd-id=ID"} {
		w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonOSDsNotRestarted, message)
	}
	w.awaitEvent(v1alpha1.ReasonOSDsNotRestarted, reason)
	w.wantState(before)
	w.wantShards("2", "2", "2")
	w.delete(s)
	w.awaitGone(s)
}

func anOSDDoesNotEnd(w *world) {
	before := w.state()
	s := w.inRestartedRun()
	w.rook.set(func(f *fakeRook) { f.ends = func(int) bool { return false } })
	w.suspendUntil(s, startWithin+backOff+time.Minute)
	w.wantNotRestarted(s, before, "waited too long for osd.0 to go down")
}

func noOSDIsSpared(w *world) {
	before := w.state()
	s := w.inRestartedRun()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OKToStop = map[int]ceph.Stop{0: {Reason: "1 PGs would become unavailable"}}
	})
	w.suspendUntil(s, 3*startWithin+backOff+time.Minute)
	w.wantNotRestarted(s, before, "waited too long for the cluster to spare osd.0: 1 PGs would become unavailable")
}

// Ceph 20.2.4 says "ok to stop" although a placement group would have too few OSDs, if its last OSD
// is not the one to stop.
func theClusterIsWronglySpared(w *world) {
	before := w.state()
	s := w.inRestartedRun()
	w.ceph.Change(func(a *cephtest.Answers) {
		pool := &a.OSDMap.Pools[0]
		a.PGs = []ceph.PG{{ID: ceph.PGPlacement{}.ID(pool.ID), State: "active+clean", PoolID: pool.ID, Acting: []int{0, 1}, Primary: 0}}
	})
	var restarts, now int
	w.rook.set(func(f *fakeRook) { restarts = len(f.restarted) })
	w.suspendUntil(s, 3*startWithin+backOff+time.Minute)
	w.wantNotRestarted(s, before, "waited too long for the cluster to spare osd.0: placement groups may become unavailable without osd.0 (1 in all)")
	if w.rook.set(func(f *fakeRook) { now = len(f.restarted) }); now != restarts {
		w.t.Errorf("%d OSDs were restarted nevertheless", now-restarts)
	}
}

func theRestarterIsWithdrawn(w *world) {
	before := w.state()
	s := w.inRestartedRun()
	w.stop()
	w.allowed.Clusters[0].RestartOSDs = false
	w.goOn()
	w.start()
	w.awaitAfterCrash(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, "restarting OSDs")
	w.wantNotRestarted(s, before, "the sweep may no longer restart OSDs")
}

// The next sweep varies another option, so its user has not permitted restarts for this one.
func theNextDoesNotRestart(w *world) {
	before := w.state()
	w.nextAfter(w.inRestartedRun(), func() {})
	w.awaitEvent(v1alpha1.ReasonOSDsNotRestarted, "For sweep "+w.namespace+"/s: OSDs read osd_op_num_shards only when they start")
	w.wantState(before)
}
