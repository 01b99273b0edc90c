package cephtuningsweep

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/stages"
	"github.com/cephtune/cephtune/internal/tuning"
)

// These tests store a sweep at each stage, from its creation to each of its ends, as other programs
// see it.
func TestStages(t *testing.T) {
	all := map[string]runtime.Object{}
	for name, s := range map[string]*v1alpha1.CephTuningSweep{
		"progressing_new":                 untouched(t, unseen),
		"progressing_preparing":           passed(t, unseen),
		"progressing_queued":              passed(t, unlocked, journalOf("other", true)),
		"progressing_window":              passed(t, outside, unlocked),
		"progressing_running":             passed(t, child(v1alpha1.ConditionReconciling)),
		"progressing_restoring":           concludedStage(t, steady(1.4), false),
		"progressing_failing":             passed(t, unhealthy),
		"progressing_suspending":          passed(t, suspendedNow, child()),
		"progressing_spec_changed":        untouched(t, endedWith(t, steady(1.4)), anotherRun, edited),
		"progressing_run_again":           passed(t, endedWith(t, steady(1.4)), anotherRun, edited),
		"progressing_deleting":            passed(t, deletedNow),
		"progressing_deleting_after_end":  passed(t, endedWith(t, steady(1.4)), deletedNow),
		"suspended":                       afterRestore(t, suspendedNow),
		"suspended_from_the_beginning":    passed(t, unseen, suspendedNow),
		"suspended_after_another_run":     passed(t, endedWith(t, steady(1.4)), anotherRun, suspendedNow, edited),
		"healthy_superior":                endedStage(t, steady(1.4)),
		"healthy_better":                  endedStage(t, steady(1.075)),
		"healthy_equivalent":              endedStage(t, steady(1)),
		"healthy_inferior":                endedStage(t, steady(0.7)),
		"healthy_inconclusive":            endedStage(t, noisy()),
		"healthy_invalid":                 endedStage(t, failing),
		"healthy_left_alone":              leftAlone(t, tuning.LeftAlone),
		"healthy_abandoned":               leftAlone(t, tuning.Abandoned),
		"healthy_planned":                 plannedStage(t),
		"healthy_edited_after_the_end":    passed(t, endedWith(t, steady(1.4)), edited),
		"degraded_by_verdict":             endedStage(t, steady(0.7), failsOn(v1alpha1.VerdictInferior, v1alpha1.VerdictInconclusive)),
		"degraded_by_verdict_that_is_new": passed(t, endedWith(t, steady(0.7)), failsOn(v1alpha1.VerdictInferior), edited),
		"healthy_verdict_accepted_later":  passed(t, endedWith(t, steady(0.7), failsOn(v1alpha1.VerdictInferior)), failsOn(), edited),
		"healthy_verdict_not_listed":      endedStage(t, steady(1.4), failsOn(v1alpha1.VerdictInferior)),
		"degraded_failed":                 afterRestore(t, unhealthy),
		"degraded_not_allowed":            passed(t, unseen, nowhere),
		"degraded_not_allowed_again":      passed(t, endedWith(t, steady(1.4)), anotherRun, edited, nowhere),
	} {
		s.Kind = "CephTuningSweep"
		settleTimes(s.Status.Conditions)
		all[name] = s
	}
	stages.Check(t, "CephTuningSweep", all)
}

// settleTimes replaces the times of conditions by a fixed time.
func settleTimes(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.NewTime(today())
	}
}

// untouched returns a sweep that the operator has not seen yet.
func untouched(t *testing.T, change ...func(*facts)) *v1alpha1.CephTuningSweep {
	t.Helper()
	return atWork(t, change...).sweep
}

// passed returns a sweep after a pass that has not ended it.
func passed(t *testing.T, change ...func(*facts)) *v1alpha1.CephTuningSweep {
	t.Helper()
	seen := atWork(t, change...)
	p, made := decide(seen), effect{}
	if p.Step == reconcile.StepBegin {
		made = begun(seen)
	}
	return statusAfter(seen, p, made, nil)
}

// unhealthy lets the sweep fail.
func unhealthy(f *facts) {
	failed(kstatus.Outcome{
		Reason: v1alpha1.ReasonClusterUnhealthy, Message: "Ceph has reported HEALTH_ERR since settings were changed: OSD_FULL (1 full osd(s)).",
	}).Edit(&f.sweep.Status)
}

// afterRestore returns a sweep after the pass that has completed its restore.
func afterRestore(t *testing.T, change ...func(*facts)) *v1alpha1.CephTuningSweep {
	t.Helper()
	seen := atWork(t, change...)
	p := decide(seen)
	done, err := (&Reconciler{}).afterRestore(t.Context(), working(seen), p)
	if err != nil || p.Step != stepRestore || !done.Finished {
		t.Fatalf("%s came to %+v, %v; want the end of a restore", p.Step, done, err)
	}
	return statusAfter(seen, p, done, nil)
}

// unseen returns a new sweep with the defaults of the API server.
func unseen(f *facts) {
	fresh(f)
	f.sweep.Status.ObservedGeneration = -1
}

func edited(f *facts) { f.sweep.Generation++ }

func nowhere(f *facts) { f.settings.Clusters = nil }

func failsOn(verdicts ...v1alpha1.SweepVerdict) func(*facts) {
	return func(f *facts) { f.sweep.Spec.FailOn = verdicts }
}

// speed returns the figure of the nth run, or 0 if the run fails.
type speed func(n int, baseline bool) float64

// steady returns a cluster on which candidates are faster than the baseline by a ratio.
func steady(ratio float64) speed {
	return func(n int, baseline bool) float64 {
		figure := 1000 * (1 + float64(n*7919%21-10)/1000) // noise of about 1 %
		if baseline {
			return figure
		}
		return ratio * figure
	}
}

// noisy returns a cluster with so much noise that no verdict is possible.
func noisy() speed {
	random := rand.New(rand.NewPCG(1, 2))
	return func(int, bool) float64 { return 1000 * math.Exp(0.3*random.NormFloat64()) }
}

// failing is a cluster on which every run fails.
func failing(int, bool) float64 { return 0 }

// measured enters runs of a sweep until the planner has its verdict.
func measured(t *testing.T, as speed) func(*facts) {
	t.Helper()
	return func(f *facts) {
		for f.next.Action == sweep.RunTrial {
			n := f.run()
			value, reason := as(n, f.next.Trial.Configuration == 0), v1alpha1.TrialReason("")
			if value == 0 {
				reason = v1alpha1.TrialFailed
			}
			after, err := f.design.Enter(sweepspec.NewEntry(f.next.Trial, reason, "", []float64{value}, 75, 4096).Trial(n))
			if err != nil {
				t.Fatal(err)
			}
			f.follow(after)
		}
		record, err := f.design.Record(f.now)
		if err != nil {
			t.Fatal(err)
		}
		recorded := f.sweep.Status.DeepCopy()
		record(recorded)
		f.sweep.Status.Trials = recorded.Trials
	}
}

// concludedStage returns a sweep with its verdict, whose settings are restored or not yet.
func concludedStage(t *testing.T, as speed, restoreSettings bool, change ...func(*facts)) *v1alpha1.CephTuningSweep {
	t.Helper()
	seen := atWork(t, append(change, limited, measured(t, as))...)
	p := decide(seen)
	if p.Detail.then != endsComplete {
		t.Fatalf("%s, want a restore with a verdict", p.Step)
	}
	conclusion, err := seen.concluded(p)
	if err != nil {
		t.Fatal(err)
	}
	made := effect{}
	if restoreSettings {
		if made, err = (&Reconciler{}).afterRestore(t.Context(), working(seen), p); err != nil {
			t.Fatal(err)
		}
	}
	made.Edit = inTurn(conclusion, made.Edit)
	return statusAfter(seen, p, made, nil)
}

// limited sets limits that the schema would set by default.
func limited(f *facts) {
	f.sweep.Spec.Budget.Duration = &metav1.Duration{Duration: 4 * time.Hour}
}

// endedStage returns a sweep that has ended on such a cluster.
func endedStage(t *testing.T, as speed, change ...func(*facts)) *v1alpha1.CephTuningSweep {
	t.Helper()
	return concludedStage(t, as, true, change...)
}

// endedWith returns facts of a sweep that has ended in this way.
func endedWith(t *testing.T, as speed, change ...func(*facts)) func(*facts) {
	t.Helper()
	return func(f *facts) {
		f.sweep = endedStage(t, as, change...)
		f.memory, f.locked, f.design, f.next = memory{}, false, nil, sweep.Decision{}
	}
}

// leftAlone returns a sweep that has ended without restoring one setting.
func leftAlone(t *testing.T, state tuning.State) *v1alpha1.CephTuningSweep {
	t.Helper()
	found := cephvalue.Of("high_recovery_ops")
	report := tuning.Report{Done: true, Entries: []tuning.Entry{{
		Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_mclock_profile"}, Original: cephvalue.Of("balanced"), State: state, Found: &found,
	}}}
	return endedStage(t, steady(1), func(f *facts) { setRestored(&f.sweep.Status, report, "") })
}

// plannedStage returns a sweep of mode Plan that has ended.
func plannedStage(t *testing.T) *v1alpha1.CephTuningSweep {
	t.Helper()
	seen := atWork(t, planMode)
	status := seen.sweep.Status.Plan
	status.MinimumRuns, status.MaximumRuns, status.EstimatedDuration = 12, 24, &metav1.Duration{Duration: 40 * time.Minute}
	done := effect{Finished: true, Edit: func(s *v1alpha1.CephTuningSweepStatus) { concludePlan(s, seen.now) }}
	return statusAfter(seen, plan{Step: stepPlan}, done, nil)
}
