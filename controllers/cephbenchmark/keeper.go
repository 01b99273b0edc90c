package cephbenchmark

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/disruption"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// KeepEvery is how often it is looked for OSDs that nobody lets up.
const KeepEvery = 30 * time.Second

// overdueAfter is how long after its time an outage is left to who began it.
const overdueAfter = time.Minute

// keeper lets OSDs up again that nobody else does: because the object is gone on whose
// behalf they were stopped, its finalizer taken off, or because what ends their outage in
// time does not get on. Objects that are there do so themselves, and so does whoever takes
// the lock next; without the keeper, OSDs would stay down where nobody does.
type keeper struct {
	*Reconciler

	every time.Duration
	// engines are by FSID; they know since when they have seen a journal.
	engines map[string]kept
}

type kept struct {
	engine *tuning.Engine
	to     tuning.Cluster
}

// Start implements manager.Runnable. The manager starts it once it leads.
func (k *keeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(k.every)
	defer ticker.Stop()
	for {
		for _, cluster := range k.settings.Clusters {
			if cluster.Identities.OSDStopper == "" {
				continue
			}
			if err := k.keep(ctx, cluster); err != nil && ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "OSDs that a benchmark may have left down cannot be looked after", "cluster", cluster.Namespace+"/"+cluster.Name)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// keep looks after one cluster.
func (k *keeper) keep(ctx context.Context, cluster settings.Cluster) error {
	info, err := k.rook.Cluster(ctx, v1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name})
	if err != nil || info.FSID == "" {
		return err
	}
	left, err := k.disruptions.Load(ctx, info.FSID)
	if err != nil || left == nil {
		return err
	}
	gone, err := k.isGone(ctx, left.Sweep)
	if err != nil || !gone && !isOverdue(left, k.now()) {
		return err
	}
	observer, err := k.rook.Connection(ctx, cluster, cluster.Identities.Observer)
	if err != nil {
		return err
	}
	// As who has stopped them: another holder lets them up itself, before anything else.
	holder := lock.Holder{Kind: left.Sweep.Kind, Namespace: left.Sweep.Namespace, Name: left.Sweep.Name, UID: types.UID(left.Sweep.UID)}
	guard := func(ctx context.Context) (ceph.Fence, error) {
		grant, err := k.lock.Acquire(ctx, observer, info.FSID, holder, k.now())
		if err == nil && !grant.Held {
			err = fmt.Errorf("%s has the lock of the Ceph cluster", grant.Holder)
		}
		return ceph.Fence{FSID: info.FSID, Epoch: grant.Epoch, Until: grant.Expires}, err
	}
	engine, err := k.engine(ctx, cluster, info.FSID, observer, guard)
	if err != nil {
		return err
	}
	waits, err := disruption.PutBack(ctx, engine, k.ceph, observer)
	if err != nil || waits != "" || !gone {
		return err
	}
	logf.FromContext(ctx).Info("OSDs were let up again", "osds", disruption.Names(disruption.OSDsOf(left)), "stoppedFor", left.Sweep.String())
	return k.lock.Release(ctx, observer, info.FSID, holder)
}

// isOverdue reports whether an outage should have been over for some time.
func isOverdue(j *tuning.Journal, now time.Time) bool {
	return !j.Done() && !j.Until.IsZero() && now.Sub(j.Until) > overdueAfter
}

// isGone reports whether the object is gone on whose behalf OSDs were stopped.
func (k *keeper) isGone(ctx context.Context, of tuning.Sweep) (bool, error) {
	var o client.Object = &v1alpha1.CephBenchmark{}
	if of.Kind == "CephTuningSweep" {
		o = &v1alpha1.CephTuningSweep{}
	}
	err := k.reader.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, o)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s %s: %w", of.Kind, of, err)
	}
	return string(o.GetUID()) != of.UID, nil
}

// engine is the one for a cluster, anew where monitors or keys are others.
func (k *keeper) engine(ctx context.Context, cluster settings.Cluster, fsid string, observer ceph.Connection, guard tuning.Guard) (*tuning.Engine, error) {
	stopper, err := k.rook.Connection(ctx, cluster, cluster.Identities.OSDStopper)
	if err != nil {
		return nil, err
	}
	to := tuning.Cluster{FSID: fsid, Observer: observer, Tuner: stopper}
	if known, has := k.engines[fsid]; has && known.to == to {
		return known.engine, nil
	}
	engine := tuning.NewEngine(k.ceph, to, tuning.Options{
		Store: tuning.NewMirrored(k.disruptions, tuning.NewConfigKey(k.ceph, observer).ForDisruptions()),
		Guard: guard, Writer: k.writer, Now: k.now, Reached: k.reached,
	})
	k.engines[fsid] = kept{engine: engine, to: to}
	return engine, nil
}
