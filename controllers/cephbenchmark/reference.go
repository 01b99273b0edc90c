package cephbenchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// maxReferenceRuns limits how many runs of a reference are read, the latest first: a run may have
// half a MiB.
const maxReferenceRuns = 60

// referenceView is a benchmark that an expectation names as its reference.
type referenceView struct {
	benchmark *v1alpha1.CephBenchmark // nil if it could not be read
	err       error
}

// observeReferences reads each reference once, from the cache. An error is a fact: a reference
// decides about a verdict, and never about the measuring.
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

// comparison gathers what expectations with a reference need. It returns no error, because only
// the verdict depends on references: one that cannot be read makes it Unknown.
func (r *Reconciler) comparison(ctx context.Context, seen facts, own map[v1alpha1.PhaseName][]figure.Observation) figure.Comparison {
	c := figure.Comparison{Runs: own, References: map[string]figure.Reference{}}
	for name, view := range seen.references {
		reference := figure.Reference{Unusable: view.unreadable(name)}
		if reference.Unusable == "" {
			var err error
			if reference, err = r.readReference(ctx, seen, view.benchmark); err != nil {
				reference = figure.Reference{Unusable: cannotRead(name, err)}
			}
		}
		c.References[name] = reference
	}
	return c
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
func (r *Reconciler) readReference(ctx context.Context, seen facts, b *v1alpha1.CephBenchmark) (figure.Reference, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := r.reader.List(ctx, &found, client.InNamespace(b.Namespace), client.MatchingLabels(archive.Labels(b.Name))); err != nil {
		return figure.Reference{}, fmt.Errorf("list its results: %w", err)
	}
	m := newMatch(seen, b)
	for _, name := range m.runsToRead(found.Items) {
		var cm corev1.ConfigMap
		err := r.reader.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, &cm)
		if apierrors.IsNotFound(err) {
			continue // Its historyLimit has just let it go.
		}
		if err != nil {
			return figure.Reference{}, fmt.Errorf("read its results: %w", err)
		}
		run, err := archive.Of(b, &cm)
		if err != nil {
			return figure.Reference{}, err
		}
		m.add(cm.Labels[archive.LabelSession], run)
	}
	return m.reference(), nil
}

// match selects the runs of a reference with which a benchmark can be compared.
type match struct {
	benchmark *v1alpha1.CephBenchmark // the reference
	digests   map[v1alpha1.PhaseName]string
	detail    quiescence.Detail

	runs []figure.ReferenceRun
	// valid counts the valid runs, and other is how the workload of the latest one differs.
	valid int
	other string
}

func newMatch(seen facts, b *v1alpha1.CephBenchmark) *match {
	m := &match{benchmark: b, digests: map[v1alpha1.PhaseName]string{}, detail: seen.detail()}
	for _, p := range seen.script.Phases {
		m.digests[p.Name] = phaseDigest(p.Spec, &seen.spec.Template)
	}
	return m
}

// complete reports whether the session in status is complete. The runs of one that is not, or
// that failed, do not count.
func (m *match) complete() bool {
	return meta.IsStatusConditionTrue(m.benchmark.Status.Conditions, v1alpha1.ConditionComplete)
}

// runsToRead returns the names of the ConfigMaps to read, the latest first.
func (m *match) runsToRead(maps []metav1.PartialObjectMetadata) []string {
	maps = slices.DeleteFunc(slices.Clone(maps), func(cm metav1.PartialObjectMetadata) bool {
		return !metav1.IsControlledBy(&cm, m.benchmark) || !m.complete() && cm.Labels[archive.LabelSession] == archive.Session(m.benchmark)
	})
	slices.SortStableFunc(maps, func(a, b metav1.PartialObjectMetadata) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	names := make([]string, min(len(maps), maxReferenceRuns))
	for i := range names {
		names[i] = maps[i].Name
	}
	return names
}

// add adds a run if it is valid and measured the same workload.
func (m *match) add(session string, run *archive.Run) {
	if run.State != v1alpha1.RunValid {
		return
	}
	m.valid++
	if other := m.otherWorkload(run); other != "" {
		if m.other == "" {
			m.other = other
		}
		return
	}
	of := figure.ReferenceRun{Session: session, Start: run.SessionTime, Figures: map[v1alpha1.PhaseName][]figure.Figure{}}
	for _, p := range run.Phases {
		if p.Observation != nil && p.SpecDigest == m.digests[p.Name] {
			of.Figures[p.Name] = p.Observation.Figures
		}
	}
	m.runs = append(m.runs, of)
}

// otherWorkload says how the workload of a run differs; "" if it does not. Phases are compared
// one by one, by their digests.
func (m *match) otherWorkload(run *archive.Run) string {
	var detail quiescence.Detail
	if err := json.Unmarshal(run.Environment, &detail); err != nil {
		return "its environment was not recorded"
	}
	if differences := quiescence.CompareWorkload(detail, m.detail); len(differences) > 0 {
		return differences[0]
	}
	return ""
}

// reference returns the runs that count, or why none does.
func (m *match) reference() figure.Reference {
	name := m.benchmark.Name
	switch {
	case len(m.runs) > 0:
		return figure.Reference{Runs: m.runs}
	case m.other != "":
		return figure.Reference{Unusable: fmt.Sprintf("%s measured another workload (%s): give both the same target and template", name, ellipsis.Cut(m.other, 80))}
	case !m.complete():
		return figure.Reference{Unusable: name + " is not Complete: wait for it, and run again with another runID"}
	}
	return figure.Reference{Unusable: name + " keeps no valid run: run it again, and then this benchmark"}
}
