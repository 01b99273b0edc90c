package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// cleanupID is the ID of the task with which clients remove their data.
const cleanupID = "cleanup"

// cleanupTimeout is the timeout of the cleanup task. The manager removes what the task leaves.
const cleanupTimeout = 30 * time.Minute

// tearDown removes everything that a session has created. The clients begin, because they work
// in parallel and have access to files. Then the manager checks for leftovers and removes them.
// Every part can be repeated.
func (r *Reconciler) tearDown(ctx context.Context, seen facts, p plan) (effect, error) {
	inCeph, err := r.mayBeInCeph(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	if inCeph { // OSDs come first, and have a reason of their own in status.
		r.keepLock(ctx, seen)
		waitsFor, err := r.restoreOwnOSDs(ctx, seen)
		if err != nil {
			return effect{}, err
		}
		if !waitsFor.IsDone() {
			return effect{again: time.Second, outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRestoringOSDs, Message: string(waitsFor)}}, nil
		}
	}
	for _, part := range r.parts(inCeph) {
		waitsFor, err := part(ctx, seen)
		if err != nil {
			return effect{}, err
		}
		if !waitsFor.IsDone() {
			return effect{again: time.Second, outcome: kstatus.Outcome{Reason: p.outcome.Reason, Message: string(waitsFor)}}, nil
		}
	}
	r.live.forget(client.ObjectKeyFromObject(seen.benchmark))
	switch p.last {
	case endsDeleted:
		return effect{finished: true}, reconcile.RemoveFinalizer(ctx, r.client, seen.benchmark, Finalizer)
	case endsReplaced: // This must be in the same pass, because the next pass could not know that nothing is left.
		return r.beginSession(seen), nil //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	default:
		return effect{finished: true, again: reconcile.AtOnce}, nil
	}
}

// parts returns the parts of a teardown, in order.
func (r *Reconciler) parts(inCeph bool) []func(context.Context, facts) (reconcile.Wait, error) {
	type part = func(context.Context, facts) (reconcile.Wait, error)
	parts := []part{r.cleanUpByBackground, r.cleanUpByClients, r.endClients}
	if inCeph {
		parts = append(parts, r.cleanUpInCeph, r.removeScratchPool)
	}
	parts = append(parts, r.removeClients, r.prune)
	if inCeph {
		parts = append(parts, r.releaseLock)
	}
	return parts
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
	grant, err := r.lock.Peek(ctx, seen.fsid(), seen.holder())
	if err != nil || grant.Held || m.fromBeginning {
		return grant.Held, err
	}
	return !neverHeld(grant, seen.startTime()), nil
}

// neverHeld reports whether a session without the lock certainly has not had it since a given
// time. That is certain if another holder has had it since before that time, or if nobody has
// taken or renewed the lock since.
func neverHeld(l lock.Grant, since time.Time) bool {
	others := l.Holder != "" && l.Since.Before(since)
	return others || l.Expires.Before(since.Add(lock.Duration))
}

// cleanUpByClients makes the clients that still answer stop their tasks and remove their data.
func (r *Reconciler) cleanUpByClients(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.standalone() {
		return seen.standaloneCleanup(), nil
	}
	if seen.tasks == nil || seen.script == nil || !seen.lostSince().IsZero() || len(clientview.Addresses(seen.pods)) < len(seen.tasks) {
		return reconcile.Done, nil
	}
	if seen.target().Full() { // The tools would wait for space.
		seen.memory.clientCleanupFailed = true
	}
	if id, busy := seen.tasks.Unfinished(); busy && (id != cleanupID || seen.memory.clientCleanupFailed) {
		return "The clients are being stopped.", r.stopClients(ctx, seen)
	}
	if seen.memory.clientCleanupFailed || seen.tasks.All(cleanupID, task.State.Ended) || !seen.needsCleanup() {
		return reconcile.Done, nil
	}
	if seen.tasks.Any(cleanupID, func(s task.State) bool { return !s.Ended() }) {
		return "The clients are removing their data.", nil
	}
	err := r.onAll(ctx, seen, func(ctx context.Context, i int, c runner.Client) error {
		_, err := c.Put(ctx, task.Task{ID: cleanupID, Steps: seen.cleanupOf(i), StepsTimeoutSeconds: cleanupTimeout.Seconds()})
		return err
	})
	if err != nil {
		seen.memory.clientCleanupFailed = true
		logf.FromContext(ctx).Error(err, "The clients could not remove their data, so the manager does")
	}
	return "The clients are removing their data.", nil
}

// stopClients cancels the running tasks of the clients.
func (r *Reconciler) stopClients(ctx context.Context, seen facts) error {
	return r.onAll(ctx, seen, func(ctx context.Context, i int, c runner.Client) error {
		for id, status := range seen.tasks[i] {
			if !status.State.Ended() {
				return c.Cancel(ctx, id)
			}
		}
		return nil
	})
}

// needsCleanup reports whether clients have anything to remove.
func (f facts) needsCleanup() bool { return len(f.cleanupOf(0)) > 0 }

// cleanupOf returns the commands with which a client removes its data.
func (f facts) cleanupOf(i int) []task.Command {
	return leftovers.Commands(f.script.Places[i], f.script.Loads(), f.objectsStay())
}

// objectsStay reports whether clients must remove their objects, because no removal of a scratch
// pool does.
func (f facts) objectsStay() bool {
	return f.spec.Template.Target.ScratchPool == nil || f.sharesPool()
}

// endClients ends the runners, and the pods whose runner does not respond.
func (r *Reconciler) endClients(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.job == nil || !seen.job.DeletionTimestamp.IsZero() {
		return seen.awaitOrphans(), nil
	}
	if len(seen.runners) > 0 && !seen.standalone() && seen.lostSince().IsZero() && !seen.memory.finished {
		finish := func(ctx context.Context, _ int, c runner.Client) error { return c.Finish(ctx) }
		err := errors.Join(r.onAll(ctx, seen, finish), r.onEach(ctx, seen.background.runners, finish))
		seen.memory.finished, seen.memory.finishedAt = true, seen.now
		if err == nil {
			return "The clients are ending.", nil
		}
	}
	if !clientview.AllEnded(seen.pods) || !clientview.AllEnded(seen.background.pods) {
		if seen.memory.finished && seen.now.Sub(seen.memory.finishedAt) < finishWithin {
			return "The clients are ending.", nil
		}
		return "Stopping the clients' pods.", r.suspendJobs(ctx, seen)
	}
	return reconcile.Done, nil
}

// orphansWithin is how long the teardown waits for pods whose Job is gone. It exceeds their
// grace period, so Kubernetes has ended them unless they are kept on purpose.
const orphansWithin = 2 * clientjob.StandaloneGrace

// awaitOrphans names the pods of a deleted Job that have not ended. If the teardown did not wait
// for them, data that they still write would remain.
func (f facts) awaitOrphans() reconcile.Wait {
	if clientview.AllEnded(f.orphans) {
		return reconcile.Done
	}
	if f.now.Sub(f.memory.orphansSince) > orphansWithin {
		return reconcile.Done
	}
	return "The Job is deleted, and its pods are ending."
}

// suspendJobs ends the remaining pods.
func (r *Reconciler) suspendJobs(ctx context.Context, seen facts) error {
	var errs []error
	if !clientview.AllEnded(seen.pods) {
		errs = append(errs, r.suspendJob(ctx, seen.job))
	}
	if !clientview.AllEnded(seen.background.pods) {
		errs = append(errs, r.suspendJob(ctx, seen.background.job))
	}
	return errors.Join(errs...)
}

// finishWithin is how long a client may take to finish.
const finishWithin = 20 * time.Second

// suspendJob makes Kubernetes end the pods of a Job. The Job itself stays until everything is
// removed, because it holds the session's spec.
func (r *Reconciler) suspendJob(ctx context.Context, job *batchv1.Job) error {
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		return nil
	}
	before := job.DeepCopy()
	job.Spec.Suspend = new(true)
	if err := r.client.Patch(ctx, job, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("stop the pods of Job %s: %w", job.Name, err)
	}
	return nil
}

// cleanUpInCeph removes everything that clients have left in pools that outlast the session.
func (r *Reconciler) cleanUpInCeph(ctx context.Context, seen facts) (reconcile.Wait, error) {
	left := seen.leftovers()
	if len(left.ImagePools) == 0 {
		return reconcile.Done, nil
	}
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	return left.Remove(ctx, r.ceph, at)
}

// leftovers returns where the session may have left something.
func (f facts) leftovers() leftovers.Leftovers {
	l := leftovers.Leftovers{
		Session: f.session.Name, ImagePools: f.poolsThatStay(), ObjectPool: f.target().DataPool(),
		Script: f.script, Unremembered: f.unremembered(), Lasts: f.sharesPool(),
	}
	if existing := f.spec.Template.Target.ExistingPool; existing != nil {
		l.Target, l.Lasts = string(existing.Name), true
	}
	return l
}

// poolsThatStay returns the pools that outlast the session and may have its images. For an
// unremembered session, these are all pools that benchmarks may use.
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

// unremembered reports whether the session's spec is unknown. Only the Job has the spec. Now
// there is none: someone else has removed it, or an earlier process may have had one.
func (f facts) unremembered() bool {
	return f.job == nil && !f.memory.jobRemoved && (f.memory.madeJob != "" || !f.memory.fromBeginning)
}

// removeScratchPool removes the scratch pool, if this benchmark owns it. A pool shared with
// other benchmarks of a sweep belongs to the sweep.
func (r *Reconciler) removeScratchPool(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.job != nil && seen.spec.Template.Target.ScratchPool == nil {
		return reconcile.Done, nil // The session's spec is unknown without its Job.
	}
	return r.removePoolOf(ctx, seen, objectref.To("CephBenchmark", seen.benchmark))
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

// removeClients removes the Job last, because it holds the facts about the session.
func (r *Reconciler) removeClients(ctx context.Context, seen facts) (reconcile.Wait, error) {
	seen.memory.jobRemoved = seen.memory.jobRemoved || seen.job != nil
	return r.removeJob(ctx, seen)
}

// removeJob removes the Job. Kubernetes deletes its pods and Secret with it.
func (r *Reconciler) removeJob(ctx context.Context, seen facts) (reconcile.Wait, error) {
	if seen.job == nil {
		return reconcile.Done, nil
	}
	if seen.job.DeletionTimestamp.IsZero() {
		policy := metav1.DeletePropagationForeground
		err := r.client.Delete(ctx, seen.job, &client.DeleteOptions{
			PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &seen.job.UID},
		})
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("remove Job %s: %w", seen.job.Name, err)
		}
	}
	err := r.client.Get(ctx, types.NamespacedName{Namespace: seen.job.Namespace, Name: seen.job.Name}, &batchv1.Job{})
	if err == nil {
		return "The Job of the clients is being removed.", nil
	}
	return "", client.IgnoreNotFound(err)
}
