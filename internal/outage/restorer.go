package outage

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// KeepEvery is the interval between checks for orphaned OSDs.
const KeepEvery = 30 * time.Second

// orphanedAfter is how long the restorer waits at most before it brings back OSDs that an earlier manager
// stopped, if the benchmark or sweep of the outage is still running. Normally that benchmark or sweep brings
// them back about half a minute after this manager started.
const orphanedAfter = 90 * time.Second

// Restorer brings back orphaned OSDs. OSDs are orphaned if the benchmark or sweep that stopped them no longer
// exists, is no longer running, or has not ended its outage in time. They also count as orphaned if the
// manager may not read that benchmark or sweep. A running benchmark or sweep brings its OSDs back itself. The
// next holder of the lock brings back orphaned OSDs too, but without the Restorer they would stay down until
// another object takes the lock.
type Restorer struct {
	Operator

	Lock     lock.Locker
	Reader   client.Reader // without a cache
	Clusters []settings.Cluster
	Every    time.Duration
	// kept holds facts about the existing journals, by FSID. A journal lists the OSDs that an outage
	// stopped.
	kept map[string]*kept
}

// kept holds the facts about one journal.
type kept struct {
	// sweep and writer are copied from the journal.
	sweep  tuning.Sweep
	writer string
	// since is when the journal was first seen.
	since time.Time
	// execution has the engine that unsets noup for the OSDs in the journal. The engine acts for the journal's object, and
	// remembers when it began to wait for changes of an earlier process to end. So each journal needs an engine of its own.
	execution Execution
}

// Start implements manager.Runnable. The manager calls Start when it becomes the leader.
func (k *Restorer) Start(ctx context.Context) error {
	k.kept = map[string]*kept{}
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		for _, cluster := range k.Clusters {
			if err := k.keep(ctx, cluster); err != nil && ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "Cannot check for OSDs that were left down, or cannot bring them back", "cluster", cluster.Namespace+"/"+cluster.Name)
			}
		}
	}, k.Every)
	return nil
}

// keep checks one cluster, and brings its OSDs back if they are orphaned.
func (k *Restorer) keep(ctx context.Context, cluster settings.Cluster) error {
	info, err := k.Rook.Cluster(ctx, v1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name})
	if err != nil || info.FSID == "" {
		return err
	}
	left, err := k.Store.Load(ctx, info.FSID)
	if err != nil {
		return err
	}
	if left == nil {
		delete(k.kept, info.FSID)
		return nil
	}
	now := k.Now()
	if known := k.kept[info.FSID]; known == nil || known.sweep != left.Sweep || known.writer != left.Writer {
		k.kept[info.FSID] = &kept{sweep: left.Sweep, writer: left.Writer, since: now}
	}
	working, err := k.isAtWork(ctx, left.Sweep)
	if apierrors.IsForbidden(err) {
		// The outage's owner is the benchmark or sweep that stopped the OSDs. The owner's controller cannot
		// read the owner either. If the owner is still running, unsetting noup early invalidates its run,
		// and the owner releases the lock itself.
		logf.FromContext(ctx).Error(err, "Unsetting noup: cannot read the owner of the outage")
		return k.restore(ctx, cluster, left, true)
	}
	if err != nil || working && !k.isOverdue(left, now) {
		return err
	}
	return k.restore(ctx, cluster, left, working)
}

// restore unsets noup for the OSDs in a journal, on behalf of the object that stopped them. Once these OSDs are
// up, it also releases that object's lock, unless the parameter working says that the object may still be
// running.
func (k *Restorer) restore(ctx context.Context, cluster settings.Cluster, left *tuning.Journal, working bool) error {
	osds := ceph.OSDNames(OSDsOf(left))
	if cluster.Identities.OSDStopper == "" {
		return fmt.Errorf("%s %s keeps %s down, and the operator config names no identity that may unset noup: "+
			"add identities.osdStopper again, or run `ceph osd unset-group noup %s`", left.Sweep.KindOrSweep(), left.Sweep, osds, strings.ReplaceAll(osds, ",", ""))
	}
	// The Restorer acts for the object that stopped the OSDs. If another object has the lock, that object
	// brings the OSDs back before anything else.
	stopper := Stopper{Operator: k.Operator, Execution: &k.kept[left.FSID].execution, Cluster: cluster, FSID: left.FSID, Holder: left.Sweep.Ref()}
	held := lock.Handle{Lock: k.Lock, FSID: left.FSID, Holder: stopper.Holder, Connect: stopper.observer, Now: k.Now}
	stopper.Guard = held.Fence
	waits, err := stopper.restore(ctx)
	if err != nil || !waits.IsDone() {
		return err
	}
	delete(k.kept, left.FSID)
	logf.FromContext(ctx).Info("noup was unset", "osds", osds, "stoppedFor", left.Sweep.String())
	if working {
		return nil // The running object releases the lock itself.
	}
	return held.Release(ctx)
}

// isOverdue reports whether an outage has passed its deadline, or belongs to an earlier manager and has not
// ended within orphanedAfter.
func (k *Restorer) isOverdue(j *tuning.Journal, now time.Time) bool {
	if j.Done() {
		return false // noup is unset, and the object waits for the OSDs to come up.
	}
	orphaned := j.Writer != k.Writer && now.Sub(k.kept[j.FSID].since) > orphanedAfter
	return orphaned || !j.Until.IsZero() && now.After(j.Until)
}

// isAtWork reports whether the object that stopped the OSDs is running or being deleted. In any other
// state, the object does not bring its OSDs back.
func (k *Restorer) isAtWork(ctx context.Context, owner tuning.Sweep) (bool, error) {
	key := client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}
	benchmark, sweep := &v1alpha1.CephBenchmark{}, &v1alpha1.CephTuningSweep{}
	var err error
	if owner.KindOrSweep() == "CephTuningSweep" {
		err = k.Reader.Get(ctx, key, sweep)
	} else {
		err = k.Reader.Get(ctx, key, benchmark)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s %s: %w", owner.KindOrSweep(), owner, err)
	}
	works := func(o client.Object, conditions []metav1.Condition) bool {
		return string(o.GetUID()) == owner.UID && (meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling) || !o.GetDeletionTimestamp().IsZero())
	}
	return works(benchmark, benchmark.Status.Conditions) || works(sweep, sweep.Status.Conditions), nil
}
