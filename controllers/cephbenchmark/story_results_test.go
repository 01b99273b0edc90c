package cephbenchmark

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

func resultStories() map[string]story {
	return map[string]story{
		"several clients are added up":             severalClientsAreAddedUp,
		"clients that start too far apart":         clientsThatStartTooFarApart,
		"three runs have an interval":              threeRunsHaveAnInterval,
		"expectations that are met":                expecting("700", v1alpha1.BenchmarkPassed, v1alpha1.ExpectationMet),
		"expectations that are missed":             expecting("2k", v1alpha1.BenchmarkFailed, v1alpha1.ExpectationMissed),
		"expectations without values":              expecting("1k", v1alpha1.BenchmarkInconclusive, v1alpha1.ExpectationUnknown),
		"a verdict to fail on":                     aVerdictToFailOn,
		"results are written once":                 resultsAreWrittenOnce,
		"results of two clients outlive a restart": resultsOutliveARestart,
		"a ConfigMap in the way":                   aConfigMapInTheWay,
		"results that may not be written":          resultsThatNobodyLetsUsWrite,
	}
}

func clients(n int32) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Clients.Count = n }
}

func runs(n int32) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.Spec.Repetitions = n }
}

func severalClientsAreAddedUp(w *world) {
	w.kubelet.skew = 40 * time.Millisecond
	b := w.benchmark("b", oneWrite, clients(3))
	w.untilComplete(b)
	if b.Status.Headline != "write 3k IOPS" {
		w.t.Errorf("headline %q", b.Status.Headline)
	}
	// The rest of the spread depends on how busy this machine is.
	if spread, err := figure.ParseDecimal(b.Status.Runs[0].StartSpread); err != nil || spread < 0.04 || spread > conclusion.MaxSpread.Seconds() {
		w.t.Errorf("start spread %v, %v, want from 40 ms to %v", spread, err, conclusion.MaxSpread)
	}
}

func clientsThatStartTooFarApart(w *world) {
	w.kubelet.skew = 300 * time.Millisecond
	b := w.benchmark("b", oneWrite, clients(2), func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: "IOPS"}, AtLeast: "1",
		}}
	})
	w.untilFailed(b, v1alpha1.ReasonNoValidRun, "250 ms are allowed")
	if states(b) != "Invalid" || b.Status.Verdict != v1alpha1.BenchmarkInvalid || b.Status.Headline != "" || len(b.Status.Phases) > 0 {
		w.t.Errorf("status %+v", b.Status)
	}
}

// varying scripts runs that differ by a tenth.
func varying(w *world) {
	for run, operations := range []int64{27000, 30000, 33000} {
		r := runnertest.DefaultResult(task.Task{Measure: &task.Measurement{RequestedSeconds: 30}})
		r.Write = &result.Direction{Operations: operations, Bytes: 4096 * operations, Seconds: 30, ShortestSeconds: 30}
		w.kubelet.script(fmt.Sprintf("r%d-", run+1), runnertest.Script{Result: r})
	}
}

func threeRunsHaveAnInterval(w *world) {
	varying(w)
	b := w.benchmark("b", oneWrite, runs(3))
	w.untilComplete(b)
	phase := b.Status.Phases[0]
	if phase.ValidRuns != 3 || phase.Metrics[0].Low == "" || phase.Metrics[0].High == "" {
		w.t.Errorf("phase %+v", phase)
	}
	if n := len(w.results()); n != 3 {
		w.t.Errorf("%d results", n)
	}
	text, err := json.Marshal(b.Status)
	if w.t.Logf("the status has %d bytes", len(text)); err != nil || len(text) > 64<<10 {
		w.t.Errorf("the status has %d bytes, %v", len(text), err)
	}
}

func aVerdictToFailOn(w *world) {
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: "IOPS"}, AtLeast: "2k",
		}}
		b.Spec.FailOn = []v1alpha1.BenchmarkVerdict{v1alpha1.BenchmarkFailed}
	})
	w.untilFailed(b, v1alpha1.ReasonFailedOnVerdict, "The verdict is Failed, which spec.failOn lists. Failed: write IOPS is")
	if b.Status.Verdict != v1alpha1.BenchmarkFailed || b.Status.Headline == "" || isTrue(b, v1alpha1.ConditionComplete) {
		w.t.Errorf("status %+v, want the results, and not Complete", b.Status)
	}
	w.wantClean()
}

func expecting(atLeast v1alpha1.Threshold, verdict v1alpha1.BenchmarkVerdict, outcome v1alpha1.ExpectationOutcome) story {
	return func(w *world) {
		varying(w)
		b := w.benchmark("b", oneWrite, runs(3), func(b *v1alpha1.CephBenchmark) {
			b.Spec.Expectations = []v1alpha1.Expectation{{
				MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: "IOPS"}, AtLeast: atLeast,
			}}
		})
		w.untilComplete(b)
		if b.Status.Verdict != verdict || b.Status.Expectations[0].Outcome != outcome || !strings.Contains(b.Status.Summary, "3 of 3") {
			w.t.Errorf("verdict %s (%s), %+v", b.Status.Verdict, b.Status.Summary, b.Status.Expectations)
		}
	}
}

// onceArchived lets writes of status fail as soon as results are archived.
func onceArchived(w *world) (crashed <-chan struct{}) {
	archived, told := false, make(chan struct{})
	w.writes.refuseIf(func(what string) error {
		switch {
		case what == "create ConfigMap":
			archived = true
		case archived && strings.HasPrefix(what, "patch status"):
			select {
			case <-told:
			default:
				close(told)
			}
			return errors.New("the manager is crashing")
		}
		return nil
	})
	return told
}

func resultsAreWrittenOnce(w *world) {
	crashed := onceArchived(w)
	b := w.benchmark("b", oneWrite)
	<-crashed
	w.stop()
	w.writes.refuseIf(nil)
	w.start()
	w.untilComplete(b)
	if n := len(w.results()); n != 1 {
		w.t.Errorf("%d results", n)
	}
}

// The archive shows that clients started together, and the next manager does not know it otherwise.
func resultsOutliveARestart(w *world) {
	crashed := onceArchived(w)
	b := w.benchmark("b", oneWrite, clients(2))
	<-crashed
	w.stop()
	w.writes.refuseIf(nil)
	w.start()
	w.untilComplete(b)
	if states(b) != "Valid" || b.Status.Runs[0].StartSpread == "" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func aConfigMapInTheWay(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Second})
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonRunning)
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: archive.Name(b, 1)}}
	if err := w.Create(w.t.Context(), other); err != nil {
		w.t.Fatal(err)
	}
	w.untilComplete(b)
	if kept := w.results(); len(kept) != 1 || kept[0].Name == other.Name || b.Status.Runs[0].Results != kept[0].Name {
		w.t.Errorf("the results are in %v, and status has %s", kept, b.Status.Runs[0].Results)
	}
}

func resultsThatNobodyLetsUsWrite(w *world) {
	w.writes.refuseIf(func(what string) error {
		if what == "create ConfigMap" {
			return errors.New("exceeded quota: maps")
		}
		return nil
	})
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonRunning, "exceeded quota")
	w.wait(concludeWithin + time.Minute)
	w.untilFailed(b, v1alpha1.ReasonResultsNotKept, "exceeded quota")
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil || states(b) != "Failed" {
		w.t.Errorf("%v, runs %s", err, states(b))
	}
}
