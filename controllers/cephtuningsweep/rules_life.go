package cephtuningsweep

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

func stallOnSchedule(seen facts) (plan, bool) {
	return reconcile.StallOnSchedule[detail](seen.schedule, seen.atWork())
}

func awaitTime(seen facts) (plan, bool) { return reconcile.AwaitTime[detail](seen.schedule) }

func leaveEndedAlone(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepNone}, seen.ended() && !seen.replaced() && seen.sweep.Status.ObservedGeneration == seen.sweep.Generation
}

func acknowledgeEnded(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepAcknowledge}, seen.ended() && !seen.replaced()
}

func idleSuspended(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepIdle, Outcome: suspended()}, seen.sweep.Spec.Suspend
}

func suspended() kstatus.Outcome {
	return kstatus.Outcome{
		Reason:  v1alpha1.ReasonSuspended,
		Message: "The sweep does not run while spec.suspend is true. Set it to false to continue.",
	}
}

// failAfterEdit ends a sweep whose spec was changed without a new runID. Admission cannot prevent such a
// change if the runID is changed and changed back while the sweep is suspended.
func failAfterEdit(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonSpecChanged, "The spec was changed, but runID still names the run of the old spec. Change runID to start over with the new spec."),
		seen.atWork() && seen.edited
}

func stallOnSettings(seen facts) (plan, bool) {
	problem := notAllowed(seen.sweep.Spec, seen.settings)
	if problem == "" {
		return plan{}, false
	}
	o := kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: problem}
	if seen.atWork() {
		return plan{Step: reconcile.StepFail, Outcome: o}, true
	}
	return plan{Step: reconcile.StepStall, Outcome: o}, true
}

// refusedAgain is the interval between checks whether benchmarks may run in a namespace, with their claims.
// The manager does not watch Roles, claims and StorageClasses.
const refusedAgain = time.Minute

func stallOnRefusal(seen facts) (plan, bool) {
	return plan{
		Step: reconcile.StepStall, Again: refusedAgain, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: seen.refused},
	}, seen.refused != ""
}

// stallAbandoned keeps a run ID from beginning or continuing while the abandon annotation is set, because the
// restore of its changes would be abandoned. The annotation stays on a sweep until a person removes it.
func stallAbandoned(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepStall, Outcome: stillAbandoned(seen.sweep)}, !seen.atWork() && seen.abandonRequested()
}

func stillAbandoned(s *v1alpha1.CephTuningSweep) kstatus.Outcome {
	return kstatus.Outcome{
		Reason: v1alpha1.ReasonAbandoned,
		Message: fmt.Sprintf("Annotation %[1]s abandoned a restore and would also abandon that of this run. Remove it first: "+
			"`kubectl -n %s annotate cephsweep %s %[1]s-`.", v1alpha1.AnnotationAbandonRestore, s.Namespace, s.Name),
	}
}

func begin(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepBegin, Outcome: preparing("Looking at the cluster.")}, !seen.atWork()
}

func protect(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepProtect}, !controllerutil.ContainsFinalizer(seen.sweep, Finalizer)
}
