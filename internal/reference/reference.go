// Package reference selects the runs of a recorded benchmark with which another benchmark is
// compared. The controller and the command line share it, so that an expectation with
// maximumRegression and "kubectl cephtune compare --max-regression" judge the same runs.
package reference

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// MaxRuns limits how many runs of a reference are read, the latest first: a run may have half a
// MiB.
const MaxRuns = 60

// Workload is what a benchmark measures. The runs of a reference must have measured the same.
type Workload struct {
	// Digests holds the SpecDigest of each phase, or [AnySpec].
	Digests map[v1alpha1.PhaseName]string
	// Environment is that of the benchmark's runs.
	Environment quiescence.Detail
	// Ignore reports whether a difference of the environment does not matter; nil ignores none.
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
	// other describes how the workload differs, for the latest valid run with another workload.
	other string
}

// NewMatch returns a Match for a reference that messages call by the given name.
func NewMatch(benchmark *v1alpha1.CephBenchmark, name string, workload Workload) *Match {
	return &Match{benchmark: benchmark, name: name, workload: workload}
}

// Complete reports whether the session in status is complete. If that session is unfinished or has
// failed, its runs do not count. The valid runs of earlier sessions count nevertheless.
func Complete(b *v1alpha1.CephBenchmark) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
}

// RunsToRead returns the names of at most MaxRuns ConfigMaps to read, the latest first.
func (m *Match) RunsToRead(maps []metav1.PartialObjectMetadata) []string {
	complete := Complete(m.benchmark)
	maps = slices.DeleteFunc(slices.Clone(maps), func(cm metav1.PartialObjectMetadata) bool {
		return !metav1.IsControlledBy(&cm, m.benchmark) || !complete && cm.Labels[archive.LabelSession] == archive.Session(m.benchmark)
	})
	slices.SortStableFunc(maps, func(a, b metav1.PartialObjectMetadata) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	names := make([]string, min(len(maps), MaxRuns))
	for i := range names {
		names[i] = maps[i].Name
	}
	return names
}

// Add adds a run if it is valid and measured the same workload.
func (m *Match) Add(session string, run *archive.Run) {
	if run.State != v1alpha1.RunValid {
		return
	}
	if other := m.otherWorkload(run); other != "" {
		if m.other == "" {
			m.other = other
		}
		return
	}
	of := figure.ReferenceRun{Session: session, Start: run.SessionTime, Figures: map[v1alpha1.PhaseName][]figure.Figure{}}
	for _, p := range run.Phases {
		digest, measured := m.workload.Digests[p.Name]
		if p.Observation != nil && measured && (digest == AnySpec || digest == p.SpecDigest) {
			of.Figures[p.Name] = p.Observation.Figures
		}
	}
	m.runs = append(m.runs, of)
}

// otherWorkload says how the workload of a run differs; "" if it does not. Phases are compared
// one by one, by their digests.
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

// Reference returns the runs that count, or why none does.
func (m *Match) Reference() figure.Reference {
	switch {
	case len(m.runs) > 0:
		return figure.Reference{Runs: m.runs}
	case m.other != "":
		return figure.Reference{Unusable: fmt.Sprintf("%s measured another workload (%s): give both the same target and template", m.name, ellipsis.Cut(m.other, 80))}
	case !Complete(m.benchmark):
		return figure.Reference{Unusable: m.name + " is not Complete: wait for it, and then run this benchmark again with another runID"}
	}
	return figure.Reference{Unusable: m.name + " has no valid run left: run it again, and then run this benchmark again"}
}
