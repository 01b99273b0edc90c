package conclusion

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// Windows reads what the client of a layered diagnosis did in each window, and what OSDs counted.
func (s Execution) Windows(ctx context.Context, clients []Reporter) ([]diagnosis.Window, error) {
	loads := diagnosis.Loads(s.Spec.Diagnosis.Layers)
	windows := make([]diagnosis.Window, len(loads))
	for i, load := range loads {
		next := workload.EndID(1)
		if i+1 < len(loads) {
			next = workload.TaskID(1, loads[i+1].Phase)
		}
		var err error
		if windows[i], err = s.window(ctx, clients, load, next); err != nil {
			return nil, err
		}
	}
	return windows, nil
}

// window returns what the client and OSDs did in a window. The counters of OSDs were read before its task, and before the
// next one.
func (s Execution) window(ctx context.Context, clients []Reporter, load diagnosis.Load, next string) (diagnosis.Window, error) {
	w, id := load.Window, workload.TaskID(1, load.Phase)
	before, after := s.Notes.Counters[id], s.Notes.Counters[next]
	switch {
	case !s.Tasks.All(id, func(state task.State) bool { return state == task.Done }):
		w.Fault = "it was not measured"
	case before == nil || after == nil:
		w.Fault = "the manager was restarted"
	default:
		w.Fault = s.stepFault(id, s.Disturbances[id])
	}
	if w.Fault != "" {
		return w, nil
	}
	err := eachReport(ctx, clients, 0, id, func(report *task.Report) error {
		if report.Result == nil {
			return nil
		}
		w.Usage = &report.Usage
		w.Usage.RoundTrips = w.Usage.RoundTrips[:min(len(w.Usage.RoundTrips), task.MostPeers)] // Users could have added some.
		w.RoundTripSeconds = diagnosis.RoundTrip(w.Usage.RoundTrips, s.pgsOf(load.Target))
		done := report.Result.Read
		if load.Writes {
			done = report.Result.Write
		}
		if done != nil && done.Latency != nil {
			w.Operations, w.MeanSeconds = done.Operations, done.Latency.Moments.MeanSeconds
		}
		return nil
	})
	if runner.HasCode(err, runner.NotFound) {
		w.Fault = "the report of the client was lost"
		return w, nil
	}
	if err != nil {
		return w, err
	}
	w.Interval = diagnosis.Interval{Before: before, After: after}
	if w.Counted, err = diagnosis.Counted(before, after, s.osdsOf(load.Target)); err != nil {
		w.Fault = err.Error()
	}
	return w, nil
}

// osdsOf returns the OSDs that serve a target.
func (s Execution) osdsOf(target int) (osds []int) {
	for _, pg := range s.pgsOf(target) {
		osds = append(osds, pg.Acting...)
	}
	slices.Sort(osds)
	return slices.Compact(osds)
}

// pgsOf returns the placement groups of a target.
func (s Execution) pgsOf(target int) (pgs []ceph.PG) {
	names := workload.PoolsOf(s.Spec.Targets(), target)
	for _, pool := range s.Pools {
		if !slices.Contains(names, pool.Name) {
			continue
		}
		for _, pg := range s.PGs {
			if pg.PoolID == pool.ID {
				pgs = append(pgs, pg)
			}
		}
	}
	return pgs
}

// DiagnosisRun returns the run in which the outcome of a diagnosis is archived.
func (s Execution) DiagnosisRun(began time.Time, found v1alpha1.DiagnosisResult, windows []diagnosis.Window) (Run, error) {
	run := Run{Run: archive.Run{
		SchemaVersion: archive.SchemaVersion, Number: 1, State: v1alpha1.RunValid, StartTime: began, EndTime: s.Now,
		Diagnosis: &archive.Diagnosis{Asked: *s.Spec.Diagnosis, Result: found},
	}}
	var err, other error
	run.Environment, err = json.Marshal(s.Detail)
	if len(windows) > 0 {
		run.Diagnosis.Windows, other = json.Marshal(windows)
	}
	return run, errors.Join(err, other)
}

// Diagnosed puts the outcome of a diagnosis into status, and sets the condition Complete.
func Diagnosed(s *v1alpha1.CephBenchmarkStatus, now time.Time, found v1alpha1.DiagnosisResult, environment v1alpha1.Environment) {
	s.CompletionTime, s.Environment = new(metav1.NewTime(now)), &environment
	s.Diagnosis, s.Headline, s.Summary = &found, diagnosis.Headline(found), diagnosis.Summary(found)
	kind, o := kstatus.Judge[v1alpha1.BenchmarkVerdict]("", nil, s.Summary)
	kstatus.Set(&s.Conditions, kind, metav1.ConditionTrue, s.ObservedGeneration, o)
}
