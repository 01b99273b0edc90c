// Package runstore writes and reads the ConfigMaps with the results of a benchmark's runs. Package archive
// defines their format. Results are large, so the controller reads them only in the step that concludes a
// run. It chooses its steps without them.
package runstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
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
	earlier, err := s.create(ctx, cm)
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

// create signs a ConfigMap, and creates it under the first of its names that no other user has taken. It sets the name. If
// the operator has created a ConfigMap with that name before, create returns that one.
func (s Store) create(ctx context.Context, cm *corev1.ConfigMap) (earlier *corev1.ConfigMap, err error) {
	names, err := archive.Names(s.MasterKey, s.Benchmark.UID, cm.Name)
	if err != nil {
		return nil, err
	}
	for _, cm.Name = range names {
		if err := archive.Sign(s.MasterKey, s.Benchmark.UID, cm); err != nil {
			return nil, err
		}
		if err := s.Client.Create(ctx, cm.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		if earlier, err = s.genuine(ctx, cm.Name); err != nil || earlier != nil {
			return earlier, err
		}
	}
	return nil, fmt.Errorf("other users have ConfigMaps with all names that the results may have (%s): delete one of them", strings.Join(names, ", "))
}

// genuine returns a ConfigMap; nil if the operator did not write it for the benchmark.
func (s Store) genuine(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	if err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.Benchmark.Namespace, Name: name}, cm); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	genuine, err := archive.Genuine(s.MasterKey, s.Benchmark.UID, cm)
	if !genuine || err != nil {
		return nil, err
	}
	return cm, nil
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
	return s.list(ctx, archive.Labels(s.Benchmark.Name))
}

// Prune deletes those of the given results that are of the oldest executions beyond the history limit. Results without a
// genuine signature are not among them (see [Store.Signed]), and stay until the benchmark is deleted: other users may have
// written them. The results in status stay, too: they seem to be older than others if somebody has set the clock back.
func (s Store) Prune(ctx context.Context, signed []metav1.PartialObjectMetadata, historyLimit int32) error {
	old := slices.DeleteFunc(archive.Prune(signed, int(historyLimit)), func(m metav1.PartialObjectMetadata) bool { return s.inStatus(m.Name) })
	return s.remove(ctx, old)
}

// list returns the metadata of the ConfigMaps with these labels that the operator wrote for the benchmark. If there are too
// many of other users, it returns those that it has read.
func (s Store) list(ctx context.Context, labels client.MatchingLabels) ([]metav1.PartialObjectMetadata, error) {
	signed, err := list(ctx, s.Reader, s.Benchmark.Namespace, labels, s.signed)
	if tooMany, ok := errors.AsType[*pages.TooManyError](err); ok {
		logf.FromContext(ctx).Error(tooMany, "Some results were not read, and old ones may stay")
	} else if client.IgnoreNotFound(err) != nil { // While the namespace is being deleted, a list may be "not found".
		return nil, fmt.Errorf("list the results: %w", err)
	}
	return signed, nil
}

func (s Store) remove(ctx context.Context, maps []metav1.PartialObjectMetadata) error {
	for _, m := range maps {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
		if err := s.Client.Delete(ctx, cm, client.Preconditions{UID: &m.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete old results: %w", err)
		}
	}
	return nil
}

// inStatus reports whether status has results with a name.
func (s Store) inStatus(name string) bool {
	return slices.ContainsFunc(s.Benchmark.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results == name })
}

// signed returns the metadata of those of the benchmark's results that the operator wrote.
func (s Store) signed(found []metav1.PartialObjectMetadata) (all []metav1.PartialObjectMetadata, err error) {
	for _, m := range found {
		genuine, err := archive.Signed(s.MasterKey, s.Benchmark.UID, &m)
		if err != nil {
			return nil, err
		}
		if genuine {
			all = append(all, m)
		}
	}
	return all, nil
}

// list returns the metadata of the ConfigMaps of a namespace that have these labels. It keeps those that the function
// selected returns of each page: other users may have written any number of others. With an error, it returns those that it
// has kept.
func list(ctx context.Context, reader client.Reader, namespace string, labels client.MatchingLabels,
	selected func([]metav1.PartialObjectMetadata) ([]metav1.PartialObjectMetadata, error),
) (kept []metav1.PartialObjectMetadata, err error) {
	labelled := pages.Metadata(ctx, reader, corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.InNamespace(namespace), labels)
	for page, err := range labelled {
		if err != nil {
			return kept, err
		}
		some, err := selected(page.Items)
		if err != nil {
			return kept, err
		}
		kept = append(kept, some...)
	}
	return kept, nil
}
