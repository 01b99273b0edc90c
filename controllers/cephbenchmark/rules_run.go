package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
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
	if why := seen.target().StoppedByRoom(run, f, seen.roomBytes); why != "" {
		p := conclude(run, why)
		p.fatal, p.outcome = true, kstatus.Outcome{Reason: v1alpha1.ReasonOutOfRoom, Message: why}
		return p, true
	}
	if f.Background {
		return conclude(run, workload.SpoiltBy(f)), true
	}
	p := conclude(run, failed.outcome.Message)
	if why := seen.memory.noted.NotStarted[f.ID]; why != "" {
		p.wrong = fmt.Sprintf("The signal to start %s did not reach all clients: %s", f.ID, why)
	}
	if !f.SpoilsOneRun() {
		p.fatal, p.outcome = true, failed.outcome
	}
	return p, true
}

func concludeRunWithoutMore(seen facts) (plan, bool) {
	return conclude(seen.currentRun(), seen.misplaced), !seen.allRunsEnded() && seen.next.Kind == workload.MoveEnd
}

// conclude returns the plan that concludes a run. The parameter called wrong has the reason if the rules
// found the run invalid; if it is "", the step decides whether the run is valid.
func conclude(run int32, wrong string) plan {
	p := plan{step: stepConcludeRun, run: run, wrong: wrong}
	return p.atMost(concludeWithin, fmt.Sprintf("results of run %d", run), kstatus.Outcome{
		Reason: v1alpha1.ReasonResultsNotKept, Message: fmt.Sprintf("The results of run %d could not be saved within %v.", run, concludeWithin),
	})
}

// nextMove is the last rule: the clients are ready and have work to do.
func nextMove(seen facts) (plan, bool) {
	run := seen.currentRun()
	p := plan{step: stepMove, move: seen.next, run: run, progress: seen.next.Step, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d of %d.", run, seen.spec.Repetitions),
	}}
	if first := workload.TaskID(run, seen.script.Phases[0].Name); run == 1 && !seen.tasks.Begun(run) && seen.next.ID != first {
		p.outcome = preparing("Preparing the first run.")
	}
	if seen.next.Kind == workload.MoveWait { // The wait needs no limit, because runners enforce the deadlines of tasks.
		p.step = stepWait
		return p, true
	}
	if seen.next.Kind == workload.MoveRest {
		p.step, p.again = stepWait, seen.next.Until.Sub(seen.now)
		return p, true
	}
	return p.atMost(moveWithin, fmt.Sprintf("%s %s", seen.next.Kind, seen.next.ID), kstatus.Outcome{
		Reason: v1alpha1.ReasonPhaseFailed, Message: fmt.Sprintf("The clients made no progress for %v, %s:", moveWithin, seen.next.Step),
	}), true
}
