// Package runstore writes and reads the ConfigMaps with the results of a benchmark's runs. Package archive
// defines their format. Results are large, so the controller reads them only in the step that concludes a
// run. It chooses its steps without them.
package runstore

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/store"
	"github.com/cephtune/cephtune/internal/conclusion"
)

// Store has the clients with which the results of a benchmark are read and written.
type Store struct {
	Client    client.Client
	Reader    client.Reader // without a cache
	Benchmark *v1alpha1.CephBenchmark
	// MasterKey is the key with which results are signed.
	MasterKey []byte
}

// Stored says where the results of a run are, and has their digest.
type Stored struct{ Name, Digest string }

// Entry returns a run's entry in status.
func (s Stored) Entry(run conclusion.Run) v1alpha1.BenchmarkRun {
	entry := run.Entry(s.Name)
	entry.ResultsDigest = s.Digest
	return entry
}

// Write writes the results of a run into a ConfigMap. After a crash, a ConfigMap that the operator signed may
// already exist. Then Write returns the existing results, because the earlier process observed more of the
// run. If another user has taken the name, Write uses another name.
func (s Store) Write(ctx context.Context, run conclusion.Run) (Stored, conclusion.Run, error) {
	cm, err := archive.ConfigMap(s.Benchmark, &run.Run)
	if err != nil {
		return Stored{}, run, err
	}
	earlier, err := s.owned().Create(ctx, cm)
	switch {
	case err != nil:
		return Stored{}, run, fmt.Errorf("write the results: %w", err)
	case earlier == nil:
		return Stored{cm.Name, archive.Digest(cm)}, run, nil
	}
	kept, err := archive.FromConfigMap(earlier)
	if err != nil {
		return Stored{}, run, err
	}
	return Stored{cm.Name, archive.Digest(earlier)}, conclusion.OfArchive(kept), nil
}

// owned returns the store of everything that the operator keeps for the benchmark.
func (s Store) owned() store.Owned {
	return store.Owned{Client: s.Client, Reader: s.Reader, MasterKey: s.MasterKey, Namespace: s.Benchmark.Namespace, Owner: s.Benchmark.UID}
}

// Runs returns the runs of the execution. The argument upTo is the number of the last run to return; the first
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

// Signed returns the metadata of the ConfigMaps with results that the operator wrote for the benchmark.
func (s Store) Signed(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	return s.owned().List(ctx, client.MatchingLabels(archive.Labels(s.Benchmark.Name)))
}

// Prune deletes those of the given results that are of the oldest executions beyond the history limit. Results without a
// genuine signature are not among them (see [Store.Signed]), and stay until the benchmark is deleted: other users may have
// written them. The results in status stay, too: they seem to be older than others if somebody has set the clock back.
func (s Store) Prune(ctx context.Context, signed []metav1.PartialObjectMetadata, historyLimit int32) error {
	old := slices.DeleteFunc(archive.Prune(signed, int(historyLimit)), func(m metav1.PartialObjectMetadata) bool { return s.inStatus(m.Name) })
	return s.owned().Remove(ctx, old)
}

// inStatus reports whether status has results with a name.
func (s Store) inStatus(name string) bool {
	return slices.ContainsFunc(s.Benchmark.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results == name })
}
