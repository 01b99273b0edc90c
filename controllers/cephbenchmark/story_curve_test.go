package cephbenchmark

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of curves.
func curveStories() map[string]story {
	return map[string]story{
		"a curve":                              aCurve,
		"a curve of a gate":                    aCurveOfAGate,
		"a curve that no rate keeps":           aCurveBelowIdle,
		"a manager restarts within a curve":    aRestartWithinACurve,
		"a step of a curve fails":              aStepThatFails,
		"a cluster in HEALTH_ERR stops a step": aStepThatIsAborted,
		"a client ends within a curve":         aClientEndsWithinACurve,
		"a curve of a pool of others":          aCurveOfAPoolOfOthers,
		"a curve with a rate of its own":       aCurveWithARate,
		"a curve of a session":                 aCurveOfASession,
	}
}

const oneCurve = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: read, fio: {pattern: RandRead, ramp: 0s, duration: 30s, curve: {atMost: 10ms}}}
`

// server is a storage that serves perSecond operations in a second, each with an exponential time, in the
// order of their arrival. So the time of an operation is exponential, too, with the mean 1/(perSecond - rate).
type server struct{ perSecond float64 }

// keeps returns the rate at which 99 % of the operations take at most that many seconds.
func (q server) keeps(seconds float64) float64 { return q.perSecond - math.Log(100)/seconds }

// serve returns what a client measures. A task without a rate is a closed loop.
func (q server) serve(t task.Task) *result.Result {
	r := runnertest.DefaultResult(t)
	seconds := r.Write.Seconds
	rate := offeredBy(t)
	done := min(rate, q.perSecond)
	if rate == 0 {
		done = q.perSecond
	}
	n := int64(done * seconds)
	served := &result.Direction{Operations: n, Bytes: 4096 * n, Seconds: seconds, ShortestSeconds: seconds}
	if r.Read, r.Write = served, nil; strings.Contains(strings.Join(t.Measure.Argv, " "), `"writes":true`) {
		r.Read, r.Write = nil, served
	}
	r.Source = result.Source{Tool: result.ToolFIO, Format: "fio-json"}
	if rate == 0 {
		served.Latency = exponential(n, 1/q.perSecond)
		return r
	}
	r.Source = result.Source{Tool: result.ToolOpenLoop, Format: openloop.Format}
	r.Arrivals = &result.Arrivals{Process: result.PoissonArrivals, Operations: n, InFlightLimit: 1000}
	if rate >= q.perSecond {
		r.Arrivals.Saturated = true
		r.Warnings = append(r.Warnings, *r.Arrivals.Warning(1))
		return r
	}
	served.Latency = exponential(n, 1/(q.perSecond-rate))
	return r
}

// offeredBy returns the rate that a task offers; 0 for a closed loop.
func offeredBy(t task.Task) (perSecond float64) {
	for _, word := range t.Measure.Argv {
		text, found := strings.CutPrefix(word, "--load=")
		if !found {
			continue
		}
		var l openloop.Load
		if json.Unmarshal([]byte(text), &l) == nil {
			for _, c := range l.Copies {
				perSecond += c.IOPS
			}
		}
	}
	return perSecond
}

// exponential returns n latencies at evenly spaced quantiles of an exponential distribution.
func exponential(n int64, mean float64) *result.Latency {
	counts := map[int]int64{}
	longest, sum := 0.0, 0.0
	for i := range n {
		seconds := -mean * math.Log(1-(float64(i)+0.5)/float64(n))
		counts[result.BinIndex(int64(seconds*1e9))]++
		longest, sum = max(longest, seconds), sum+seconds
	}
	var bins []result.Bin
	for index, count := range counts {
		bins = append(bins, result.Bin{Nanoseconds: result.BinNanoseconds(index), Count: count})
	}
	h, err := result.NewHistogram(bins)
	if err != nil {
		panic(err)
	}
	return &result.Latency{Moments: result.Moments{Count: n, MeanSeconds: sum / float64(n), MaxSeconds: &longest}, Histogram: h}
}

// withServer makes each client measure a server of its own.
func (w *world) withServer(q server) { w.kubelet.script("r", runnertest.Script{ResultOf: q.serve}) }

func sustainable(t *testing.T, b *v1alpha1.CephBenchmark) (value, low, high float64) {
	t.Helper()
	for _, m := range b.Status.Phases[0].Metrics {
		if m.Metric == v1alpha1.MetricSustainableIOPS {
			for text, to := range map[v1alpha1.Decimal]*float64{m.Value: &value, m.Low: &low, m.High: &high} {
				var err error
				if *to, err = figure.ParseDecimal(text); err != nil {
					t.Errorf("%s: %v", m.Metric, err)
				}
			}
		}
	}
	return value, low, high
}

func aCurve(w *world) {
	q := server{2000}
	w.withServer(q)
	b := w.benchmark("b", oneCurve, clients(2))
	w.untilComplete(b)
	value, low, high := sustainable(w.t, b)
	truth := 2 * q.keeps(0.01)
	if value < 0.93*truth || value > 1.07*truth || low > truth || high < truth || high > 1.25*low {
		w.t.Errorf("%v (%v to %v), want about %v: %+v", value, low, high, truth, b.Status.Phases[0].Curve)
	}
	k := b.Status.Phases[0].Curve
	if k == nil || k.State != v1alpha1.CurveFound || !strings.Contains(b.Status.Headline, "read ") {
		w.t.Errorf("headline %q, curve %+v", b.Status.Headline, k)
	}
	w.wantClean()
}

func aCurveOfAGate(w *world) {
	w.withServer(server{2000})
	b := w.benchmark("b", oneCurve, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "read", Metric: v1alpha1.MetricSustainableIOPS}, AtLeast: "1k",
		}}
	})
	w.untilComplete(b)
	if b.Status.Verdict != v1alpha1.BenchmarkPassed {
		w.t.Errorf("verdict %s: %s", b.Status.Verdict, b.Status.Summary)
	}
}

func aCurveBelowIdle(w *world) {
	w.withServer(server{200}) // Even an idle server takes 23 ms for 1 % of the operations.
	b := w.benchmark("b", oneCurve, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "read", Metric: v1alpha1.MetricSustainableIOPS}, AtLeast: "100",
		}}
	})
	w.untilComplete(b)
	if k := b.Status.Phases[0].Curve; k == nil || k.State != v1alpha1.CurveBelowIdle || k.Reason == "" || b.Status.Verdict != v1alpha1.BenchmarkFailed {
		w.t.Errorf("verdict %s (%s), curve %+v", b.Status.Verdict, b.Status.Summary, k)
	}
}

func aRestartWithinACurve(w *world) {
	w.withServer(server{2000})
	w.kubelet.script("r1--4-", runnertest.Script{Measuring: time.Hour, ResultOf: server{2000}.serve})
	b := w.benchmark("b", oneCurve)
	w.untilTask(client0, "r1--4-read", task.Measuring)
	before := len(w.kubelet.client(client0).Tasks())
	w.restart()
	w.kubelet.client(client0).Proceed("r1--4-")
	w.untilComplete(b)
	tasks := w.kubelet.client(client0).Tasks()
	seen := map[string]bool{}
	for _, t := range tasks {
		if seen[t.ID] {
			w.t.Errorf("task %s ran twice", t.ID)
		}
		seen[t.ID] = true
	}
	if value, _, _ := sustainable(w.t, b); value == 0 || len(tasks) <= before {
		w.t.Errorf("%d tasks, then %d; curve %+v", before, len(tasks), b.Status.Phases[0].Curve)
	}
	w.wantClean()
}

func aStepThatFails(w *world) {
	w.withServer(server{2000})
	w.kubelet.script("r1--3-", runnertest.Script{Failure: &task.Failure{Reason: "EngineFailed", Message: "the image is gone"}})
	b := w.benchmark("b", oneCurve)
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "the image is gone")
	w.wantClean()
}

// inAStep returns a benchmark whose clients are in a step of a curve.
func (w *world) inAStep() *v1alpha1.CephBenchmark {
	w.withServer(server{2000})
	w.kubelet.script("r1--4-", runnertest.Script{Measuring: time.Hour, ResultOf: server{2000}.serve})
	b := w.benchmark("b", oneCurve)
	w.untilTask(client0, "r1--4-read", task.Measuring)
	return b
}

// HEALTH_ERR stops a step at once, as it stops a phase.
func aStepThatIsAborted(w *world) {
	b := w.inAStep()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{{Code: "PG_DAMAGED", Severity: "HEALTH_ERR", Summary: "1 pg inconsistent"}}}
	})
	w.untilTask(client0, "r1--4-read", task.Cancelled)
	w.heal()
	w.untilFailed(b, v1alpha1.ReasonNoValidRun, "HealthError")
	w.wantClean()
}

// The closed loop has ended, but not the curve: there is no result.
func aClientEndsWithinACurve(w *world) {
	b := w.inAStep()
	pod := w.pod()
	w.buildWall()
	w.end(pod, corev1.PodFailed)
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	if len(b.Status.Phases) > 0 {
		w.t.Errorf("it has results: %+v", b.Status.Phases)
	}
}

func aCurveOfAPoolOfOthers(w *world) {
	b := w.benchmark("b", strings.Replace(oneCurve, `{scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}`, "{existingPool: {name: open}}", 1))
	w.until(b, "Stalled", func() bool { return isTrue(b, v1alpha1.ConditionStalled) })
	if message := messageOf(b); !strings.Contains(message, "saturateExisting") {
		w.t.Errorf("it says %s", message)
	}
}

func aCurveWithARate(w *world) {
	b := w.parse("b", strings.Replace(oneCurve, "ramp: 0s", "rateIOPS: 100, ramp: 0s", 1))
	if err := w.Create(w.t.Context(), b); err == nil || !strings.Contains(err.Error(), "a curve finds its rates") {
		w.t.Errorf("%v: want a refusal", err)
	}
}

// A sweep makes the steps of a session's curve. The benchmark waits meanwhile, and a manager that was restarted makes none.
func aCurveOfASession(w *world) {
	w.withServer(server{2000})
	s := w.sweepAtWork()
	s.Status.Plan = &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved, PlannerVersion: 1, SpecDigest: "sha256:0123"}
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	b := w.run("b", oneCurve, nil)
	key, begun := client.ObjectKeyFromObject(b), curve.Course{}
	w.until(b, "the end of the closed loop", func() (ended bool) {
		var err error
		begun, err = w.reconciler.ClosedLoop(w.t.Context(), key, 1, "read")
		return err == nil
	})
	if p99 := math.Log(100) / 2000; math.Abs(begun.ClosedLoopSeconds/p99-1) > 0.05 {
		w.t.Errorf("the closed loop has a p99 of %v s, want about %v s", begun.ClosedLoopSeconds, p99)
	}
	for number, rate := range []float64{1000, 1900} {
		made, err := w.reconciler.Step(w.t.Context(), key, 1, "read", number, begun.Question, curve.Decision{OfferedPerSecond: rate})
		if outcome := begun.Question.Outcome(made.Step); err != nil || outcome != []curve.Outcome{curve.Kept, curve.Exceeded}[number] {
			w.t.Errorf("step %d is %s, %v: %+v", number, outcome, err, made)
		}
	}
	w.untilReason(b, v1alpha1.ReasonRunning)
	w.restart()
	w.untilReason(b, v1alpha1.ReasonRunning)
	if _, err := w.reconciler.Step(w.t.Context(), key, 1, "read", 2, begun.Question, curve.Decision{OfferedPerSecond: 1000}); !errors.Is(err, live.ErrNotMeasuring) {
		w.t.Errorf("after a restart: %v", err)
	}
	if n := len(w.kubelet.client(client0).Tasks()); n < 3 {
		w.t.Errorf("%d tasks", n)
	}
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
}
