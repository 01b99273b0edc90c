package runstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/history"
)

// leastNights is the number of nights from which on they are kept: a benchmark that runs once has its results.
const leastNights = 2

// History returns the benchmark's nights, and where they are kept: nil if nowhere. It adds the nights that so far only the
// given results have (see [Store.Signed]). So a write that was lost is made up for, as long as historyLimit keeps the
// results. Once status has the answer, the caller calls History again, which deletes the earlier histories. Call it for an
// execution that has ended.
func (s Store) History(ctx context.Context, signed []metav1.PartialObjectMetadata) (nights []history.Night, kept *v1alpha1.BenchmarkHistory, err error) {
	known, err := s.nights(ctx)
	if err != nil {
		return nil, nil, err
	}
	archived, err := s.archivedNights(ctx, signed, known)
	if err != nil {
		return nil, nil, err
	}
	if nights, err = history.Merge(known, archived); err != nil || len(nights) < leastNights {
		return nights, nil, err
	}
	cm, err := history.ConfigMap(s.Benchmark, nights)
	if err != nil {
		return nil, nil, err
	}
	if recorded := s.Benchmark.Status.History; len(known) > 0 && recorded.ResultsDigest == archive.Digest(cm) {
		return nights, recorded, s.removeHistories(ctx, recorded.Results)
	}
	if _, err := s.owned().Create(ctx, cm); err != nil {
		return nil, nil, fmt.Errorf("write the history: %w", err)
	}
	return nights, &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}, nil
}

// nights returns the nights that status records. There are none if somebody has deleted or replaced them: then the history
// begins again with the results that are kept.
func (s Store) nights(ctx context.Context) ([]history.Night, error) {
	recorded := s.Benchmark.Status.History
	if recorded == nil {
		return nil, nil
	}
	cm, err := s.owned().Genuine(ctx, recorded.Results)
	if apierrors.IsNotFound(err) || err == nil && cm == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	nights, err := history.FromConfigMap(s.Benchmark, cm)
	if err != nil { // A retry would fail, too.
		logf.FromContext(ctx).Error(err, "The history begins again")
		return nil, nil
	}
	return nights, nil
}

// archivedNights returns the nights that results have and the known nights lack.
func (s Store) archivedNights(ctx context.Context, signed []metav1.PartialObjectMetadata, known []history.Night) ([]history.Night, error) {
	executions := map[string]bool{}
	for _, m := range signed {
		executions[m.Labels[archive.LabelExecution]] = true
	}
	if len(executions) < leastNights && len(known) == 0 {
		return nil, nil
	}
	var runs []*archive.Run
	for _, m := range slices.SortedFunc(slices.Values(signed), func(a, b metav1.PartialObjectMetadata) int { return -archive.CompareAge(&a, &b) }) {
		start, _ := time.Parse(time.RFC3339, m.Annotations[archive.AnnotationExecutionStart]) // Zero in results of an earlier version.
		if slices.ContainsFunc(known, func(n history.Night) bool { return n.Time.Unix() == start.Unix() }) {
			continue
		}
		cm, err := s.owned().Genuine(ctx, m.Name)
		if apierrors.IsNotFound(err) || err == nil && cm == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		run, err := archive.FromConfigMap(cm)
		if err != nil { // A retry would fail, too.
			logf.FromContext(ctx).Error(err, "The history lacks a run")
			continue
		}
		runs = append(runs, history.Light(run))
	}
	return history.Of(runs), nil
}

// removeHistories deletes the earlier histories of the benchmark.
func (s Store) removeHistories(ctx context.Context, latest string) error {
	signed, err := s.owned().List(ctx, client.MatchingLabels(archive.HistoryLabels(s.Benchmark.Name)))
	if err != nil {
		return err
	}
	return s.owned().Remove(ctx, slices.DeleteFunc(signed, func(m metav1.PartialObjectMetadata) bool { return m.Name == latest }))
}
