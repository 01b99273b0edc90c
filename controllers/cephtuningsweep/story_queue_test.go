package cephtuningsweep

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

func queueStories() map[string]story {
	return map[string]story{
		"one after the other":                                 oneAfterTheOther,
		"a sweep that can never run does not queue":           neverQueued,
		"another Kubernetes cluster is at work":               anotherKubernetesCluster,
		"the lock is lost to another":                         theLockIsLost,
		"the manager was away for longer than the lock lasts": awayForLongerThanTheLock,
		"another manager takes the lock over in a run":        anotherManagerTakesOver,
	}
}

func oneAfterTheOther(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	first := w.create("first", profile)
	w.awaitChild()
	second := w.create("second", profile)
	w.await(second, "queued", hasReason(v1alpha1.ReasonQueued))
	if message := messageOf(second); !strings.Contains(message, w.namespace+"/first") {
		w.t.Errorf("it says %q, want who has the lock", message)
	}
	w.bench.set(func(b *bench) { b.hold = false })
	w.await(first, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.await(second, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if second.Status.Plan == nil || second.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s of the second: %s", second.Status.Verdict, second.Status.Summary)
	}
	w.wantState(before)
}

func neverQueued(w *world) {
	w.claimElsewhere()
	before := w.state()
	s := w.parse("never", profile)
	s.Spec.Budget.Duration = &metav1.Duration{Duration: 5 * time.Minute}
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	if message := messageOf(s); reasonOf(s) != v1alpha1.ReasonNotPossible || !strings.Contains(message, "budget.duration") {
		w.t.Errorf("it is %s: %q, want the reason why it can never run", reasonOf(s), message)
	}
	w.wantState(before)
}

// claimElsewhere takes the lock in Ceph for another Kubernetes cluster.
func (w *world) claimElsewhere() {
	record, err := json.Marshal(map[string]any{
		"cluster": "another-cluster", "holder": "CephTuningSweep/elsewhere/theirs/1", "epoch": 3,
		"since": w.now(), "renewed": w.now(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Keys["cephtune/lock"] = string(record) })
}

func anotherKubernetesCluster(w *world) {
	before := w.state()
	w.claimElsewhere()
	s := w.create("s", profile)
	w.await(s, "queued", hasReason(v1alpha1.ReasonQueued))
	if message := messageOf(s); !strings.Contains(message, "elsewhere/theirs") || !strings.Contains(message, "another-cluster") {
		w.t.Errorf("it says %q, want who has the cluster and where", message)
	}
	if len(w.children()) > 0 || len(w.ceph.Calls("SetBalancer")) > 0 {
		w.t.Error("something was done without the lock")
	}
	w.ceph.Act(func(c *cephtest.Cluster) { delete(c.Keys, "cephtune/lock") })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

// Another holder has taken the lock, so the sweep ends. It restores once it has the lock again.
func theLockIsLost(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile)
	w.await(s, "in its second run", func(s *v1alpha1.CephTuningSweep) bool {
		w.bench.set(func(b *bench) { b.hold = len(s.Status.Trials) > 0 })
		return len(s.Status.Trials) > 0 && len(w.children()) > len(s.Status.Trials)
	})
	w.claimElsewhere()
	w.advance(s, lock.RenewAfter+time.Second)
	w.claimElsewhere()
	w.await(s, "failing", func(s *v1alpha1.CephTuningSweep) bool {
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionFailed) != nil
	})
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonLockLost, "elsewhere/theirs")
	w.await(s, "waiting for the lock", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonRestoring)(s) && len(running(w.children())) == 0
	})
	w.ceph.Act(func(c *cephtest.Cluster) { delete(c.Keys, "cephtune/lock") })
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonLockLost, "elsewhere/theirs")
	w.wantState(before)
}

// For a while, another manager believes that it is the leader and takes over the sweep's lock. This
// manager must not change the cluster or the sweep's results. It continues when the other one is
// gone.
func anotherManagerTakesOver(w *world) {
	before := w.state()
	s := w.inMidRun()
	other := lock.NewLeases(w.Client, w.Client, w.namespace, "another manager")
	holder := objectref.Ref{Kind: "CephTuningSweep", Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	if grant, err := other.Acquire(w.t.Context(), cephtest.FSID, holder, w.now()); err != nil || !grant.Held {
		w.t.Fatalf("%+v, %v", grant, err)
	}
	w.advance(s, lock.RenewAfter+time.Second)
	w.goOn()
	changed := len(w.ceph.Calls("SetPoolOption"))
	w.await(s, "refused", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "another operator process")
	})
	time.Sleep(500 * time.Millisecond)
	if again := len(w.ceph.Calls("SetPoolOption")); again != changed {
		w.t.Errorf("%d settings were changed without the lock", again-changed)
	}
	w.advance(s, lock.Duration)
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s: %s", s.Status.Verdict, s.Status.Summary)
	}
	w.wantState(before)
}

func running(all []v1alpha1.CephBenchmark) (some []v1alpha1.CephBenchmark) {
	for _, child := range all {
		if !childHasEnded(&child) {
			some = append(some, child)
		}
	}
	return some
}

// The next sweep in the queue may take the expired lock first. It must release the lock while it
// waits for the first sweep to restore, because that needs the lock.
func awayForLongerThanTheLock(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	first := w.create("first", profile)
	w.await(first, "in its second run", func(s *v1alpha1.CephTuningSweep) bool {
		w.bench.set(func(b *bench) { b.hold = len(s.Status.Trials) > 0 })
		return len(s.Status.Trials) > 0 && len(w.children()) > len(s.Status.Trials)
	})
	w.stop()
	w.ahead.Add(int64(lock.Duration + time.Minute))
	// The first sweep cannot take the lock before the second has it.
	second := w.create("second", profile)
	w.onlyFor("second")
	w.start()
	w.await(second, "waiting for the first", hasReason(v1alpha1.ReasonQueued))
	w.onlyFor("")
	w.bench.set(func(b *bench) { b.hold = false })
	w.awaitAfterCrash(first, "ended", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionComplete)(s) || conditionTrue(v1alpha1.ConditionFailed)(s)
	})
	w.await(second, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if c := meta.FindStatusCondition(first.Status.Conditions, v1alpha1.ConditionRestored); c == nil || c.Status != metav1.ConditionTrue {
		w.t.Errorf("the first: %+v, want everything put back", c)
	}
}
