//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// BenchmarkOverhead measures what the operator adds to a run: one phase of thirty seconds on an
// existing pool.
//
//   - added: the time from the creation of the CephBenchmark until a watch sees its condition
//     Complete, without the start of its pod and without the run time of the engine. A script in a
//     pod would need only these two. Measuring such a script for comparison would not help: rados
//     bench checks the time once a second, so two runs of thirty seconds may differ by one
//     second;
//   - reported: the time from the end of the engine, by the node's clock, until that watch sees the
//     result. In the lab, node and test are one machine;
//   - writes: the manager's writes to the API server, by kind, from the creation of a benchmark
//     until its teardown is complete.
func BenchmarkOverhead(b *testing.B) {
	c := forTest(b)
	c.createSettledPool(b)
	counter := c.countWrites(b)
	var measured overheads
	for run := 0; b.Loop(); run++ {
		one := c.runMinimal(b, run, counter)
		b.Logf("run %d: %v in all, of which its pod took %v to start, and the tool %v: %v added; result after %v; %v",
			run, one.total, one.podStart, one.tool, one.added(), one.reported, one.writes)
		measured = append(measured, one)
	}
	measured.report(b)
}

// overhead is the overhead of one run.
type overhead struct {
	total, podStart, tool, reported time.Duration
	writes                          map[string]int
}

func (o overhead) added() time.Duration { return o.total - o.podStart - o.tool }

type overheads []overhead

func (all overheads) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // the time of one iteration means nothing here
	for name, phase := range map[string]func(overhead) time.Duration{
		"added":    overhead.added,
		"reported": func(o overhead) time.Duration { return o.reported },
		"podstart": func(o overhead) time.Duration { return o.podStart },
	} {
		var values []float64
		for _, o := range all {
			values = append(values, phase(o).Seconds())
		}
		for _, p := range []int{50, 95, 99} {
			b.ReportMetric(percentile(values, p), fmt.Sprintf("p%d-s-%s", p, name))
		}
	}
	byKind, most := map[string]int{}, 0
	for _, o := range all {
		sum := 0
		for kind, n := range o.writes {
			byKind[kind] += n
			if !isAside(kind) {
				sum += n
			}
		}
		most = max(most, sum)
	}
	b.ReportMetric(float64(most), "writes/run-at-most")
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		b.Logf("writes per run: %-40s %.2f", kind, float64(byKind[kind])/float64(len(all)))
	}
}

// isAside reports whether a write does not belong to a run: Events are not counted, and the leader
// renews its Lease all the time.
func isAside(kind string) bool {
	return strings.HasSuffix(kind, " events") || strings.HasSuffix(kind, " leases manager.cephtune.dev")
}

// percentile returns the smallest value that at least p percent of the values do not exceed.
func percentile(values []float64, p int) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// runMinimal runs a benchmark of one phase, and measures its overhead.
func (c *cluster) runMinimal(b *testing.B, run int, counter *writes) overhead {
	b.Helper()
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}
	benchmark := c.benchmark(fmt.Sprintf("overhead-%d", run), target, radosWrite("write"))
	benchmark.Spec.Template.Rest.Duration = 0
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	watching, err := client.NewWithWatch(c.config, client.Options{Scheme: c.Scheme()})
	if err != nil {
		b.Fatal(err)
	}
	complete := follow(ctx, b, watching, &v1alpha1.CephBenchmarkList{}, func(o *v1alpha1.CephBenchmark) bool {
		return o.Name == benchmark.Name && hasEnded(o, v1alpha1.ConditionComplete) == nil
	})
	// The pods of earlier runs are gone.
	isOurs := func(pod *corev1.Pod) bool { return pod.Labels["app.kubernetes.io/component"] == "benchmark" }
	made := follow(ctx, b, watching, &corev1.PodList{}, isOurs)
	runs := follow(ctx, b, watching, &corev1.PodList{}, func(pod *corev1.Pod) bool {
		return isOurs(pod) && slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running != nil })
	})
	counter.take()
	began := time.Now()
	c.create(b, benchmark)
	end := receive(ctx, b, "the benchmark to be complete", complete)
	measured := overhead{total: end.Sub(began), podStart: receive(ctx, b, "its pod to run", runs).Sub(receive(ctx, b, "its pod", made))}
	c.awaitEnd(b, v1alpha1.ConditionComplete, benchmark)
	measured.writes = counter.take()
	toolStart, toolEnd := c.toolTimes(b, benchmark)
	measured.tool, measured.reported = toolEnd.Sub(toolStart), end.Sub(toolEnd)
	c.deleteAndWait(b, benchmark)
	return measured
}

// toolTimes returns when the engine of the first phase started and ended.
func (c *cluster) toolTimes(b *testing.B, benchmark *v1alpha1.CephBenchmark) (start, end time.Time) {
	b.Helper()
	document, err := c.document(b, benchmark, benchmark.Status.Runs[0])
	if err != nil {
		b.Fatal(err)
	}
	report := document.Phases[0].Clients[0]
	if report.StartTime == nil || report.EndTime == nil {
		b.Fatalf("the report says not when the tool started and ended: %+v", report)
	}
	return *report.StartTime, *report.EndTime
}

// follow watches objects in the benchmark namespace. It sends the time when it first sees one that
// is wanted.
func follow[T client.Object](ctx context.Context, b *testing.B, c client.WithWatch, list client.ObjectList, wanted func(T) bool) <-chan time.Time {
	b.Helper()
	events, err := c.Watch(ctx, list, client.InNamespace(benchNamespace))
	if err != nil {
		b.Fatalf("watch %T: %v", list, err)
	}
	seen := make(chan time.Time, 1)
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			object, ok := event.Object.(T)
			if ok && event.Type != watch.Deleted && wanted(object) {
				seen <- time.Now()
				return
			}
		}
	}()
	return seen
}

func receive(ctx context.Context, b *testing.B, event string, seen <-chan time.Time) time.Time {
	b.Helper()
	select {
	case when := <-seen:
		return when
	case <-ctx.Done():
		b.Fatalf("waited in vain for %s", event)
		return time.Time{}
	}
}
