package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
)

// Remover carries out the parts of a teardown, and notes its progress.
type Remover struct {
	*Progress
	Jobs  clientjob.Maker
	Pools PoolRemover
	// Blocks blocks clients in Ceph.
	Blocks Blocker
	// Owner is the benchmark.
	Owner objectref.Ref
	// RestoreOSDs brings back OSDs that the execution has stopped, Prune deletes results beyond the
	// history limit, and Release releases the lock.
	RestoreOSDs, Prune, Release func(context.Context) (reconcile.Wait, error)
}

// Do carries out one part, and returns what the teardown then waits for.
func (r Remover) Do(ctx context.Context, next Next, v View) (reconcile.Wait, error) {
	waits, err := r.do(ctx, next, v)
	if err == nil {
		r.note(next.Part, waits.IsDone())
	}
	return waits, err
}

func (r Remover) do(ctx context.Context, next Next, v View) (reconcile.Wait, error) {
	switch next.Part {
	case PartWait:
		return next.Waits, nil
	case PartRestoreOSDs:
		return r.RestoreOSDs(ctx)
	case PartCancelBackground:
		return next.Waits, clientview.CancelAll(ctx, v.Background.Runners, v.Background.Tasks)
	case PartCancelClients:
		return next.Waits, clientview.CancelAll(ctx, v.Clients.Runners, v.Clients.Tasks)
	case PartCleanBackground:
		r.backgroundFailed = logged(ctx, v.Background.assignCleanup(ctx), "The background load could not be asked to remove its data, so the manager removes it")
		return next.Waits, nil
	case PartCleanClients:
		r.clientsFailed = logged(ctx, v.Clients.assignCleanup(ctx), "Not all clients could be asked to remove their data, so the manager removes it")
		return next.Waits, nil
	case PartFinish:
		err := errors.Join(clientview.Each(ctx, v.Clients.Runners, finish), clientview.Each(ctx, v.Background.Runners, finish))
		logged(ctx, err, "Not all clients could be asked to end, so Kubernetes ends their pods")
		r.finishedAt = v.Now
		return next.Waits, nil
	case PartSuspend:
		return next.Waits, errors.Join(r.suspend(ctx, v.Clients), r.suspend(ctx, v.Background))
	case PartBlock:
		return r.block(ctx, v)
	case PartLeftovers:
		return r.Pools.removeLeftovers(ctx, v.Leftovers)
	case PartPool:
		return r.Pools.Remove(ctx, r.Owner, v.Leftovers)
	case PartJob:
		r.JobRemoved = true
		return next.Waits, r.removeJob(ctx, v)
	case PartPrune:
		return r.Prune(ctx)
	case PartLock:
		return r.Release(ctx)
	default:
		return "", fmt.Errorf("no action for part %q of a teardown", next.Part)
	}
}

// removeJob removes the Job of the clients. It leaves pods of lost nodes to Kubernetes.
func (r Remover) removeJob(ctx context.Context, v View) error {
	if len(v.stuck()) > 0 {
		return r.Jobs.Abandon(ctx, v.Clients.Job)
	}
	return r.Jobs.Remove(ctx, v.Clients.Job)
}

// logged logs an error that does not stop the teardown, and reports whether err was not nil.
func logged(ctx context.Context, err error, message string) bool {
	if err != nil {
		logf.FromContext(ctx).Error(err, message)
	}
	return err != nil
}

// assignCleanup makes the runners remove their data.
func (p Party) assignCleanup(ctx context.Context) error {
	return clientview.Each(ctx, p.Runners, func(ctx context.Context, i int, c runner.Client) error {
		_, err := c.Put(ctx, leftovers.Task(p.Cleanup(i)))
		return err
	})
}

func finish(ctx context.Context, _ int, c runner.Client) error { return c.Finish(ctx) }

// suspend ends the remaining pods of a Job.
func (r Remover) suspend(ctx context.Context, p Party) error {
	if clientview.AllEnded(p.Pods) {
		return nil
	}
	return r.Jobs.Suspend(ctx, p.Job)
}

// PoolRemover removes scratch pools, and the images and objects that clients left in other pools.
type PoolRemover struct {
	Rook    scratchpool.Rook
	Ceph    leftovers.Ceph
	Cluster settings.Cluster
}

// connect returns the connection with the identity of the clients.
func (r PoolRemover) connect(ctx context.Context) (ceph.Connection, error) {
	return r.Rook.Connection(ctx, r.Cluster, r.Cluster.Identities.IO)
}

func (r PoolRemover) removeLeftovers(ctx context.Context, l leftovers.Leftovers) (reconcile.Wait, error) {
	connection, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	return l.Remove(ctx, r.Ceph, connection)
}

// Remove removes the scratch pool of an owner.
func (r PoolRemover) Remove(ctx context.Context, owner objectref.Ref, l leftovers.Leftovers) (reconcile.Wait, error) {
	left, err := scratchpool.Remover{Rook: r.Rook, Ceph: r.Ceph}.Remove(ctx, r.Cluster, owner)
	if err != nil || !left.Full {
		return left.Waits, err
	}
	// Full OSDs cause HEALTH_ERR, and Rook does nothing in a cluster with HEALTH_ERR, so it would never
	// delete a pool that fills OSDs. Removing the pool's objects ends HEALTH_ERR.
	connection, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	waits, err := l.RemoveObjects(ctx, r.Ceph, connection)
	return cmp.Or(waits, "The scratch pool is being removed. OSDs are full, and Rook waits until Ceph leaves HEALTH_ERR."), err
}
