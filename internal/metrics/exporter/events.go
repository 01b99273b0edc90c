package exporter

import (
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// OutcomeFailed is the outcome of a failed attempt to restore settings. The other outcomes of restores are
// reasons of the condition Restored.
const OutcomeFailed = "Failed"

// Events counts events and measures requests. The methods that count do nothing on a nil *Events. OfSidecar
// and OfAPI need a non-nil *Events.
type Events struct {
	invalidRuns   *prometheus.CounterVec
	restores      *prometheus.CounterVec
	settle        prometheus.Histogram
	sidecar       *prometheus.HistogramVec
	sidecarErrors *prometheus.CounterVec
	apiRequests   *prometheus.HistogramVec
	outages       outages
}

// NewEvents returns an Events and registers its metrics.
func NewEvents(with prometheus.Registerer) *Events {
	e := &Events{
		invalidRuns: counter(metrics.InvalidRuns),
		restores:    counter(metrics.Restores),
		// A change that moves no data settles within half a minute. A change of pg_num may take two hours.
		settle:        prometheus.NewHistogram(histogram(metrics.Settle, 5, 10, 20, 30, 45, 60, 120, 300, 600, 1200, 1800, 3600, 7200)),
		sidecar:       prometheus.NewHistogramVec(histogram(metrics.SidecarRequest, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60), labelsOf(metrics.SidecarRequest)),
		sidecarErrors: counter(metrics.SidecarErrors),
		apiRequests:   prometheus.NewHistogramVec(histogram(metrics.APIRequest, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10), labelsOf(metrics.APIRequest)),
	}
	with.MustRegister(e.invalidRuns, e.restores, e.settle, e.sidecar, e.sidecarErrors, e.apiRequests)
	e.outages = newOutages(with)
	// Counters start at 0 here, because Prometheus sees no increase if a counter first appears with its first
	// event.
	for _, outcome := range []string{v1alpha1.ReasonRestored, v1alpha1.ReasonLeftAlone, v1alpha1.ReasonOSDsNotRestarted, v1alpha1.ReasonAbandoned, OutcomeFailed} {
		e.restores.WithLabelValues(outcome)
	}
	for _, reason := range v1alpha1.TrialReasons() {
		e.invalidRuns.WithLabelValues(v1alpha1.KindCephTuningSweep, string(reason))
	}
	return e
}

func describe(name string) metrics.Description {
	d, found := metrics.Describe(name)
	if !found {
		panic("no description of " + name) // A test checks that the table is complete.
	}
	return d
}

func labelsOf(name string) []string { return describe(name).Labels }

func counter(name string) *prometheus.CounterVec {
	d := describe(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

func histogram(name string, buckets ...float64) prometheus.HistogramOpts {
	d := describe(name)
	return prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}
}

// SweepRecorded counts the trials that became invalid and the restores that ended, between two statuses of a sweep.
func (e *Events) SweepRecorded(before, after *v1alpha1.CephTuningSweepStatus) {
	if e == nil {
		return
	}
	for _, reason := range newInvalidTrials(before, after) {
		e.invalidRuns.WithLabelValues(v1alpha1.KindCephTuningSweep, string(reason)).Inc()
	}
	if outcome := newRestore(before.Conditions, after.Conditions); outcome != "" {
		e.restores.WithLabelValues(outcome).Inc()
	}
}

// BenchmarkRecorded counts the runs that became invalid or failed between two statuses of a benchmark. The
// argument cause is the reason of the invalid run, in one word. BenchmarkRecorded ignores the benchmarks of
// sweeps, because their runs count as runs of the sweep.
func (e *Events) BenchmarkRecorded(before, after *v1alpha1.CephBenchmarkStatus, cause string) {
	if e == nil || after.Trial != nil {
		return
	}
	for _, reason := range newInvalidBenchmarkRuns(before, after, cause) {
		e.invalidRuns.WithLabelValues(v1alpha1.KindCephBenchmark, reason).Inc()
	}
}

// RestoreEnded counts a failed attempt to restore settings, or the end of a restore of orphaned settings.
// SweepRecorded does not count these.
func (e *Events) RestoreEnded(outcome string) {
	if e != nil {
		e.restores.WithLabelValues(outcome).Inc()
	}
}

// Settled records how long a cluster took to settle after a change.
func (e *Events) Settled(after time.Duration) {
	if e != nil {
		e.settle.Observe(after.Seconds())
	}
}

// newInvalidTrials returns the reasons of trials that have become invalid. Rejecting a block makes its earlier trials
// invalid too. It ignores trials of another version.
func newInvalidTrials(before, after *v1alpha1.CephTuningSweepStatus) []v1alpha1.TrialReason {
	known, err := sweepspec.Trials(before)
	if err != nil || before.ObservedRunID != after.ObservedRunID {
		known = nil
	}
	var reasons []v1alpha1.TrialReason
	for i, t := range after.Trials {
		if t.Reason == "" || i < len(known) && known[i].Reason == t.Reason {
			continue
		}
		reasons = append(reasons, t.Reason)
	}
	return reasons
}

// newInvalidBenchmarkRuns returns the reasons of runs that are newly invalid or failed. The argument reason is
// the reason of an invalid run. A failed run has the reason of the condition Failed, or "Failed" without this
// condition.
func newInvalidBenchmarkRuns(before, after *v1alpha1.CephBenchmarkStatus, reason string) []string {
	known := map[int32]v1alpha1.RunState{}
	if before.ObservedRunID == after.ObservedRunID {
		for _, run := range before.Runs {
			known[run.Number] = run.State
		}
	}
	var reasons []string
	for _, run := range after.Runs {
		if known[run.Number] == run.State {
			continue
		}
		switch run.State {
		case v1alpha1.RunInvalid:
			reasons = append(reasons, reason)
		case v1alpha1.RunFailed:
			reasons = append(reasons, failureOf(after.Conditions))
		case v1alpha1.RunRunning, v1alpha1.RunValid:
		}
	}
	return reasons
}

func failureOf(conditions []metav1.Condition) string {
	if failed := meta.FindStatusCondition(conditions, v1alpha1.ConditionFailed); failed != nil {
		return failed.Reason
	}
	return "Failed"
}

// newRestore returns the outcome of a restore that has just ended; "" if no restore has ended.
func newRestore(before, after []metav1.Condition) string {
	previous, current := meta.FindStatusCondition(before, v1alpha1.ConditionRestored), meta.FindStatusCondition(after, v1alpha1.ConditionRestored)
	final := []string{v1alpha1.ReasonAbandoned, v1alpha1.ReasonOSDsNotRestarted}
	ended := current != nil && (current.Status == metav1.ConditionTrue || slices.Contains(final, current.Reason))
	if !ended || previous != nil && previous.Status == current.Status && previous.Reason == current.Reason {
		return ""
	}
	return current.Reason
}

// roundTripper is a function that implements http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// OfSidecar returns a RoundTripper that sends requests to the sidecar through the given one, and measures
// them. The last element of a request's path is its verb.
func (e *Events) OfSidecar(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		verb, began := path.Base(r.URL.Path), time.Now()
		answer, err := next.RoundTrip(r)
		e.sidecar.WithLabelValues(verb).Observe(time.Since(began).Seconds())
		failures := e.sidecarErrors.WithLabelValues(verb)
		if err != nil || answer.StatusCode != http.StatusOK {
			failures.Inc()
		}
		return answer, err
	})
}

// OfAPI returns a RoundTripper that sends requests to the API server through the given one. It measures the
// time until the answer begins.
func (e *Events) OfAPI(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		began := time.Now()
		answer, err := next.RoundTrip(r)
		e.apiRequests.WithLabelValues(apiVerb(r)).Observe(time.Since(began).Seconds())
		return answer, err
	})
}

// apiVerb returns the Kubernetes verb of a request. It returns get for lists too.
func apiVerb(r *http.Request) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && (watch == "true" || watch == "1"):
		return "watch"
	case r.Method == http.MethodGet:
		return "get"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete:
		return "delete"
	}
	return "other"
}
