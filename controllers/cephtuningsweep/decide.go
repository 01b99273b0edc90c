package cephtuningsweep

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
)

// step is one thing to do.
type step string

const (
	// stepNone leaves the object alone, status included.
	stepNone step = "None"
	// stepIdle waits for a change of the spec that is expected to come.
	stepIdle step = "Idle"
	// stepStall waits for a change of the spec or of the operator.
	stepStall step = "Stall"
)

// plan is what a pass decided, and what to tell the user about it.
type plan struct {
	step    step
	outcome kstatus.Outcome
}

// rule decides, if it applies.
type rule func(facts) (plan, bool)

// decide names the next step. It is pure: no client, no clock, no randomness.
// The first rule that applies decides; reading the list is reading the behaviour.
func decide(seen facts) plan {
	for _, apply := range []rule{
		leaveDeletedAlone, // nothing was changed, so there is nothing to restore
		idleWhileSuspended,
		stallWithoutPlanner, // this build can neither plan nor change settings
	} {
		if p, applies := apply(seen); applies {
			return p
		}
	}
	return plan{step: stepNone}
}

func leaveDeletedAlone(seen facts) (plan, bool) {
	return plan{step: stepNone}, !seen.sweep.DeletionTimestamp.IsZero()
}

func idleWhileSuspended(seen facts) (plan, bool) {
	return plan{step: stepIdle, outcome: kstatus.Outcome{
		Reason:  v1alpha1.ReasonSuspended,
		Message: "The sweep does not start while spec.suspend is true. Nothing was changed in Ceph.",
	}}, seen.sweep.Spec.Suspend
}

func stallWithoutPlanner(facts) (plan, bool) {
	return plan{step: stepStall, outcome: kstatus.Outcome{
		Reason:  v1alpha1.ReasonNotImplemented,
		Message: "This build of the operator can neither plan a sweep nor change settings. Nothing was changed in Ceph. Install a release that can.",
	}}, true
}
