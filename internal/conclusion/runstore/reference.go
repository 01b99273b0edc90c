package runstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/reference"
	"github.com/cephtune/cephtune/internal/archive/store"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
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

// reference reads the latest runs of a reference, at most [reference.MaxRuns]. They are from all executions
// whose results still exist, except the latest execution if it is not complete.
func (s Store) reference(ctx context.Context, name string, workload reference.Workload) (figure.Reference, error) {
	b := &v1alpha1.CephBenchmark{}
	err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.Benchmark.Namespace, Name: name}, b)
	if apierrors.IsNotFound(err) {
		return figure.Reference{Unusable: fmt.Sprintf("there is no CephBenchmark %s in this namespace: create it, and run again once it is Complete", name)}, nil
	}
	if err != nil {
		return figure.Reference{}, err
	}
	found, err := store.List(ctx, s.Reader, b.Namespace, client.MatchingLabels(archive.Labels(b.Name)), func(m *metav1.PartialObjectMetadata) (bool, error) {
		return s.trusts(b, m)
	})
	if err != nil {
		return figure.Reference{}, fmt.Errorf("list its results: %w", err)
	}
	m := reference.NewMatch(b, name, workload)
	unsigned := false
	for _, result := range m.RunsToRead(found) {
		var cm corev1.ConfigMap
		err := s.Reader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: result}, &cm)
		if err != nil { // Results that were deleted after the list was read must not be left out.
			return figure.Reference{}, fmt.Errorf("read its results: %w", err)
		}
		genuine, err := archive.Genuine(s.MasterKey, b.UID, &cm)
		if err != nil {
			return figure.Reference{}, err
		}
		if genuine || recorded(b, cm.Name) {
			if !genuine {
				distrust(b, &cm)
			}
			m.Read(&cm)
			record := archive.RecordOf(b, &cm)
			unsigned = unsigned || !genuine && (record == archive.RecordedUnsigned || record == archive.Unrecorded)
		}
	}
	runs := m.Reference()
	runs.UID, runs.Unsigned = b.UID, unsigned
	return runs, nil
}

// trusts reports whether the operator signed results of a reference, or they count without a signature. Then it distrusts
// them.
func (s Store) trusts(b *v1alpha1.CephBenchmark, m *metav1.PartialObjectMetadata) (bool, error) {
	genuine, err := archive.Signed(s.MasterKey, b.UID, m)
	if err != nil || genuine {
		return genuine, err
	}
	distrust(b, m)
	return recorded(b, m.Name), nil
}

// distrust removes from results without a signature what any user may have written: the start of their execution, and
// another execution than that of the status that records them.
func distrust(b *v1alpha1.CephBenchmark, o metav1.Object) {
	annotations, labels := maps.Clone(o.GetAnnotations()), maps.Clone(o.GetLabels())
	delete(annotations, archive.AnnotationExecutionStart)
	if slices.ContainsFunc(b.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results == o.GetName() }) {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[archive.LabelExecution] = archive.Execution(b)
	}
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
}

// recorded reports whether results count without a signature: the benchmark's status has their name, and [archive.Of]
// compares their digest; or the version before, which signed nothing, ran all executions of the benchmark. Then any user
// may have written the results, so the verdict says that they are unsigned.
func recorded(b *v1alpha1.CephBenchmark, name string) bool {
	old := (b.Status.Clients == nil || b.Status.Clients.Nonce == "") && len(b.Status.Runs) > 0
	return old || slices.ContainsFunc(b.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results == name })
}
