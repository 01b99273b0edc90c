package cephtuningsweep

import (
	"context"
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// connect reads the current connections to the Ceph cluster, because monitors move and keys are rotated.
// Without a tuner identity, Tuner stays empty, and the sweep cannot change settings.
func (r *Reconciler) connect(ctx context.Context, seen pass) (tuning.Cluster, error) {
	identities := seen.cluster.Identities
	observer, err := r.Rook.Connection(ctx, seen.cluster, identities.Observer)
	if err != nil {
		return tuning.Cluster{}, err
	}
	cluster := tuning.Cluster{FSID: seen.rook.FSID, Observer: observer}
	if identities.Tuner != "" {
		cluster.Tuner, err = r.Rook.Connection(ctx, seen.cluster, identities.Tuner)
	}
	return cluster, err
}

// engine returns the tuner. Passes share one tuner while the connections stay the same, because the tuner
// remembers when it first saw a journal of an earlier manager.
func (r *Reconciler) engine(ctx context.Context, seen pass) (*tuning.Engine, error) {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	if seen.memory.engine == nil || seen.memory.connected != cluster {
		seen.memory.connected = cluster
		seen.memory.engine = tuning.NewEngine(r.Ceph, cluster, tuning.Options{
			Store:  tuning.NewMirrored(r.Journals, tuning.NewConfigKey(r.Ceph, cluster.Observer)),
			Guard:  r.lockOf(seen).Fence,
			Writer: r.Writer, Doubts: r.Doubts, Kubernetes: r.Kubernetes, Now: r.Now, Reached: r.Reached,
		})
	}
	return seen.memory.engine, nil
}

// surveyed returns the facts that should not change during a sweep. It reads them once, and again after
// asksAgain has dropped them.
func (r *Reconciler) surveyed(ctx context.Context, seen pass, connection ceph.Connection, osds []ceph.OSD) (*survey, error) {
	if seen.memory.survey != nil {
		return seen.memory.survey, nil
	}
	owned, err := r.Rook.Owned(ctx, seen.sweep.Spec.ClusterRef)
	if err != nil {
		return nil, err
	}
	s := &survey{
		taken: seen.now, help: map[string]ceph.OptionHelp{}, objects: owned.PoolObjects,
		owned: tuning.Owned{PoolParameters: owned.PoolParameters, CephConfig: owned.CephConfig},
	}
	for _, option := range tuning.HelpFor(settingsOf(sweepspec.Changes(&seen.sweep.Spec, nil))) {
		help, err := r.Ceph.ConfigHelp(ctx, connection, option)
		if err != nil {
			return nil, err
		}
		s.help[option] = *help
	}
	if s.opQueue, err = r.opQueue(ctx, connection, osds); err != nil {
		return nil, err
	}
	seen.memory.survey = s
	return s, nil
}

// opQueue returns the osd_op_queue of the first OSD that is up; "" if no OSD is up, or if that OSD does not
// report it. With mclock_scheduler, some options are inert.
func (r *Reconciler) opQueue(ctx context.Context, connection ceph.Connection, osds []ceph.OSD) (string, error) {
	const option = "osd_op_queue"
	first := slices.IndexFunc(osds, func(o ceph.OSD) bool { return o.Status == "up" })
	if first < 0 {
		return "", nil
	}
	running, err := r.Ceph.RunningConfig(ctx, connection, []int{osds[first].ID}, []string{option})
	if err != nil || len(running) == 0 {
		return "", err
	}
	queue, _ := running[0].Option(option)
	return queue.Value, nil
}

// known returns the facts by which changes are judged.
func (r *Reconciler) known(ctx context.Context, seen pass, connection ceph.Connection) (tuning.Known, error) {
	osds, err := r.Ceph.OSDs(ctx, connection)
	if err != nil {
		return tuning.Known{}, err
	}
	s, err := r.surveyed(ctx, seen, connection, osds)
	if err != nil {
		return tuning.Known{}, err
	}
	return tuning.Known{Help: s.help, OSDs: osds, Owned: s.owned, OpQueue: s.opQueue}, nil
}

// knownNow returns the observer's connection, and the facts by which changes are judged.
func (r *Reconciler) knownNow(ctx context.Context, seen pass) (ceph.Connection, tuning.Known, error) {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return ceph.Connection{}, tuning.Known{}, err
	}
	known, err := r.known(ctx, seen, cluster.Observer)
	return cluster.Observer, known, err
}

// changesOf returns the changes that set the values of a configuration.
func changesOf(spec sweepspec.Spec, values map[string]cephvalue.Value, known tuning.Known) []tuning.Change {
	return known.Typed(sweepspec.ForTuner(sweepspec.Changes(&spec, values)))
}

// settingsOf returns the settings of changes.
func settingsOf(changes []sweepspec.Change) []tuning.Setting {
	return tuning.SettingsOf(sweepspec.ForTuner(changes))
}
