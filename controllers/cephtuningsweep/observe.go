package cephtuningsweep

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// facts are what one pass saw. Nobody downstream looks again.
type facts struct {
	sweep *v1alpha1.CephTuningSweep
}

// observe gathers the facts. It only reads.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (facts, error) {
	sweep := &v1alpha1.CephTuningSweep{}
	if err := r.client.Get(ctx, key, sweep); err != nil {
		return facts{}, err
	}
	return facts{sweep: sweep}, nil
}
