package cephtuningsweep

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// The rules of the design Interleaved. Before the first session, each configuration is proven: its values are
// applied and read back once without load. The options of the session's own scratch pool are not, because the pool
// does not exist yet. Before a later session, only the baseline is proven again, unless the manager was
// restarted, the connection to Ceph changed, or settings were restored meanwhile. Then a benchmark with one long
// phase runs, and a loop switches settings during that phase. These rules do not apply to sweeps with the design
// Blocks.

// restoreInvalidSession restores everything after a session that may have left Ceph with unknown
// settings.
func restoreInvalidSession(seen facts) (plan, bool) {
	return seen.restoreThen(endsInvalid, "The session is invalid. Restoring everything before the next one."),
		seen.sessions != nil && seen.memory.pauses == endsInvalid && !seen.isJudged()
}

// removeBenchmarks waits for the teardown of benchmarks before the next run or session: of ended sessions, because
// their scratch pools have the same name, and of a benchmark that does not count any more.
func removeBenchmarks(seen facts) (plan, bool) {
	if seen.child != nil || len(seen.others) == 0 {
		return plan{}, false
	}
	p := plan{Step: stepRemoveBenchmarks, Again: seen.pace.Settle, Progress: "removing an earlier benchmark", Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonTearingDown, Message: fmt.Sprintf("Waiting for the teardown of benchmark %s.", seen.others[0].Name),
	}}
	return p.AtMost(removedWithin, "removal of "+seen.others[0].Name, kstatus.Outcome{
		Reason: v1alpha1.ReasonTearingDown, Message: fmt.Sprintf("The teardown of benchmark %s took more than %v.", seen.others[0].Name, removedWithin),
	}), true
}

// enterSession enters a session into the ledger if the session has ended.
func enterSession(seen facts) (plan, bool) {
	p := plan{Step: stepEnterSession, Again: reconcile.AtOnce, Progress: seen.sessionProgress("judging"), Outcome: seen.inSession("Entering it into the ledger.")}
	return p, seen.sessions != nil && seen.next.Action == sweep.RunTrial && (seen.isJudged() || seen.spoilt != "" || seen.child != nil && seen.sessionIsOver())
}

// isJudged reports whether the ledger entries of the current session are known, but not yet in status. That
// happens if a later part of stepEnterSession, such as the write of status, has failed.
func (f facts) isJudged() bool {
	m := &f.memory.switching
	return m.number == f.run() && m.trial != nil
}

// sessionIsOver reports whether the current session has ended, validly or not. Either its loop has ended, or
// its benchmark ended before the loop began. A session of another process is also over, because the loop
// ended with that process.
func (f facts) sessionIsOver() bool {
	m := &f.memory.switching
	if m.number != f.run() || m.child != f.child.UID {
		return true
	}
	return m.loop != nil && m.loop.hasEnded() || m.loop == nil && (hasOutcome(f.child) || childHasEnded(f.child))
}

// watchSession checks the cluster, and starts the loop once the load has warmed up.
func watchSession(seen facts) (plan, bool) {
	doing := "The load warms up."
	if seen.memory.switching.loop != nil {
		doing = fmt.Sprintf("%ss are switched under a running load.", seen.noun().Upper())
		if seen.sessions != nil && seen.sessions.Long > 0 {
			doing = fmt.Sprintf("Each %s stays applied for a long window.", seen.noun())
		}
	}
	return seen.untilEnd(plan{
		Step: stepWatchSession, Again: seen.pace.Watch, Progress: seen.sessionProgress("preparing"), Outcome: seen.inSession(doing),
		Detail: detail{summary: seen.sessionPace()},
	}), seen.sessions != nil && seen.child != nil
}

// proveConfiguration proves a configuration without load.
func proveConfiguration(seen facts) (plan, bool) {
	doing := "Trying the settings without load."
	if seen.sessions != nil && seen.sessions.Aims() { // There is nothing to try.
		doing = "Preparing it."
	}
	return plan{
		Step: stepProve, Again: seen.pace.Settle, Progress: seen.sessionProgress("proving " + seen.configuration().Name), Outcome: seen.inSession(doing),
	}, seen.sessions != nil
}

// beginSession creates the benchmark of a session once all configurations are proven.
func beginSession(seen facts) (plan, bool) {
	return plan{
		Step: stepBeginSession, Again: reconcile.AtOnce, Progress: seen.sessionProgress("preparing"),
		Outcome: seen.inSession(fmt.Sprintf("Creating the %s and the clients of the session.", seen.noun().PoolsOfSession())),
	}, seen.sessions != nil && seen.child == nil && seen.next.Action == sweep.RunTrial && seen.allProven()
}

func (f facts) inSession(message string) kstatus.Outcome {
	return kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: fmt.Sprintf("Session %d. %s", f.run(), message)}
}

// sessionPace returns the progress of the current session, after the number of the session if there may be several; "" if
// it does not switch settings.
func (f facts) sessionPace() string {
	if f.sessions == nil || f.memory.switching.number != f.run() || f.memory.switching.loop == nil {
		return ""
	}
	now := f.memory.switching.loop.paceNow()
	if now == "" || f.sessions.Quick() {
		return now
	}
	p := f.sessions.Progress()
	return fmt.Sprintf("session %d/%d, %s", p.CompletedRuns+1, max(p.TotalRuns, p.CompletedRuns+1), now)
}

// sessionProgress describes the current activity. While settings are switched, the text changes only with the
// loop's interim results.
func (f facts) sessionProgress(activity string) string {
	if f.memory.switching.number == f.run() {
		if loop := f.memory.switching.loop; loop != nil {
			activity = loop.progress(f.noun())
		}
	}
	return fmt.Sprintf("session %d: %s", f.run(), activity)
}
