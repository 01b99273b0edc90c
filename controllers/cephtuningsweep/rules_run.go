package cephtuningsweep

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// keepWinner applies the winning configuration and keeps it.
func keepWinner(seen facts) (plan, bool) {
	switch {
	case !seen.keeps():
		return plan{}, false
	case seen.stuck():
		return plan{step: stepGiveUpKeeping, again: reconcile.AtOnce}, true
	}
	for _, apply := range []func(facts) (plan, bool){applyConfiguration, settleConfiguration, restartOSDs} {
		if p, applies := apply(seen); applies {
			return p, true
		}
	}
	return plan{step: stepKeep, again: seen.pace.Settle, progress: "keeping the winner", outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Leaving the winner, %s, applied.", seen.configuration().Name),
	}}, true
}

// keeps reports whether the winner's settings still have to be applied and kept, and whether that is allowed
// and possible. Status gets the verdict only afterwards. So without a verdict in status, keeping continues,
// even after a suspension.
func (f facts) keeps() bool {
	if f.next.Action != sweep.Conclude || f.sweep.Spec.OnCompletion != v1alpha1.CompletionKeepBest ||
		f.next.Conclusion.Winner == 0 || f.memory.cannotKeep || f.sweep.Status.Verdict != "" || !sweepspec.ChangesCeph(&f.sweep.Spec) ||
		!f.speaksForEnough() || f.otherCeph != "" || notAllowed(f.sweep.Spec, f.settings) != "" {
		return false
	}
	return f.journal == nil || !slices.ContainsFunc(f.journal.Entries, func(e tuning.Entry) bool { return e.State == tuning.Kept })
}

// speaksForEnough reports whether the scope of the verdict allows KeepBest.
func (f facts) speaksForEnough() bool {
	if f.sessions != nil {
		return f.sessions.MayKeep()
	}
	return sweepspec.MayKeep(&f.sweep.Spec, sweepspec.BlocksScope(&f.sweep.Spec, f.next.Conclusion))
}

// failOutOfRoom ends a sweep if a run had too little space for its data. Fast configurations fill the space
// first, so continuing without those runs would favour slow configurations.
func failOutOfRoom(seen facts) (plan, bool) {
	if seen.child == nil {
		return plan{}, false
	}
	condition := meta.FindStatusCondition(seen.child.Status.Conditions, v1alpha1.ConditionFailed)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != v1alpha1.ReasonOutOfRoom {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonOutOfRoom, fmt.Sprintf("Run %d, %s: %s", seen.run(), seen.configuration().Name, condition.Message)), true
}

// renameBenchmark gives the benchmark of the next run another name. An object that has the name by chance, or by
// intent, is left alone.
func renameBenchmark(seen facts) (plan, bool) {
	return plan{step: stepRename, again: reconcile.AtOnce, progress: seen.doing("proving"), outcome: seen.running()}, seen.taken
}

func enterRun(seen facts) (plan, bool) {
	over := seen.spoilt != "" || seen.child != nil && childHasEnded(seen.child)
	return plan{step: stepEnter, again: seen.pace.Settle, progress: seen.doing("proving"), outcome: seen.running()}, over
}

func watchRun(seen facts) (plan, bool) {
	p := plan{step: stepWatch, again: seen.pace.Watch, progress: seen.doing("measuring"), outcome: seen.running()}
	if seen.child != nil && hasOutcome(seen.child) {
		says := kstatus.Current(seen.child.Status.Conditions).Message
		p = p.atMost(removedWithin, fmt.Sprintf("run %d to be removed: %s", seen.run(), says), kstatus.Outcome{
			Reason:  v1alpha1.ReasonTearingDown,
			Message: fmt.Sprintf("Benchmark %s has ended, and its teardown made no progress for %v: %s", seen.child.Name, removedWithin, says),
		})
	}
	return p, seen.child != nil
}

// removedWithin limits the time without progress in the teardown of a run's benchmark, and the whole teardown
// of a session's benchmark. It is longer than the time for which a client may remove its data in a teardown.
const removedWithin = time.Hour

func applyConfiguration(seen facts) (plan, bool) {
	known := seen.memory.slot.run == seen.run() && seen.memory.slot.want != nil
	return plan{
		step: stepApply, again: reconcile.AtOnce, progress: seen.doing("changing settings"), outcome: seen.settling("Changing settings."),
	}, !known
}

func settleConfiguration(seen facts) (plan, bool) {
	return plan{
		step: stepSettle, again: seen.pace.Settle, progress: seen.doing("settling"), outcome: seen.settling("Waiting for the cluster to settle."),
	}, !seen.memory.slot.settled
}

func restartOSDs(seen facts) (plan, bool) {
	return plan{
		step: stepRestart, again: seen.pace.Settle, progress: seen.doing("restarting OSDs"), outcome: seen.settling("Restarting OSDs."),
	}, seen.mayRestart() && !seen.memory.slot.started
}

// measure is the last rule and always applies: by now, the cluster has the configuration.
func measure(seen facts) (plan, bool) {
	return plan{step: stepMeasure, again: seen.pace.Settle, progress: seen.doing("proving"), outcome: seen.running()}, true
}

func (f facts) doing(what string) string {
	return fmt.Sprintf("run %d, %s: %s", f.run(), f.configuration().Name, what)
}

func (f facts) running() kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d: %s.", f.run(), f.configuration().Name)}
}

func (f facts) settling(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonSettling, Message: fmt.Sprintf("Run %d: %s. %s", f.run(), f.configuration().Name, message)}
}
