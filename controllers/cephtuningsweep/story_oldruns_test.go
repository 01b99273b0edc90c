package cephtuningsweep

// These stories go with internal/sweepspec/oldruns.go.

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Stories of an upgrade from a version that wrote trials as texts.
func oldRunStories() map[string]story {
	return map[string]story{
		"a sweep in progress continues with old runs": func(w *world) {
			before := w.state()
			s := w.inSecondTrial()
			first := s.Status.Trials[0]
			w.stopWithOldRuns(s, oldRun)
			w.goOn()
			w.start()
			w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.wantVerdictOf(s, v1alpha1.VerdictEquivalent)
			w.wantState(before)
			got := s.Status.Trials[0]
			if len(s.Status.Runs) > 0 || got.Number != 1 || got.Objective != first.Objective || *got.Configuration != *first.Configuration || *got.Block != *first.Block {
				w.t.Errorf("%d old runs, first trial %+v, want %+v", len(s.Status.Runs), got, first)
			}
		},
		"a sweep that has ended keeps old runs": func(w *world) {
			s := w.create("s", profile)
			w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.stopWithOldRuns(s, oldRun)
			w.start()
			next := w.create("next", profile)
			w.await(next, "complete", conditionTrue(v1alpha1.ConditionComplete))
			now := &v1alpha1.CephTuningSweep{}
			if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), now); err != nil || now.ResourceVersion != s.ResourceVersion {
				w.t.Errorf("the sweep was written again: %+v, %v", now.Status, err)
			}
			w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.HistoryLimit = 3 })
			w.await(s, "written again", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.ObservedGeneration == s.Generation })
			if len(s.Status.Runs) > 0 || len(s.Status.Trials) < 6 {
				w.t.Errorf("after an edit, %d old runs and %d trials", len(s.Status.Runs), len(s.Status.Trials))
			}
		},
	}
}

func oldSessionStories() map[string]story {
	return map[string]story{
		"a suspended sweep continues with old sessions": func(w *world) {
			before := w.state()
			s := w.inSession()
			w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
			w.await(s, "suspended", hasReason(v1alpha1.ReasonSuspended))
			w.stopWithOldRuns(s, oldInvalidSession)
			w.start()
			w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
			w.wantDrawnAgain(s, before, v1alpha1.TrialInterrupted)
			if len(s.Status.Runs) > 0 {
				w.t.Errorf("old runs %q", s.Status.Runs)
			}
		},
	}
}

// stopWithOldRuns stops the manager, and writes the trials of a sweep as an earlier version did.
func (w *world) stopWithOldRuns(s *v1alpha1.CephTuningSweep, text func(v1alpha1.Trial) string) {
	w.t.Helper()
	w.stop()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		w.t.Fatal(err)
	}
	for _, t := range s.Status.Trials {
		s.Status.Runs = append(s.Status.Runs, text(t))
	}
	if len(s.Status.Runs) == 0 {
		w.t.Fatal("the sweep has no trials")
	}
	s.Status.Trials = nil
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}

func oldRun(t v1alpha1.Trial) string {
	figures := "-"
	if t.Objective != "" {
		figures = string(t.Objective)
	}
	for _, c := range t.Constraints {
		figures += "," + string(c)
	}
	validity := strings.Replace(t.Validity(), "Interrupted", "Discarded", 1)
	return fmt.Sprintf("%d %d.%d.%d %d %s %ds %dMi %s", t.Number, t.Block.Number, t.Block.Attempt, t.Block.Position, *t.Configuration, figures, t.DurationSeconds, t.WrittenMebibytes, validity)
}

func oldInvalidSession(t v1alpha1.Trial) string {
	return fmt.Sprintf("%d 0 0 0.000000 0.000000 0,0,0,0 0.00 0.00 %ds %dMi %s %s", t.Number, t.DurationSeconds, t.WrittenMebibytes, t.EndTime.UTC().Format("20060102T1504Z"), t.Reason)
}
