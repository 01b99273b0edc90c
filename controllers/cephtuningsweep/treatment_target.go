package cephtuningsweep

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/session"
)

// targets returns the loads at which a session aims its clients. They leave nothing in Ceph, so they stand for as long as
// the sweep holds the lock.
func (r *Reconciler) targets(seen pass) (session.Treatments, error) {
	var loads []v1alpha1.Phase
	for _, c := range seen.design.Configurations() {
		load, err := seen.sessions.Load(c)
		if err != nil {
			return nil, err
		}
		loads = append(loads, load)
	}
	child, clients, lock := client.ObjectKeyFromObject(seen.child), int(seen.child.Spec.Template.Clients.Count), r.lockOf(seen)
	return &session.Targets{
		Count: len(loads),
		Aim: func(ctx context.Context, target, windows int) error {
			return r.Clients.Aim(ctx, child, clients, live.Window{Target: target, Phase: loads[target], Again: windows + 1}) // The benchmark has begun the phase once.
		},
		Stands: func(ctx context.Context, _ int) error {
			_, err := lock.Fence(ctx)
			return err
		},
	}, nil
}
