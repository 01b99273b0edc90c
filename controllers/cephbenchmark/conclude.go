package cephbenchmark

import (
	"cmp"
	"context"
	"errors"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runstore"
	"github.com/cephtune/cephtune/internal/workload"
)

// concludeRun judges a run by the clients' reports, and archives the result. After the last run, it also
// concludes the benchmark. If further runs would fail like this one, it ends the benchmark as failed instead.
func (r *Reconciler) concludeRun(ctx context.Context, seen facts, p plan) (effect, error) {
	if p.wrong == "" && seen.misplacedErr != nil {
		return effect{}, seen.misplacedErr
	}
	if p.wrong != "" {
		if err := cancelAll(ctx, seen); err != nil {
			return effect{}, err
		}
	}
	session := seen.concluded(p.run)
	seen.memory.gathering.Charge(seen.live.Account)
	told, err := seen.memory.gathering.Fetch(ctx, seen.script, p.run,
		reporters(seen.runners), seen.tasks, reporters(seen.background.runners), seen.background.tasks)
	if err != nil {
		return effect{}, err
	}
	run, err := session.Judge(p.run, p.wrong, p.fatal, told)
	if err != nil {
		return effect{}, err
	}
	stored, run, err := r.results(seen).Write(ctx, run)
	if err != nil {
		return effect{}, err
	}
	seen.memory.gathering.Empty()
	seen.memory.runs[p.run] = run.Kept()
	came := effect{again: reconcile.AtOnce, event: run.Event(), invalid: run.Invalid, outage: seen.outageEnd(run)}
	came.edit = func(s *v1alpha1.CephBenchmarkStatus) { conclusion.SetRun(s, stored.Entry(run)) }
	switch {
	case p.fatal:
		came.edit = func(s *v1alpha1.CephBenchmarkStatus) {
			conclusion.SetRun(s, stored.Entry(run))
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
		conclusion.SetRun(s, stored.Entry(run))
		concluded.Write(s, session)
	}
	return came, nil
}

// cancelAll cancels the unfinished tasks of the clients and of the background load.
func cancelAll(ctx context.Context, seen facts) error {
	return errors.Join(clientview.CancelAll(ctx, seen.runners, seen.tasks), clientview.CancelAll(ctx, seen.background.runners, seen.background.tasks))
}

// reporters returns the connections to these runners, ordered by index.
func reporters(runners map[int]clientview.View) []conclusion.Reporter {
	all := make([]conclusion.Reporter, len(runners))
	for i := range all {
		all[i] = runners[i].Client
	}
	return all
}

// concluded returns the facts by which package conclusion judges a run.
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

// outageEnd is the outcome of a run's outage, in one word, and the outage's measured cost.
type outageEnd struct {
	outcome string          // "" if this process neither tried to stop OSDs in the run nor refused to
	cost    *archive.Outage // nil unless the outage was measured
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

// conclude combines the session's runs into the conclusion of the benchmark.
func (r *Reconciler) conclude(ctx context.Context, seen facts, session conclusion.Session) (conclusion.Conclusion, error) {
	store := r.results(seen)
	runs, err := store.Runs(ctx, seen.spec.Repetitions, seen.memory.runs)
	if err != nil {
		return conclusion.Conclusion{}, err
	}
	var references map[string]figure.Reference
	if conclusion.AnyValid(runs) {
		references = store.References(ctx, seen.spec.Expectations, session.Workload())
	}
	return session.Conclude(runs, references)
}

// results returns the store of the benchmark's results.
func (r *Reconciler) results(seen facts) runstore.Store {
	return runstore.Store{Client: r.client, Reader: r.reader, Benchmark: seen.benchmark, MasterKey: r.masterKey}
}

// failed returns the effect that fails the session with the outcome o.
func failed(seen facts, o kstatus.Outcome) effect {
	return effect{again: reconcile.AtOnce, outcome: o, edit: func(s *v1alpha1.CephBenchmarkStatus) { conclusion.Fail(s, seen.now, o) }}
}
