package runstore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/reference"
)

// References reads the benchmarks that expectations name as references. The keys of the result are their
// names. References returns no error, because only verdicts depend on references: if a reference cannot be
// read, the outcome of its expectation is Unknown.
func (s Store) References(ctx context.Context, expectations []v1alpha1.Expectation, workload reference.Workload) map[string]figure.Reference {
	all := map[string]figure.Reference{}
	for _, e := range expectations {
		if _, read := all[e.Reference]; read || e.Reference == "" {
			continue
		}
		runs, err := s.reference(ctx, e.Reference, workload)
		if err != nil {
			runs = figure.Reference{Unusable: cannotRead(e.Reference, err)}
		}
		all[e.Reference] = runs
	}
	return all
}

func cannotRead(name string, err error) string {
	return fmt.Sprintf("CephBenchmark %s cannot be read: run again with another runID (%s)", name, ellipsis.Cut(err.Error(), 80))
}

// reference reads the latest runs of a reference, at most [reference.MaxRuns]. They are from all sessions
// whose results still exist, except the latest session if it is not complete.
func (s Store) reference(ctx context.Context, name string, workload reference.Workload) (figure.Reference, error) {
	b := &v1alpha1.CephBenchmark{}
	err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.Benchmark.Namespace, Name: name}, b)
	if apierrors.IsNotFound(err) {
		return figure.Reference{Unusable: fmt.Sprintf("there is no CephBenchmark %s in this namespace: create it, and run again once it is Complete", name)}, nil
	}
	if err != nil {
		return figure.Reference{}, err
	}
	found, err := list(ctx, s.Reader, b)
	if err != nil {
		return figure.Reference{}, fmt.Errorf("list its results: %w", err)
	}
	m := reference.NewMatch(b, name, workload)
	for _, result := range m.RunsToRead(found) {
		var cm corev1.ConfigMap
		err := s.Reader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: result}, &cm)
		if apierrors.IsNotFound(err) {
			continue // The ConfigMap was deleted after the list was read.
		}
		if err != nil {
			return figure.Reference{}, fmt.Errorf("read its results: %w", err)
		}
		m.Read(&cm)
	}
	return m.Reference(), nil
}
