package cephtuningsweep

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/workload"
)

// targets returns the targets and loads at which a session aims its clients.
func (r *Reconciler) targets(ctx context.Context, seen pass) (session.Treatments, error) {
	var loads []v1alpha1.Phase
	for _, c := range seen.design.Configurations() {
		load, err := seen.sessions.Load(c)
		if err != nil {
			return nil, err
		}
		loads = append(loads, load)
	}
	child, clients, lock := client.ObjectKeyFromObject(seen.child), int(seen.child.Spec.Template.Clients.Count), r.lockOf(seen)
	stands, err := r.standing(ctx, seen)
	if err != nil {
		return nil, err
	}
	return &session.Targets{
		Count: len(loads),
		Aim: func(ctx context.Context, target, again int) error {
			return r.Clients.Aim(ctx, child, clients, live.Window{Target: target, Phase: loads[target], Again: again + 1}) // The benchmark has begun the phase once.
		},
		Stands: func(ctx context.Context, target int) error {
			if _, err := lock.Fence(ctx); err != nil {
				return err
			}
			return stands(ctx, target)
		},
	}, nil
}

// standing returns a function that returns an error unless the pool of a target still is the same, as specified. Targets
// that are only loads leave nothing in Ceph, so they stand for as long as the sweep holds the lock. The claims of a pod stand
// for as long as the pod.
func (r *Reconciler) standing(ctx context.Context, seen pass) (func(ctx context.Context, target int) error, error) {
	all := seen.child.Spec.Targets()
	if len(all) == 1 || all[0].ScratchPool == nil {
		return func(context.Context, int) error { return nil }, nil
	}
	connection, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	first, err := r.Ceph.OSDMap(ctx, connection.Observer)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, target int) error {
		now, err := r.Ceph.OSDMap(ctx, connection.Observer)
		if err != nil {
			return err
		}
		for _, name := range workload.PoolsOf(all, target) {
			if before, after := idOf(first, name), idOf(now, name); before != after {
				return fmt.Errorf("pool %s was replaced: its ID was %d, and is %d", name, before, after)
			}
		}
		if wrong := rook.VerifyPool(workload.PoolOf(all, target), *all[target].ScratchPool, now.Pools); len(wrong) > 0 {
			return fmt.Errorf("the pool of target %d has changed: %s", target, strings.Join(wrong, "; "))
		}
		return nil
	}, nil
}

// idOf returns the ID of a pool; 0 if there is no such pool.
func idOf(m *ceph.OSDMap, name string) int64 {
	return ptr.Deref(ceph.PoolNamed(m.Pools, name), ceph.Pool{}).ID
}
