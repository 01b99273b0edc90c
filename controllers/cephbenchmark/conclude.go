package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/workload"
)

// concludeRun turns the reports of a run into its outcome, valid or invalid with the reason, and
// archives it. After the last run the benchmark has its result.
func (r *Reconciler) concludeRun(ctx context.Context, seen facts, p plan) (effect, error) {
	wrong, err := r.endRun(ctx, seen, p.wrong)
	if err != nil {
		return effect{}, err
	}
	session := seen.concluded(p.run)
	told, err := seen.memory.gathering.Fetch(ctx, seen.script, p.run,
		reporters(seen.runners), seen.tasks, reporters(seen.background.runners), seen.background.tasks)
	if err != nil {
		return effect{}, err
	}
	run, err := session.Judge(p.run, wrong, p.fatal, told)
	if err != nil {
		return effect{}, err
	}
	name, run, err := r.archiveRun(ctx, seen, run)
	if err != nil {
		return effect{}, err
	}
	seen.memory.gathering, seen.memory.runs[p.run] = conclusion.Gathering{}, run.Kept()
	came := effect{again: reconcile.AtOnce, event: run.Event(), invalid: run.Invalid, outage: seen.outageEnd(run)}
	came.edit = func(s *v1alpha1.CephBenchmarkStatus) { conclusion.SetRun(s, run.Entry(name)) }
	switch {
	case p.fatal:
		came.edit = func(s *v1alpha1.CephBenchmarkStatus) {
			conclusion.SetRun(s, run.Entry(name))
			conclusion.Fail(s, seen.now, p.outcome)
		}
		return came, nil
	case p.run < seen.spec.Repetitions:
		return came, nil
	}
	concluded, err := r.conclude(ctx, seen, session)
	if err != nil {
		return effect{}, err
	}
	came.outcome = cleaningUp()
	came.edit = func(s *v1alpha1.CephBenchmarkStatus) {
		conclusion.SetRun(s, run.Entry(name))
		concluded.Write(s, session)
	}
	return came, nil
}

// endRun stops the clients of a run that is invalid because of wrong. Otherwise it checks whether
// the scratch pool is still on its OSDs. It returns why the run is invalid; "" if it is valid.
func (r *Reconciler) endRun(ctx context.Context, seen facts, wrong string) (string, error) {
	if wrong == "" {
		return r.stillPlaced(ctx, seen)
	}
	return wrong, errors.Join(clientview.Each(ctx, seen.runners, cancel(seen.tasks)), clientview.Each(ctx, seen.background.runners, cancel(seen.background.tasks)))
}

// reporters returns the clients of these runners, in order.
func reporters(runners map[int]clientview.View) []conclusion.Reporter {
	all := make([]conclusion.Reporter, len(runners))
	for i := range all {
		all[i] = runners[i].Client
	}
	return all
}

// concluded returns the facts that decide about the results of a run.
func (f facts) concluded(run int32) conclusion.Session {
	t := f.target()
	_, cached, err := t.Dataset()
	s := conclusion.Session{
		Now: f.now, Spec: f.spec, Script: f.script, Tasks: f.tasks, Background: f.background.tasks, Notes: f.memory.noted,
		View: f.View, TargetPools: t.PoolNames(), Pools: t.Pools(), PGs: t.PGs(), Detail: t.Detail(),
		Disturbances: map[string][]quiescence.Disturbance{}, Outage: f.memory.outage.State, Cached: err == nil && cached,
		Overhead: t.Overhead(), UsedBefore: f.memory.usedBefore,
		OSDs: f.osdsInStatus(), Standalone: f.standalone(), Remark: f.remark(),
	}
	for _, p := range f.script.Phases {
		id := workload.TaskID(run, p.Name)
		s.Disturbances[id] = f.disturbancesOf(run, id)
	}
	return s
}

// outageEnd is the outcome of a run's outage, in one word, and its cost.
type outageEnd struct {
	outcome string // "" if there was no outage, or it had not begun
	cost    *archive.Outage
}

func (f facts) outageEnd(run conclusion.Run) outageEnd {
	d := f.memory.outage
	switch {
	case d.Run != run.Number || !d.Refused && d.Begin.IsZero():
		return outageEnd{}
	case d.Refused:
		return outageEnd{outcome: exporter.OutageRefused}
	case run.Reason != "":
		return outageEnd{outcome: exporter.OutageFailed}
	}
	end := outageEnd{outcome: exporter.OutageMeasured}
	for _, p := range run.Phases {
		end.cost = cmp.Or(end.cost, p.Outage)
	}
	return end
}

// archiveRun writes the full results of a run into a ConfigMap, and returns its name. After a
// crash the ConfigMap may exist already. The existing one counts, because the earlier process
// observed more of the run.
func (r *Reconciler) archiveRun(ctx context.Context, seen facts, run conclusion.Run) (string, conclusion.Run, error) {
	cm, err := archive.ConfigMap(seen.benchmark, &run.Run)
	if err != nil {
		return "", run, err
	}
	err = r.client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		if err := r.reader.Get(ctx, client.ObjectKeyFromObject(cm), cm); err != nil {
			return "", run, fmt.Errorf("read the results of an earlier attempt: %w", err)
		}
		earlier, err := archive.Of(seen.benchmark, cm)
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

// conclude combines the runs of the session.
func (r *Reconciler) conclude(ctx context.Context, seen facts, session conclusion.Session) (conclusion.Conclusion, error) {
	var runs []conclusion.Run
	for number := int32(1); number <= seen.spec.Repetitions; number++ {
		run, err := r.pastRun(ctx, seen, number)
		if err != nil {
			return conclusion.Conclusion{}, err
		}
		runs = append(runs, run)
	}
	var references map[string]figure.Reference
	if conclusion.AnyValid(runs) {
		references = r.readReferences(ctx, seen, session.Workload())
	}
	return session.Conclude(runs, references)
}

// pastRun returns a run that has ended. It reads the run from memory, or from its archive if this
// process has not seen it.
func (r *Reconciler) pastRun(ctx context.Context, seen facts, number int32) (conclusion.Run, error) {
	if run, ok := seen.memory.runs[number]; ok {
		return run, nil
	}
	for _, entry := range seen.benchmark.Status.Runs {
		if entry.Number == number {
			return r.readRun(ctx, seen, entry)
		}
	}
	return conclusion.Run{}, fmt.Errorf("status has no run %d", number)
}

func (r *Reconciler) readRun(ctx context.Context, seen facts, entry v1alpha1.BenchmarkRun) (conclusion.Run, error) {
	invalid := conclusion.Run{Run: archive.Run{Number: entry.Number, Reason: entry.Reason}}
	if entry.State != v1alpha1.RunValid {
		return invalid, nil
	}
	var cm corev1.ConfigMap
	err := r.reader.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: entry.Results}, &cm)
	if apierrors.IsNotFound(err) {
		invalid.Reason = fmt.Sprintf("its results, ConfigMap %s, were deleted", entry.Results)
		return invalid, nil
	}
	if err != nil {
		return conclusion.Run{}, fmt.Errorf("read the results of run %d: %w", entry.Number, err)
	}
	run, err := archive.Of(seen.benchmark, &cm)
	if err != nil { // The ConfigMap is immutable, so a retry would fail too.
		invalid.Reason = "its results cannot be read: " + err.Error()
		return invalid, nil //nolint:nilerr // The run reports it.
	}
	return conclusion.OfArchive(run), nil
}

// prune deletes the results of the oldest sessions beyond the history limit.
func (r *Reconciler) prune(ctx context.Context, seen facts) (reconcile.Wait, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := r.reader.List(ctx, &found, client.InNamespace(seen.benchmark.Namespace), client.MatchingLabels(archive.Labels(seen.benchmark.Name)))
	if client.IgnoreNotFound(err) != nil { // A list may be "not found" while the namespace is being deleted.
		return "", fmt.Errorf("list the results: %w", err)
	}
	for _, name := range archive.Prune(found.Items, seen.benchmark.UID, int(seen.spec.HistoryLimit)) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: seen.benchmark.Namespace, Name: name}}
		if err := r.client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete old results: %w", err)
		}
	}
	return reconcile.Done, nil
}

// failed ends the run ID without a result.
func failed(seen facts, o kstatus.Outcome) effect {
	return effect{again: reconcile.AtOnce, outcome: o, edit: func(s *v1alpha1.CephBenchmarkStatus) { conclusion.Fail(s, seen.now, o) }}
}
