package sweepspec

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

// Evidence describes a run that has ended.
type Evidence struct {
	// Child is the run's benchmark, or nil if the benchmark was not created.
	Child *v1alpha1.CephBenchmark
	// Failure, Inert and Changed describe faults of the run; each is "" without such a fault. Failure says,
	// for example, that the cluster did not settle, or that the benchmark could not begin. Inert says that Ceph
	// or its daemons did not have the values before or after the run. Changed says that another client changed
	// the settings of the cluster.
	Failure, Inert, Changed string
	// Interrupted reports that the sweep was suspended or restored during the run.
	Interrupted bool
	// Seconds is the time from the change of settings to the run's entry in the ledger. If the manager was
	// restarted in between, the time begins later, for example with the creation of the benchmark. BytesWritten
	// is the number of bytes that the whole run wrote, including the prefill.
	Seconds      int
	BytesWritten int64
}

// Observe returns the ledger entry for a trial that has ended, and a sentence for an event. The sentence says
// why the trial is invalid; it is "" for a valid one. If there are several reasons, Observe picks the one
// that explains the others.
func Observe(spec *Spec, trial sweep.Trial, e Evidence) (Entry, string) {
	reason, mark, cause, values := e.judge(spec)
	const mib = 1 << 20
	return NewEntry(trial, reason, mark, values, e.Seconds, (e.BytesWritten+mib-1)/mib), cause
}

func (e Evidence) judge(spec *Spec) (reason v1alpha1.TrialReason, mark fitness.Mark, explanation string, values []float64) {
	switch {
	case e.Interrupted:
		return v1alpha1.TrialInterrupted, "", "The sweep was interrupted.", nil
	case e.Inert != "":
		return v1alpha1.TrialInert, "", e.Inert, nil
	case e.Changed != "":
		return v1alpha1.TrialChanged, "", e.Changed, nil
	case e.Failure != "":
		return v1alpha1.TrialFailed, "", e.Failure, nil
	case e.Child == nil:
		return v1alpha1.TrialFailed, "", "The benchmark of the run is missing.", nil
	}
	status := &e.Child.Status
	if run := lastRun(status); run != nil && run.State == v1alpha1.RunInvalid {
		return v1alpha1.TrialDisturbed, "", run.Reason, nil
	}
	if failed := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == "True" {
		return v1alpha1.TrialFailed, "", failed.Message, nil
	}
	for _, r := range References(spec) {
		value, reason, cause := read(status.Phases, r)
		if reason != "" {
			return reason, "", cause, nil
		}
		if math.IsInf(value, 1) {
			mark, value = fitness.Mark(v1alpha1.TrialSaturated), longestWait(spec, r.Phase)
		}
		values = append(values, value)
	}
	return "", cmp.Or(mark, markOf(spec, status.Phases)), "", values
}

// markOf returns the mark of a valid trial: that of the phases that the verdict uses.
func markOf(spec *Spec, phases []v1alpha1.PhaseResult) fitness.Mark {
	for _, mark := range []v1alpha1.ResultMark{v1alpha1.MarkThrottled, v1alpha1.MarkStarved, v1alpha1.MarkBelowRate} {
		for _, r := range References(spec) {
			i := slices.IndexFunc(phases, func(p v1alpha1.PhaseResult) bool { return p.Name == r.Phase })
			if i >= 0 && slices.Contains(phases[i].Marks, mark) {
				return fitness.Mark(mark)
			}
		}
	}
	return ""
}

// longestWait returns the longest time in seconds that an operation of a phase can wait. It stands for the latency of a
// run whose number of waiting operations grew until the end: worse than that of any other run, and the same in all.
func longestWait(spec *Spec, phase v1alpha1.PhaseName) float64 {
	const drain = 5 // seconds for which the generator waits after the end
	_, measured, err := PhaseTiming(*spec.Template.Phase(phase))
	if err != nil {
		return drain // The phase has run, so its timing is known.
	}
	return measured.Seconds() + drain
}

func lastRun(s *v1alpha1.CephBenchmarkStatus) *v1alpha1.BenchmarkRun {
	if len(s.Runs) == 0 {
		return nil
	}
	return &s.Runs[len(s.Runs)-1]
}

// read returns one figure from the results of a benchmark with a single run. If the figure is missing, not
// above 0, or from a phase that was not steady, read returns the reason, also in words, instead. A latency of a
// Saturated phase has no number: it is infinite.
func read(phases []v1alpha1.PhaseResult, r v1alpha1.MetricReference) (float64, v1alpha1.TrialReason, string) {
	index := slices.IndexFunc(phases, func(p v1alpha1.PhaseResult) bool { return p.Name == r.Phase })
	if index < 0 || phases[index].ValidRuns == 0 {
		return 0, v1alpha1.TrialFailed, fmt.Sprintf("Phase %s has no result.", r.Phase)
	}
	phase := phases[index]
	if slices.Contains(phase.Marks, v1alpha1.MarkNotSteady) {
		return 0, v1alpha1.TrialNotSteady, fmt.Sprintf("The warm-up of phase %s did not end.", r.Phase)
	}
	direction := r.Direction
	if direction == "" {
		direction = v1alpha1.DirectionTotal // This is the schema's default.
	}
	if m, found := figure.FindResult(phase, r.Metric, direction); found {
		value, err := figure.ParseDecimal(m.Value)
		if err != nil || !(value > 0) {
			return 0, v1alpha1.TrialFailed, fmt.Sprintf("%s is %s, which cannot be compared.", referenceName(r), m.Value)
		}
		return value, "", ""
	}
	switch isLatency := figure.IsLatency(r.Metric); {
	case isLatency && slices.Contains(phase.Marks, v1alpha1.MarkOffSchedule):
		return 0, v1alpha1.TrialFailed, fmt.Sprintf("The run has no %s, because a client's generator did not follow its schedule (OffSchedule): give the clients more CPU, or lower the rate.",
			referenceName(r))
	case isLatency && slices.Contains(phase.Marks, v1alpha1.MarkSaturated):
		return math.Inf(1), "", ""
	}
	return 0, v1alpha1.TrialFailed, fmt.Sprintf("The run does not report %s.", referenceName(r))
}
