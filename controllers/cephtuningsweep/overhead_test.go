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

// What a simulated run takes, and a simulated cluster to settle after a change. They are a
// tenth of what they are at least in earnest, so that what the operator adds weighs ten
// times as much.
const (
	simulatedRun    = 3 * time.Second
	simulatedSettle = 3 * time.Second
)

// BenchmarkSweep is a sweep of twelve runs on a simulated cluster that answers at once:
//
//   - sweep/runs+settles: how long it takes, restore included, as a multiple of the time
//     for which its runs last and its cluster is given to settle;
//   - writes/run: what the manager writes to the API server, Events aside, and, in the
//     log, what kind of object that is. The benchmarks' own are not in it.
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
			o.Patience = func([]tuning.Change) tuning.Patience {
				return tuning.Patience{Polls: 2, Soak: simulatedSettle, Deadline: time.Minute}
			}
			o.Pace = Pace{Settle: DefaultPace().Settle / 10, Watch: DefaultPace().Watch / 10}
		}
		w.restart()
		counter.reset()
		began := time.Now()
		s := w.create("s", profile)
		w.await(s, "complete", is(v1alpha1.ConditionReady))
		b.ReportMetric(time.Since(began).Seconds()/given(s).Seconds(), "sweep/runs+settles")
		b.ReportMetric(counter.report(b, len(s.Status.Runs)), "writes/run")
	}
	b.ReportMetric(0, "ns/op") // means nothing here
}

// begun is when the world first saw a benchmark: its own time is in whole seconds.
func (w *world) begun(child *v1alpha1.CephBenchmark) time.Time {
	at, _ := w.begins.LoadOrStore(child.Name, time.Now())
	began, _ := at.(time.Time)
	return began
}

// given is how long the runs of a sweep last, and how long the cluster is given to settle
// before each.
func given(s *v1alpha1.CephTuningSweep) time.Duration {
	return time.Duration(len(s.Status.Runs)) * (simulatedRun + simulatedSettle)
}

// writeCounter counts what is written to an API server.
type writeCounter struct {
	mu     sync.Mutex
	byKind map[string]int
}

func (c *writeCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKind)
}

// report logs the writes a run, by kind, and returns how many they are, Events and the
// leader's Lease aside.
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

// around counts what goes through a transport.
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

// kindOf is the resource of a path such as /apis/G/V/namespaces/NS/RESOURCE/NAME/status.
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
