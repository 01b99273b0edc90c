package cephbenchmark

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/stages"
)

// These tests store a benchmark at each stage, from its creation to each of its ends, as other
// programs see it.
func TestStages(t *testing.T) {
	all := map[string]runtime.Object{}
	for name, b := range map[string]*v1alpha1.CephBenchmark{
		"progressing_new":                 stage(untouched).benchmark,
		"progressing_preparing":           passed(untouched),
		"progressing_running":             passed(withTask(task.Measuring, "")),
		"progressing_suspending":          passed(suspendedNow, withTask(task.Ready, "")),
		"progressing_cleaning_up":         passed(measured(passing)),
		"progressing_failing":             passed(lost),
		"progressing_spec_changed":        stage(ended(t, passing), anotherRun).benchmark,
		"progressing_run_again":           passed(ended(t, passing), anotherRun),
		"progressing_deleting":            passed(deleted),
		"suspended":                       tornDown(t, suspendedNow, withTask(task.Ready, "")),
		"suspended_from_the_beginning":    passed(untouched, suspendedNow),
		"healthy_without_expectations":    tornDown(t, measured()),
		"healthy_passed":                  tornDown(t, measured(passing)),
		"healthy_failed":                  tornDown(t, measured(missed)),
		"healthy_inconclusive":            tornDown(t, measured(undecided)),
		"healthy_edited_after_the_end":    passed(ended(t, passing), edited),
		"degraded_by_verdict":             tornDown(t, failsOn, measured(missed)),
		"degraded_by_verdict_undecided":   tornDown(t, failsOn, measured(undecided)),
		"progressing_verdict_cleaning_up": passed(failsOn, measured(missed)),
		"degraded_by_verdict_that_is_new": passed(ended(t, missed), failsOn, edited),
		"healthy_gate_passed":             tornDown(t, failsOn, measured(passing)),
		"degraded_no_valid_run":           tornDown(t, failsOn, invalid),
		"degraded_failed":                 tornDown(t, lost),
		"progressing_watching":            passed(diagnosing),
		"healthy_diagnosed":               tornDown(t, diagnosing, diagnosed),
		"degraded_not_allowed":            passed(untouched, nowhere),
		"healthy_scheduled":               recorded(passed(untouched, scheduled)),
		"healthy_scheduled_again":         recorded(tornDown(t, measured(passing), scheduled)),
	} {
		b.Kind = "CephBenchmark"
		for i := range b.Status.Conditions {
			b.Status.Conditions[i].LastTransitionTime = metav1.NewTime(today())
		}
		all[name] = b
	}
	stages.Check(t, "CephBenchmark", all)
}

// stage returns the facts of a benchmark as the API server would have it.
func stage(change ...func(*facts)) facts {
	phase := v1alpha1.Phase{Name: "randread-4k", Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, IODepth: 32}}
	base := func(f *facts) {
		f.benchmark.Generation, f.benchmark.Status.ObservedGeneration = 1, 1
		f.benchmark.Spec.Template.Phases = []v1alpha1.Phase{phase}
	}
	return atWork(append([]func(*facts){base}, change...)...)
}

// untouched returns a new benchmark with the defaults of the API server.
func untouched(f *facts) {
	f.benchmark.Status = v1alpha1.CephBenchmarkStatus{ObservedGeneration: -1}
}

func suspendedNow(f *facts) { f.benchmark.Spec.Suspend = true }

// scheduled gives the benchmark a schedule, whose next time is to come.
func scheduled(f *facts) {
	f.benchmark.CreationTimestamp, f.benchmark.Spec.Schedule = metav1.NewTime(f.now), &v1alpha1.Schedule{Cron: "0 4 * * *", TimeZone: "Europe/Berlin"}
	if f.benchmark.Status.ObservedRunID != "" {
		f.benchmark.Status.ObservedRunID = "2026-11-21T0300Z"
	}
	f.schedule = schedule.Enter(f.benchmark, f.now)
}

// recorded returns a benchmark with what its schedule requests, and with the run ID that the API server has.
func recorded(b *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	schedule.Enter(b, today()).Record(b)
	b.Spec.RunID = "1"
	return b
}

func edited(f *facts) { f.benchmark.Generation++ }

func anotherRun(f *facts) {
	edited(f)
	f.benchmark.Spec.RunID = "2"
}

func nowhere(f *facts) { f.settings.Clusters = nil }

func failsOn(f *facts) {
	f.benchmark.Spec.FailOn = []v1alpha1.BenchmarkVerdict{v1alpha1.BenchmarkFailed, v1alpha1.BenchmarkInconclusive, v1alpha1.BenchmarkInvalid}
	f.spec = f.benchmark.Spec
}

// Expectations about a result of 20,000 operations a second, give or take 1,000.
const (
	passing   v1alpha1.Threshold = "15k"
	missed    v1alpha1.Threshold = "30k"
	undecided v1alpha1.Threshold = "20k"
)

// measured concludes the last run.
func measured(atLeast ...v1alpha1.Threshold) func(*facts) {
	return func(f *facts) {
		spec := &f.benchmark.Spec
		for _, limit := range atLeast {
			spec.Expectations = append(spec.Expectations, v1alpha1.Expectation{
				MetricReference: v1alpha1.MetricReference{Phase: "randread-4k", Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal}, AtLeast: limit,
			})
		}
		f.spec = *spec
		c := conclusion.Conclusion{Valid: 2, Phases: []v1alpha1.PhaseResult{{
			Name: "randread-4k", ValidRuns: 2, Marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop},
			Metrics: []v1alpha1.MetricResult{{
				Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: "20000", Low: "19000", High: "21000",
			}},
		}}}
		var err error
		if c.Gate, err = figure.Expect(spec.Expectations, spec.Repetitions, c.Phases, figure.Comparison{}); err != nil {
			panic(err) // The figures above can be parsed.
		}
		c.Headline, c.Summary = figure.Headline(&spec.Template.Phases[0], c.Phases[0]), c.Sentence(*spec)
		c.Write(&f.benchmark.Status, conclusion.Execution{Now: f.now, Spec: f.spec})
	}
}

// diagnosing makes the benchmark a diagnosis, and diagnosed ends it.
func diagnosing(f *facts) {
	f.benchmark.Spec.Template, f.benchmark.Spec.Diagnosis = v1alpha1.BenchmarkTemplate{}, &v1alpha1.Diagnosis{Duration: metav1.Duration{Duration: time.Minute}}
	f.spec = f.benchmark.Spec
}

func diagnosed(f *facts) {
	conclusion.Diagnosed(&f.benchmark.Status, f.now, v1alpha1.DiagnosisResult{Findings: []v1alpha1.Finding{{
		Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is slower than others of the class.",
	}}}, v1alpha1.Environment{})
}

// invalid concludes the last run of a benchmark without valid runs.
func invalid(f *facts) {
	f.benchmark.Spec.Expectations = []v1alpha1.Expectation{{
		MetricReference: v1alpha1.MetricReference{Phase: "randread-4k", Metric: v1alpha1.MetricIOPS}, AtLeast: passing,
	}}
	f.spec = f.benchmark.Spec
	c := conclusion.Conclusion{Summary: "Phase randread-4k: Scrub: 3 PGs were scrubbed."}
	c.Write(&f.benchmark.Status, conclusion.Execution{Now: f.now, Spec: f.spec})
}

// lost lets the run fail.
func lost(f *facts) {
	conclusion.Fail(&f.benchmark.Status, f.now, kstatus.Outcome{Reason: v1alpha1.ReasonClientsLost, Message: "The pod b-0 of client 0 was evicted."})
}

// passed returns a benchmark after a pass that has not ended it.
func passed(change ...func(*facts)) *v1alpha1.CephBenchmark {
	seen := stage(change...)
	p, started := decide(seen), effect{}
	if p.Step == reconcile.StepBegin {
		started.Edit = func(s *v1alpha1.CephBenchmarkStatus) { conclusion.Begin(s, seen.benchmark.Spec.RunID, seen.now) }
	}
	return statusAfter(seen, p, started, nil)
}

// tornDown returns a benchmark after the pass that has completed its teardown.
func tornDown(t *testing.T, change ...func(*facts)) *v1alpha1.CephBenchmark {
	t.Helper()
	seen := stage(change...)
	p := decide(seen)
	if p.Step != stepTearDown {
		t.Fatalf("decided %s (%+v), want a teardown", p.Step, p.Outcome)
	}
	return statusAfter(seen, p, effect{Finished: true}, nil)
}

// ended returns facts of a benchmark that has ended with an expectation.
func ended(t *testing.T, atLeast v1alpha1.Threshold) func(*facts) {
	t.Helper()
	return func(f *facts) { f.benchmark = tornDown(t, measured(atLeast)) }
}
