package exporter

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/metrics"
)

// counted returns the counters and numbers of observations that are not 0, by metric and labels.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				key += " " + label.GetValue()
			}
			value := metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			if value > 0 {
				values[key] = value
			}
		}
	}
	return values
}

func TestInvalidTrials(t *testing.T) {
	trials := func(reasons ...v1alpha1.TrialReason) *v1alpha1.CephTuningSweepStatus {
		s := &v1alpha1.CephTuningSweepStatus{ObservedRunID: "1"}
		for i, reason := range reasons {
			s.Trials = append(s.Trials, v1alpha1.Trial{Number: int32(i + 1), Reason: reason})
		}
		return s
	}
	const valid, inert, failed, drifted = v1alpha1.TrialReason(""), v1alpha1.TrialInert, v1alpha1.TrialFailed, v1alpha1.TrialDrifted
	other := trials(failed)
	other.ObservedRunID = "2"
	cases := map[string]struct {
		before, after *v1alpha1.CephTuningSweepStatus
		want          []v1alpha1.TrialReason
	}{
		"a valid one":             {trials(), trials(valid), nil},
		"one that was disturbed":  {trials(valid), trials(valid, v1alpha1.TrialDisturbed), []v1alpha1.TrialReason{"Disturbed"}},
		"nothing new":             {trials(inert), trials(inert), nil},
		"a block that is refused": {trials(valid), trials(drifted, drifted), []v1alpha1.TrialReason{"Drifted", "Drifted"}},
		"another run ID":          {trials(failed), other, []v1alpha1.TrialReason{"Failed"}},
		"a run ID that begins":    {trials(failed), &v1alpha1.CephTuningSweepStatus{ObservedRunID: "2"}, nil},
		"the form of an earlier version": {
			&v1alpha1.CephTuningSweepStatus{ObservedRunID: "1", Runs: []string{"1 1.1.0 0 - 1s 1Mi Failed"}}, trials(failed, inert), []v1alpha1.TrialReason{"Inert"},
		},
	}
	for name, test := range cases {
		if diff := cmp.Diff(test.want, newInvalidTrials(test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBenchmarkRuns(t *testing.T) {
	status := func(id v1alpha1.RunID, states ...v1alpha1.RunState) *v1alpha1.CephBenchmarkStatus {
		s := &v1alpha1.CephBenchmarkStatus{ObservedRunID: id}
		for i, state := range states {
			s.Runs = append(s.Runs, v1alpha1.BenchmarkRun{Number: int32(i + 1), State: state})
		}
		return s
	}
	lost := status("1", v1alpha1.RunFailed)
	lost.Conditions = []metav1.Condition{{Type: "Failed", Status: "True", Reason: "LockLost"}}
	cases := map[string]struct {
		before, after *v1alpha1.CephBenchmarkStatus
		want          []string
	}{
		"one that is evidence":     {status("1", "Running"), status("1", "Valid"), nil},
		"one that was disturbed":   {status("1", "Valid", "Running"), status("1", "Valid", "Invalid"), []string{"Scrub"}},
		"one that failed":          {status("1", "Running"), lost, []string{"LockLost"}},
		"one that nobody explains": {status("1", "Running"), status("1", "Failed"), []string{"Failed"}},
		"nothing new":              {status("1", "Invalid"), status("1", "Invalid", "Running"), nil},
		"another run ID":           {status("1", "Invalid"), status("2", "Invalid"), []string{"Scrub"}},
	}
	for name, test := range cases {
		if diff := cmp.Diff(test.want, newInvalidBenchmarkRuns(test.before, test.after, "Scrub")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRestores(t *testing.T) {
	under := []metav1.Condition{restored("False", "NotRestored")}
	back := []metav1.Condition{restored("True", "Restored")}
	cases := map[string]struct {
		before, after []metav1.Condition
		want          string
	}{
		"nothing was changed":      {nil, nil, ""},
		"something is changed":     {nil, under, ""},
		"put back":                 {under, back, "Restored"},
		"told again":               {back, back, ""},
		"put back without a while": {nil, back, "Restored"},
		"but for somebody's":       {under, []metav1.Condition{restored("True", "LeftAlone")}, "LeftAlone"},
		"but for OSDs":             {under, []metav1.Condition{restored("False", "OSDsNotRestarted")}, "OSDsNotRestarted"},
		"given up":                 {under, []metav1.Condition{restored("False", "Abandoned")}, "Abandoned"},
		"given up, told again":     {[]metav1.Condition{restored("False", "Abandoned")}, []metav1.Condition{restored("False", "Abandoned")}, ""},
		"a new run":                {back, nil, ""},
	}
	for name, test := range cases {
		if got := newRestore(test.before, test.after); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestEvents(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	e := NewEvents(registry)
	if got := counted(t, registry); len(got) != 0 {
		t.Errorf("before anything happened: %v", got)
	}
	before, after := runningSweep(), runningSweep()
	before.Status.Trials = before.Status.Trials[:2]
	after.Status.Conditions = append(reconciling("Restoring"), restored("True", "Restored"))
	e.SweepRecorded(&before.Status, &after.Status)
	running, ended := nightly(0), nightly(0)
	running.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunRunning}}
	ended.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunInvalid}}
	e.BenchmarkRecorded(&running.Status, &ended.Status, "ForeignIO")
	// This run belongs to a sweep, which counts it.
	child := childOf(before, "1.1.2.0", complete())
	child.Status.Runs[0].State = v1alpha1.RunInvalid
	e.BenchmarkRecorded(&childOf(before, "1.1.2.0", reconciling("Running")).Status, &child.Status, "ForeignIO")
	e.RestoreEnded(OutcomeFailed)
	e.Settled(42 * time.Second)
	want := map[string]float64{
		metrics.InvalidRuns + " CephTuningSweep Disturbed": 1,
		metrics.InvalidRuns + " CephBenchmark ForeignIO":   1,
		metrics.Restores + " Restored":                     1,
		metrics.Restores + " Failed":                       1,
		metrics.Settle:                                     1,
	}
	if diff := cmp.Diff(want, counted(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutages(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	e := NewEvents(registry)
	stop, back, recovered := metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Minute)), int64(240)
	cost := &archive.Outage{
		StopTime: &stop, NoupUnsetTime: &back, SecondsToUp: "2", SecondsToClean: "73.9", DegradedObjectSeconds: "14700", RecoveredObjects: &recovered,
	}
	e.OutageEnded(OutageMeasured, cost)
	e.OutageEnded(OutageFailed, cost) // A failed outage has no valid figures.
	e.OutageEnded(OutageRefused, nil)
	e.OutageEnded("", cost) // There was no outage.
	want := map[string]float64{
		metrics.Outages + " Measured": 1, metrics.Outages + " Failed": 1, metrics.Outages + " Refused": 1,
		metrics.OutageDuration + " down": 1, metrics.OutageDuration + " up": 1, metrics.OutageDuration + " clean": 1,
		metrics.DegradedObjectSeconds: 14700, metrics.RecoveredObjects: 240,
	}
	if diff := cmp.Diff(want, counted(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if parts := partsOf(cost); parts["down"] != 60 || parts["clean"] != 73.9 {
		t.Errorf("parts %v", parts)
	}
}

func TestNilEventsDoNotPanic(t *testing.T) {
	defer func() {
		if cause := recover(); cause != nil {
			t.Errorf("it panics: %v", cause)
		}
	}()
	var e *Events
	s, b := runningSweep(), nightly(1)
	e.SweepRecorded(&v1alpha1.CephTuningSweepStatus{}, &s.Status)
	e.BenchmarkRecorded(&v1alpha1.CephBenchmarkStatus{}, &b.Status, "Scrub")
	e.RestoreEnded(OutcomeFailed)
	e.Settled(time.Second)
	e.OutageEnded(OutageMeasured, &archive.Outage{SecondsToClean: "1"})
}

func TestRequests(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	e := NewEvents(registry)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/setConfig" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	sidecar := &http.Client{Transport: e.OfSidecar(http.DefaultTransport)}
	api := &http.Client{Transport: e.OfAPI(http.DefaultTransport)}
	do := func(c *http.Client, method, path string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	for _, path := range []string{"/v1/status", "/v1/setConfig"} {
		if err := do(sidecar, http.MethodPost, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, "/pods"},
		{http.MethodGet, "/pods?watch=true"},
		{http.MethodPost, "/pods"},
		{http.MethodPut, "/pods/p"},
		{http.MethodPatch, "/pods/p"},
		{http.MethodDelete, "/pods/p"},
		{http.MethodOptions, "/"},
	} {
		if err := do(api, r.method, r.path); err != nil {
			t.Fatal(err)
		}
	}
	server.Close()
	if err := do(sidecar, http.MethodPost, "/v1/status"); err == nil {
		t.Error("a server that is gone answered")
	}
	want := map[string]float64{
		metrics.SidecarRequest + " status": 2, metrics.SidecarErrors + " status": 1,
		metrics.SidecarRequest + " setConfig": 1, metrics.SidecarErrors + " setConfig": 1,
	}
	for _, verb := range []string{"get", "watch", "create", "update", "patch", "delete", "other"} {
		want[metrics.APIRequest+" "+verb] = 1
	}
	if diff := cmp.Diff(want, counted(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASecondRegistrationIsRefused(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewEvents(registry)
	defer func() {
		var already prometheus.AlreadyRegisteredError
		if err, ok := recover().(error); !ok || !errors.As(err, &already) {
			t.Errorf("recovered %v, want that it is registered already", err)
		}
	}()
	NewEvents(registry)
}
