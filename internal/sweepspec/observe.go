package sweepspec

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweep"
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

// Observe returns the ledger entry for a run that has ended, and a sentence for an event. The sentence says
// why the run is not Valid; it is "" for a Valid run. If there are several reasons, Observe picks the one
// that explains the others.
func Observe(spec *Spec, slot sweep.Slot, e Evidence) (Entry, string) {
	validity, why, values := e.judge(spec)
	const mib = 1 << 20
	return NewEntry(slot, validity, values, e.Seconds, (e.BytesWritten+mib-1)/mib), why
}

func (e Evidence) judge(spec *Spec) (v1alpha1.SweepRunValidity, string, []float64) {
	switch {
	case e.Interrupted:
		return v1alpha1.SweepRunDiscarded, "The sweep was interrupted.", nil
	case e.Inert != "":
		return v1alpha1.SweepRunInert, e.Inert, nil
	case e.Changed != "":
		return v1alpha1.SweepRunChanged, e.Changed, nil
	case e.Failure != "":
		return v1alpha1.SweepRunFailed, e.Failure, nil
	case e.Child == nil:
		return v1alpha1.SweepRunFailed, "The benchmark of the run is missing.", nil
	}
	status := &e.Child.Status
	if run := lastRun(status); run != nil && run.State == v1alpha1.RunInvalid {
		return v1alpha1.SweepRunDisturbed, run.Reason, nil
	}
	if failed := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == "True" {
		return v1alpha1.SweepRunFailed, failed.Message, nil
	}
	var values []float64
	for _, r := range references(spec) {
		value, validity, why := read(status.Phases, r)
		if why != "" {
			return validity, why, nil
		}
		values = append(values, value)
	}
	return markOf(spec, status.Phases), "", values
}

// markOf returns the validity of a run that counts: with the mark of the phases that the verdict uses, or Valid.
func markOf(spec *Spec, phases []v1alpha1.PhaseResult) v1alpha1.SweepRunValidity {
	for _, mark := range []v1alpha1.ResultMark{v1alpha1.MarkThrottled, v1alpha1.MarkStarved, v1alpha1.MarkBelowRate} {
		for _, r := range references(spec) {
			at := slices.IndexFunc(phases, func(p v1alpha1.PhaseResult) bool { return p.Name == r.Phase })
			if at >= 0 && slices.Contains(phases[at].Marks, mark) {
				return v1alpha1.SweepRunValidity(mark)
			}
		}
	}
	return v1alpha1.SweepRunValid
}

func lastRun(s *v1alpha1.CephBenchmarkStatus) *v1alpha1.BenchmarkRun {
	if len(s.Runs) == 0 {
		return nil
	}
	return &s.Runs[len(s.Runs)-1]
}

// read returns one figure from the results of a benchmark with a single run. If the figure is missing, not
// above 0, or from a phase that was not steady, read returns the validity of the run and the reason instead.
func read(phases []v1alpha1.PhaseResult, r v1alpha1.MetricReference) (float64, v1alpha1.SweepRunValidity, string) {
	at := slices.IndexFunc(phases, func(p v1alpha1.PhaseResult) bool { return p.Name == r.Phase })
	if at < 0 || phases[at].ValidRuns == 0 {
		return 0, v1alpha1.SweepRunFailed, fmt.Sprintf("Phase %s has no result.", r.Phase)
	}
	phase := phases[at]
	if slices.Contains(phase.Marks, v1alpha1.MarkNotSteady) {
		return 0, v1alpha1.SweepRunNotSteady, fmt.Sprintf("The warm-up of phase %s did not end.", r.Phase)
	}
	direction := r.Direction
	if direction == "" {
		direction = v1alpha1.DirectionTotal // This is the schema's default.
	}
	for _, m := range phase.Metrics {
		if m.Metric != r.Metric || m.Direction != direction {
			continue
		}
		value, err := figure.ParseDecimal(m.Value)
		if err != nil || !(value > 0) {
			return 0, v1alpha1.SweepRunFailed, fmt.Sprintf("%s is %s, which cannot be compared.", referenceName(r), m.Value)
		}
		return value, v1alpha1.SweepRunValid, ""
	}
	return 0, v1alpha1.SweepRunFailed, fmt.Sprintf("The run does not report %s.", referenceName(r))
}
