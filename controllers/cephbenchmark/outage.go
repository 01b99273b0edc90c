package cephbenchmark

import (
	"context"
	"fmt"

	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// A template's outage happens in the middle of a phase, while the clients need nothing from the controller.
// Package outage decides on the outage's steps and carries them out.

// outagePlan returns the plan for the template's outage.
func (f facts) outagePlan() (outage.Plan, bool) { return outage.PlanFor(&f.spec.Template) }

// osdsStopped reports whether noup may still be set for OSDs that this process has stopped.
func (f facts) osdsStopped() bool { return f.memory.outage.Outstanding() }

// observeOutage determines the next step of the current run's outage, and remembers the outage's state.
func (f *facts) observeOutage() {
	plan, found := f.outagePlan()
	if !found {
		return
	}
	state := f.memory.outage.ForRun(f.currentRun())
	id := workload.TaskID(state.Run, f.spec.Template.Outage.Phase)
	over := f.tasks != nil && f.tasks.Any(id, task.State.Ended)
	f.memory.outage.State, f.outage = state.Observe(plan, f.memory.noted.StartedAt[id], over, f.Samples, f.now)
}

// outageCluster returns the facts about Ceph and Rook that outages depend on.
func (f facts) outageCluster() outage.Cluster {
	return outage.Cluster{
		OSDMap: f.Survey.OSDMap, PGs: f.target().PGs(), Config: f.Survey.Config,
		RemovesOSDs: f.rook.RemovesOSDs, TargetPools: f.target().PoolNames(),
	}
}

// unrested returns an obstacle if the OSDs were marked down too recently for another run.
func (f facts) unrested() []quiescence.Obstacle {
	plan, found := f.outagePlan()
	if !found {
		return nil
	}
	return f.memory.outage.Unrested(plan, f.Survey.Config, f.Survey.OSDMap, f.now)
}

// stopper returns the Stopper, which stops OSDs for this execution and brings them back.
func (r *Reconciler) stopper(seen pass) outage.Stopper {
	return outage.Stopper{
		Operator: r.outages, Execution: &seen.memory.outage, Cluster: seen.cluster, FSID: seen.fsid(), Holder: seen.holder(),
		Guard: r.lockOf(seen.facts).Fence,
	}
}

// carryOutOutage carries out a step of the outage.
func (r *Reconciler) carryOutOutage(ctx context.Context, seen pass, p plan) (effect, error) {
	switch d := &seen.memory.outage; {
	case p.Step == stepRestoreOSDs:
		again, err := r.stopper(seen).UnsetNoup(ctx, seen.outage.Plan, p.Detail.wrong)
		return effect{Again: again}, err
	case seen.outage.Step == outage.StepStop:
		return now(), r.stopper(seen).StopOSDs(ctx, seen.outage.Plan, seen.outageCluster())
	case !d.Moves():
		return effect{}, nil
	}
	seen.live.Hurry()
	clean := len(seen.Samples) > 0 && seen.Samples[len(seen.Samples)-1].Status.AllClean()
	return effect{}, r.stopper(seen).Look(ctx, clean)
}

// restoreOwnOSDs brings back the OSDs that this benchmark has stopped. It is the first part of a teardown,
// because OSDs must be up before anything is removed.
func (r *Reconciler) restoreOwnOSDs(ctx context.Context, seen pass) (reconcile.Wait, error) {
	if seen.fsid() == "" {
		return "Waiting until Rook enters the FSID in the status of the CephCluster, because OSDs may be down.", seen.rookErr
	}
	return r.stopper(seen).RestoreOwn(ctx, seen.spec.Template.Outage != nil)
}

// expectedOutage returns the run's outage, whose effects do not count as disturbances. It returns nil
// without an outage in the template, before OSDs are stopped, and if this process did not follow the
// outage.
func (f facts) expectedOutage(run int32) *quiescence.Outage {
	plan, found := f.outagePlan()
	if !found {
		return nil
	}
	return f.memory.outage.Expected(plan, run)
}

// forgottenOutage returns a sentence to put before the reason why a run was aborted: the manager restarted in the
// phase of the outage, so it cannot distinguish effects of the outage from disturbances. It returns "" if the
// manager did not restart in that phase, or if the phase is over.
func (f facts) forgottenOutage(run int32) string {
	d := f.spec.Template.Outage
	if d == nil || f.memory.outage.Known(run) || !f.tasks.Any(workload.TaskID(run, d.Phase), func(s task.State) bool { return s == task.Measuring }) {
		return ""
	}
	return fmt.Sprintf("Phase %s: the manager restarted during it. ", d.Phase)
}
