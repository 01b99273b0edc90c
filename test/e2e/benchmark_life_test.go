//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// A gate of three repetitions must show the basis of its verdict. A new run ID must start new runs,
// with the changed expectations, and remove the results of the first run ID from the history.
func TestLongBenchmarkGateAndRunAgain(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("gate", c.replicatedScratch(), radosWrite("write"))
	b.Spec.Repetitions = 3
	b.Spec.HistoryLimit = 1
	b.Spec.Expectations = []v1alpha1.Expectation{
		atLeast("write", v1alpha1.MetricBandwidth, "1Ki"),
		atLeast("write", v1alpha1.MetricIOPS, "100M"),
	}

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantVerdict(t, b, v1alpha1.BenchmarkFailed, v1alpha1.ExpectationMet, v1alpha1.ExpectationMissed)
	first := c.wantRuns(t, b)
	wantPlausible(t, b, load{phase: "write", blockBytes: 64 << 10, inFlight: 16, metrics: radosBenchMetrics()})
	wantIntervals(t, phaseOf(t, b, "write"))
	forgotten := b.Status.Runs

	c.change(t, b, func(spec *v1alpha1.CephBenchmarkSpec) {
		spec.RunID, spec.Repetitions = "again", 1
		spec.Expectations = spec.Expectations[:1]
	})
	c.awaitEnd(t, v1alpha1.ConditionComplete, b)

	wantVerdict(t, b, v1alpha1.BenchmarkPassed, v1alpha1.ExpectationMet)
	second := c.wantRuns(t, b)
	if len(first) == 0 || len(second) == 0 || second[0].RunID != "again" || !second[0].ExecutionTime.After(first[0].ExecutionTime) {
		t.Error("the results of the second run are not its own")
	}
	for _, run := range forgotten {
		var kept corev1.ConfigMap
		err := c.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: run.Results}, &kept)
		if !apierrors.IsNotFound(err) {
			t.Errorf("results %s: %v, want them gone, since the limit of the history is 1", run.Results, err)
		}
	}
}

func atLeast(phase v1alpha1.PhaseName, metric v1alpha1.Metric, limit v1alpha1.Threshold) v1alpha1.Expectation {
	return v1alpha1.Expectation{MetricReference: v1alpha1.MetricReference{Phase: phase, Metric: metric}, AtLeast: limit}
}

func wantVerdict(t *testing.T, b *v1alpha1.CephBenchmark, verdict v1alpha1.BenchmarkVerdict, outcomes ...v1alpha1.ExpectationOutcome) {
	t.Helper()
	if b.Status.Verdict != verdict || len(b.Status.Expectations) != len(outcomes) {
		t.Errorf("verdict %q by %+v, want %s by %v", b.Status.Verdict, b.Status.Expectations, verdict, outcomes)
		return
	}
	for i, expectation := range b.Status.Expectations {
		if expectation.Outcome != outcomes[i] || expectation.Value == "" {
			t.Errorf("expectation %d is %+v, want %s with the figure that decided", i, expectation, outcomes[i])
		}
	}
}

// wantIntervals checks that each figure is within its interval.
func wantIntervals(t *testing.T, phase v1alpha1.PhaseResult) {
	t.Helper()
	for _, m := range phase.Metrics {
		if m.Metric == v1alpha1.MetricLatencyMax {
			continue
		}
		low, lowErr := strconv.ParseFloat(string(m.Low), 64)
		value, valueErr := strconv.ParseFloat(string(m.Value), 64)
		high, highErr := strconv.ParseFloat(string(m.High), 64)
		if err := errors.Join(lowErr, valueErr, highErr); err != nil || low > value || value > high {
			t.Errorf("%s is %q with interval [%q, %q]: %v", m.Metric, m.Value, m.Low, m.High, err)
		}
	}
}

// A benchmark that is suspended within a phase finishes that phase and tears down. When it is resumed,
// it begins the interrupted run again. If it is deleted within a phase, it is soon gone.
func TestBenchmarkSuspendResumeDelete(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("suspend", c.replicatedScratch(), radosWrite("write"), radosWrite("never-in-the-first"))
	c.create(t, b)
	c.awaitMeasuring(t, b)
	c.wantPodsWithoutPowers(t, b)

	c.change(t, b, func(spec *v1alpha1.CephBenchmarkSpec) { spec.Suspend = true })
	c.await(t, b, shortest+teardownWithin, "to be suspended", func(b *v1alpha1.CephBenchmark) error {
		if isTrue(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)) {
			return errors.New("it is still at work")
		}
		return hasReason(v1alpha1.ReasonSuspended)(b)
	})
	c.wantNoTraces(t, b)
	if len(b.Status.Phases) > 0 {
		t.Errorf("a benchmark that was suspended has results: %+v", b.Status.Phases)
	}

	c.change(t, b, func(spec *v1alpha1.CephBenchmarkSpec) { spec.Suspend = false })
	c.awaitMeasuring(t, b)
	before := time.Now()
	c.deleteAndWait(t, b)
	if took := time.Since(before); took > teardownWithin {
		t.Errorf("it took %v until it was gone, want at most %v", took, teardownWithin)
	}
	c.wantNoTraces(t, b)
}

// wantPodsWithoutPowers checks the pods of a measuring benchmark: their resources are guaranteed,
// and they have no token for the API server.
func (c *cluster) wantPodsWithoutPowers(t *testing.T, b *v1alpha1.CephBenchmark) {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(b.Namespace), made()); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != int(b.Spec.Template.Clients.Count) {
		t.Errorf("%d pods run, want one for each client", len(pods.Items))
	}
	for _, pod := range pods.Items {
		if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
			t.Errorf("pod %s is of class %s, want Guaranteed", pod.Name, pod.Status.QOSClass)
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected != nil {
				t.Errorf("pod %s has volume %s, perhaps with a token", pod.Name, volume.Name)
			}
		}
	}
}

// If the manager ends within a phase, the clients continue. Its successor continues the run, or
// says that the run is invalid.
func TestBenchmarkOutlivesItsManager(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("manager", c.replicatedScratch(), radosWrite("write"))
	c.create(t, b)
	c.awaitMeasuring(t, b)
	clients := c.clientPods(t)

	c.endManager(t)
	if now := c.clientPods(t); !maps.Equal(now, clients) || len(now) == 0 {
		t.Errorf("the clients were %v, and are %v now", clients, now)
	}

	ended := v1alpha1.ConditionComplete
	c.poll(t, b, 3*time.Minute, "to end with another manager", func(context.Context) error {
		if hasEnded(b, v1alpha1.ConditionFailed) == nil {
			ended = v1alpha1.ConditionFailed
		}
		return hasEnded(b, ended)
	})
	t.Logf("the benchmark is %s: %s", ended, b.Status.Summary)
	if ended == v1alpha1.ConditionFailed {
		wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonNoValidRun)
		wantNoFigures(t, b)
		return
	}
	wantPlausible(t, b, load{phase: "write", blockBytes: 64 << 10, inFlight: 16, metrics: radosBenchMetrics()})
	c.wantRuns(t, b)
}

// clientPods returns the names and UIDs of the running clients.
func (c *cluster) clientPods(t *testing.T) map[string]types.UID {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(benchNamespace), made()); err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero() {
			uids[pod.Name] = pod.UID
		}
	}
	return uids
}

// endManager deletes the manager's pod, and waits for another.
func (c *cluster) endManager(t *testing.T) {
	t.Helper()
	pods, err := c.managerPods(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("the manager has %d pods: %v", len(pods), err)
	}
	for i := range pods {
		c.deleteAndWait(t, &pods[i])
	}
	c.awaitManager(t)
}

// awaitManager waits until a manager is ready.
func (c *cluster) awaitManager(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "another manager to be ready", func(ctx context.Context) error {
		pods, err := c.managerPods(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(pods, isReady) {
			return nil
		}
		return fmt.Errorf("none of %d pods is", len(pods))
	})
}
