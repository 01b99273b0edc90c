package cephbenchmark

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/workload"
)

// releaseDeleted removes the finalizer without a request to Ceph or Rook: deleting a sweep deletes hundreds
// of benchmarks whose teardown is already complete.
func releaseDeleted(seen facts) (plan, bool) {
	return plan{Step: stepRemoveFinalizer}, seen.deleted() && seen.tidied()
}

func tearDownDeleted(seen facts) (plan, bool) {
	return plan{Step: stepTearDown, Detail: detail{last: endsDeleted}, Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonTearingDown, Message: "Removing everything that the benchmark made, because it is deleted.",
	}}, seen.deleted()
}

func tearDownEnded(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{Step: stepTearDown, Detail: detail{last: endsHere}, Outcome: cleaningUp()}, hasEnded(status) && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling)
}

func cleaningUp() kstatus.Outcome {
	return kstatus.Outcome{
		Reason: v1alpha1.ReasonTearingDown, Message: "The outcome is in status. Removing everything that was made for it.",
	}
}

func stallOnSchedule(seen facts) (plan, bool) {
	return reconcile.StallOnSchedule[detail](seen.schedule, seen.atWork())
}

func awaitTime(seen facts) (plan, bool) { return reconcile.AwaitTime[detail](seen.schedule) }

func leaveEndedAlone(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{Step: reconcile.StepNone}, hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID &&
		status.ObservedGeneration == seen.benchmark.Generation
}

func acknowledgeEnded(seen facts) (plan, bool) {
	status := seen.benchmark.Status
	return plan{Step: reconcile.StepAcknowledge}, hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID
}

func hasEnded(status v1alpha1.CephBenchmarkStatus) bool { return kstatus.HasEnded(status.Conditions) }

func pauseWhileSuspended(seen facts) (plan, bool) {
	switch {
	case seen.pausing():
	case !seen.benchmark.Spec.Suspend:
		return plan{}, false
	case !seen.atWork():
		return plan{Step: reconcile.StepIdle, Outcome: suspended()}, true
	case !seen.osdsStopped() && (seen.isMeasuring() || seen.next.Kind == workload.MoveEnd || seen.next.Kind == workload.MoveFail || seen.next.Measured):
		return plan{}, false // Let the current phase end, unless OSDs would stay down meanwhile.
	}
	return plan{Step: stepTearDown, Detail: detail{last: endsPause}, Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonSuspended, Message: "Removing everything that the benchmark made, because it is suspended.",
	}}, true
}

func suspended() kstatus.Outcome {
	return kstatus.Outcome{
		Reason:  v1alpha1.ReasonSuspended,
		Message: "The benchmark does not run while spec.suspend is true. Set it to false to continue.",
	}
}

func stallOnSettings(seen facts) (plan, bool) {
	template := seen.spec.Template
	for _, target := range seen.spec.Targets() {
		template.Target = target
		if problem := seen.settings.Refusal(seen.spec.ClusterRef, template); problem != "" {
			return seen.refusedFor(problem, 0), true
		}
	}
	return plan{}, false
}

// stallOnTargets refuses several targets to a benchmark that no sweep created: nothing would load the other ones.
func stallOnTargets(seen facts) (plan, bool) {
	ofSweep := seen.benchmark.Status.Trial != nil || seen.admission.Trial != nil
	return seen.refusedFor("Only a CephTuningSweep sets otherTargets: remove it from the spec.", 0), len(seen.benchmark.Spec.OtherTargets) > 0 && !ofSweep
}

// refusedAgain is the interval between checks whether benchmarks may run in a namespace and use its claims. The
// manager does not watch Roles, claims and StorageClasses.
const refusedAgain = time.Minute

func stallOnRefusal(seen facts) (plan, bool) {
	return seen.refusedFor(seen.refused, refusedAgain), seen.refused != ""
}

// refusedFor returns the plan for a benchmark that may not run. The parameter again is the interval between
// checks whether that has changed; 0 if only a new spec can change it.
func (f facts) refusedFor(problem string, again time.Duration) plan {
	if f.atWork() {
		return fail(v1alpha1.ReasonNotAllowed, problem)
	}
	return plan{Step: reconcile.StepStall, Again: again, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: problem}}
}

// stallUnderSweep leaves a benchmark alone that a sweep did not create. Only somebody who edits its owner reference can
// change that, and such an edit starts no pass. So the controller looks again, at growing intervals: anybody may create
// many such benchmarks.
func stallUnderSweep(seen facts) (plan, bool) {
	return plan{
		Step: reconcile.StepStall, Again: seen.afterAge(refusedAgain, time.Hour), Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotAllowed, Message: seen.admission.Refusal},
	}, seen.admission.Refusal != ""
}

// awaitSweep waits until the sweep has recorded the UID of its new benchmark, which normally takes milliseconds. The
// wait ends when the sweep has another benchmark or is gone.
func awaitSweep(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepNone, Again: seen.afterAge(50*time.Millisecond, refusedAgain)}, seen.admission.Waits
}

// afterAge returns an interval that grows with the age of the benchmark.
func (f facts) afterAge(least, most time.Duration) time.Duration {
	return min(max(f.now.Sub(f.benchmark.CreationTimestamp.Time)/10, least), most)
}

// failUntrusted ends an execution that a user has edited.
func failUntrusted(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonNotAllowed, seen.untrusted), seen.untrusted != ""
}

// tearDownReplaced tears down the replaced execution before the next run ID begins. Once status has the next
// run ID, the names of the replaced execution's images and objects are lost.
func tearDownReplaced(seen facts) (plan, bool) {
	return plan{Step: stepTearDown, Detail: detail{last: endsReplaced}, Progress: "removing what the previous run left", Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonTearingDown, Message: "Removing what the previous run left, because runID has changed and that run has no clients.",
	}}, seen.replaced() && seen.inCeph
}

// begin starts or resumes the run ID in the spec. It applies if no execution is at work, or if the execution at
// work is replaced and has nothing in Ceph that must be torn down.
func begin(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepBegin, Outcome: lookingAtCluster()}, !seen.atWork() || seen.replaced()
}

func lookingAtCluster() kstatus.Outcome { return preparing("Looking at the cluster.") }

func protect(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepProtect}, !controllerutil.ContainsFinalizer(seen.benchmark, Finalizer)
}
