package cephtuningsweep

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
)

func leaveDeletedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, seen.deleted() && !controllerutil.ContainsFinalizer(seen.sweep, Finalizer)
}

func leaveEndedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, seen.ended() && !seen.replaced() && seen.sweep.Status.ObservedGeneration == seen.sweep.Generation
}

func acknowledgeEnded(seen facts) (plan, bool) {
	return plan{step: stepAcknowledge}, seen.ended() && !seen.replaced()
}

func idleSuspended(seen facts) (plan, bool) {
	return plan{step: stepIdle, outcome: suspended()}, seen.sweep.Spec.Suspend
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
		return plan{step: stepFail, outcome: o}, true
	}
	return plan{step: stepStall, outcome: o}, true
}

// refusedAgain is the interval between checks whether benchmarks may run in a namespace, with their claims.
// The manager does not watch Roles, claims and StorageClasses.
const refusedAgain = time.Minute

func stallOnRefusal(seen facts) (plan, bool) {
	return plan{
		step: stepStall, again: refusedAgain, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: seen.refused},
	}, seen.refused != ""
}

// stallAbandoned keeps a run ID from beginning or continuing while the abandon annotation is set, because the
// restore of its changes would be abandoned. The annotation stays on a sweep until a person removes it.
func stallAbandoned(seen facts) (plan, bool) {
	return plan{step: stepStall, outcome: stillAbandoned(seen.sweep)}, !seen.atWork() && seen.abandonRequested()
}

func stillAbandoned(s *v1alpha1.CephTuningSweep) kstatus.Outcome {
	return kstatus.Outcome{
		Reason: v1alpha1.ReasonAbandoned,
		Message: fmt.Sprintf("Annotation %[1]s abandoned a restore and would also abandon that of this run. Remove it first: "+
			"`kubectl -n %s annotate cephsweep %s %[1]s-`.", v1alpha1.AnnotationAbandonRestore, s.Namespace, s.Name),
	}
}

func begin(seen facts) (plan, bool) {
	return plan{step: stepBegin, outcome: preparing("Looking at the cluster.")}, !seen.atWork()
}

func protect(seen facts) (plan, bool) {
	return plan{step: stepProtect}, !controllerutil.ContainsFinalizer(seen.sweep, Finalizer)
}
