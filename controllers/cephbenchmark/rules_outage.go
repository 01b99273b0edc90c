package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/workload"
)

// refuseOutage checks, before anything is created, whether the outage is possible in this cluster.
func refuseOutage(seen facts) (plan, bool) {
	wanted, found := seen.outagePlan()
	if !found || seen.job != nil {
		return plan{}, false
	}
	reason := wanted.Impossible(seen.outageCluster())
	return fail(v1alpha1.ReasonOutageRefused, "The OSDs cannot be stopped: "+reason+"."), reason != ""
}

// endOutage ends the outage on time, or early: if the outage has failed, if its phase has ended, or if a
// disturbance aborts the run. It precedes all rules that wait for the cluster or the clients, because a wait
// must not keep OSDs down.
func endOutage(seen facts) (plan, bool) {
	if !seen.osdsStopped() {
		return plan{}, false
	}
	d, aborts := seen.abortingDisturbance()
	p := plan{Step: stepRestoreOSDs, Progress: "bringing OSDs back", Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRestoringOSDs, Message: "The outage is over: bringing its OSDs back.",
	}}
	if aborts {
		p.Detail.wrong = fmt.Sprintf("%s: %s", d.Kind, d.Message)
	}
	return p, seen.outage.Step == outage.StepUnsetNoup || aborts
}

// concludeFailedOutage ends a run whose outage has failed: the rest of its phase is not worth
// measuring.
func concludeFailedOutage(seen facts) (plan, bool) {
	d := seen.memory.outage
	if d.Failed == "" || d.Outstanding() || d.Run != seen.currentRun() || seen.allRunsEnded() || !seen.tasks.Begun(d.Run) {
		return plan{}, false
	}
	p := conclude(d.Run, "The outage: "+d.Failed)
	if d.Refused {
		p.Detail.fatal, p.Outcome = true, kstatus.Outcome{Reason: v1alpha1.ReasonOutageRefused, Message: "The OSDs were not stopped: " + d.Failed + "."}
	}
	return p, true
}

// runOutage stops OSDs at the planned time, and observes the outage from then on.
func runOutage(seen facts) (plan, bool) {
	active := seen.outage.Step == outage.StepStop || seen.outage.Step == outage.StepWait
	if !active || seen.next.Kind != workload.MoveWait {
		return plan{}, false
	}
	p, _ := nextMove(seen)
	p.Step, p.Again = stepTakeOSDsDown, seen.outage.Again
	switch d := seen.memory.outage; {
	case d.Stop.IsZero():
	case d.NoupUnset.IsZero():
		p.Progress += ", " + ceph.OSDNames(seen.outage.Plan.OSDs) + " down"
	default:
		p.Progress += ", recovering"
	}
	return p, true
}
