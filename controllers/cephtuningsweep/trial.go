package cephtuningsweep

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// The sweep recognises the benchmark of a run or a session by the trial in its status: a name and a nonce, which it
// records before it creates the benchmark, and a UID, which it records afterwards. Package trial decides what an
// object with that name is.

// preparesTrial returns the edit that records the name and the nonce of the next run's benchmark; nil if status has
// them, or if no run follows.
func (f facts) preparesTrial() func(*v1alpha1.CephTuningSweepStatus) {
	if f.next.Action != sweep.RunTrial || f.hasTrial() {
		return nil
	}
	next := trial.Next(f.sweep, f.run(), f.sharedPool())
	return func(s *v1alpha1.CephTuningSweepStatus) { s.Trial = next }
}

// renamesTrial returns the effect that records another name for the next run's benchmark.
func (f facts) renamesTrial() effect {
	taken := f.sweep.Status.Trial.Name
	next, may := trial.Renamed(f.sweep)
	if !may {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: fmt.Sprintf(
			"Other benchmarks have taken %d names of run %d, the last one %s. Find out who creates them, delete them, and change runID.", next.NamesTaken, next.Number, taken)})
	}
	return effect{Again: reconcile.AtOnce, Edit: func(s *v1alpha1.CephTuningSweepStatus) { s.Trial = next }, Events: []reconcile.Event{
		reconcile.Warning("NameTaken", fmt.Sprintf("Benchmark %s is not this sweep's, and is left alone. Run %d uses %s.", taken, next.Number, next.Name)),
	}}
}

// createBenchmark creates the benchmark of the next trial, once status has its name. It returns the UID, unless another
// process has created the benchmark.
func (r *Reconciler) createBenchmark(ctx context.Context, seen pass, c sweep.Configuration) (effect, types.UID, error) {
	if !seen.hasTrial() {
		return effect{Again: reconcile.AtOnce, Edit: seen.preparesTrial()}, "", nil
	}
	child, err := seen.design.Benchmark(sweepspec.Child{
		Sweep: seen.sweep, Trial: seen.next.Trial, Run: seen.run(), Configuration: c,
		Nodes: nodesOfRun(seen.sweep), BackgroundNodes: backgroundNodesOfRun(seen.sweep),
	})
	if err != nil {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: err.Error()}), "", nil //nolint:nilerr // The outcome of the sweep has the error.
	}
	result, err := r.createChild(ctx, seen, child)
	return result, child.UID, err
}

// createChild signs and creates the benchmark of the next run, and records its UID. If an object with its name exists,
// the next pass finds out what it is. If the API server has stored another spec, the sweep ends, because each further
// benchmark would be changed, too.
func (r *Reconciler) createChild(ctx context.Context, seen pass, child *v1alpha1.CephBenchmark) (effect, error) {
	if err := trial.Sign(r.MasterKey, seen.sweep, child); err != nil {
		return effect{}, err
	}
	err := r.Client.Create(ctx, child)
	if apierrors.IsAlreadyExists(err) {
		return effect{}, nil
	}
	if err != nil {
		return effect{}, fmt.Errorf("create the benchmark of run %d: %w", seen.run(), err)
	}
	signed, err := trial.IsSigned(r.MasterKey, seen.sweep, child)
	if err == nil && !signed {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: fmt.Sprintf(
			"Something changed benchmark %s while it was created: look for an admission webhook that changes CephBenchmarks, and for CRDs of an earlier version.", child.Name)}), r.removeChild(ctx, child)
	}
	return effect{Edit: func(s *v1alpha1.CephTuningSweepStatus) { s.Trial.UID = child.UID }}, err
}

// removeBenchmarks removes the benchmarks in the field others, and notes why that of the current run does not count.
func (r *Reconciler) removeBenchmarks(ctx context.Context, seen pass) (effect, error) {
	if seen.spoilt != "" {
		seen.memory.ofTrial(seen.run(), seen.now).spoilt = seen.spoilt
	}
	_, err := r.endChildren(ctx, seen)
	return effect{}, err
}

// foreignFigures says why the figures of a benchmark do not count although it has the signature: it ran under another
// run ID, or not for this sweep. That takes a user who edits it at the right moments.
func (f facts) foreignFigures() string {
	if !hasOutcome(f.child) || trial.IsOfRun(f.child, f.sweep, f.run()) && f.child.Status.ObservedRunID == f.child.Spec.RunID {
		return ""
	}
	return fmt.Sprintf("Benchmark %s did not run as the benchmark of this run: somebody edited it, or an earlier version of the operator began it.", f.child.Name)
}

// expectedBytes returns the number of bytes that the plan expects a run to write.
func (f facts) expectedBytes() int64 {
	if expected := f.sweep.Status.Plan.RunBytesWritten; expected != nil {
		return expected.Value()
	}
	return 0
}
