package cephtuningsweep

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// effect is the result of a step.
type effect struct {
	// outcome replaces the outcome in the pass's plan, if outcome has a reason.
	outcome kstatus.Outcome
	// again is the longest time until the next pass; 0 means the time in the pass's plan.
	again time.Duration
	// waits reports that the step could not begin yet, so the trouble of earlier steps stays recorded.
	waits bool
	// finished reports that the sweep has ended, pauses, is deleted, or stalls until a person removes the
	// abandon annotation.
	finished bool
	// goesOn reports that the next part of a restore follows immediately. In this case, status changes only
	// by edit.
	goesOn bool
	// edit makes further changes to status; it may be nil.
	edit func(*v1alpha1.CephTuningSweepStatus)
	// events are emitted after the write of status, in addition to the event for a new reason.
	events []eventRecord
}

type eventRecord struct {
	kind, reason, message string
}

// act executes the step of the pass, and notes in memory since when the sweep has waited, or steps have
// failed.
func (r *Reconciler) act(ctx context.Context, seen facts, p plan) (effect, error) {
	if seen.memory != nil && p.step != stepLock {
		seen.memory.waits.Note(p.patience.For, seen.now)
		seen.forgetRestore(p.step)
	}
	came, err := r.carryOut(ctx, seen, p)
	if seen.memory != nil && !came.waits {
		seen.memory.noteTrouble(p.step, err, seen.now)
	}
	if came.again == 0 {
		came.again = p.again
	}
	return came, err
}

func (r *Reconciler) carryOut(ctx context.Context, seen facts, p plan) (effect, error) {
	switch p.step {
	case stepNone, stepIdle, stepStall, stepAcknowledge, stepWait:
		return effect{}, nil
	case stepBegin:
		return begun(seen), r.removeChildren(ctx, seen)
	case stepProtect:
		return effect{again: reconcile.AtOnce}, reconcile.AddFinalizer(ctx, r.Client, seen.sweep, Finalizer)
	case stepLock:
		return r.takeLock(ctx, seen)
	case stepYield:
		return effect{}, r.release(ctx, seen)
	case stepRestoreOther:
		return r.restoreOther(ctx, seen, p)
	case stepPlan:
		return r.makePlan(ctx, seen)
	case stepFail:
		return failed(p.outcome), nil
	case stepRestore:
		return r.restoreAndRelease(ctx, seen, p)
	default:
		return r.carryOutRun(ctx, seen, p)
	}
}

// carryOutRun executes a step of a run, of a session, or of keeping the winner.
func (r *Reconciler) carryOutRun(ctx context.Context, seen facts, p plan) (effect, error) {
	seen.noteSession(p.step)
	switch p.step {
	case stepApply:
		return r.applyConfiguration(ctx, seen)
	case stepSettle:
		return r.settle(ctx, seen)
	case stepRestart:
		return r.restartForRun(ctx, seen)
	case stepMeasure:
		return r.measure(ctx, seen)
	case stepWatch:
		return r.watch(ctx, seen)
	case stepEnter:
		return r.enter(ctx, seen)
	case stepRehearse:
		return r.rehearse(ctx, seen)
	case stepBeginSession:
		return r.beginSession(ctx, seen)
	case stepWatchSession:
		return r.watchSession(ctx, seen)
	case stepEnterSession:
		return r.enterSession(ctx, seen)
	case stepRemoveBenchmarks:
		return r.removeBenchmarks(ctx, seen)
	case stepRename:
		return seen.renamesTrial(), nil
	case stepKeep:
		return r.keep(ctx, seen)
	case stepGiveUpKeeping:
		return r.without(ctx, seen, sweepspec.Evidence{Failure: seen.noHeadway()})
	default:
		return effect{}, fmt.Errorf("no action for step %q", p.step)
	}
}

// begun returns the effect that begins a run ID. A suspended or stalled run ID keeps its plan and its
// ledger.
func begun(seen facts) effect {
	spec, started := seen.sweep.Spec, metav1.NewTime(seen.now)
	return effect{again: reconcile.AtOnce, edit: func(s *v1alpha1.CephTuningSweepStatus) {
		if s.ObservedRunID == spec.RunID && s.StartTime != nil && !seen.ended() {
			return
		}
		conditions := s.Conditions
		*s = v1alpha1.CephTuningSweepStatus{
			ObservedGeneration: s.ObservedGeneration, ObservedRunID: spec.RunID, Conditions: conditions, StartTime: &started,
		}
		kstatus.RemoveEnds(&s.Conditions)
	}}
}

// failed returns the effect that records why the sweep ends without a verdict. The condition Failed stays
// False until the restore is complete.
func failed(o kstatus.Outcome) effect {
	return effect{again: reconcile.AtOnce, outcome: o, edit: func(s *v1alpha1.CephTuningSweepStatus) {
		setCondition(s, v1alpha1.ConditionFailed, metav1.ConditionFalse, o)
	}}
}
