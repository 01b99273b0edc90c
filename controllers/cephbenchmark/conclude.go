package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/conclusion/runstore"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/workload"
)

// concludeRun judges a run by the clients' reports, and archives the result. After the last run, it also
// concludes the benchmark. If further runs would fail like this one, it ends the benchmark as failed instead.
func (r *Reconciler) concludeRun(ctx context.Context, seen pass, p plan) (effect, error) {
	if p.Detail.wrong == "" && seen.misplacedErr != nil {
		return effect{}, seen.misplacedErr
	}
	if p.Detail.wrong != "" {
		if err := cancelAll(ctx, seen); err != nil {
			return effect{}, err
		}
	}
	execution := seen.concluded(p.Detail.run)
	seen.memory.gathering.Charge(seen.live.Account)
	gathered, err := seen.memory.gathering.Fetch(ctx, seen.script, p.Detail.run,
		reporters(seen.runners), seen.tasks, reporters(seen.background.runners), seen.background.tasks)
	if err != nil {
		return effect{}, err
	}
	run, err := execution.Judge(p.Detail.run, p.Detail.wrong, p.Detail.fatal, gathered)
	if err != nil {
		return effect{}, err
	}
	stored, run, err := r.results(seen).Write(ctx, run)
	if err != nil {
		return effect{}, err
	}
	seen.memory.gathering.Empty()
	seen.memory.runs[p.Detail.run] = run.Kept()
	done := effect{Again: reconcile.AtOnce, Events: eventsOf(run), Recorded: func(before, after *v1alpha1.CephBenchmarkStatus) {
		r.Counts.BenchmarkRecorded(before, after, run.Invalid)
		r.Counts.OutageEnded(seen.outageEnd(run))
	}}
	done.Edit = func(s *v1alpha1.CephBenchmarkStatus) { conclusion.SetRun(s, stored.Entry(run)) }
	switch {
	case p.Detail.fatal:
		done.Edit = func(s *v1alpha1.CephBenchmarkStatus) {
			conclusion.SetRun(s, stored.Entry(run))
			conclusion.Fail(s, seen.now, p.Outcome)
		}
		return done, nil
	case p.Detail.run < seen.spec.Repetitions:
		return done, nil
	}
	concluded, err := r.conclude(ctx, seen, execution)
	if err != nil {
		return effect{}, err
	}
	done.Outcome = cleaningUp()
	done.Edit = func(s *v1alpha1.CephBenchmarkStatus) {
		conclusion.SetRun(s, stored.Entry(run))
		concluded.Write(s, execution)
	}
	return done, nil
}

// cancelAll cancels the unfinished tasks of the clients and of the background load.
func cancelAll(ctx context.Context, seen pass) error {
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
func (f facts) concluded(run int32) conclusion.Execution {
	t := f.target()
	_, cached, err := t.Dataset()
	s := conclusion.Execution{
		Now: f.now, Spec: f.spec, Script: f.script, Tasks: f.tasks, Background: f.background.tasks, Notes: f.memory.noted,
		View: f.View, TargetPools: t.PoolNames(), Pools: t.Pools(), PGs: t.PGs(), Detail: t.Detail(),
		Disturbances: map[string][]quiescence.Disturbance{}, Outage: f.memory.outage.State, Cached: err == nil && cached,
		Overhead: t.Overhead(), UsedBefore: f.memory.usedBefore,
		PoolOSDs: f.poolOSDs(), Remark: f.remark(),
	}
	for _, p := range f.script.Phases {
		id := workload.TaskID(run, p.Name)
		s.Disturbances[id] = f.disturbancesOf(run, id)
	}
	return s
}

// remark returns sentences for the summary if results are from logs, or have no signature; "" otherwise.
func (f facts) remark() string {
	text := ""
	if slices.ContainsFunc(f.benchmark.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results != "" && run.ResultsDigest == "" }) {
		text = " Results of the first runs are unsigned, because an earlier version of the operator wrote them."
	}
	if len(f.logs) > 0 {
		text += " The last run is from the logs of pods that had ended."
	}
	return text
}

// eventsOf returns the event about a concluded run.
func eventsOf(run conclusion.Run) []reconcile.Event {
	switch e := run.Event(); {
	case e == nil:
		return nil
	case e.Reason == "RunInvalid":
		return []reconcile.Event{reconcile.Warning(e.Reason, e.Message)}
	default:
		return []reconcile.Event{reconcile.Normal(e.Reason, e.Message)}
	}
}

// outageEnd returns the outcome of a run's outage in one word, for metrics: "" if this process neither tried to stop
// OSDs in the run nor refused to. It also returns the outage's cost, if that was measured.
func (f facts) outageEnd(run conclusion.Run) (outcome string, cost *archive.Outage) {
	switch d := f.memory.outage; {
	case d.Run != run.Number || !d.Refused && d.Begin.IsZero():
		return "", nil
	case d.Refused:
		return exporter.OutageRefused, nil
	case run.Reason != "":
		return exporter.OutageFailed, nil
	}
	for _, p := range run.Phases {
		cost = cmp.Or(cost, p.Outage)
	}
	return exporter.OutageMeasured, cost
}

// conclude combines the execution's runs into the conclusion of the benchmark.
func (r *Reconciler) conclude(ctx context.Context, seen pass, execution conclusion.Execution) (conclusion.Conclusion, error) {
	store := r.results(seen)
	runs, err := store.Runs(ctx, seen.spec.Repetitions, seen.memory.runs)
	if err != nil {
		return conclusion.Conclusion{}, err
	}
	var references map[string]figure.Reference
	if conclusion.AnyValid(runs) {
		references = store.References(ctx, seen.spec.Expectations, execution.Workload())
	}
	return execution.Conclude(runs, references)
}

// results returns the store of the benchmark's results.
func (r *Reconciler) results(seen pass) runstore.Store {
	return runstore.Store{Client: r.Client, Reader: r.Reader, Benchmark: seen.benchmark, MasterKey: r.MasterKey}
}

// keepResults adds the execution to the history if it has ended, and then deletes the results beyond the history limit. In
// between, status records the history: until then, only the results prove the nights.
func (r *Reconciler) keepResults(ctx context.Context, seen pass) (reconcile.Wait, error) {
	store := r.results(seen)
	signed, err := store.Signed(ctx)
	if err != nil {
		return "", err
	}
	if hasEnded(seen.benchmark.Status) && !seen.diagnoses() {
		nights, kept, err := store.History(ctx, signed)
		if err != nil {
			return "", err
		}
		seen.memory.regressed = seen.regression(nights)
		if recorded := seen.benchmark.Status.History; kept != nil && (recorded == nil || *recorded != *kept) {
			seen.memory.history = kept
			return "Recording the history.", nil
		}
	}
	if err := store.Prune(ctx, signed, seen.spec.HistoryLimit); err != nil {
		return "", fmt.Errorf("remove old results: %w", err)
	}
	return reconcile.Done, nil
}

// failed returns the effect that fails the execution with the outcome o.
func failed(seen pass, o kstatus.Outcome) effect {
	return effect{Again: reconcile.AtOnce, Outcome: o, Edit: func(s *v1alpha1.CephBenchmarkStatus) { conclusion.Fail(s, seen.now, o) }}
}
