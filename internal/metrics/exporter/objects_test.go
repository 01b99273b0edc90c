package exporter

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cluster = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
)

// reconciling, complete and stalled return conditions as the controllers write them.
func reconciling(reason string) []metav1.Condition {
	return []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: reason}, {Type: "Reconciling", Status: "True", Reason: reason},
	}
}

func complete() []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Complete"}, {Type: "Complete", Status: "True", Reason: "Complete"}}
}

func stalled(reason, message string) []metav1.Condition {
	return []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: reason, Message: message},
		{Type: "Stalled", Status: "True", Reason: reason, Message: message},
	}
}

func restored(status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: "Restored", Status: status, Reason: reason}
}

// runningSweep returns a sweep in the middle of its first block.
func runningSweep() *v1alpha1.CephTuningSweep {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "pg-num", UID: "s1", CreationTimestamp: metav1.NewTime(noon)}}
	s.Spec.ClusterRef, s.Spec.RunID = cluster, "1"
	s.Spec.Objective.Metric, s.Spec.Objective.MinimumEffect = v1alpha1.MetricBandwidth, "10%"
	s.Status = v1alpha1.CephTuningSweepStatus{
		ObservedRunID: "1",
		Conditions:    append(reconciling("Running"), restored("False", "NotRestored")),
		Progress:      &v1alpha1.Progress{CompletedRuns: 3, TotalRuns: 24, EstimatedCompletionTime: &metav1.Time{Time: noon.Add(time.Hour)}},
		Best:          "pg_num=64",
		Plan:          &v1alpha1.SweepPlan{Block: 2, Order: []int32{2, 0, 1}},
		Environment:   &v1alpha1.Environment{Digest: "d1"},
		Trials: sweepspec.WriteLedger([]sweepspec.Entry{
			sweepspec.NewEntry(sweep.Trial{Block: 1, Attempt: 1, Configuration: 1}, "", "", []float64{512e6}, 75, 4096),
			sweepspec.NewEntry(sweep.Trial{Block: 1, Attempt: 1, Position: 1}, "", "", []float64{400e6, 0.0081}, 75, 4096),
			sweepspec.NewEntry(sweep.Trial{Block: 1, Attempt: 1, Position: 2, Configuration: 2}, v1alpha1.TrialDisturbed, "", nil, 75, 4096),
		}, sweep.Decision{}),
		Configurations: []v1alpha1.ConfigurationResult{
			{Index: 0, Name: "baseline", Runs: 1},
			{Index: 1, Name: "pg_num=64", Runs: 1, Ratio: "1.28"},
			{Index: 2, Name: "pg_num=8"},
		},
	}
	return s
}

// childOf returns the benchmark of the sweep's next run.
func childOf(s *v1alpha1.CephTuningSweep, id v1alpha1.RunID, conditions []metav1.Condition) *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: sweepspec.ChildName(s, len(s.Status.Trials)+1), CreationTimestamp: metav1.NewTime(noon.Add(time.Minute)),
		},
		Spec: v1alpha1.CephBenchmarkSpec{ClusterRef: s.Spec.ClusterRef, RunID: id},
		Status: v1alpha1.CephBenchmarkStatus{
			ObservedRunID: id, Conditions: conditions,
			Trial:    &v1alpha1.BenchmarkTrial{Sweep: s.Name, UID: s.UID, RunID: s.Status.ObservedRunID, Number: int32(len(s.Status.Trials) + 1)},
			Progress: &v1alpha1.Progress{TotalRuns: 1},
			Runs:     []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunRunning}},
		},
	}
}

// endedSweep returns a sweep with a winner.
func endedSweep() *v1alpha1.CephTuningSweep {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "profile", UID: "s2", CreationTimestamp: metav1.NewTime(noon)}}
	s.Spec.ClusterRef, s.Spec.RunID = cluster, "7"
	s.Spec.Objective.Metric = v1alpha1.MetricLatencyP99
	s.Status = v1alpha1.CephTuningSweepStatus{
		ObservedRunID: "7",
		Conditions:    append(complete(), restored("True", "Restored")),
		Progress:      &v1alpha1.Progress{CompletedRuns: 4, TotalRuns: 4},
		Best:          "profile=high_client_ops", Verdict: v1alpha1.VerdictSuperior,
		Summary: `profile=high_client_ops is better: 0.75 × the "baseline" (0.7 to 0.8).`,
		Plan:    &v1alpha1.SweepPlan{Block: 2, Order: []int32{0, 1}},
		Runs: []string{ // as an earlier version wrote them
			"1 1.1.0 0 0.0081 75s 0Mi Valid", "2 1.1.1 1 0.006 75s 0Mi Valid",
			"3 2.1.0 1 0.0061 75s 0Mi Valid", "4 2.1.1 0 0.0082 75s 0Mi Drifted",
		},
		Configurations: []v1alpha1.ConfigurationResult{
			{Index: 0, Name: "baseline", Runs: 2},
			{Index: 1, Name: "profile=high_client_ops", Runs: 2, Ratio: "0.75", Low: "0.7", High: "0.8", Verdict: v1alpha1.VerdictSuperior},
		},
		Environment: &v1alpha1.Environment{Digest: "d2"},
		Noise:       &v1alpha1.Noise{Floor: "3.2%", Drift: "+0.4%", SmallestEffect: "4.9%"},
		Constraints: []v1alpha1.ConstraintResult{{Outcome: v1alpha1.ConstraintKept}},
	}
	return s
}

// nightly returns an ended benchmark with that many phases of fio.
func nightly(phases int) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "b1", CreationTimestamp: metav1.NewTime(noon)}}
	b.Spec.ClusterRef = cluster
	b.Status = v1alpha1.CephBenchmarkStatus{
		ObservedRunID: "42", Conditions: complete(),
		Progress:       &v1alpha1.Progress{CompletedRuns: 3, TotalRuns: 3},
		CompletionTime: &metav1.Time{Time: noon.Add(90 * time.Minute)},
		Verdict:        v1alpha1.BenchmarkPassed, Summary: "3 of 3 runs are valid.",
		Environment: &v1alpha1.Environment{Digest: "d1"},
	}
	for i := range phases {
		b.Status.Phases = append(b.Status.Phases, v1alpha1.PhaseResult{
			Name: v1alpha1.PhaseName(fmt.Sprintf("phase-%d", i)), ValidRuns: 3, Marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop, v1alpha1.MarkCached},
			Metrics: []v1alpha1.MetricResult{
				{Metric: v1alpha1.MetricLatencyMax, Direction: v1alpha1.DirectionTotal, Value: "0.9"},
				{Metric: v1alpha1.MetricLatencyP50, Direction: v1alpha1.DirectionTotal, Value: "0.002"},
				{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: "0.0081"},
				{Metric: v1alpha1.MetricLatencyMean, Direction: v1alpha1.DirectionTotal, Value: "0.003"},
				{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionRead, Value: "7e3"},
				{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: "10e3"},
				{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: "40960e3"},
			},
		})
	}
	return b
}

// regressed adds the condition Regressed to a benchmark.
func regressed(b *v1alpha1.CephBenchmark, status metav1.ConditionStatus) *v1alpha1.CephBenchmark {
	b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: "Regressed", Status: status})
	return b
}

// judged adds intervals, and an expectation with each outcome but one, to a benchmark.
func judged(b *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	for i := range b.Status.Phases {
		all := b.Status.Phases[i].Metrics
		all[len(all)-1].Low, all[len(all)-1].High = "40000e3", "42000e3"
	}
	for _, limit := range []v1alpha1.Threshold{"30Mi", "20Mi"} { // Only the first has a series.
		b.Spec.Expectations = append(b.Spec.Expectations, v1alpha1.Expectation{
			MetricReference: v1alpha1.MetricReference{Phase: "phase-0", Metric: v1alpha1.MetricBandwidth}, AtLeast: limit,
		})
	}
	for _, outcome := range []v1alpha1.ExpectationOutcome{v1alpha1.ExpectationMet, v1alpha1.ExpectationMissed, v1alpha1.ExpectationMet} {
		b.Status.Expectations = append(b.Status.Expectations, v1alpha1.ExpectationResult{Outcome: outcome})
	}
	return b
}

func named(b *v1alpha1.CephBenchmark, name string, created time.Time) *v1alpha1.CephBenchmark {
	b.Name, b.UID, b.CreationTimestamp = name, types.UID(name), metav1.NewTime(created)
	return b
}
