// Package reference selects runs of a recorded benchmark, the reference, for the comparison with another
// benchmark. The controller and the command line share this package. So an expectation with maximumRegression
// and "kubectl cephtune compare --max-regression" judge the same runs.
package reference

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// MaxRuns is the maximum number of runs that are read from a reference, because each run may have half a MiB.
const MaxRuns = 60

// Workload identifies what a benchmark measures. Only runs with an equal workload are compared.
type Workload struct {
	// Digests holds the SpecDigest of each phase to compare, or [AnySpec].
	Digests map[v1alpha1.PhaseName]string
	// Environment is the environment of the benchmark's runs.
	Environment quiescence.Detail
	// Ignore reports whether a difference between environments does not matter; nil ignores no difference.
	Ignore func(difference string) bool
}

// AnySpec accepts phases with any specification.
const AnySpec = "*"

// Match selects the runs of a reference with which a benchmark can be compared.
type Match struct {
	benchmark *v1alpha1.CephBenchmark // the reference
	name      string
	workload  Workload

	runs []figure.ReferenceRun
	// other is the first result of otherWorkload that excluded a valid run; "" if no valid run was excluded.
	other string
	// damaged is the error about the latest run whose results cannot be read.
	damaged error
	// gone is a valid run of the latest execution whose results were deleted or changed; 0 without one.
	gone int32
}

// NewMatch returns a Match without runs. The benchmark is the reference, and messages call it by the given
// name.
func NewMatch(benchmark *v1alpha1.CephBenchmark, name string, workload Workload) *Match {
	return &Match{benchmark: benchmark, name: name, workload: workload}
}

// Complete reports whether the latest execution of a benchmark is complete. If that execution is unfinished or
// has failed, its runs do not count as a reference, but the valid runs of earlier executions do.
func Complete(b *v1alpha1.CephBenchmark) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
}

// RunsToRead selects at most MaxRuns of the given ConfigMaps, and returns their names, the latest first, as
// [archive.CompareAge] sorts them. All valid runs of the latest execution must be among them: a user who deletes the
// fast ones would choose the verdict.
func (m *Match) RunsToRead(maps []metav1.PartialObjectMetadata) []string {
	complete := Complete(m.benchmark)
	for _, run := range m.latest() {
		if !slices.ContainsFunc(maps, func(cm metav1.PartialObjectMetadata) bool { return cm.Name == run.Results }) {
			m.gone = run.Number
		}
	}
	maps = slices.DeleteFunc(slices.Clone(maps), func(cm metav1.PartialObjectMetadata) bool {
		return !metav1.IsControlledBy(&cm, m.benchmark) || !complete && cm.Labels[archive.LabelExecution] == archive.Execution(m.benchmark)
	})
	slices.SortStableFunc(maps, func(a, b metav1.PartialObjectMetadata) int { return archive.CompareAge(&a, &b) })
	names := make([]string, min(len(maps), MaxRuns))
	for i := range names {
		names[i] = maps[i].Name
	}
	return names
}

// latest returns the valid runs of the latest execution that have results, if the execution is complete.
func (m *Match) latest() []v1alpha1.BenchmarkRun {
	return slices.DeleteFunc(slices.Clone(m.benchmark.Status.Runs), func(run v1alpha1.BenchmarkRun) bool {
		return run.State != v1alpha1.RunValid || run.Results == "" || !Complete(m.benchmark)
	})
}

// Read adds the run in a ConfigMap as [Match.Add] does. A run of an earlier execution whose results are damaged does not
// count: the ConfigMap is immutable, so another attempt would fail too.
func (m *Match) Read(cm *corev1.ConfigMap) {
	run, err := archive.Of(m.benchmark, cm)
	if err != nil {
		for _, damaged := range m.latest() {
			if damaged.Results == cm.Name {
				m.gone = damaged.Number
			}
		}
		if m.damaged == nil {
			m.damaged = err
		}
		return
	}
	m.Add(cm.Labels[archive.LabelExecution], run)
}

// Add adds a valid run of the reference unless otherWorkload excludes it. It leaves out the figures of phases
// with another digest than the Workload's. The caller adds the latest run first.
func (m *Match) Add(execution string, run *archive.Run) {
	if run.State != v1alpha1.RunValid {
		return
	}
	if other := m.otherWorkload(run); other != "" {
		if m.other == "" {
			m.other = other
		}
		return
	}
	referenceRun := figure.ReferenceRun{Execution: execution, Start: run.ExecutionTime, Figures: map[v1alpha1.PhaseName][]figure.Figure{}}
	for _, p := range run.Phases {
		digest, measured := m.workload.Digests[p.Name]
		if p.Observation != nil && measured && (digest == AnySpec || digest == p.SpecDigest) {
			referenceRun.Figures[p.Name] = p.Observation.Figures
		}
	}
	m.runs = append(m.runs, referenceRun)
}

// otherWorkload returns the first difference between the workload of a run and the Workload of the Match that
// Workload.Ignore does not accept; "" without such a difference. If the run's environment cannot be read, it
// returns that as the difference. It does not compare phases: Add compares their digests.
func (m *Match) otherWorkload(run *archive.Run) string {
	var detail quiescence.Detail
	if err := json.Unmarshal(run.Environment, &detail); err != nil {
		return "its environment was not recorded"
	}
	for _, difference := range quiescence.CompareWorkload(detail, m.workload.Environment) {
		if m.workload.Ignore == nil || !m.workload.Ignore(difference) {
			return difference
		}
	}
	return ""
}

// Reference returns the runs that count, or the reason why no run counts.
func (m *Match) Reference() figure.Reference {
	switch {
	case m.gone > 0:
		return figure.Reference{Unusable: fmt.Sprintf("the results of run %d of %s were deleted or changed: run it again, and then run this benchmark again", m.gone, m.name)}
	case len(m.runs) > 0:
		return figure.Reference{Runs: m.runs}
	case m.other != "":
		return figure.Reference{Unusable: fmt.Sprintf("%s measured another workload (%s): give both the same target and template", m.name, ellipsis.Cut(m.other, 80))}
	case !Complete(m.benchmark):
		return figure.Reference{Unusable: m.name + " is not Complete: wait for it, and then run this benchmark again with another runID"}
	case m.damaged != nil:
		return figure.Reference{Unusable: fmt.Sprintf("%s has no valid run whose results can be read: run it again, and then run this benchmark again (%s)", m.name, ellipsis.Cut(m.damaged.Error(), 80))}
	}
	return figure.Reference{Unusable: m.name + " has no valid run left: run it again, and then run this benchmark again"}
}
