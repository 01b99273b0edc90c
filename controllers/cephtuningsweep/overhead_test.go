package cephtuningsweep

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
)

// The duration of a simulated run, and the time in which a simulated cluster settles. They are a
// tenth of the shortest real ones, so that the operator's overhead weighs ten times as much.
const (
	simulatedRun    = 3 * time.Second
	simulatedSettle = 3 * time.Second
)

// BenchmarkSweep runs a sweep of twelve runs on a simulated cluster that answers at once:
//
//   - sweep/runs+settles: the duration of the sweep, restore included, divided by the time for
//     its runs and for settling;
//   - writes/run: the manager's writes to the API server, except Events. The log has them by
//     kind. Writes of benchmarks are not included.
func BenchmarkSweep(b *testing.B) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config := apiserver.Start(b)
	counter := &writeCounter{byKind: map[string]int{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(counter.around)
	for n := 0; b.Loop(); n++ {
		w := newWorld(b, config, fmt.Sprintf("overhead-%d", n))
		w.bench.set(func(x *bench) {
			x.holdIf = func(child *v1alpha1.CephBenchmark) bool { return time.Since(w.begun(child)) < simulatedRun }
		})
		w.server, w.tune = counted, func(o *Options) {
			o.Deadline = func([]tuning.Change) tuning.Deadline {
				return tuning.Deadline{Polls: 2, Soak: simulatedSettle, Deadline: time.Minute}
			}
			o.Pace = Pace{Settle: DefaultPace().Settle / 10, Watch: DefaultPace().Watch / 10, Queue: DefaultPace().Queue / 10}
		}
		w.restart()
		counter.reset()
		began := time.Now()
		s := w.create("s", profile)
		w.await(s, "complete", conditionTrue(v1alpha1.ConditionReady))
		b.ReportMetric(time.Since(began).Seconds()/given(s).Seconds(), "sweep/runs+settles")
		b.ReportMetric(counter.report(b, len(s.Status.Trials)), "writes/run")
	}
	b.ReportMetric(0, "ns/op") // the time of one iteration means nothing here
}

// begun returns when the world first saw a benchmark, because the benchmark's own time is in whole
// seconds.
func (w *world) begun(child *v1alpha1.CephBenchmark) time.Time {
	stored, _ := w.begins.LoadOrStore(child.Name, time.Now())
	began, _ := stored.(time.Time)
	return began
}

// given returns the time for a sweep's runs and for settling before each run.
func given(s *v1alpha1.CephTuningSweep) time.Duration {
	return time.Duration(len(s.Status.Trials)) * (simulatedRun + simulatedSettle)
}

// writeCounter counts writes to an API server.
type writeCounter struct {
	mu     sync.Mutex
	byKind map[string]int
}

func (c *writeCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKind)
}

// report logs the writes per run, by kind. It returns their sum, without Events.
func (c *writeCounter) report(b *testing.B, runs int) float64 {
	b.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0.0
	for _, kind := range slices.Sorted(maps.Keys(c.byKind)) {
		each := float64(c.byKind[kind]) / float64(runs)
		b.Logf("%-40s %.2f a run", kind, each)
		if !strings.HasSuffix(kind, " events") {
			total += each
		}
	}
	return total
}

// total returns the writes without Events and renewals of leases.
func (c *writeCounter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for kind, n := range c.byKind {
		if !strings.HasSuffix(kind, " events") && !strings.HasSuffix(kind, " leases") {
			total += n
		}
	}
	return total
}

// around counts the write requests through a transport.
func (c *writeCounter) around(to http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			c.mu.Lock()
			c.byKind[r.Method+" "+kindOf(r.URL.Path)]++
			c.mu.Unlock()
		}
		return to.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// kindOf returns the resource in a path such as /apis/G/V/namespaces/NS/RESOURCE/NAME/status.
func kindOf(path string) string {
	_, below, _ := strings.Cut(path, "/namespaces/")
	parts := strings.Split(below, "/")
	switch {
	case len(parts) < 2:
		return path
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	}
	return parts[1]
}
