package cephbenchmark

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/reference"
)

// referenceView is a benchmark that an expectation names as its reference.
type referenceView struct {
	benchmark *v1alpha1.CephBenchmark // nil if it could not be read
	err       error
}

// observeReferences reads each reference once, from the cache. It returns no error, because a
// reference affects only the verdict, not the measurement.
func (r *Reconciler) observeReferences(ctx context.Context, seen *facts) {
	seen.references = map[string]referenceView{}
	for _, e := range seen.spec.Expectations {
		if _, read := seen.references[e.Reference]; read || e.Reference == "" {
			continue
		}
		b := &v1alpha1.CephBenchmark{}
		if err := r.client.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: e.Reference}, b); err != nil {
			seen.references[e.Reference] = referenceView{err: err}
			continue
		}
		seen.references[e.Reference] = referenceView{benchmark: b}
	}
}

// readReferences reads the references of expectations. It returns no error, because only the
// verdict depends on references: one that cannot be read makes it Unknown.
func (r *Reconciler) readReferences(ctx context.Context, seen facts, workload reference.Workload) map[string]figure.Reference {
	all := map[string]figure.Reference{}
	for name, view := range seen.references {
		runs := figure.Reference{Unusable: view.unreadable(name)}
		if runs.Unusable == "" {
			var err error
			if runs, err = r.readReference(ctx, view.benchmark, workload); err != nil {
				runs = figure.Reference{Unusable: cannotRead(name, err)}
			}
		}
		all[name] = runs
	}
	return all
}

// unreadable says why there is no reference, and what to do; "" if there is one.
func (v referenceView) unreadable(name string) string {
	switch {
	case apierrors.IsNotFound(v.err):
		return fmt.Sprintf("there is no CephBenchmark %s in this namespace: create it, and run again once it is Complete", name)
	case v.err != nil:
		return cannotRead(name, v.err)
	}
	return ""
}

func cannotRead(name string, err error) string {
	return fmt.Sprintf("CephBenchmark %s cannot be read: run again with another runID (%s)", name, ellipsis.Cut(err.Error(), 80))
}

// readReference reads the runs of a reference, of all sessions that it keeps.
func (r *Reconciler) readReference(ctx context.Context, b *v1alpha1.CephBenchmark, workload reference.Workload) (figure.Reference, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := r.reader.List(ctx, &found, client.InNamespace(b.Namespace), client.MatchingLabels(archive.Labels(b.Name))); err != nil {
		return figure.Reference{}, fmt.Errorf("list its results: %w", err)
	}
	m := reference.NewMatch(b, b.Name, workload)
	for _, name := range m.RunsToRead(found.Items) {
		var cm corev1.ConfigMap
		err := r.reader.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, &cm)
		if apierrors.IsNotFound(err) {
			continue // It was deleted since the list, because of the historyLimit.
		}
		if err != nil {
			return figure.Reference{}, fmt.Errorf("read its results: %w", err)
		}
		run, err := archive.Of(b, &cm)
		if err != nil {
			return figure.Reference{}, err
		}
		m.Add(cm.Labels[archive.LabelSession], run)
	}
	return m.Reference(), nil
}
