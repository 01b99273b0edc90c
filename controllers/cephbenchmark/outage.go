package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/workload"
)

// A template's outage happens in the middle of a phase, when the controller has nothing to do for the clients. The
// outage has a journal of its own. A new holder of the lock that finds an open journal brings
// the OSDs back before anything else, and so does the end of every session. Only the manager
// that began an outage continues it: another manager knows too little about the run to make it
// valid.

// outageState holds the state of a run's outage in this process.
type outageState struct {
	run int32
	so  outage.Progress
	// refused says that the cluster does not permit the outage.
	refused bool
	// osdMap is the OSD map of the last look, with the time of that look.
	osdMap   *ceph.OSDMap
	osdMapAt time.Time
	// status and recovered were read right before the stop, recoveredLast when all placement
	// groups were clean again.
	status                   *ceph.Status
	recovered, recoveredLast *ceph.Recovered
	// engine sets and unsets noup, and keeps the journal. connected holds its connections.
	engine    *tuning.Engine
	connected tuning.Cluster
	closed    bool // the journal is closed
	// noupUnsetAt is when noup was last unset.
	noupUnsetAt time.Time
	// earlier is the last OSD map of the previous run. It shows when the OSDs were stopped; nil
	// in the first run.
	earlier *ceph.OSDMap
}

// next returns the state at the beginning of the next run.
func (d outageState) next(run int32) outageState {
	n := outageState{run: run, engine: d.engine, connected: d.connected, earlier: d.earlier}
	if d.osdMap != nil {
		n.earlier = d.osdMap
	}
	return n
}

// outageView holds the outage's plan and its next step in one pass.
type outageView struct {
	plan  outage.Plan
	step  outage.Step
	again time.Duration
}

// outagePlan returns the plan for the template's outage.
func (f facts) outagePlan() (outage.Plan, bool) {
	d := f.spec.Template.Outage
	if d == nil {
		return outage.Plan{}, false
	}
	return outage.PlanOf(d, f.outageRamp()), true
}

// outageRamp returns the ramp of the phase with the outage.
func (f facts) outageRamp() time.Duration {
	d := f.spec.Template.Outage
	for _, p := range f.spec.Template.Phases {
		if d != nil && p.Name == d.Phase {
			return engine.TraitsOf(&p).Ramp
		}
	}
	return 0
}

// hasOutage reports whether the outage happens in the given phase.
func (f facts) hasOutage(name v1alpha1.PhaseName) bool {
	return f.spec.Template.Outage != nil && f.spec.Template.Outage.Phase == name
}

// osdsStopped reports whether OSDs may be down because of this process.
func (f facts) osdsStopped() bool { return f.memory != nil && f.memory.outage.so.Outstanding() }

// observeOutage determines the step of the current run's outage, once its phase has begun, and
// remembers its state.
func (f *facts) observeOutage() {
	plan, has := f.outagePlan()
	if !has {
		return
	}
	d, run := &f.memory.outage, f.currentRun()
	if d.run != run && !d.so.Outstanding() {
		*d = d.next(run)
	}
	id := workload.TaskID(d.run, f.spec.Template.Outage.Phase)
	if d.so.Start.IsZero() {
		d.so.Start = f.memory.noted.StartedAt[id]
	}
	f.outage = outageView{plan: plan, step: outage.StepDone}
	if d.so.Start.IsZero() {
		return
	}
	look := outage.Look{OSDMap: d.osdMap, OSDMapAt: d.osdMapAt, Samples: f.Samples}
	if d.status != nil {
		look.UpBefore, look.InBefore = d.status.UpOSDs, d.status.InOSDs
	}
	look.PhaseOver = f.tasks != nil && f.tasks.Any(id, task.State.Ended)
	d.so, f.outage.step, f.outage.again = plan.Next(d.so, look, f.now)
}

// outageCluster returns the facts from the survey that outages depend on.
func (f facts) outageCluster() outage.Cluster {
	return outage.Cluster{
		OSDMap: f.Survey.OSDMap, PGs: f.pgs(), Config: f.Survey.Config,
		RemovesOSDs: f.rook.RemovesOSDs, TargetPools: f.targetPools(),
	}
}

// unrested returns an obstacle if the OSDs were marked down recently: in an earlier run, which
// the survey does not show, or before the session. A run may begin earlier if its outage comes
// later.
func (f facts) unrested() []quiescence.Obstacle {
	wanted, has := f.outagePlan()
	if !has {
		return nil
	}
	from := wanted.Rested(f.Survey.Config, f.Survey.OSDMap, f.memory.outage.earlier)
	if from = from.Add(-wanted.Before); !f.now.Before(from) {
		return nil
	}
	return []quiescence.Obstacle{{
		Code: v1alpha1.ReasonWaitingForQuiescence, Waits: true,
		Message: fmt.Sprintf("%s may not be marked down again before %s: an OSD that is marked down too often stops its process.",
			outage.Names(wanted.OSDs), from.Add(wanted.Before).UTC().Format(time.TimeOnly)),
	}}
}

// whyAbort returns why the run must not continue; "" if it may.
func (f facts) whyAbort() string {
	if f.script == nil || f.tasks == nil || f.allRunsEnded() {
		return ""
	}
	for _, d := range f.disturbances(f.currentRun()) {
		if d.Action == v1alpha1.DisturbanceAbort {
			return fmt.Sprintf("%s: %s", d.Kind, d.Message)
		}
	}
	return ""
}

// carryOutOutage carries out a step of the outage.
func (r *Reconciler) carryOutOutage(ctx context.Context, seen facts, p plan) (effect, error) {
	d := &seen.memory.outage
	switch {
	case p.step == stepRestoreOSDs:
		return r.endOutage(ctx, seen)
	case seen.outage.step == outage.StepStop:
		return now(), r.stopOSDs(ctx, seen)
	case d.so.Stop.IsZero():
		return effect{again: p.again}, nil
	}
	return effect{again: p.again}, r.lookClosely(ctx, seen)
}

// lookClosely reads only the facts that may have changed: every query starts a process on a node
// that may also serve clients.
func (r *Reconciler) lookClosely(ctx context.Context, seen facts) error {
	d := &seen.memory.outage
	moving := d.so.Down.IsZero() || !d.so.NoupUnset.IsZero()
	if !moving {
		return nil
	}
	seen.live.hurry()
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return err
	}
	switch {
	case d.so.Up.IsZero():
		asked := r.now()
		if d.osdMap, err = r.ceph.OSDMap(ctx, at); err == nil {
			d.osdMapAt = asked
		}
		return err
	case !d.closed:
		err = d.engine.Close(ctx)
		d.closed = err == nil
		return err
	case len(seen.Samples) > 0 && seen.Samples[len(seen.Samples)-1].Status.AllClean():
		d.recoveredLast, _ = r.ceph.Recovered(ctx, at) // As before the stop, a failure is ignored.
	}
	return nil
}

// stopOSDs stops the OSDs, unless the cluster forbids it. If the stop itself fails, it records that
// for the next pass instead of returning an error, because a stop must not be retried.
func (r *Reconciler) stopOSDs(ctx context.Context, seen facts) error {
	d := &seen.memory.outage
	why, err := r.whyNotStop(ctx, seen)
	if err != nil {
		return err // The step is retried until it is too late for the outage.
	}
	if why != "" {
		d.so.Failed, d.refused = why, true
		return nil
	}
	if err := r.markDown(ctx, seen); err != nil {
		d.so.Failed = "the OSDs could not be stopped: " + err.Error()
	}
	return nil
}

// whyNotStop reads the cluster right before the stop, and returns a reason against it; "" if
// there is none.
func (r *Reconciler) whyNotStop(ctx context.Context, seen facts) (string, error) {
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return "", err
	}
	c := seen.outageCluster()
	if c.OSDMap, err = r.ceph.OSDMap(ctx, at); err != nil {
		return "", err
	}
	if c.PGs, err = r.ceph.PGsOn(ctx, at, seen.outage.plan.OSDs...); err != nil {
		return "", err
	}
	if c.Config, err = r.ceph.ConfigDump(ctx, at); err != nil {
		return "", err
	}
	if c.Stop, err = r.ceph.OKToStop(ctx, at, seen.outage.plan.OSDs...); err != nil {
		return "", err
	}
	if c.Status, err = r.ceph.Status(ctx, at); err != nil {
		return "", err
	}
	d := &seen.memory.outage
	d.status = c.Status
	d.recovered, _ = r.ceph.Recovered(ctx, at) // If this fails, the run has no figures of the recovery.
	return seen.outage.plan.Refuse(c, r.now()), nil
}

// markDown enters the outage into the journal, sets noup, and marks the OSDs down.
func (r *Reconciler) markDown(ctx context.Context, seen facts) error {
	d, wanted := &seen.memory.outage, seen.outage.plan
	until := wanted.Until(r.now())
	if err := r.connectOutage(ctx, seen, until); err != nil {
		return err
	}
	d.noupUnsetAt = time.Time{}
	d.so.Begin = r.now()
	d.so.Stop = d.so.Begin // From now on the OSDs may be down, even if the next call fails.
	applied, err := d.engine.Apply(ctx, seen.stopper(), wanted.Changes())
	if err != nil {
		return err
	}
	if len(applied.NotTaken) > 0 {
		return errors.New("something unset noup right after Ceph had set it")
	}
	fence, err := r.fence(ctx, seen)
	if err != nil {
		return err
	}
	d.so.Stop = r.now()
	return r.ceph.MarkOSDsDown(ctx, d.connected.Tuner, fence, wanted.OSDs)
}

// endOutage unsets noup, so that the OSDs come back while the phase continues.
func (r *Reconciler) endOutage(ctx context.Context, seen facts) (effect, error) {
	d := &seen.memory.outage
	if err := r.connectOutage(ctx, seen, time.Time{}); err != nil {
		return effect{}, err
	}
	before := r.now()
	report, err := d.engine.Restore(ctx)
	if wait, is := errors.AsType[*tuning.WaitError](err); is {
		return effect{again: max(wait.Until.Sub(before), reconcile.AtOnce)}, nil // Wait: a change that is still in flight could undo a restore that is made before it.
	}
	if err != nil {
		return effect{}, fmt.Errorf("unset noup of %s: %w", outage.Names(seen.outage.plan.OSDs), err)
	}
	if !report.Done {
		return effect{again: time.Second}, nil
	}
	d.so.NoupUnset = cmp.Or(d.noupUnsetAt, before)
	if why := seen.whyAbort(); why != "" && d.so.Failed == "" {
		d.so.Failed = why // Keep the reason: from now on, the return of the OSDs would explain the same observations.
	}
	return now(), nil
}

// stopper returns the owner for the journal of the outage: the holder of the lock.
func (f facts) stopper() tuning.Sweep {
	return tuning.SweepOf(f.holder())
}

// connectOutage makes the engine that stops OSDs and brings them back. It makes a new engine if
// keys or monitors have changed, or if a deadline is given.
func (r *Reconciler) connectOutage(ctx context.Context, seen facts, until time.Time) error {
	d := &seen.memory.outage
	if seen.cluster.Identities.OSDStopper == "" {
		return errors.New("the operator has no identity that may unset noup: ask the administrator to name one in identities.osdStopper of the cluster")
	}
	observer, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return err
	}
	stopper, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.OSDStopper)
	if err != nil {
		return err
	}
	to := tuning.Cluster{FSID: seen.fsid(), Observer: observer, Tuner: stopper}
	if d.engine != nil && d.connected == to && until.IsZero() {
		return nil
	}
	d.connected, d.closed = to, false
	d.engine = tuning.NewEngine(r.ceph, to, tuning.Options{
		Store:  r.bothOutages(observer),
		Guard:  func(ctx context.Context) (ceph.Fence, error) { return r.fence(ctx, seen) },
		Writer: r.writer, Doubts: r.doubts, Now: r.now, Until: until,
		Reached: func(step tuning.Step) error {
			if step == tuning.StepOriginalSent {
				d.noupUnsetAt = r.now()
			}
			return r.reached(step)
		},
	})
	return nil
}
