package cephtuningsweep

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

func restoreDeleted(seen facts) (plan, bool) {
	return seen.restoreThen(endsDeleted, "Restoring everything, because the sweep is deleted."), seen.deleted()
}

func restoreReplaced(seen facts) (plan, bool) {
	return seen.restoreThen(endsReplaced, fmt.Sprintf("Restoring everything before run %s begins.", seen.sweep.Spec.RunID)), seen.atWork() && seen.replaced()
}

func restoreFailing(seen facts) (plan, bool) {
	failing := seen.failing()
	if !seen.atWork() || failing == nil {
		return plan{}, false
	}
	return seen.restoreThen(endsFailed, "Restoring everything. "+failing.Message), true
}

func restoreSuspended(seen facts) (plan, bool) {
	return seen.restoreThen(endsPaused, "Restoring everything, because the sweep is suspended."),
		seen.atWork() && (seen.sweep.Spec.Suspend || seen.memory.pauses == endsPaused) // A started restore must finish; otherwise some changes would stay.
}

func restoreConcluded(seen facts) (plan, bool) {
	p := seen.restoreThen(endsComplete, "The verdict is in status. Restoring everything.")
	// The planner also concludes if the plan was refused, for example because the budget is below the cost of the first run.
	refused := seen.sweep.Status.Plan != nil && len(seen.sweep.Status.Plan.Refusals) > 0
	return p, seen.atWork() && seen.next.Action == sweep.Conclude && !refused && !seen.keeps()
}

func restoreOutOfWindow(seen facts) (plan, bool) {
	if seen.openErr != nil {
		return fail(v1alpha1.ReasonNotPossible, seen.openErr.Error()), true
	}
	return seen.restoreThen(endsClosed, "The window for changes has closed. Restoring everything."),
		seen.outOfWindow() && seen.underWay() || seen.memory.pauses == endsClosed
}

// restoreOrphaned restores the changes of another sweep that does not restore them, for example because its
// finalizer was removed. Otherwise, this sweep would measure with that sweep's values.
func restoreOrphaned(seen facts) (plan, bool) {
	if !seen.journalOrphaned() {
		return plan{}, false
	}
	return plan{Step: stepRestoreOther, Again: seen.pace.Settle, Outcome: kstatus.Outcome{
		Reason:  v1alpha1.ReasonRestoring,
		Message: fmt.Sprintf("Restoring the settings that the previous sweep, %s, changed.", seen.journal.Sweep),
	}}, true
}

// journalOrphaned reports whether the journal belongs to another sweep that no longer exists or does not
// restore it.
func (f facts) journalOrphaned() bool {
	return f.journal != nil && f.journal.Sweep != f.self() && !f.otherIsThere
}

func (f facts) restoreThen(then ending, message string) plan {
	return plan{Step: stepRestore, Detail: detail{then: then}, Again: f.pace.Settle, Progress: "restoring", Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRestoring, Message: message,
	}}
}
