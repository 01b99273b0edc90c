package cephtuningsweep

import (
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/metrics/exporter/exportertest"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Stories of sweeps that are gone without a restore, and of which no other sweep restores the
// settings.
func restorerStories() map[string]story {
	return map[string]story{
		"the finalizer is taken off":                        orphanedInMidRun,
		"while no manager is there":                         orphanedWithoutManager,
		"the manager ends in the middle of the restore":     orphanedAndKilled,
		"Ceph refuses to take a value back for a while":     orphanedAndRefused,
		"only Ceph has the journal":                         orphanedInCephAlone,
		"only Ceph has it, of another Kubernetes cluster":   orphanedElsewhere,
		"only Ceph has it, and it does not say whose it is": orphanedByAnEarlierVersion,
		"only Ceph has it, and the scratch pool is left":    orphanedAfterTheRestore,
		"another Kubernetes cluster works on Ceph":          orphanedWhileOthersWork,
		"the sweep is at work, after an outage":             notOrphanedByAnOutage,
		"the restore was abandoned":                         notOrphanedButGivenUp,
		"a foreign finalizer keeps the sweep":               orphanedWithAnothersFinalizer,
		"the next sweep is there at once":                   orphanedBeforeTheNext,
	}
}

// withRestorer lets managers look for orphaned journals.
func (w *world) withRestorer() {
	w.t.Helper()
	w.tune = func(o *Options) { o.KeepEvery = 20 * time.Millisecond }
	w.restart()
}

// orphan removes the finalizer of a sweep and deletes the sweep while no manager runs. A manager
// would add the finalizer again, or restore.
func (w *world) orphan(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { controllerutil.RemoveFinalizer(s, Finalizer) })
	if err := w.Delete(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.removeChildren()
}

// journalInCeph returns the journal's copy in Ceph; "" for none.
func (w *world) journalInCeph() (text string) {
	w.ceph.Act(func(c *cephtest.Cluster) { text = c.Keys["cephtune/journal"] })
	return text
}

// untilRestored advances the clock until nothing is left to restore. On a busy machine, one pass
// may take longer than all 200 steps of the clock, so it also waits for that pass.
func (w *world) untilRestored() {
	w.t.Helper()
	deadline := time.Now().Add(soon)
	for steps := 0; time.Now().Before(deadline); steps++ {
		if w.journalInCeph() == "" {
			w.wantFreeLock()
			return
		}
		if steps < 200 {
			w.ahead.Add(int64(20 * time.Second))
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("the journal is still there: %s", w.journalInCeph())
}

// passes advances the clock by steps. Meanwhile nothing may be restored.
func (w *world) passes(d time.Duration) {
	w.t.Helper()
	for end := w.now().Add(d); w.now().Before(end); time.Sleep(50 * time.Millisecond) {
		w.ahead.Add(int64(20 * time.Second))
	}
	if w.journalInCeph() == "" {
		w.t.Error("the journal is gone")
	}
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == "" {
		w.t.Error("the setting was restored")
	}
}

func orphanedInMidRun(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.refuse("RemoveConfig")
	w.delete(s)
	w.await(s, "waiting", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "EPERM") })
	w.change(s, func(s *v1alpha1.CephTuningSweep) { controllerutil.RemoveFinalizer(s, Finalizer) })
	w.untilQuiet() // The sweep's last pass may still be running, and could restore too.
	w.refuse("")
	w.passes(lock.Duration / 2) // The lock of the deleted sweep must expire first.
	w.untilRestored()
	w.awaitEvent(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s/s", w.namespace))
	w.awaitCounted(1, metrics.Restores, v1alpha1.ReasonRestored)
	w.wantState(before)
}

func orphanedWithoutManager(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	w.start()
	w.untilRestored()
	w.awaitEvent(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s/s", w.namespace))
	w.wantState(before)
}

func orphanedAndKilled(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	w.killAt(tuning.StepOriginalSent)
	w.start()
	for done := false; !done; {
		select {
		case <-w.died:
			done = true
		case <-time.After(100 * time.Millisecond):
			w.ahead.Add(int64(20 * time.Second))
		}
	}
	w.restart()
	w.untilRestored()
	w.wantState(before)
}

// The restorer does not hold the lock between attempts, so others may try.
func orphanedAndRefused(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	w.refuse("RemoveConfig")
	w.start()
	w.passes(time.Hour)
	w.wantFreeLock()
	if n := exportertest.Counted(w.t, w.counted, metrics.Restores, exporter.OutcomeFailed); n == 0 || n > 60 {
		w.t.Errorf("%v attempts in an hour", n)
	}
	w.refuse("")
	w.untilRestored()
	w.wantState(before)
}

// refuse lets Ceph refuse a verb; "" for none.
func (w *world) refuse(refused string) {
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == refused {
				return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
			}
			return nil
		}
	})
}

// untilQuiet waits until no verb was called for a second.
func (w *world) untilQuiet() {
	w.t.Helper()
	for range 30 {
		before := len(w.ceph.Calls(""))
		time.Sleep(time.Second)
		if len(w.ceph.Calls("")) == before {
			return
		}
	}
	w.t.Fatal("Ceph is asked without end")
}

// unrestoredInCeph leaves a journal only in Ceph: it deletes the copy in Kubernetes and edits the
// copy in Ceph.
func (w *world) unrestoredInCeph(edit func(text string) string) {
	w.t.Helper()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-journal-" + cephtest.FSID}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-" + cephtest.FSID}},
	} {
		if err := w.Delete(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Keys["cephtune/journal"] = edit(c.Keys["cephtune/journal"]) })
	w.start()
}

// The restorer has restored the settings, and waits for Rook to remove the pool. Then the journal in Kubernetes is deleted.
func orphanedAfterTheRestore(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inSecondRun()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "Rook removes it" })
	w.stop()
	w.orphan(s)
	w.start()
	w.awaitPool("is to be removed", func(p scratch) bool {
		w.ahead.Add(int64(5 * time.Second))
		return p.asked
	})
	w.stop()
	if err := w.Delete(w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-journal-" + cephtest.FSID}}); err != nil {
		w.t.Fatal(err)
	}
	w.rook.set(func(f *fakeRook) { f.pool.removing = "" })
	w.start()
	w.untilRestored()
	w.wantNoPool()
	w.wantState(before)
}

const ours = `"cluster":"this-cluster",`

func orphanedInCephAlone(w *world) {
	w.withRestorer()
	before := w.state()
	w.unrestoredInCeph(func(text string) string { return text })
	w.untilRestored()
	w.awaitEvent(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s/s", w.namespace))
	w.wantState(before)
}

func orphanedElsewhere(w *world) {
	w.withRestorer()
	w.unrestoredInCeph(func(text string) string { return strings.Replace(text, ours, `"cluster":"another",`, 1) })
	w.passes(time.Hour)
}

func orphanedByAnEarlierVersion(w *world) {
	w.withRestorer()
	w.unrestoredInCeph(func(text string) string { return strings.Replace(text, ours, "", 1) })
	w.passes(time.Hour)
}

func orphanedWhileOthersWork(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Keys["cephtune/lock"] = fmt.Sprintf(`{"cluster": "another", "holder": "CephBenchmark/b/b/u", "epoch": 9, "renewed": %q}`, w.now().Add(time.Hour).Format(time.RFC3339))
	})
	w.start()
	w.passes(time.Hour)
	w.untilRestored()
	w.wantState(before)
}

func notOrphanedByAnOutage(w *world) {
	w.withRestorer()
	s := w.inMidRun()
	w.stop()
	w.ahead.Add(int64(time.Hour))
	w.start()
	time.Sleep(time.Second)
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == "" {
		w.t.Error("the settings of a sweep at work were restored")
	}
	w.goOn()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if n := exportertest.Counted(w.t, w.counted, metrics.Restores, v1alpha1.ReasonRestored); n != 1 {
		w.t.Errorf("%v restores, want that of the sweep alone", n)
	}
}

// A person's decision to abandon a restore holds while the sweep exists.
func notOrphanedButGivenUp(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(string) error { return errors.New("no monitor answers") }
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
		s.Spec.Suspend = true
	})
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.passes(time.Hour)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) })
	w.untilRestored()
	w.wantState(before)
}

func orphanedWithAnothersFinalizer(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { controllerutil.AddFinalizer(s, "test/stays") })
	w.orphan(s)
	w.start()
	w.untilRestored()
	w.wantState(before)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Finalizers = nil })
}

// Either the restorer or the next sweep restores first. Nothing must be restored twice, and the next
// sweep must have the original values as its baseline.
func orphanedBeforeTheNext(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.orphan(s)
	w.goOn()
	w.start()
	next := w.create("next", profile)
	w.awaitAfterCrash(next, "complete", func(s *v1alpha1.CephTuningSweep) bool {
		if hasReason(v1alpha1.ReasonQueued)(s) {
			w.advance(s, 20*time.Second)
		}
		return conditionTrue(v1alpha1.ConditionComplete)(s)
	})
	if len(next.Status.Plan.Baseline) != 1 || next.Status.Plan.Baseline[0].Value != v1alpha1.Unset {
		w.t.Errorf("baseline %+v, want what there was before the first sweep", next.Status.Plan.Baseline)
	}
	w.awaitCounted(2, metrics.Restores, v1alpha1.ReasonRestored) // one for the first sweep, and one for its own
	w.wantState(before)
}

// wantFreeLock checks that the restorer releases the lock.
func (w *world) wantFreeLock() {
	w.t.Helper()
	lease := &coordinationv1.Lease{}
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cephtune-" + cephtest.FSID}, lease); err != nil {
			w.t.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s has the lock", *lease.Spec.HolderIdentity)
		}
	}
}
