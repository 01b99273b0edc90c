package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// KeepEvery is the interval between checks for orphaned journals.
const KeepEvery = 30 * time.Second

const (
	// orphanedFor is how long a journal must have been orphaned before the restorer restores it. A sweep that
	// has lost its status begins again within that time.
	orphanedFor = time.Minute
	// askCephEvery is the interval between searches for a journal that exists only in Ceph. Each search
	// starts a process.
	askCephEvery = 10 * time.Minute
	// keepAtMost is the longest interval between attempts after failures.
	keepAtMost = 15 * time.Minute
	// keepWithin limits one attempt, because the restorer handles one cluster at a time.
	keepWithin = 5 * time.Minute
)

// restorer restores the changes of sweeps that do not restore them, for example because their finalizer was
// removed. The next sweep on that Ceph cluster would also restore them, but there may never be a next sweep.
// The restorer acts only with the lock of the Ceph cluster. Before that, the journal's sweep must have been
// missing or not at work (for example, ended) for a minute, according to the API server. The restorer leaves
// journals of other Kubernetes clusters alone, because it cannot see whether their sweeps exist.
type restorer struct {
	*Reconciler

	// kept has the restorer's state for each cluster.
	kept map[string]*kept
}

// kept is the restorer's state for one Ceph cluster. Losing it only delays a restore.
type kept struct {
	// orphan is the sweep of an orphaned journal, and since is when the restorer first found it orphaned.
	orphan tuning.Sweep
	since  time.Time
	// memory is the memory for the restore of that sweep.
	memory memory
	// inCeph is a journal that exists only in Ceph. asked is the time of the last search for such a journal.
	inCeph *tuning.Journal
	asked  time.Time
	// failures is the number of consecutive failed attempts, and notBefore is the earliest time of the
	// next attempt.
	failures  int
	notBefore time.Time
}

// newRestorer returns a restorer. Its writer name differs from the reconciler's, so that it waits
// for the reconciler's pending changes to Ceph.
func newRestorer(o Options) *restorer {
	o.Writer += "/restorer"
	return &restorer{Reconciler: New(o), kept: map[string]*kept{}}
}

// Start implements manager.Runnable. The manager calls Start once this process is the elected leader.
func (k *restorer) Start(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		for _, cluster := range k.Settings.Clusters {
			k.look(ctx, cluster)
		}
	}, k.KeepEvery)
	return nil
}

// look checks one cluster, except during the wait after a failed attempt or for a held lock.
func (k *restorer) look(ctx context.Context, cluster settings.Cluster) {
	name := cluster.Namespace + "/" + cluster.Name
	if k.kept[name] == nil {
		k.kept[name] = &kept{}
	}
	known := k.kept[name]
	if k.Now().Before(known.notBefore) {
		return
	}
	ctx, stop := context.WithTimeout(ctx, keepWithin)
	defer stop()
	err := k.keep(ctx, cluster, known)
	if err != nil {
		known.failed(k.KeepEvery, k.Now())
	} else {
		known.failures = 0
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		logf.FromContext(ctx).Error(err, "Cannot restore the settings that a sweep may have left changed", "cluster", name, "nextAttempt", known.notBefore)
	}
}

// failed sets the time of the next attempt. The interval doubles with each failure, up to keepAtMost.
func (k *kept) failed(every time.Duration, now time.Time) {
	pause := keepAtMost
	if k.failures < 10 { // With more failures, the shift could overflow.
		pause = min(every<<k.failures, keepAtMost)
	}
	k.failures++
	k.notBefore = now.Add(pause)
}

// keep restores the journal of a cluster, if it has been orphaned for orphanedFor and the lock is free.
func (k *restorer) keep(ctx context.Context, cluster settings.Cluster, known *kept) error {
	info, err := k.Rook.Cluster(ctx, v1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name})
	if err != nil || info.FSID == "" {
		return err
	}
	left, err := k.left(ctx, cluster, info, known)
	if err != nil || left == nil {
		known.orphan = tuning.Sweep{}
		return err
	}
	orphaned, err := k.isOrphaned(ctx, left.Sweep)
	if err != nil || !orphaned {
		known.orphan = tuning.Sweep{}
		return err
	}
	now := k.Now()
	if known.orphan != left.Sweep {
		known.orphan, known.since, known.memory = left.Sweep, now, memory{}
	}
	if now.Sub(known.since) < orphanedFor {
		return nil
	}
	return k.restoreOrphan(ctx, k.passOf(cluster, info, left.Sweep, &known.memory), known)
}

// left returns the journal that this installation has to restore in a cluster; nil without one. It is a
// journal in the operator's namespace, or a journal in Ceph that belongs to this Kubernetes cluster. A done journal
// counts too, because the scratch pool of its sweep is removed after the settings are restored.
func (k *restorer) left(ctx context.Context, cluster settings.Cluster, info rook.ClusterInfo, known *kept) (*tuning.Journal, error) {
	left, err := k.Journals.Load(ctx, info.FSID)
	if err != nil || left != nil {
		known.inCeph = nil
		return left, err
	}
	if cluster.Identities.Tuner == "" || k.Now().Sub(known.asked) < askCephEvery {
		return known.inCeph, nil
	}
	known.inCeph, known.asked = nil, k.Now()
	connection, err := k.Rook.Connection(ctx, cluster, cluster.Identities.Observer)
	if err != nil {
		return nil, err
	}
	left, err = tuning.NewConfigKey(k.Ceph, connection).Load(ctx, info.FSID)
	if err == nil && left != nil && left.Cluster != "" && left.Cluster == k.Kubernetes {
		known.inCeph = left
	}
	return known.inCeph, err
}

// isOrphaned reports whether the restorer has to restore the changes of a sweep, because the sweep does not. If
// a person has abandoned the restore, the restorer does nothing while the sweep exists. A sweep in a namespace
// that this manager does not handle counts as missing. If the sweep cannot be read, isOrphaned returns an
// error, and the restorer does nothing.
func (k *restorer) isOrphaned(ctx context.Context, sweep tuning.Sweep) (bool, error) {
	s, err := k.changer(ctx, sweep)
	if err != nil {
		return false, err
	}
	seen := facts{sweep: s}
	return s == nil || !seen.restores() && !seen.abandonRequested(), nil
}

// passOf returns the facts about an orphaned sweep, and its memory. Only the sweep's namespace, name and UID are known.
func (k *restorer) passOf(cluster settings.Cluster, info rook.ClusterInfo, owner tuning.Sweep, m *memory) pass {
	orphan := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name, UID: types.UID(owner.UID)}}
	orphan.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name}
	return pass{memory: m, facts: facts{
		now: k.Now(), pace: k.Pace, settings: k.Settings, sweep: orphan, orphaned: true,
		cluster: cluster, known: true, rook: &info, memory: *m,
	}}
}

// busyFor is the longest wait before the restorer requests a held lock again.
const busyFor = 2 * time.Minute

// restoreOrphan restores a journal under the lock of the Ceph cluster, unless another holder has the lock. It
// keeps the lock while it waits for changes that Ceph may still execute, or for the removal of the sweep's
// scratch pool.
func (k *restorer) restoreOrphan(ctx context.Context, seen pass, known *kept) error {
	if _, err := k.restorer(ctx, seen); err != nil {
		return err
	}
	grant, err := k.acquire(ctx, seen)
	if err == nil && !grant.Held {
		known.notBefore = earlier(grant.Expires, seen.now.Add(busyFor))
	}
	if err != nil || !grant.Held { // This Kubernetes cluster may have the Lease while another one has the record in Ceph.
		return errors.Join(err, k.release(ctx, seen))
	}
	report, err := k.restoreSettings(ctx, seen)
	if _, waits := errors.AsType[*tuning.WaitError](err); waits {
		return nil
	}
	if err == nil && !report.Done {
		err = errors.New(strings.Join(report.Waiting, " "))
	}
	if err != nil {
		k.Counts.RestoreEnded(exporter.OutcomeFailed)
		return errors.Join(fmt.Errorf("restore the settings that sweep %s left changed: %w", seen.self(), err), k.release(ctx, seen))
	}
	if waits, err := k.removePool(ctx, seen); err != nil || !waits.IsDone() {
		return err
	}
	return errors.Join(k.closeOrphan(ctx, seen, report), k.release(ctx, seen))
}

// closeOrphan removes the journal, and reports the outcome of the restore as events of the sweep.
func (k *restorer) closeOrphan(ctx context.Context, seen pass, report tuning.Report) error {
	unrestarted, err := k.unrestarted(ctx, seen, report, "the sweep is gone")
	if err != nil {
		return err
	}
	if err := seen.memory.engine.Close(ctx); err != nil {
		return err
	}
	if len(report.Entries) == 0 { // Another client has removed the journal meanwhile, normally after it restored the settings.
		return nil
	}
	all, outcome := restoredFor(seen.self(), report, unrestarted)
	k.Counts.RestoreEnded(outcome)
	reconcile.Emit(k.Recorder, seen.sweep, stepRestoreOther, all...)
	for _, t := range reconcile.Joined(all) {
		logf.FromContext(ctx).Info("Restored the settings that an orphaned sweep left changed", "sweep", seen.self().String(), "fsid", seen.rook.FSID, "restored", t.Message)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
