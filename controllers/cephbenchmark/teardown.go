package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/task"
)

// tearDown carries out the next part of a teardown, and ends it after the last part.
func (r *Reconciler) tearDown(ctx context.Context, seen facts, p plan) (effect, error) {
	if seen.inCephErr != nil {
		return effect{}, seen.inCephErr
	}
	if seen.inCeph {
		r.keepLock(ctx, seen)
	}
	if p.tearing.part == partNone {
		return r.endTearDown(ctx, seen, p)
	}
	waits, err := r.tearDownPart(ctx, seen, p.tearing)
	if err != nil {
		return effect{}, err
	}
	seen.memory.tornDown.note(p.tearing.part, waits.IsDone())
	if waits.IsDone() {
		return now(), nil
	}
	o := kstatus.Outcome{Reason: p.outcome.Reason, Message: string(waits)}
	if p.tearing.part == partRestoreOSDs { // OSDs have a reason of their own in status.
		o.Reason = v1alpha1.ReasonRestoringOSDs
	}
	return effect{again: time.Second, outcome: o}, nil
}

// endTearDown ends a teardown that has nothing left to do.
func (r *Reconciler) endTearDown(ctx context.Context, seen facts, p plan) (effect, error) {
	r.live.Forget(client.ObjectKeyFromObject(seen.benchmark))
	switch p.last {
	case endsDeleted:
		return effect{finished: true}, reconcile.RemoveFinalizer(ctx, r.client, seen.benchmark, Finalizer)
	case endsReplaced: // This must be in the same pass, because the next pass could not know that nothing is left.
		return r.beginSession(seen), nil //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	default:
		return effect{finished: true, again: reconcile.AtOnce}, nil
	}
}

// tearDownPart carries out one part of a teardown, and returns what the teardown then waits for.
func (r *Reconciler) tearDownPart(ctx context.Context, seen facts, next tearing) (reconcile.Wait, error) {
	background := seen.background
	switch next.part {
	case partWait:
		return next.waits, nil
	case partRestoreOSDs:
		return r.restoreOwnOSDs(ctx, seen)
	case partCancelBackground:
		return next.waits, clientview.CancelAll(ctx, background.runners, background.tasks)
	case partCancelClients:
		return next.waits, clientview.CancelAll(ctx, seen.runners, seen.tasks)
	case partCleanBackground:
		err := clientview.Each(ctx, background.runners, cleanUp(func(int) []task.Command { return seen.backgroundCleanup() }))
		seen.memory.backgroundCleanupFailed = logged(ctx, err, "The background load could not remove its data, so the manager does")
		return next.waits, nil
	case partCleanClients:
		err := clientview.Each(ctx, seen.runners, cleanUp(seen.cleanupOf))
		seen.memory.clientCleanupFailed = logged(ctx, err, "The clients could not remove their data, so the manager does")
		return next.waits, nil
	case partFinish:
		finish := func(ctx context.Context, _ int, c runner.Client) error { return c.Finish(ctx) }
		err := errors.Join(clientview.Each(ctx, seen.runners, finish), clientview.Each(ctx, background.runners, finish))
		logged(ctx, err, "Not all clients could be asked to end, so Kubernetes ends their pods")
		seen.memory.finished, seen.memory.finishedAt = true, seen.now
		return next.waits, nil
	case partSuspend:
		return next.waits, r.suspendJobs(ctx, seen)
	case partLeftovers:
		return r.removeLeftovers(ctx, seen)
	case partPool:
		return r.removePoolOf(ctx, seen, objectref.To("CephBenchmark", seen.benchmark))
	case partJob:
		seen.memory.jobRemoved = true
		return next.waits, r.maker().Remove(ctx, seen.job)
	case partPrune:
		return r.results(seen).Prune(ctx, seen.spec.HistoryLimit)
	case partLock:
		return r.releaseLock(ctx, seen)
	default:
		return "", fmt.Errorf("no action for part %q of a teardown", next.part)
	}
}

// logged logs an error that the teardown can go on with, and reports whether there is one.
func logged(ctx context.Context, err error, message string) bool {
	if err != nil {
		logf.FromContext(ctx).Error(err, message)
	}
	return err != nil
}

func (r *Reconciler) removeLeftovers(ctx context.Context, seen facts) (reconcile.Wait, error) {
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	return seen.leftovers().Remove(ctx, r.ceph, at)
}

// cleanUp returns a call that makes a runner remove its data.
func cleanUp(steps func(int) []task.Command) func(context.Context, int, runner.Client) error {
	return func(ctx context.Context, i int, c runner.Client) error {
		_, err := c.Put(ctx, leftovers.Task(steps(i)))
		return err
	}
}

// suspendJobs ends the remaining pods.
func (r *Reconciler) suspendJobs(ctx context.Context, seen facts) error {
	var errs []error
	if !clientview.AllEnded(seen.pods) {
		errs = append(errs, r.maker().Suspend(ctx, seen.job))
	}
	if !clientview.AllEnded(seen.background.pods) {
		errs = append(errs, r.maker().Suspend(ctx, seen.background.job))
	}
	return errors.Join(errs...)
}

// removePoolOf removes the scratch pool of an owner.
func (r *Reconciler) removePoolOf(ctx context.Context, seen facts, owner objectref.Ref) (reconcile.Wait, error) {
	left, err := scratchpool.Remover{Rook: r.rook, Ceph: r.ceph}.Remove(ctx, seen.cluster, owner)
	if err != nil || !left.Full {
		return left.Waits, err
	}
	// Full OSDs cause HEALTH_ERR, and Rook does nothing in a cluster with HEALTH_ERR, so it would
	// never delete a pool that fills OSDs. Removing its objects ends that.
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	waitsFor, err := seen.leftovers().RemoveObjects(ctx, r.ceph, at)
	return cmp.Or(waitsFor, "The scratch pool is being removed. OSDs are full, and Rook waits until Ceph leaves HEALTH_ERR."), err
}

// mayBeInCeph reports whether Ceph may have anything of the session. If not, the teardown can
// proceed without an answer from Ceph. A session creates nothing without the lock, and keeps the
// lock until everything is removed, unless it loses it. A session that another process has begun
// may have had the lock and lost it since. If the CephCluster is gone or the administrator no
// longer permits it, Ceph cannot be reached.
func (r *Reconciler) mayBeInCeph(ctx context.Context, seen facts) (bool, error) {
	if problem, ok := errors.AsType[*rook.Error](seen.rookErr); !seen.known || ok && problem.Reason == rook.ReasonClusterMissing {
		return false, nil
	}
	m := seen.memory
	if seen.job != nil || m.madeJob != "" || len(seen.benchmark.Status.Runs) > 0 || m.hadLock || seen.rook == nil {
		return true, nil
	}
	grant, err := r.lockOf(seen).Peek(ctx)
	if err != nil || grant.Held || m.fromBeginning {
		return grant.Held, err
	}
	return !neverHeld(grant, seen.startTime()), nil
}

// neverHeld reports whether a session certainly has not held the lock since a given time. It is
// certain in two cases: another holder has held the lock since before that time, or nobody has
// taken or renewed it since then.
func neverHeld(l lock.Grant, since time.Time) bool {
	others := l.Holder != "" && l.Since.Before(since)
	return others || l.Expires.Before(since.Add(lock.Duration))
}
