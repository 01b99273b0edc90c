package cephbenchmark

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/figure"
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
		"results that may not be written":          resultsThatNobodyLetsUsWrite,
	}
}

func clients(n int32) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Clients.Count = n }
}

func runs(n int32) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.Spec.Repetitions = n }
}

// atLeast expects a number of IOPS.
func atLeast(iops v1alpha1.Threshold) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: "IOPS"}, AtLeast: iops,
		}}
	}
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
	b := w.benchmark("b", oneWrite, clients(2), atLeast("1"))
	w.untilFailed(b, v1alpha1.ReasonNoValidRun, "250 ms are allowed")
	if states(b) != "Invalid" || b.Status.Verdict != v1alpha1.BenchmarkInvalid || b.Status.Headline != "" || len(b.Status.Phases) > 0 {
		w.t.Errorf("status %+v", b.Status)
	}
}

func threeRunsHaveAnInterval(w *world) {
	measuring(w, 30000, 10)
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
	b := w.benchmark("b", oneWrite, atLeast("2k"), func(b *v1alpha1.CephBenchmark) {
		b.Spec.FailOn = []v1alpha1.BenchmarkVerdict{v1alpha1.BenchmarkFailed}
	})
	w.untilFailed(b, v1alpha1.ReasonFailedOnVerdict, "The verdict is Failed, which spec.failOn lists. Failed: write IOPS is")
	if b.Status.Verdict != v1alpha1.BenchmarkFailed || b.Status.Headline == "" || isTrue(b, v1alpha1.ConditionComplete) {
		w.t.Errorf("status %+v, want the results, and not Complete", b.Status)
	}
	w.wantClean()
}

func expecting(iops v1alpha1.Threshold, verdict v1alpha1.BenchmarkVerdict, outcome v1alpha1.ExpectationOutcome) story {
	return func(w *world) {
		measuring(w, 30000, 10)
		b := w.benchmark("b", oneWrite, runs(3), atLeast(iops))
		w.untilComplete(b)
		if b.Status.Verdict != verdict || b.Status.Expectations[0].Outcome != outcome || !strings.Contains(b.Status.Summary, "3 of 3") {
			w.t.Errorf("verdict %s (%s), %+v", b.Status.Verdict, b.Status.Summary, b.Status.Expectations)
		}
	}
}

// crashedAfter returns a benchmark whose manager has ended after its first request of a kind, such as "create Job",
// without another write of status.
func (w *world) crashedAfter(request string, change ...func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	w.t.Helper()
	sent, crashed := false, make(chan struct{})
	crash := sync.OnceFunc(func() { close(crashed) })
	w.writes.refuseIf(func(write string) error {
		sent = sent || write == request
		if sent && strings.HasPrefix(write, "patch status") {
			crash()
			return errors.New("the manager is crashing")
		}
		return nil
	})
	b := w.benchmark("b", oneWrite, change...)
	<-crashed
	w.stop()
	w.writes.refuseIf(nil)
	return b
}

func resultsAreWrittenOnce(w *world) {
	b := w.crashedAfter("create ConfigMap")
	w.start()
	w.untilComplete(b)
	if n := len(w.results()); n != 1 {
		w.t.Errorf("%d results", n)
	}
}

// The archive shows that clients started together, and the next manager does not know it otherwise.
func resultsOutliveARestart(w *world) {
	b := w.crashedAfter("create ConfigMap", clients(2))
	w.start()
	w.untilComplete(b)
	if states(b) != "Valid" || b.Status.Runs[0].StartSpread == "" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func resultsThatNobodyLetsUsWrite(w *world) {
	w.writes.refuseIf(func(request string) error {
		if request == "create ConfigMap" {
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
