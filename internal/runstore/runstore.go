// Package runstore writes and reads the ConfigMaps with the results of a benchmark's runs. Package archive
// defines their format. Results are large, so the controller reads them only in the step that concludes a
// run. It chooses its steps without them.
package runstore

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
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/reconcile"
)

// Store has the clients with which the results of a benchmark are read and written.
type Store struct {
	Client    client.Client
	Reader    client.Reader // without a cache
	Benchmark *v1alpha1.CephBenchmark
}

// Write writes the results of a run into a ConfigMap, and returns its name. After a crash, the ConfigMap
// may already exist. Then Write returns the existing results, because the earlier process observed more of
// the run.
func (s Store) Write(ctx context.Context, run conclusion.Run) (string, conclusion.Run, error) {
	cm, err := archive.ConfigMap(s.Benchmark, &run.Run)
	if err != nil {
		return "", run, err
	}
	err = s.Client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		if err := s.Reader.Get(ctx, client.ObjectKeyFromObject(cm), cm); err != nil {
			return "", run, fmt.Errorf("read the results of an earlier attempt: %w", err)
		}
		earlier, err := archive.Of(s.Benchmark, cm)
		if err != nil {
			return "", run, err
		}
		return cm.Name, conclusion.OfArchive(earlier), nil
	}
	if err != nil {
		return "", run, fmt.Errorf("write the results: %w", err)
	}
	return cm.Name, run, nil
}

// Runs returns the runs of the session. The argument upTo is the number of the last run to return; the first
// is run 1. Runs reads only runs that are not among the known runs. A valid run whose results are missing or
// damaged counts as invalid.
func (s Store) Runs(ctx context.Context, upTo int32, known map[int32]conclusion.Run) ([]conclusion.Run, error) {
	var runs []conclusion.Run
	for number := int32(1); number <= upTo; number++ {
		run, ok := known[number]
		if !ok {
			var err error
			if run, err = s.run(ctx, number); err != nil {
				return nil, err
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (s Store) run(ctx context.Context, number int32) (conclusion.Run, error) {
	for _, entry := range s.Benchmark.Status.Runs {
		if entry.Number == number {
			return s.read(ctx, entry)
		}
	}
	return conclusion.Run{}, fmt.Errorf("status has no run %d", number)
}

func (s Store) read(ctx context.Context, entry v1alpha1.BenchmarkRun) (conclusion.Run, error) {
	invalid := conclusion.Run{Run: archive.Run{Number: entry.Number, Reason: entry.Reason}}
	if entry.State != v1alpha1.RunValid {
		return invalid, nil
	}
	var cm corev1.ConfigMap
	err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.Benchmark.Namespace, Name: entry.Results}, &cm)
	if apierrors.IsNotFound(err) {
		invalid.Reason = fmt.Sprintf("its results, ConfigMap %s, were deleted", entry.Results)
		return invalid, nil
	}
	if err != nil {
		return conclusion.Run{}, fmt.Errorf("read the results of run %d: %w", entry.Number, err)
	}
	run, err := archive.Of(s.Benchmark, &cm)
	if err != nil { // The ConfigMap is immutable, so a retry would fail too.
		invalid.Reason = "its results cannot be read: " + err.Error()
		return invalid, nil //nolint:nilerr // The run reports it.
	}
	return conclusion.OfArchive(run), nil
}

// Prune deletes the results of the oldest sessions beyond the history limit.
func (s Store) Prune(ctx context.Context, historyLimit int32) (reconcile.Wait, error) {
	found, err := list(ctx, s.Reader, s.Benchmark)
	if client.IgnoreNotFound(err) != nil { // While the namespace is being deleted, a list may be "not found".
		return "", fmt.Errorf("list the results: %w", err)
	}
	for _, name := range archive.Prune(found, s.Benchmark.UID, int(historyLimit)) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Benchmark.Namespace, Name: name}}
		if err := s.Client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete old results: %w", err)
		}
	}
	return reconcile.Done, nil
}

// list returns the metadata of the ConfigMaps with results of a benchmark, and of deleted benchmarks
// with the same name.
func list(ctx context.Context, reader client.Reader, b *v1alpha1.CephBenchmark) ([]metav1.PartialObjectMetadata, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := reader.List(ctx, &found, client.InNamespace(b.Namespace), client.MatchingLabels(archive.Labels(b.Name)))
	return found.Items, err
}
