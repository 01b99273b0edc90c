package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// sweepPage is the number of a sweep's benchmarks in one answer of the API server. Each has a few KiB.
const sweepPage = 100

// findings holds the requested runs of one execution, sorted by number.
type findings struct {
	benchmark *v1alpha1.CephBenchmark
	// current says that the runs belong to the execution in status.
	current bool
	runs    []*archive.Run
}

func (o *options) find(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark) (*findings, error) {
	f := &findings{benchmark: benchmark}
	maps, err := Kept(ctx, reader, benchmark, o.runID)
	if err != nil {
		return nil, err
	}
	all, err := Read(f.benchmark, maps)
	if err != nil {
		return nil, err
	}
	for _, run := range all {
		if o.run == 0 || run.Number == o.run {
			f.runs = append(f.runs, run)
		}
	}
	for _, cm := range maps {
		f.current = cm.Labels[archive.LabelExecution] == archive.Execution(f.benchmark)
	}
	if len(f.runs) == 0 {
		return nil, o.nothing(f.benchmark, len(all))
	}
	return f, nil
}

// Runs returns the kept runs of the execution in status, sorted by number. The list may be empty.
func Runs(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark) ([]*archive.Run, error) {
	maps, err := Kept(ctx, reader, benchmark, "")
	if err != nil {
		return nil, err
	}
	return Read(benchmark, maps)
}

// OfSweep returns the benchmarks that a sweep has created for its run ID. Benchmarks that were deleted
// because of the sweep's historyLimit are missing.
func OfSweep(ctx context.Context, reader client.Reader, sweep *v1alpha1.CephTuningSweep) ([]*v1alpha1.CephBenchmark, error) {
	var all []*v1alpha1.CephBenchmark
	labelled := pages.Of[v1alpha1.CephBenchmarkList](ctx, reader, client.InNamespace(sweep.Namespace),
		client.Limit(sweepPage), client.MatchingLabels{sweepspec.LabelSweep: sweepspec.SweepLabel(sweep)})
	for page, err := range labelled {
		if err != nil {
			return nil, fmt.Errorf("reading the benchmarks of CephTuningSweep %s: %w", sweep.Name, err)
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
	}
	return all, nil
}

// SessionsOf returns the ConfigMaps with the sessions of a sweep's run ID; nil for a sweep with the
// design Blocks, or without a plan. ConfigMaps that were deleted because of the sweep's historyLimit are
// missing.
func SessionsOf(ctx context.Context, reader client.Reader, sweep *v1alpha1.CephTuningSweep) ([]corev1.ConfigMap, error) {
	if !sweepspec.HasWindows(sweep.Status.Plan) {
		return nil, nil
	}
	all, err := controlled(ctx, reader, sweep, client.MatchingLabels{sweepspec.LabelSweep: sweepspec.SweepLabel(sweep)}, client.HasLabels{archive.LabelSwitchedSession})
	if err != nil {
		return nil, fmt.Errorf("reading the sessions of CephTuningSweep %s: %w", sweep.Name, err)
	}
	return all, nil
}

// Sessions returns the sessions that SessionsOf finds.
func Sessions(ctx context.Context, reader client.Reader, sweep *v1alpha1.CephTuningSweep) ([]*archive.SwitchedSession, error) {
	maps, err := SessionsOf(ctx, reader, sweep)
	if err != nil {
		return nil, err
	}
	return archive.SessionsIn(sweep, maps)
}

// Kept returns the ConfigMaps of one execution: the execution in status or, with a run ID, the latest execution of that ID.
func Kept(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark, runID string) ([]corev1.ConfigMap, error) {
	labels := archive.Labels(benchmark.Name)
	if runID == "" {
		labels[archive.LabelExecution] = archive.Execution(benchmark)
	} else {
		labels[archive.LabelRunID] = runID
	}
	maps, err := listMaps(ctx, reader, benchmark, labels)
	return LatestExecution(maps), err
}

// KeptExecutions returns the ConfigMaps with the runs of all executions that are kept.
func KeptExecutions(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark) ([]corev1.ConfigMap, error) {
	return listMaps(ctx, reader, benchmark, archive.Labels(benchmark.Name))
}

// HistoryOf returns the ConfigMap with the nights that status records; nil without one.
func HistoryOf(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark) (*corev1.ConfigMap, error) {
	if benchmark.Status.History == nil {
		return nil, nil //nolint:nilnil // Documented above.
	}
	maps, err := listMaps(ctx, reader, benchmark, archive.HistoryLabels(benchmark.Name))
	if i := slices.IndexFunc(maps, func(cm corev1.ConfigMap) bool { return cm.Name == benchmark.Status.History.Results }); i >= 0 {
		return &maps[i], nil
	}
	return nil, err
}

// Read reads a benchmark's runs in ConfigMaps, sorted by number. It leaves out a ConfigMap of the execution in status that
// status does not record: another user has written it. If status records other results than a ConfigMap has, the
// run is invalid.
func Read(benchmark *v1alpha1.CephBenchmark, maps []corev1.ConfigMap) ([]*archive.Run, error) {
	var runs []*archive.Run
	for i := range maps {
		run, err := archive.Of(benchmark, &maps[i])
		_, foreign := errors.AsType[*archive.ForeignError](err)
		switch {
		case foreign && archive.RecordOf(benchmark, &maps[i]) == archive.RecordedOther:
			run = replaced(benchmark, &maps[i])
		case foreign:
			continue
		case err != nil:
			return nil, err
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b *archive.Run) int { return cmp.Compare(a.Number, b.Number) })
	return runs, nil
}

// replaced returns the run of a ConfigMap whose document is not the one that status records.
func replaced(benchmark *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) *archive.Run {
	run := &archive.Run{State: v1alpha1.RunInvalid, Reason: fmt.Sprintf(
		"ConfigMap %s is not the operator's: status.runs has another resultsDigest. So its figures are ignored", cm.Name)}
	for _, entry := range benchmark.Status.Runs {
		if entry.Results == cm.Name {
			run.Number, run.RunID = entry.Number, benchmark.Status.ObservedRunID
		}
	}
	return run
}

func listMaps(ctx context.Context, reader client.Reader, benchmark *v1alpha1.CephBenchmark, labels client.MatchingLabels) ([]corev1.ConfigMap, error) {
	maps, err := controlled(ctx, reader, benchmark, labels)
	if err != nil {
		return nil, fmt.Errorf("listing the ConfigMaps of the results: %w", err)
	}
	return maps, nil
}

// controlled returns those of the labelled ConfigMaps that name an object as their controller. There may also be those
// of a deleted object with the same name, and of other users.
func controlled(ctx context.Context, reader client.Reader, owner client.Object, labels ...client.ListOption) ([]corev1.ConfigMap, error) {
	var all []corev1.ConfigMap
	for page, err := range pages.Of[corev1.ConfigMapList](ctx, reader, append(labels, client.InNamespace(owner.GetNamespace()))...) {
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if metav1.IsControlledBy(&page.Items[i], owner) {
				all = append(all, page.Items[i])
			}
		}
	}
	return all, nil
}

// LatestExecution returns those of the ConfigMaps that are of the latest execution.
func LatestExecution(maps []corev1.ConfigMap) []corev1.ConfigMap {
	if len(maps) == 0 {
		return nil
	}
	latest := slices.MinFunc(maps, func(a, b corev1.ConfigMap) int { return archive.CompareAge(&a, &b) }).Labels[archive.LabelExecution]
	return slices.DeleteFunc(maps, func(cm corev1.ConfigMap) bool { return cm.Labels[archive.LabelExecution] != latest })
}

// nothing returns an error that says why there is no run to show. The parameter runs is the number of runs
// that are kept, but that --run excludes.
func (o *options) nothing(benchmark *v1alpha1.CephBenchmark, runs int) error {
	switch {
	case runs > 0:
		return fmt.Errorf("there is no run %d (number of kept runs: %d): remove --run to see them", o.run, runs)
	case o.runID != "":
		return fmt.Errorf("there are no results of run ID %s: historyLimit keeps those of the latest %d run IDs", o.runID, benchmark.Spec.HistoryLimit)
	}
	if ready := meta.FindStatusCondition(benchmark.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return fmt.Errorf("there are no results yet: %s: %s", ready.Reason, ready.Message)
	}
	return errors.New("there are no results yet, and the operator has not seen the benchmark: check that the operator is running")
}
