package cephtuningsweep

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// Crashes that need a certain moment. TestStorm kills managers at each step of a change.
func crashStories() map[string]story {
	return map[string]story{
		"killed while a benchmark runs":                        killedWhileABenchmarkRuns,
		"killed after a benchmark ended, before it is entered": killedBeforeTheEntry,
		"killed while a deleted sweep is restored":             killedWhileDeleted,
		"another client removes the benchmark of a run":        aBenchmarkIsRemoved,
		"the journal cannot be read":                           theJournalCannotBeRead,
	}
}

// wantVerdictOf checks the verdict of a sweep, and that all its runs are valid.
func (w *world) wantVerdictOf(s *v1alpha1.CephTuningSweep, want v1alpha1.SweepVerdict) {
	w.t.Helper()
	if s.Status.Verdict != want || trialsThatAre(s, v1alpha1.TrialValid) != len(s.Status.Trials) {
		w.t.Errorf("verdict %s after %v, want %s from valid runs: %s", s.Status.Verdict, validities(s), want, s.Status.Summary)
	}
	if w.bench.count() != len(s.Status.Trials) {
		w.t.Errorf("%d benchmarks for %d runs", w.bench.count(), len(s.Status.Trials))
	}
}

func killedWhileABenchmarkRuns(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.restart()
	time.Sleep(300 * time.Millisecond)
	if left := running(w.children()); len(left) != 1 {
		w.t.Errorf("%d benchmarks run, want the one that ran before", len(left))
	}
	w.goOn()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantVerdictOf(s, v1alpha1.VerdictEquivalent)
	w.wantState(before)
}

func killedBeforeTheEntry(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.stop()
	ended := w.bench.count()
	w.goOn()
	for end := time.Now().Add(soon); w.bench.count() == ended && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	w.start()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantVerdictOf(s, v1alpha1.VerdictEquivalent)
	w.wantState(before)
}

func killedWhileDeleted(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.killAt(tuning.StepOriginalSent)
	w.delete(s)
	w.awaitDeath()
	w.awaitGone(s)
	w.wantState(before)
}

func aBenchmarkIsRemoved(w *world) {
	before := w.state()
	s := w.inMidRun()
	w.removeChildren()
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictEquivalent || trialsThatAre(s, v1alpha1.TrialFailed) != 1 {
		w.t.Errorf("verdict %s after %v, want one failed run, which is drawn again", s.Status.Verdict, validities(s))
	}
	w.awaitEvent("TrialInvalid", "was deleted before its run ended")
	w.wantState(before)
}

// A later version of the operator has written the journal, and was then downgraded.
func theJournalCannotBeRead(w *world) {
	before := w.state()
	s := w.inMidRun()
	var maps corev1.ConfigMapList
	if err := w.List(w.t.Context(), &maps, client.InNamespace(w.namespace), client.HasLabels{settings.LabelManagedBy}); err != nil || len(maps.Items) != 1 {
		w.t.Fatalf("%d journals, %v", len(maps.Items), err)
	}
	kept := &maps.Items[0]
	known := kept.Data[journals.Key]
	write := func(text string) {
		patch := client.MergeFrom(kept.DeepCopy())
		kept.Data[journals.Key] = text
		if err := w.Patch(w.t.Context(), kept, patch); err != nil {
			w.t.Fatal(err)
		}
	}
	write(strings.Replace(known, `"schemaVersion":1`, `"schemaVersion":99`, 1))
	w.delete(s)
	w.await(s, "told", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "version 99") })
	write(known)
	w.awaitGone(s)
	w.wantState(before)
}
