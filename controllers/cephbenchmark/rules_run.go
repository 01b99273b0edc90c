package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
)

func abortDisturbedRun(seen facts) (plan, bool) {
	run := seen.currentRun()
	if seen.allRunsEnded() || !seen.begun(run) || seen.next.kind == moveEnd {
		return plan{}, false
	}
	for _, d := range seen.disturbances(run) {
		if d.Action == v1alpha1.DisturbanceAbort {
			return conclude(run, seen.forgottenOutage(run)+string(d.Kind)+": "+d.Message), true
		}
	}
	return plan{}, false
}

func concludeFailedRun(seen facts) (plan, bool) {
	if seen.allRunsEnded() || seen.next.kind != moveFail {
		return plan{}, false
	}
	f, run := *seen.next.failure, seen.currentRun()
	failed := fail(v1alpha1.ReasonPhaseFailed, describeFailure(f))
	if !seen.begun(run) {
		return failed, true
	}
	if ended, is := seen.stoppedByRoom(run, f); is {
		p := conclude(run, ended.outcome.Message)
		p.fatal, p.outcome = true, ended.outcome
		return p, true
	}
	if f.background {
		return conclude(run, spoiltByBackground(f)), true
	}
	p := conclude(run, failed.outcome.Message)
	if why := seen.memory.notStarted[f.id]; why != "" {
		p.wrong = fmt.Sprintf("The signal to start %s did not reach all clients: %s", f.id, why)
	}
	if !f.spoilsOneRun() {
		p.fatal, p.outcome = true, failed.outcome
	}
	return p, true
}

func concludeRunWithoutMore(seen facts) (plan, bool) {
	return conclude(seen.currentRun(), ""), !seen.allRunsEnded() && seen.next.kind == moveEnd
}

// conclude ends a run, which is evidence if nothing is wrong.
func conclude(run int32, wrong string) plan {
	p := plan{step: stepConcludeRun, run: run, wrong: wrong}
	return p.atMost(concludeWithin, fmt.Sprintf("results of run %d", run), kstatus.Outcome{
		Reason: v1alpha1.ReasonResultsNotKept, Message: fmt.Sprintf("The results of run %d could not be kept within %v.", run, concludeWithin),
	})
}

// nextMove is the last rule: the clients are ready and have something to do.
func nextMove(seen facts) (plan, bool) {
	run := seen.currentRun()
	p := plan{step: stepMove, move: seen.next, run: run, progress: seen.next.step, outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Run %d of %d.", run, seen.spec.Repetitions),
	}}
	if first := taskID(run, seen.script.phases[0].name); run == 1 && !seen.tasks.begun(run) && seen.next.id != first {
		p.outcome = preparing("Making what the first run needs.")
	}
	if seen.next.kind == moveWait { // Runners have deadlines of their own.
		p.step = stepWait
		return p, true
	}
	if seen.next.kind == moveRest {
		p.step, p.again = stepWait, seen.next.until.Sub(seen.now)
		return p, true
	}
	return p.atMost(moveWithin, fmt.Sprintf("%s %s", seen.next.kind, seen.next.id), kstatus.Outcome{
		Reason: v1alpha1.ReasonPhaseFailed, Message: fmt.Sprintf("The clients made no progress for %v, %s:", moveWithin, seen.next.step),
	}), true
}
