package cephbenchmark

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// facts are what one pass saw. Nobody downstream looks again.
type facts struct {
	benchmark *v1alpha1.CephBenchmark
}

// observe gathers the facts. It only reads.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (facts, error) {
	benchmark := &v1alpha1.CephBenchmark{}
	if err := r.client.Get(ctx, key, benchmark); err != nil {
		return facts{}, err
	}
	return facts{benchmark: benchmark}, nil
}
