package cephtuningsweep

import (
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// unplanned reports whether the sweep has no plan yet.
func (f facts) unplanned() bool {
	return f.sweep.Status.Plan == nil || f.sweep.Status.Plan.Seed == nil
}

func makePlanOnly(seen facts) (plan, bool) {
	return seen.planning(), seen.unplanned() && seen.sweep.Spec.Mode == v1alpha1.SweepModePlan
}

func makePlan(seen facts) (plan, bool) { return seen.planning(), seen.unplanned() }

// planning returns the decision to plan the sweep. Except with mode Plan, stepPlan waits until the cluster is
// healthy and quiescent.
func (f facts) planning() plan {
	p := plan{Step: stepPlan, Progress: "planning", Again: f.pace.Settle, Outcome: preparing("Looking at the cluster.")}
	limit := f.sweep.Spec.Quiescence.Timeout.Duration
	late := kstatus.Outcome{
		Reason: v1alpha1.ReasonClusterUnreachable, Message: fmt.Sprintf("The sweep could not be planned within %v: %s", limit, messageOf(f.sweep)),
	}
	if reasonOf(f.sweep) == v1alpha1.ReasonWaitingForQuiescence {
		late = kstatus.Outcome{
			Reason: v1alpha1.ReasonWaitingForQuiescence, Message: fmt.Sprintf("The cluster was not quiet enough to measure within %v: %s", limit, messageOf(f.sweep)),
		}
	}
	return p.AtMost(limit, "plan", late)
}

func failWithoutPlan(seen facts) (plan, bool) {
	switch refusals := seen.sweep.Status.Plan.Refusals; {
	case len(refusals) > 0:
		return fail(v1alpha1.ReasonNotPossible, whole(refusals)), true
	case seen.planErr == nil:
		return plan{}, false
	case errors.Is(seen.planErr, sweep.ErrPlan) && int(seen.sweep.Status.Plan.PlannerVersion) != sweep.Version:
		return fail(v1alpha1.ReasonPlannerChanged, fmt.Sprintf(
			"An operator with planner version %d began the sweep, and this one has version %d: the runs so far stay in status. Change runID to start over.",
			seen.sweep.Status.Plan.PlannerVersion, sweep.Version)), true
	}
	return fail(v1alpha1.ReasonNotPossible, seen.planErr.Error()), true
}
