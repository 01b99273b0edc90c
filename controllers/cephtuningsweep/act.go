package cephtuningsweep

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// effect is the outcome of a step. It is finished if the sweep has ended, pauses, or stalls until a person removes the
// abandon annotation. It continues if the next part of a restore follows immediately.
type effect = reconcile.Effect[v1alpha1.CephTuningSweepStatus]

// pass is what a step works with: the facts, which have the memory as it was before the step, and the memory that the
// step changes.
type pass struct {
	facts

	memory *memory
}

// act carries out the step of a plan, and returns what the memory becomes.
func (r *Reconciler) act(ctx context.Context, seen facts, p plan) (effect, memory, error) {
	after := seen.memory
	done, err := r.carryOut(ctx, pass{facts: seen, memory: &after}, p)
	return done, after, err
}

func (r *Reconciler) carryOut(ctx context.Context, seen pass, p plan) (effect, error) {
	seen.forgetRestore(p.Step)
	switch p.Step {
	case reconcile.StepNone, reconcile.StepIdle, reconcile.StepAwait, reconcile.StepStall, reconcile.StepAcknowledge, reconcile.StepWait:
		return effect{}, nil
	case reconcile.StepBegin:
		return begun(seen.facts), r.removeChildren(ctx, seen)
	case reconcile.StepProtect:
		return effect{Again: reconcile.AtOnce}, reconcile.AddFinalizer(ctx, r.Client, seen.sweep, Finalizer)
	case reconcile.StepLock:
		return r.takeLock(ctx, seen)
	case stepYield:
		return effect{}, r.release(ctx, seen)
	case stepRestoreOther:
		return r.restoreOther(ctx, seen, p)
	case stepPlan:
		return r.makePlan(ctx, seen)
	case reconcile.StepFail:
		return failed(p.Outcome), nil
	case stepRestore:
		return r.restoreAndRelease(ctx, seen, p)
	default:
		return r.carryOutRun(ctx, seen, p)
	}
}

// carryOutRun executes a step of a run, of a session, or of keeping the winner.
func (r *Reconciler) carryOutRun(ctx context.Context, seen pass, p plan) (effect, error) {
	seen.noteSession(p.Step)
	switch p.Step {
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
	case stepProve:
		return r.proveConfiguration(ctx, seen)
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
		return effect{}, fmt.Errorf("no action for step %q", p.Step)
	}
}

// begun returns the effect that begins a run ID. A suspended or stalled run ID keeps its plan and its
// ledger.
func begun(seen facts) effect {
	spec, started := seen.sweep.Spec, metav1.NewTime(seen.now)
	return effect{Again: reconcile.AtOnce, Edit: func(s *v1alpha1.CephTuningSweepStatus) {
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
	return effect{Again: reconcile.AtOnce, Outcome: o, Edit: func(s *v1alpha1.CephTuningSweepStatus) {
		setCondition(s, v1alpha1.ConditionFailed, metav1.ConditionFalse, o)
	}}
}
