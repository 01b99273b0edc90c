package cephbenchmark

import (
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of benchmarks that name a sweep as their owner. Everybody who may create a benchmark can do that.
func trialStories() map[string]story {
	return map[string]story{
		"a stranger's owner reference gives nothing":        aStrangerUnderASweep,
		"with the lock free, it takes none":                 aStrangerTakesNoLock,
		"a copy never runs":                                 aCopyNeverRuns,
		"a copy in the place of the original never runs":    aCopyAfterTheOriginal,
		"it begins only after its UID is recorded":          itWaitsForItsUID,
		"an edit ends the run":                              anEditEndsTheRun,
		"an owner reference that is added ends it":          anOwnerIsAdded,
		"one of an earlier version ends":                    anUnsignedRunEnds,
		"the run of a sweep without the lock takes none":    aRunTakesNoLock,
		"the lock stays with the sweep after a deleted run": aDeletedRunLeavesTheLock,
	}
}

// holderOfLease returns the holder of the lock; "" if it is free.
func (w *world) holderOfLease() string {
	w.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cephtune-" + fsid}, lease); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// freeLock releases the lock of the sweep.
func (w *world) freeLock(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	if err := w.locks().Release(w.t.Context(), ceph.Connection{}, fsid, objectref.To("CephTuningSweep", s)); err != nil {
		w.t.Fatal(err)
	}
}

func underSweep(s *v1alpha1.CephTuningSweep) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) {
		b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
	}
}

func (w *world) wantNothingOf(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.untilReason(b, v1alpha1.ReasonNotAllowed, "not the benchmark of its current run")
	if b.Status.Trial != nil || b.Status.StartTime != nil || len(b.Finalizers) > 0 {
		w.t.Errorf("it has begun: %+v", b.Status)
	}
	w.wantJobs(0)
}

// jobs returns the Jobs of the world.
func (w *world) jobs() []batchv1.Job {
	w.t.Helper()
	var all batchv1.JobList
	if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	return all.Items
}

func (w *world) wantJobs(want int) {
	w.t.Helper()
	if jobs := w.jobs(); len(jobs) != want {
		w.t.Errorf("%d Jobs, want %d", len(jobs), want)
	}
}

func aStrangerUnderASweep(w *world) {
	w.wantNothingOf(w.benchmark("b", oneWrite, underSweep(w.sweepAtWork())))
}

func aStrangerTakesNoLock(w *world) {
	s := w.sweepAtWork()
	w.freeLock(s)
	b := w.benchmark("b", oneWrite, underSweep(s))
	w.wantNothingOf(b)
	w.delete(b)
	if holder := w.holderOfLease(); holder != "" {
		w.t.Errorf("%s holds the lock, want nobody", holder)
	}
	w.untilComplete(w.benchmark("next", oneWrite))
}

// copyOf creates a copy of a benchmark with its annotations, labels, owner and spec.
func (w *world) copyOf(b *v1alpha1.CephBenchmark, name string) *v1alpha1.CephBenchmark {
	w.t.Helper()
	c := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.Namespace, Name: name, Annotations: maps.Clone(b.Annotations), Labels: maps.Clone(b.Labels), OwnerReferences: b.OwnerReferences,
	}, Spec: *b.Spec.DeepCopy()}
	if err := w.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func aCopyNeverRuns(w *world) {
	b := w.atWorkInShared()
	copied := w.copyOf(b, "copy")
	w.untilReason(copied, v1alpha1.ReasonNotAllowed, "not the benchmark of its current run")
	w.wantJobs(1)
	w.rook.set(func(f *fakeRook) {
		if f.made != 1 {
			w.t.Errorf("%d pools were made, want that of the sweep", f.made)
		}
	})
}

func aCopyAfterTheOriginal(w *world) {
	b := w.run("b", oneWrite, nil)
	w.untilMeasured(b)
	w.delete(b)
	w.wantNothingOf(w.copyOf(b, "b"))
}

func itWaitsForItsUID(w *world) {
	s, b := w.signed("b", oneWrite, nil)
	if err := w.Create(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilComplete(w.afterQueue(s))
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil || b.Status.StartTime != nil || len(b.Status.Conditions) > 0 {
		w.t.Errorf("%v: it has begun: %+v", err, b.Status)
	}
	w.lockOfSweep(s)
	w.recordUID(s, b)
	w.untilMeasured(b)
	if run := b.Status.Trial; run == nil || run.UID != s.UID || run.Number != 1 || run.Design != v1alpha1.DesignBlocks {
		w.t.Errorf("its trial is %+v", run)
	}
}

// afterQueue frees the lock, and returns a benchmark that takes it.
func (w *world) afterQueue(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.freeLock(s)
	return w.benchmark("other", oneWrite)
}

func anEditEndsTheRun(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.run("b", endlessWrite, nil)
	w.untilReason(b, v1alpha1.ReasonRunning, "")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = "mine" })
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true }) // The Job has the spec, so this execution goes on.
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	if err := w.Delete(w.t.Context(), &w.jobs()[0], client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.t.Fatal(err)
	}
	w.until(b, "failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.untilReason(b, v1alpha1.ReasonNotAllowed, "not the benchmark of its current run")
	if len(b.Status.Phases) > 0 {
		w.t.Errorf("it has figures: %+v", b.Status.Phases)
	}
}

func anOwnerIsAdded(w *world) {
	w.lockElsewhere()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonQueued, "")
	before := b.DeepCopy()
	underSweep(w.foreignSweep())(b)
	if err := w.Patch(w.t.Context(), b, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.look()
	w.untilFailed(b, v1alpha1.ReasonNotAllowed, "not the benchmark of its current run")
}

// foreignSweep returns a sweep that exists in no cluster.
func (w *world) foreignSweep() *v1alpha1.CephTuningSweep {
	return &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sweep", UID: stranger}}
}

// The version before signatures has begun the benchmark, and its Job runs.
func anUnsignedRunEnds(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.run("b", endlessWrite, nil)
	w.untilTask(0, "r1-write", task.Measuring)
	w.stop()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
	s := w.sweepAtWork()
	b.Status.Trial, s.Status.Trial = nil, nil
	if err := w.Status().Update(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.untilReason(b, v1alpha1.ReasonNotAllowed, "not the benchmark of its current run")
	w.until(b, "failed and torn down", func() bool { return isTrue(b, v1alpha1.ConditionFailed) && isTrue(b, v1alpha1.ConditionStalled) })
	w.wantJobs(0)
	if holder := w.holderOfLease(); holder != objectref.To("CephTuningSweep", s).Identity() {
		w.t.Errorf("%q holds the lock, want the sweep", holder)
	}
}

func aRunTakesNoLock(w *world) {
	s := w.sweepAtWork()
	w.freeLock(s)
	b := w.run("b", oneWrite, nil)
	w.untilReason(b, v1alpha1.ReasonQueued, "does not have the lock")
	w.delete(b)
	if holder := w.holderOfLease(); holder != "" {
		w.t.Errorf("%s holds the lock, want nobody", holder)
	}
}

func aDeletedRunLeavesTheLock(w *world) {
	b := w.atWorkInShared()
	w.delete(b)
	s := w.sweepAtWork()
	if holder := w.holderOfLease(); holder != objectref.To("CephTuningSweep", s).Identity() {
		w.t.Errorf("%q holds the lock, want the sweep", holder)
	}
	w.freeLock(s)
	next := w.benchmark("next", oneWrite, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.Target = v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "open"}} // The sweep still has the scratch pool.
	})
	w.untilReason(next, v1alpha1.ReasonRunning)
}
