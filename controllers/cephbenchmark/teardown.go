package cephbenchmark

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Package teardown decides on the parts of a teardown and carries them out. This file gathers the
// facts for that package, and ends a teardown.

// teardown returns the facts that the rules of the teardown depend on.
func (f facts) teardown() teardown.Facts {
	t := teardown.Facts{Progress: f.memory.teardown, View: teardown.View{
		Now: f.now, InCeph: f.inCeph, Orphans: f.orphans, Leftovers: f.leftovers(),
		Clients:    teardown.Party{Job: f.job, Pods: f.pods, Runners: f.runners, Tasks: f.tasks},
		Background: teardown.Party{Job: f.background.job, Pods: f.background.pods, Runners: f.background.runners, Tasks: f.background.tasks},
		StopsOSDs:  f.spec.Template.Outage != nil || !f.specKnown(),
		// Without a Job, the execution's spec is unknown, so the execution may have had its own pool.
		OwnsPool: f.job == nil || f.spec.Template.Target.ScratchPool != nil,
		OwnsLock: !f.borrowsLock(),
	}}
	if f.script != nil {
		t.Clients.Cleanup = f.cleanupOf
	}
	if f.script != nil && f.script.Background != nil {
		t.Background.Cleanup = f.backgroundCleanup
	}
	return t
}

// specKnown reports whether the spec of the execution is known from an unaltered Job.
func (f facts) specKnown() bool { return f.job != nil && f.jobMismatch.Matches() }

// blocker returns what finds clients in Ceph, and blocks them.
func (r *Reconciler) blocker(seen facts) teardown.Blocker {
	return teardown.Blocker{Rook: r.Rook, Ceph: r.Ceph, Cluster: seen.cluster, Known: seen.Clients}
}

// remover returns the Remover, which carries out the parts of the teardown.
func (r *Reconciler) remover(seen pass) teardown.Remover {
	return teardown.Remover{
		Progress: &seen.memory.teardown, Jobs: r.maker(), Pools: r.poolRemover(seen),
		Blocks: r.blocker(seen.facts), Owner: objectref.To(v1alpha1.KindCephBenchmark, seen.benchmark),
		RestoreOSDs: func(ctx context.Context) (reconcile.Wait, error) { return r.restoreOwnOSDs(ctx, seen) },
		Prune: func(ctx context.Context) (reconcile.Wait, error) {
			if seen.deleted() { // Kubernetes deletes the results with their owner.
				return reconcile.Done, nil
			}
			wait, err := r.keepResults(ctx, seen)
			if apierrors.IsForbidden(err) { // A quota, for example, may not keep the lock. The results still have the nights for the next run.
				seen.memory.refused = err
				return reconcile.Done, nil
			}
			return wait, err
		},
		Release: func(ctx context.Context) (reconcile.Wait, error) { return reconcile.Done, r.taker(seen).Release(ctx) },
	}
}

func (r *Reconciler) poolRemover(seen pass) teardown.PoolRemover {
	return teardown.PoolRemover{Rook: r.Rook, Ceph: r.Ceph, Cluster: seen.cluster}
}

// tearDown carries out the next part of a teardown, and ends it after the last part.
func (r *Reconciler) tearDown(ctx context.Context, seen pass, p plan) (effect, error) {
	if seen.inCephErr != nil {
		return effect{}, seen.inCephErr
	}
	if seen.inCeph {
		if err := r.taker(seen).Keep(ctx); err != nil {
			logf.FromContext(ctx).Error(err, "The lock could not be renewed; the teardown continues")
		}
	}
	if p.Detail.tearing.Part == teardown.PartNone {
		return r.endTearDown(ctx, seen, p)
	}
	waits, err := r.remover(seen).Do(ctx, p.Detail.tearing, seen.teardown().View)
	switch {
	case err != nil:
		return effect{}, err
	case waits.IsDone():
		return effect{Again: reconcile.AtOnce, Events: seen.historyEvents()}, nil
	}
	return effect{Again: time.Second, Outcome: tearingDown(p, waits, seen.teardown().Loss()), Events: seen.historyEvents()}, nil
}

// tearingDown returns the outcome for a teardown that waits, perhaps because a node is lost. A pause keeps its reason,
// by which a later pass knows it.
func tearingDown(p plan, waits reconcile.Wait, loss string) kstatus.Outcome {
	o := kstatus.Outcome{Reason: p.Outcome.Reason, Message: strings.TrimSpace(loss + " " + string(waits))}
	switch {
	case p.Detail.tearing.Part == teardown.PartRestoreOSDs:
		o.Reason = v1alpha1.ReasonRestoringOSDs
	case loss != "" && p.Detail.last != endsPause:
		o.Reason = v1alpha1.ReasonNodeLost
	}
	return o
}

// endTearDown ends a teardown that has nothing left to do.
func (r *Reconciler) endTearDown(ctx context.Context, seen pass, p plan) (effect, error) {
	r.live.Forget(client.ObjectKeyFromObject(seen.benchmark))
	r.passes.Forget(seen.benchmark)
	switch p.Detail.last {
	case endsDeleted:
		return effect{Gone: true}, reconcile.RemoveFinalizer(ctx, r.Client, seen.benchmark, Finalizer)
	case endsReplaced: // The next execution begins in the same pass, because a later pass could not know that nothing is left.
		return r.beginExecution(seen), nil //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	default:
		return effect{Finished: true, Again: reconcile.AtOnce}, nil
	}
}

// cleanupOf returns the commands with which a client removes its data.
func (f facts) cleanupOf(i int) []task.Command {
	var all []task.Command
	for _, p := range f.script.PlacesOf(i) {
		all = append(all, leftovers.Commands(p, f.script.Loads(), f.objectsStay())...)
	}
	return all
}

// backgroundCleanup returns the commands with which the only client of the background load removes its
// data.
func (f facts) backgroundCleanup(int) []task.Command {
	b := f.script.Background
	return leftovers.Commands(b.Place, []engine.Load{b.Load}, f.objectsStay())
}

// objectsStay reports whether clients must remove their objects, because the pool outlasts the
// execution.
func (f facts) objectsStay() bool {
	return f.spec.Template.Target.ScratchPool == nil || f.sharesPool()
}

// leftovers returns where the execution may have left something.
func (f facts) leftovers() leftovers.Leftovers {
	l := leftovers.Leftovers{
		Execution: f.execution.Name, ImagePools: f.poolsThatStay(), ObjectPool: f.target().DataPool(),
		Script: f.script, Unremembered: f.unremembered(), Lasts: f.sharesPool(),
	}
	if existing := f.spec.Template.Target.ExistingPool; existing != nil {
		l.Target, l.Lasts = string(existing.Name), true
	}
	return l
}

// poolsThatStay returns the pools that outlast the execution and may have its images. If the execution's spec is
// lost, these include all existing pools that benchmarks may use.
func (f facts) poolsThatStay() []string {
	var pools []string
	if f.sharesPool() {
		pools = append(pools, settings.ScratchPool)
	}
	if f.unremembered() {
		pools = append(pools, f.cluster.ExistingPools...)
	}
	if target := f.spec.Template.Target.ExistingPool; target != nil && !slices.Contains(pools, string(target.Name)) {
		pools = append(pools, string(target.Name))
	}
	return pools
}

// unremembered reports whether the spec is lost with the Job, which alone had it: this process has seen the Job,
// or an earlier process may have created it, and now it is missing, but the teardown did not delete it.
func (f facts) unremembered() bool {
	return f.job == nil && !f.memory.teardown.JobRemoved && (f.memory.madeJob != "" || !f.memory.fromBeginning)
}

// mayBeInCeph reports whether Ceph may have anything of the execution. If not, the teardown needs no answer
// from Ceph. An execution creates nothing without the lock, and keeps the lock until everything is removed,
// unless the lock is lost. An execution that another process began may have lost its lock before this process
// started. If the CephCluster is gone, or the operator config no longer lists the cluster, mayBeInCeph returns
// false, because Ceph cannot be reached.
func (r *Reconciler) mayBeInCeph(ctx context.Context, seen facts) (bool, error) {
	if problem, ok := errors.AsType[*rook.Error](seen.rookErr); !seen.known || ok && problem.Reason == rook.ReasonClusterMissing {
		return false, nil
	}
	m := seen.memory
	if seen.job != nil || m.madeJob != "" || len(seen.benchmark.Status.Runs) > 0 || m.turn.Had || seen.rook == nil {
		return true, nil
	}
	grant, err := r.lockOf(seen).Peek(ctx)
	if err != nil || grant.Held || m.fromBeginning {
		return grant.Held, err
	}
	return !neverHeld(grant, seen.startTime()), nil
}

// neverHeld reports whether an execution certainly has not held the lock since a given time. Either another
// holder took the lock before that time and still has it, or the lock was neither taken nor renewed since
// then.
func neverHeld(l lock.Grant, since time.Time) bool {
	others := l.Holder != "" && l.Since.Before(since)
	return others || l.Expires.Before(since.Add(lock.Duration))
}
