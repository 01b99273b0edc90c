package cephtuningsweep

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// keepWinner applies the winning configuration and keeps it.
func keepWinner(seen facts) (plan, bool) {
	switch {
	case !seen.keeps():
		return plan{}, false
	case seen.stuck():
		return plan{Step: stepGiveUpKeeping, Again: reconcile.AtOnce}, true
	}
	for _, apply := range []func(facts) (plan, bool){applyConfiguration, settleConfiguration, restartOSDs} {
		if p, applies := apply(seen); applies {
			return p, true
		}
	}
	return plan{Step: stepKeep, Again: seen.pace.Settle, Progress: "keeping the winner", Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Leaving the winner, %s, applied.", seen.configuration().Name),
	}}, true
}

// keeps reports whether the winner's settings still have to be applied and kept, and whether that is allowed
// and possible. Status gets the verdict only afterwards. So without a verdict in status, keeping continues,
// even after a suspension.
func (f facts) keeps() bool {
	if f.next.Action != sweep.Conclude || f.sweep.Spec.OnCompletion != v1alpha1.CompletionKeepBest ||
		f.next.Conclusion.Winner == 0 || f.memory.cannotKeep || f.sweep.Status.Verdict != "" || !sweepspec.ChangesCeph(&f.sweep.Spec) ||
		!sweepspec.MayKeep(&f.sweep.Spec, f.design.Scope(f.next.Conclusion)) || f.otherCeph != "" || notAllowed(f.sweep.Spec, f.settings) != "" {
		return false
	}
	return f.journal == nil || !slices.ContainsFunc(f.journal.Entries, func(e tuning.Entry) bool { return e.State == tuning.Kept })
}

// failOutOfRoom ends a sweep if a run had too little space for its data. Fast configurations fill the space
// first, so continuing without those runs would favour slow configurations.
func failOutOfRoom(seen facts) (plan, bool) {
	if seen.child == nil || failureOf(seen.child).Reason != v1alpha1.ReasonOutOfRoom {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonOutOfRoom, fmt.Sprintf("Run %d, %s: %s", seen.run(), seen.configuration().Name, failureOf(seen.child).Message)), true
}

// renameBenchmark gives the benchmark of the next run another name. An object that has the name by chance, or by
// intent, is left alone.
func renameBenchmark(seen facts) (plan, bool) {
	return plan{Step: stepRename, Again: reconcile.AtOnce, Progress: seen.doing("proving"), Outcome: seen.running()}, seen.taken
}

func enterRun(seen facts) (plan, bool) {
	over := seen.spoilt != "" || seen.child != nil && childHasEnded(seen.child)
	return plan{Step: stepEnter, Again: seen.pace.Settle, Progress: seen.doing("proving"), Outcome: seen.running()}, over
}

func watchRun(seen facts) (plan, bool) {
	return seen.untilEnd(plan{Step: stepWatch, Again: seen.pace.Watch, Progress: seen.doing("measuring"), Outcome: seen.running()}), seen.child != nil
}

const (
	// removedWithin limits the time without progress in the teardown of a run's benchmark, and the whole teardown
	// of a session's benchmark. It is longer than the time for which a client may remove its data in a teardown.
	removedWithin = time.Hour
	// unchangedWithin, added to the longest time for which a run may measure or wait for a quiet cluster, limits how
	// long the status of a benchmark may stay the same. The benchmark's own limits are shorter.
	unchangedWithin = 24 * time.Hour
)

// untilEnd limits how long a plan waits for a benchmark whose status says the same. A suspended benchmark has no limit
// of its own. It may be a copy: if the manager ends before it has recorded the UID of a new benchmark, users can
// replace that benchmark by a copy, and the signature does not cover spec.suspend.
func (f facts) untilEnd(p plan) plan {
	if f.child == nil {
		return p
	}
	text, reason, within := "benchmark "+f.child.Name, v1alpha1.ReasonNotPossible, f.child.Spec.Quiescence.Timeout.Duration+unchangedWithin
	switch expected := f.sweep.Status.Plan.RunDuration; {
	case hasOutcome(f.child):
		text, reason, within = "the teardown of "+text, v1alpha1.ReasonTearingDown, removedWithin
	case f.child.Spec.Suspend:
		within = f.sweep.Spec.Quiescence.Timeout.Duration
	case expected != nil:
		within += 2 * expected.Duration
	}
	message := kstatus.Current(f.child.Status.Conditions).Message
	return p.AtMost(within, fmt.Sprintf("%s, run %d: %s", text, f.run(), message), kstatus.Outcome{
		Reason: reason, Message: fmt.Sprintf("No progress of %s for %v: %s", text, within, message),
	})
}

func applyConfiguration(seen facts) (plan, bool) {
	known := seen.memory.trial.number == seen.run() && seen.memory.trial.want != nil
	return plan{
		Step: stepApply, Again: reconcile.AtOnce, Progress: seen.doing("changing settings"), Outcome: seen.settling("Changing settings."),
	}, !known
}

func settleConfiguration(seen facts) (plan, bool) {
	return plan{
		Step: stepSettle, Again: seen.pace.Settle, Progress: seen.doing("settling"), Outcome: seen.settling("Waiting for the cluster to settle."),
	}, !seen.memory.trial.settled
}

func restartOSDs(seen facts) (plan, bool) {
	return plan{
		Step: stepRestart, Again: seen.pace.Settle, Progress: seen.doing("restarting OSDs"), Outcome: seen.settling("Restarting OSDs."),
	}, seen.mayRestart() && !seen.memory.trial.started
}

// measure is the last rule and always applies: by now, the cluster has the configuration.
func measure(seen facts) (plan, bool) {
	return plan{Step: stepMeasure, Again: seen.pace.Settle, Progress: seen.doing("proving"), Outcome: seen.running()}, true
}

func (f facts) doing(text string) string {
	return fmt.Sprintf("run %d, %s: %s", f.run(), f.configuration().Name, text)
}

func (f facts) running() kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d: %s.", f.run(), f.configuration().Name)}
}

func (f facts) settling(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Run %d: %s. %s", f.run(), f.configuration().Name, message)}
}
