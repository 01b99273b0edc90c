package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/workload"
)

func abortDisturbedRun(seen facts) (plan, bool) {
	run := seen.currentRun()
	if seen.allRunsEnded() || !seen.begun(run) || seen.next.Kind == workload.MoveEnd {
		return plan{}, false
	}
	d, aborts := seen.abortingDisturbance()
	return conclude(run, seen.forgottenOutage(run)+string(d.Kind)+": "+d.Message), aborts
}

func concludeFailedRun(seen facts) (plan, bool) {
	if seen.allRunsEnded() || seen.next.Kind != workload.MoveFail {
		return plan{}, false
	}
	f, run := *seen.next.Failure, seen.currentRun()
	failed := fail(v1alpha1.ReasonPhaseFailed, workload.Describe(f))
	if !seen.begun(run) {
		return failed, true
	}
	if reason := seen.target().StoppedByRoom(run, f, seen.roomBytes); reason != "" {
		p := conclude(run, reason)
		p.Detail.fatal, p.Outcome = true, kstatus.Outcome{Reason: v1alpha1.ReasonOutOfRoom, Message: reason}
		return p, true
	}
	if f.Background {
		return conclude(run, workload.SpoiltBy(f)), true
	}
	p := conclude(run, failed.Outcome.Message)
	if reason := seen.memory.noted.NotStarted[f.ID]; reason != "" {
		p.Detail.wrong = fmt.Sprintf("The signal to start %s did not reach all clients: %s", f.ID, reason)
	}
	if !f.SpoilsOneRun() {
		p.Detail.fatal, p.Outcome = true, failed.Outcome
	}
	return p, true
}

func concludeRunWithoutMore(seen facts) (plan, bool) {
	return conclude(seen.currentRun(), seen.misplaced), !seen.allRunsEnded() && seen.next.Kind == workload.MoveEnd
}

// conclude returns the plan that concludes a run. The parameter called wrong has the reason if the rules
// found the run invalid; if it is "", the step decides whether the run is valid.
func conclude(run int32, wrong string) plan {
	p := plan{Step: stepConcludeRun, Detail: detail{run: run, wrong: wrong}}
	return p.AtMost(concludeWithin, fmt.Sprintf("results of run %d", run), kstatus.Outcome{
		Reason: v1alpha1.ReasonResultsNotKept, Message: fmt.Sprintf("The results of run %d could not be saved within %v.", run, concludeWithin),
	})
}

// nextMove is the last rule: the clients are ready and have work to do.
func nextMove(seen facts) (plan, bool) {
	run := seen.currentRun()
	p := plan{Step: stepMove, Detail: detail{move: seen.next, run: run}, Progress: seen.next.Step, Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d of %d.", run, seen.spec.Repetitions),
	}}
	if seen.diagnoses() {
		p.Outcome.Message = "Measuring layers."
	}
	if first := workload.TaskID(run, seen.script.Phases[0].Name); run == 1 && !seen.tasks.Begun(run) && seen.next.ID != first {
		p.Outcome = preparing("Preparing the first run.")
	}
	if seen.next.Kind == workload.MoveWait { // The wait needs no limit, because runners enforce the deadlines of tasks.
		p.Step = reconcile.StepWait
		return p, true
	}
	if seen.next.Kind == workload.MoveRest {
		p.Step, p.Again = reconcile.StepWait, seen.next.Until.Sub(seen.now)
		return p, true
	}
	return p.AtMost(moveWithin, fmt.Sprintf("%s %s", seen.next.Kind, seen.next.ID), kstatus.Outcome{
		Reason: v1alpha1.ReasonPhaseFailed, Message: fmt.Sprintf("The clients made no progress for %v, %s:", moveWithin, seen.next.Step),
	}), true
}
