package cephtuningsweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/metrics/exporter/exportertest"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/rights"
	"github.com/cephtune/cephtune/internal/tuning"
)

func restoreStories() map[string]story {
	return map[string]story{
		"deleted in the middle of a run":                         deletedInMidRun,
		"deleted before anything was done":                       deletedBeforeAnything,
		"deleted while Ceph does not answer":                     deletedWhileCephIsAway,
		"deleted after the CephCluster, and abandoned":           abandoned,
		"abandoned while Ceph answers, the next has the cluster": abandonedWithCephThere,
		"abandoned while Ceph refuses one value":                 abandonedPools,
		"abandoned, and nothing is in the way":                   abandonedForNothing,
		"abandoned while Ceph has the journal of another":        abandonedWithAnotherSweep,
		"another client changes a varied option":                 changedByAnother,
		"another client changes a varied option in the last run": changedBeforeTheRestore,
		"another client removes the journal":                     theJournalIsRemoved,
		"another client removes the finalizer":                   theFinalizerIsTakenOff,
		"and the operator's namespace is deleted too":            onlyCephKnows,
		"abandoned while the sweep is edited":                    abandonedAndEdited,
		"abandoned, and Ceph's copy stays":                       abandonedAndLeftInCeph,
		"the namespace is deleted":                               theNamespaceIsDeleted,
		"the namespace is deleted while no manager is there":     theNamespaceIsDeletedMeanwhile,
		"the pool is deleted in mid-sweep":                       thePoolIsGone,
		"the administrator takes the permission back":            thePermissionIsTakenBack,
		"Ceph refuses to take a value back":                      cephRefusesTheRestore,
		"keys rotate to a type that the tools cannot read":       keysThatToolsCannotRead,
		"ceph-mgr is away for too long":                          theManagerOfCephIsAway,
		"deleted when the keys are gone":                         deletedWithoutKeys,
		"a benchmark that does not go":                           aBenchmarkThatDoesNotGo,
		"abandoned for another run, which waits":                 givenUpForAnotherRun,
		"another Ceph cluster in its place":                      anotherCephCluster,
		"deleted after changes that status does not tell of":     deletedBeforeStatusIsWritten,
	}
}

// inMidRun returns a sweep that is measuring with a changed profile of OSDs.
func (w *world) inMidRun() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.bench.set(func(b *bench) {
		b.holdIf = func(*v1alpha1.CephBenchmark) bool {
			profile, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile")
			return profile != ""
		}
	})
	s := w.create("s", profile)
	w.await(s, "in the run of a candidate", func(*v1alpha1.CephTuningSweep) bool {
		profile, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile")
		return profile != "" && len(running(w.children())) > 0
	})
	return s
}

// inMidRunOfPGs returns a sweep that is measuring after it has split the PGs of a pool.
func (w *world) inMidRunOfPGs(more string) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.bench.set(func(b *bench) {
		b.holdIf = func(*v1alpha1.CephBenchmark) bool { return w.ceph.Pool("open").PGNum == 64 }
	})
	s := w.create("s", pgsInPlace+more)
	w.await(s, "in the run of a candidate", func(*v1alpha1.CephTuningSweep) bool {
		return w.ceph.Pool("open").PGNum == 64 && len(running(w.children())) > 0
	})
	return s
}

// goOn lets benchmarks end again.
func (w *world) goOn() {
	w.bench.set(func(b *bench) { b.holdIf, b.hold = nil, false })
}

func (w *world) delete(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}

func deletedInMidRun(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.delete(s)
	w.awaitGone(s)
	w.wantState(before)
	if left := running(w.children()); len(left) > 0 {
		w.t.Errorf("benchmark %s still runs", left[0].Name)
	}
}

func deletedBeforeAnything(w *world) {
	before := w.state()
	w.claimElsewhere()
	s := w.create("s", profile)
	w.await(s, "queued", hasReason(v1alpha1.ReasonQueued))
	w.delete(s)
	w.awaitGone(s)
	w.ceph.Act(func(c *cephtest.Cluster) { delete(c.Keys, "cephtune/lock") })
	w.wantState(before)
}

func deletedWhileCephIsAway(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(string) error { return errors.New("no monitor answers") }
	})
	w.delete(s)
	w.await(s, "waiting for Ceph", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonRestoring)(s) && strings.Contains(messageOf(s), "no monitor answers")
	})
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.awaitGone(s)
	w.wantState(before)
}

func abandoned(w *world) {
	s := w.inMidRun()
	w.rook.set(func(f *fakeRook) { f.clusterIs = errors.New("there is no CephCluster rook-ceph/my-cluster") })
	w.delete(s)
	w.await(s, "waiting for the cluster", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), v1alpha1.AnnotationAbandonRestore) && strings.Contains(messageOf(s), "no CephCluster")
	})
	w.giveUp(s)
	w.awaitGone(s)
	w.awaitEvent(v1alpha1.ReasonAbandoned, "osd_mclock_profile")
	w.wantNoJournal()
}

// giveUp sets the annotation that makes the operator abandon the restore of a sweep.
func (w *world) giveUp(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
	})
}

// wantGivenUp checks that an event names the setting as abandoned, and that none names the others.
func (w *world) wantGivenUp(setting string, others ...string) {
	w.t.Helper()
	w.awaitEvent(v1alpha1.ReasonAbandoned, setting)
	var all eventsv1.EventList
	if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all.Items {
		for _, other := range others {
			if e.Reason == v1alpha1.ReasonAbandoned && strings.Contains(e.Note, other) {
				w.t.Errorf("told %q, although that was put back: %s", e.Note, other)
			}
		}
	}
}

// Paused functions of Ceph are resumed. So is the autoscaler, although it would normally wait for
// pg_num.
func abandonedPools(w *world) {
	s := w.inMidRunOfPGs("quiescence: {scrub: Pause}\n")
	w.ceph.Act(func(c *cephtest.Cluster) { c.MaxPGs = 16 })
	w.delete(s)
	w.await(s, "refused", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "ERANGE") })
	w.giveUp(s)
	w.awaitGone(s)
	w.wantGivenUp("pg_num of pool open was 32 before, and was not restored", "balancer", "pg_autoscale_mode", "noscrub")
	w.awaitEvent(v1alpha1.ReasonAbandoned, "The last attempt to restore failed: restore pg_num of pool open to 32")
	w.wantState("open 64 on map[]\nbalancer true, flags [], keys map[]")
}

// A user who may write sweeps cannot use the abandon annotation to leave anything paused.
func abandonedForNothing(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.giveUp(s)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "read back at its original")
	w.wantState(before)
}

func abandonedWithCephThere(w *world) {
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "SetConfig" || verb == "RemoveConfig" {
				return &ceph.Error{Verb: verb, Errno: 13, Message: "Error EACCES: access denied"}
			}
			return nil
		}
	})
	w.delete(s)
	w.await(s, "denied", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "EACCES") && strings.Contains(messageOf(s), `allow command "config rm" with who=osd name=osd_mclock_profile`)
	})
	w.giveUp(s)
	w.awaitGone(s)
	w.wantGivenUp("osd_mclock_profile", "balancer")
	w.wantNoJournal()
	w.ceph.Act(func(c *cephtest.Cluster) {
		if !c.Answers.Balancer.Active {
			w.t.Error("the balancer is off, although nothing kept it from being turned on")
		}
	})
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.goOn()
	next := w.create("next", strings.Replace(profile, "high_client_ops", "high_recovery_ops", 1))
	w.await(next, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now != "high_client_ops" {
		w.t.Errorf("osd_mclock_profile is %q, want what was given up", now)
	}
}

// wantNoJournal checks that no journal is left in Kubernetes.
func (w *world) wantNoJournal() {
	w.t.Helper()
	var journals corev1.ConfigMapList
	if err := w.List(w.t.Context(), &journals, client.InNamespace(w.namespace), client.HasLabels{settings.LabelManagedBy}); err != nil {
		w.t.Fatal(err)
	}
	if len(journals.Items) > 0 {
		w.t.Errorf("the journal %s is still there", journals.Items[0].Name)
	}
}

// theirs changes the profile as another user.
func (w *world) theirs(profile string) {
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: "osd_mclock_profile", Value: profile, Runtime: true}}
	})
}

func changedByAnother(w *world) {
	s := w.inMidRun()
	w.theirs("high_recovery_ops")
	w.goOn()
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonChangedByOthers, "high_recovery_ops")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonLeftAlone, "left as it is")
	if trialsThatAre(s, v1alpha1.TrialChanged) != 1 {
		w.t.Errorf("runs %v, want the one under way Changed", validities(s))
	}
	w.awaitEvent("TrialInvalid", "something else has changed it")
	w.awaitEvent(v1alpha1.ReasonLeftAlone, "osd_mclock_profile")
	w.wantState("open 32 on map[]\nosd/ osd_mclock_profile=high_recovery_ops\nbalancer true, flags [], keys map[]")
}

func theJournalIsRemoved(w *world) {
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		maps.DeleteFunc(c.Keys, func(key, _ string) bool { return strings.Contains(key, "journal") })
	})
	if err := w.DeleteAllOf(w.t.Context(), &corev1.ConfigMap{}, client.InNamespace(w.namespace), client.HasLabels{settings.LabelManagedBy}); err != nil {
		w.t.Fatal(err)
	}
	w.goOn()
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonChangedByOthers, "journal")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonAbandoned, "journal was removed")
	w.wantNoJournal()
	w.delete(s)
	w.awaitGone(s)
}

func changedBeforeTheRestore(w *world) {
	s := w.inMidRun()
	w.theirs("balanced")
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonLeftAlone, "balanced")
	w.awaitCounted(1, metrics.Restores, v1alpha1.ReasonLeftAlone)
	w.wantState("open 32 on map[]\nosd/ osd_mclock_profile=balanced\nbalancer true, flags [], keys map[]")
	// From now on, this value is the original.
	w.goOn()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState("open 32 on map[]\nosd/ osd_mclock_profile=balanced\nbalancer true, flags [], keys map[]")
}

func theFinalizerIsTakenOff(w *world) { w.leavesWhatTheNextPutsBack(func() {}) }

// The journal in Kubernetes and the Lease are deleted with the operator's namespace. Only Ceph
// still has the settings to restore, and the first benchmark in the queue waits until it has restored them.
func onlyCephKnows(w *world) {
	w.leavesWhatTheNextPutsBack(func() {
		for _, o := range []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-journal-" + cephtest.FSID}},
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cephtune-" + cephtest.FSID}},
		} {
			if err := w.Delete(w.t.Context(), o); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

// leavesWhatTheNextPutsBack removes a sweep that has restored nothing, and checks that the next
// sweep does it.
func (w *world) leavesWhatTheNextPutsBack(alsoGone func()) {
	w.t.Helper()
	before := w.state()
	next := w.nextAfter(w.inMidRun(), alsoGone)
	w.awaitEvent(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s/s", w.namespace))
	w.awaitCounted(2, metrics.Restores, v1alpha1.ReasonRestored) // one for the first sweep, and one for its own
	if len(next.Status.Plan.Baseline) != 1 || next.Status.Plan.Baseline[0].Value != v1alpha1.Unset {
		w.t.Errorf("baseline %+v, want what there was before the first sweep", next.Status.Plan.Baseline)
	}
	w.wantState(before)
}

// nextAfter removes a sweep's finalizer and the sweep, and more if alsoGone does. It returns the
// next sweep after it has ended.
func (w *world) nextAfter(s *v1alpha1.CephTuningSweep, alsoGone func()) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.stop()
	w.delete(s)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { controllerutil.RemoveFinalizer(s, Finalizer) })
	w.removeChildren()
	w.benchmarkAhead()
	alsoGone()
	w.goOn()
	w.start()
	next := w.create("next", profile)
	w.awaitAfterCrash(next, "complete", func(s *v1alpha1.CephTuningSweep) bool {
		// The lock of the deleted sweep expires.
		if hasReason(v1alpha1.ReasonQueued)(s) && w.ahead.Load() < int64(11*time.Minute) {
			w.advance(s, 11*time.Minute)
		}
		return conditionTrue(v1alpha1.ConditionComplete)(s)
	})
	return next
}

// While ceph-mgr is away, the lock can be renewed. That must not count as progress.
func theManagerOfCephIsAway(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "Balancer" {
				return errors.New("no manager answers")
			}
			return nil
		}
	})
	w.goOn()
	w.await(s, "in trouble", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "no manager answers") })
	failing := func(s *v1alpha1.CephTuningSweep) bool {
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionFailed) != nil
	}
	w.advanceUntil(s, lock.RenewAfter+time.Minute, "failing", failing)
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonClusterUnreachable, "no manager answers")
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantState(before)
}

// A sweep that has nothing left to restore needs no connection to the cluster.
func deletedWithoutKeys(w *world) {
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.rook.set(func(f *fakeRook) {
		f.connectionIs = errors.New("there is no Secret rook-ceph-client-cephtune-observer")
	})
	w.delete(s)
	w.awaitGone(s)
}

// benchmarkAhead creates a benchmark that waits until a sweep's settings are restored.
func (w *world) benchmarkAhead() {
	w.t.Helper()
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ahead"}}
	if err := yaml.UnmarshalStrict([]byte(profileTemplate), &b.Spec); err != nil {
		w.t.Fatal(err)
	}
	b.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: rookNamespace, Name: clusterName}
	if err := w.Create(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	b.Status.StartTime = &metav1.Time{Time: w.now().Add(-time.Hour)}
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonQueued})
	if err := w.Status().Update(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}

// While Ceph does not answer, the journal's copy in Ceph cannot be removed. The next sweep cannot
// distinguish it from an orphaned one, so it restores the values in it, although the abandoned
// sweep still exists.
func abandonedAndLeftInCeph(w *world) {
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
	w.awaitEvent(v1alpha1.ReasonAbandoned, "journal in Ceph could not be removed")
	w.wantNoJournal()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.goOn()
	w.ahead.Add(int64(11 * time.Minute)) // Its lock could not be released either.
	next := w.create("next", profile)
	w.awaitAfterCrash(next, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s/s", w.namespace))
	w.wantState(before)

	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "kept from changing what nobody would put back", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionStalled)(s) && hasReason(v1alpha1.ReasonAbandoned)(s)
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) })
	w.await(s, "at work again", conditionTrue(v1alpha1.ConditionReconciling))
	w.delete(s)
	w.awaitGone(s)
	w.wantState(before)
}

// A user edits the sweep while its restore is abandoned, so the status of that pass cannot be
// written. The condition and an Event must name the original value anyway.
func abandonedAndEdited(w *world) {
	s := w.inMidRun()
	edited := s.DeepCopy()
	var edit sync.Once
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb != "SetConfig" && verb != "RemoveConfig" {
				return nil
			}
			edit.Do(func() { w.annotate(edited) })
			return &ceph.Error{Verb: verb, Errno: 13, Message: "Error EACCES: access denied"}
		}
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
		s.Spec.Suspend = true
	})
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonAbandoned, "osd_mclock_profile was unset before")
	w.awaitEvent(v1alpha1.ReasonAbandoned, "osd_mclock_profile was unset before")
	w.wantNoJournal()
}

// Another Kubernetes cluster took the lock while this one was away, and has changed settings since.
// This sweep must not remove the other one's journal.
func abandonedWithAnotherSweep(w *world) {
	s := w.inMidRun()
	w.stop()
	const theirs = "cephtune/journal"
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Keys[theirs] = strings.Replace(c.Keys[theirs], string(s.UID), "their-uid", 1)
	})
	w.start()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
		s.Spec.Suspend = true
	})
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonAbandoned, "osd_mclock_profile")
	w.ceph.Act(func(c *cephtest.Cluster) {
		if !strings.Contains(c.Keys[theirs], "their-uid") {
			w.t.Errorf("the journal in Ceph is %q, want that of the other sweep", c.Keys[theirs])
		}
	})
}

// removeChildren plays the garbage collector, which the API server of tests lacks.
func (w *world) removeChildren() {
	w.t.Helper()
	if err := w.DeleteAllOf(w.t.Context(), &v1alpha1.CephBenchmark{}, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
}

// deleteNamespace does what Kubernetes does when a namespace is deleted: it removes everything in
// any order, including the manager's rights. Journals and locks stay: outside tests, they are in
// the manager's own namespace.
func (w *world) deleteNamespace() {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}); err != nil {
		w.t.Fatal(err)
	}
	rights.TakeAll(w.t, w.Client, w.server, w.namespace)
	if err := w.DeleteAllOf(w.t.Context(), &v1alpha1.CephTuningSweep{}, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	w.removeChildren()
}

func theNamespaceIsDeleted(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.deleteNamespace()
	w.goneWithItsNamespace(s, before)
}

func theNamespaceIsDeletedMeanwhile(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.deleteNamespace()
	w.start()
	w.goneWithItsNamespace(s, before)
}

func (w *world) goneWithItsNamespace(s *v1alpha1.CephTuningSweep, before string) {
	w.t.Helper()
	w.awaitGone(s)
	if left := w.children(); len(left) > 0 {
		w.t.Errorf("benchmark %s was made in a namespace that is deleted", left[0].Name)
	}
	w.wantState(before)
}

func thePoolIsGone(w *world) {
	w.bench.set(func(b *bench) {
		b.holdIf = func(*v1alpha1.CephBenchmark) bool { return w.ceph.Pool("open").PGNum == 64 }
	})
	s := w.create("s", strings.Replace(pgsInPlace, `["64"]`, `["64", "16"]`, 1))
	w.await(s, "in the run of a candidate", func(*v1alpha1.CephTuningSweep) bool {
		return w.ceph.Pool("open").PGNum == 64 && len(running(w.children())) > 0
	})
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.OSDMap.Pools = c.Answers.OSDMap.Pools[:0] })
	w.goOn()
	w.await(s, "proving", func(*v1alpha1.CephTuningSweep) bool { return len(running(w.children())) == 0 })
	time.Sleep(500 * time.Millisecond)
	w.advance(s, 2*unprovenFor)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonChangedByOthers, "no such pool")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonLeftAlone, "no longer exists")
	w.wantState("balancer true, flags [], keys map[]")
}

func thePermissionIsTakenBack(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.stop()
	w.allowed.Clusters[0].ExistingPools = nil
	w.goOn()
	w.start()
	w.awaitAfterCrash(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, "open")
	w.wantState(before)
}

func cephRefusesTheRestore(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "RemoveConfig" {
				return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
			}
			return nil
		}
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "waiting", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "EPERM") })
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "EPERM")
	if exportertest.Counted(w.t, w.counted, metrics.Restores, exporter.OutcomeFailed) == 0 {
		w.t.Error("attempts that fail are not counted")
	}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantState(before)
}

// The restore waits for tools that can read the cluster's keys. Once there are such tools, it must
// be complete.
func keysThatToolsCannotRead(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(string) error {
			return &ceph.UnreadableKeyError{User: "cephtune-tuner", Version: "18.2.7", Image: "quay.io/ceph/ceph:v20.2.4"}
		}
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "waiting, with the image that is needed", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "use a tools image built from quay.io/ceph/ceph:v20.2.4")
	})
	if conditionTrue(v1alpha1.ConditionRestored)(s) {
		w.t.Error("it counts as restored")
	}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantState(before)
}

// A benchmark may never complete its teardown, because a node is gone or an OSD does not start with
// the changed value.
func aBenchmarkThatDoesNotGo(w *world) {
	before := w.state()
	s := w.inMidRun()
	child := w.awaitChild()
	w.keep(child, reconcile.CleanupFinalizer)
	w.delete(s)
	w.await(s, "waiting for its benchmark", waitsForBenchmark)
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == "" {
		w.t.Error("settings were put back under a benchmark that had no time to end")
	}
	w.advance(s, childrenFirst+time.Second)
	w.await(s, "restored, and waiting still", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionRestored)(s) && waitsForBenchmark(s)
	})
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now != "" {
		w.t.Errorf("osd_mclock_profile is %q, want it as before", now)
	}
	w.keep(child)
	w.awaitGone(s)
	w.wantState(before)
}

// The next run must not take abandoned values for the originals.
func givenUpForAnotherRun(w *world) {
	s := w.inMidRun()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "RemoveConfig" {
				return &ceph.Error{Verb: verb, Errno: 13, Message: "Error EACCES: access denied"}
			}
			return nil
		}
	})
	w.goOn()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		s.Spec.RunID = "2"
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
	})
	w.await(s, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonAbandoned, "Remove it first")
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonAbandoned, "osd_mclock_profile")
	if s.Status.ObservedRunID != "1" {
		w.t.Errorf("run %s has begun", s.Status.ObservedRunID)
	}
	w.change(s, func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) })
	w.await(s, "in its next run", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.ObservedRunID == "2" })
}

func anotherCephCluster(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.rook.set(func(f *fakeRook) { f.fsid = "5f0c0ffe-0000-4000-8000-000000000000" })
	w.await(s, "told apart", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "is now Ceph cluster") && strings.Contains(messageOf(s), "cannot be restored")
	})
	w.rook.set(func(f *fakeRook) { f.fsid = "" })
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterChanged, "Change runID")
	w.wantState(before)
}

// The manager is killed after a change, and cannot reach Rook's objects after its restart.
func deletedBeforeStatusIsWritten(w *world) {
	before := w.state()
	w.killAt(tuning.StepChanged)
	s := w.create("s", profile)
	w.awaitDeath()
	w.rook.set(func(f *fakeRook) { f.clusterIs = errors.New("the API server is busy") })
	w.delete(s)
	w.restart()
	w.await(s, "waiting for the cluster", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "cannot be restored") })
	w.rook.set(func(f *fakeRook) { f.clusterIs = nil })
	w.waitOutJournal(s)
	w.awaitGone(s)
	w.wantState(before)
}

func waitsForBenchmark(s *v1alpha1.CephTuningSweep) bool {
	return strings.Contains(messageOf(s), "Waiting for the teardown of benchmark")
}

// keep sets a benchmark's finalizers, which prevent its removal. Without finalizers, keep lets
// it go.
func (w *world) keep(child *v1alpha1.CephBenchmark, finalizers ...string) {
	w.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"finalizers": %s}}`, jsonOf(w.t, finalizers)))
	if err := w.Patch(w.t.Context(), child.DeepCopy(), patch); err != nil {
		w.t.Fatal(err)
	}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
