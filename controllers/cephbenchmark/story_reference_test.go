package cephbenchmark

import (
	"fmt"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

func referenceStories() map[string]story {
	return map[string]story{
		"as fast as the reference, this hour": againstAReference,
		"as fast as on three days":            againstThreeDays,
		"a reference that is missing":         aReferenceThatIsMissing,
		"a reference that is not complete":    aReferenceThatIsNotComplete,
		"a reference of another workload":     aReferenceOfAnotherWorkload,
	}
}

// measuring scripts three runs that differ by a percentage.
func measuring(w *world, operations, differ int64) {
	for run, percent := range []int64{100 - differ, 100, 100 + differ} {
		r := runnertest.DefaultResult(task.Task{Measure: &task.Measurement{RequestedSeconds: 30}})
		n := operations * percent / 100
		r.Write = &result.Direction{Operations: n, Bytes: 4096 * n, Seconds: 30, ShortestSeconds: 30}
		w.kubelet.script(fmt.Sprintf("r%d-", run+1), runnertest.Script{Result: r})
	}
}

// noWorse expects IOPS that are at most 10 % lower than those of the benchmark "reference".
func noWorse(b *v1alpha1.CephBenchmark) {
	b.Spec.Expectations = []v1alpha1.Expectation{{
		MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: "IOPS"}, MaximumRegression: "10%", Reference: "reference",
	}}
}

// noWorseThisHour accepts a reference of a single day.
func noWorseThisHour(b *v1alpha1.CephBenchmark) {
	noWorse(b)
	b.Spec.Expectations[0].ThisHour = true
}

// wantJudged checks the verdict of a benchmark, and that the reference did not affect its results.
func (w *world) wantJudged(b *v1alpha1.CephBenchmark, outcome v1alpha1.ExpectationOutcome, verdict v1alpha1.BenchmarkVerdict, summary string) {
	w.t.Helper()
	w.untilComplete(b)
	if len(b.Status.Expectations) != 1 || strings.Count(states(b), "Valid") != 3 {
		w.t.Fatalf("status %+v, want three valid runs and one outcome", b.Status)
	}
	got := b.Status.Expectations[0]
	if got.Outcome != outcome || b.Status.Verdict != verdict || !strings.Contains(b.Status.Summary, summary) {
		w.t.Errorf("%+v, verdict %s (%s), want %s, %s and %q", got, b.Status.Verdict, b.Status.Summary, outcome, verdict, summary)
	}
}

func againstAReference(w *world) {
	measuring(w, 30000, 1)
	reference := w.benchmark("reference", oneWrite, runs(3))
	w.untilComplete(reference)
	w.wantJudged(w.benchmark("same", oneWrite, runs(3), noWorseThisHour), v1alpha1.ExpectationMet, v1alpha1.BenchmarkPassed, "1 of the 3 days")
	w.wantJudged(w.benchmark("unasked", oneWrite, runs(3), noWorse), v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive, "run reference on 2 more days")
	measuring(w, 20000, 1)
	w.wantJudged(w.benchmark("slower", oneWrite, runs(3), noWorseThisHour), v1alpha1.ExpectationMissed, v1alpha1.BenchmarkFailed,
		fmt.Sprintf("(UID %s, execution of %s), more than 10%% worse, but only for this hour (reference has executions on 1 of the 3 days",
			reference.UID, reference.Status.StartTime.UTC().Format(time.RFC3339)))
	w.delete(reference)
	measuring(w, 30000, 1)
	uid := reference.UID
	w.untilComplete(w.benchmark("reference", oneWrite, runs(3)))
	w.wantJudged(w.benchmark("pinned", oneWrite, runs(3), noWorse, func(b *v1alpha1.CephBenchmark) { b.Spec.Expectations[0].ReferenceUID = string(uid) }),
		v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive, "reference is another CephBenchmark than that in referenceUID")
}

// againstThreeDays gives the reference two more executions, of earlier days: stories cannot wait for
// days, because the API server has a clock of its own.
func againstThreeDays(w *world) {
	measuring(w, 30000, 1)
	reference := w.benchmark("reference", oneWrite, runs(3))
	w.untilComplete(reference)
	results := w.results()
	for day, faster := range map[int]float64{1: 1.02, 2: 0.98} {
		earlier := reference.DeepCopy()
		earlier.Status.ObservedRunID = v1alpha1.RunID(fmt.Sprintf("day-%d", day))
		earlier.Status.StartTime.Time = earlier.Status.StartTime.AddDate(0, 0, -day)
		for _, cm := range results {
			run, err := archive.FromConfigMap(&cm)
			if err != nil {
				w.t.Fatal(err)
			}
			figures := run.Phases[0].Observation.Figures
			for i := range figures {
				figures[i].Value *= faster
			}
			copied, err := archive.ConfigMap(earlier, run)
			if err != nil {
				w.t.Fatal(err)
			}
			if err := archive.Sign(w.masterKey, reference.UID, copied); err != nil {
				w.t.Fatal(err)
			}
			if err := w.Create(w.t.Context(), copied); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.wantJudged(w.benchmark("same", oneWrite, runs(3), noWorse), v1alpha1.ExpectationMet, v1alpha1.BenchmarkPassed,
		"write IOPS is 1 (0.906 to 1.1) times that of reference (UID "+string(reference.UID))
}

func aReferenceThatIsMissing(w *world) {
	w.wantJudged(w.benchmark("b", oneWrite, runs(3), noWorse), v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive,
		"there is no CephBenchmark reference in this namespace")
}

func aReferenceThatIsNotComplete(w *world) {
	w.benchmark("reference", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true })
	w.wantJudged(w.benchmark("b", oneWrite, runs(3), noWorse), v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive,
		"reference is not Complete")
}

func aReferenceOfAnotherWorkload(w *world) {
	other := strings.Replace(oneWrite, "pattern: RandWrite", "pattern: Write", 1)
	w.untilComplete(w.benchmark("reference", other, runs(3)))
	w.wantJudged(w.benchmark("b", oneWrite, runs(3), noWorse), v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive,
		"no valid run of reference has this figure of the same phase")
}
