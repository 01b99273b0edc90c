package results

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

var update = flag.Bool("update", false, "write the golden files")

func nightly() *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "4f9c"},
		Spec:       v1alpha1.CephBenchmarkSpec{HistoryLimit: 5},
		Status: v1alpha1.CephBenchmarkStatus{
			ObservedRunID: "2", StartTime: new(metav1.NewTime(clitest.Morning(0))), CompletionTime: new(metav1.NewTime(clitest.Morning(20))),
			Verdict: v1alpha1.BenchmarkPassed, Summary: "Passed: write-4m Bandwidth is 412 MiB/s (400 MiB/s to 420 MiB/s), at least 400Mi.",
		},
	}
}

// writes returns the result of a rados bench client: 4 MiB objects, two seconds of ramp.
func writes(rate float64) *result.Result {
	s := &result.Series{Boundaries: result.MeasuredBoundaries}
	total := 0.0
	for i := range 6 {
		n := rate + float64(i%3)
		if i == 4 {
			n = 0 // a stall
		}
		latency := 0.16
		if n == 0 {
			latency = 0
		}
		s.StartSeconds, s.EndSeconds = append(s.StartSeconds, float64(i)), append(s.EndSeconds, float64(i+1))
		s.OperationsPerSecond, s.BytesPerSecond = append(s.OperationsPerSecond, n), append(s.BytesPerSecond, n*(4<<20))
		s.MeanLatencySeconds = append(s.MeanLatencySeconds, latency)
		total += n
	}
	return &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1,
		Source: result.Source{Tool: result.ToolRadosBench, Format: "rados-bench-json"},
		Write: &result.Direction{
			Operations: int64(total), Bytes: int64(total) * (4 << 20), Seconds: 6, ShortestSeconds: 6, Series: s,
			Latency: &result.Latency{Moments: result.Moments{Count: int64(total), MeanSeconds: 0.16, MaxSeconds: new(0.5)}},
		},
	}
}

// mixed returns the result of a fio client: reads of 1 ms and writes of 4 ms.
func mixed(t *testing.T, rate float64) *result.Result {
	t.Helper()
	direction := func(n, nanoseconds int64) *result.Direction {
		bin := result.BinNanoseconds(result.BinIndex(nanoseconds))
		return &result.Direction{
			Operations: n, Bytes: 4096 * n, Seconds: 60, ShortestSeconds: 60,
			Latency: &result.Latency{
				Moments:   result.MomentsFromStddev(n, float64(nanoseconds)/1e9, 0.0001),
				Histogram: &result.Histogram{Bins: []result.Bin{{Nanoseconds: bin, Count: n}}},
			},
		}
	}
	return &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Read: direction(int64(rate*42), 1e6), Write: direction(int64(rate*18), 4e6),
	}
}

func observed(t *testing.T, ramp float64, results ...*result.Result) (*figure.Observation, []task.Report) {
	t.Helper()
	var reports []task.Report
	for i, res := range results {
		reports = append(reports, task.Report{Status: task.Status{ID: "t", State: task.Done}, Client: i, Result: res})
	}
	obs, err := figure.Observe(reports, engine.Timing{RampSeconds: ramp, Cut: ramp > 0})
	if err != nil {
		t.Fatal(err)
	}
	return &obs, reports
}

func environment(t *testing.T, config ...ceph.ConfigEntry) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(quiescence.Describe(quiescence.Inputs{FSID: "f", RookVersion: "v1.17.2", Config: config}))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func run(t *testing.T, number int32, state v1alpha1.RunState, rate float64) *archive.Run {
	t.Helper()
	r := &archive.Run{
		Number: number, State: state, StartTime: clitest.Morning(5 * int(number)), EndTime: clitest.Morning(5*int(number) + 3),
		Environment: environment(t, ceph.ConfigEntry{Section: "osd", Name: "osd_recovery_sleep", Value: "0.1"}),
	}
	if state == v1alpha1.RunInvalid {
		r.Reason = "recovery came up during phase write-4m"
		// An additional entry before another one is one difference, not two.
		r.Environment = environment(t,
			ceph.ConfigEntry{Section: "osd", Name: "osd_max_backfills", Value: "3"},
			ceph.ConfigEntry{Section: "osd", Name: "osd_recovery_sleep", Value: "0.1"})
		r.Dropped = []archive.Part{archive.DropOutput, archive.DropClientSeries}
	}
	writing, writers := observed(t, 2, writes(rate), writes(rate))
	randrw, mixers := observed(t, 0, mixed(t, 30*rate))
	randrw.Mark(v1alpha1.MarkClosedLoop)
	r.Phases = []archive.Phase{
		{Name: "write-4m", Observation: writing, Clients: writers, StartSpreadSeconds: new(0.01 * float64(number))},
		{
			Name: "randrw-4k", Observation: randrw, Clients: mixers, StartSpreadSeconds: new(0.002),
			SlowOSDs: []archive.SlowOSD{{ID: 4, DeviceClass: "ssd", CommitSeconds: 0.0121, PeersSeconds: 0.0041, Peers: 5, PGs: 21, PeersPGs: 16, Work: &archive.Work{
				OperationsPerSecond: 30 * rate, PeersOperationsPerSecond: 800, BytesPerSecond: 30 * rate * 4096, PeersBytesPerSecond: 800 * 4096,
			}}},
		},
	}
	return r
}

// world returns a cluster with results of the current run ID, of an earlier one, and of a deleted
// benchmark with the same name.
func world(t *testing.T, b *v1alpha1.CephBenchmark, runs ...*archive.Run) client.WithWatch {
	t.Helper()
	objects := []client.Object{b}
	add := func(b *v1alpha1.CephBenchmark, r *archive.Run, minutes int) {
		cm, err := archive.ConfigMap(b, r)
		if err != nil {
			t.Fatal(err)
		}
		cm.CreationTimestamp = metav1.NewTime(clitest.Morning(minutes))
		clitest.Record(t, b, cm)
		objects = append(objects, cm)
	}
	for _, r := range runs {
		add(b, r, 5*int(r.Number)+3)
	}
	if len(runs) > 0 {
		earlier, gone := b.DeepCopy(), b.DeepCopy()
		earlier.Status.ObservedRunID, earlier.Status.StartTime = "1", new(metav1.NewTime(clitest.Morning(-60)))
		add(earlier, run(t, 1, v1alpha1.RunValid, 10), -50)
		gone.UID = "gone"
		add(gone, run(t, 1, v1alpha1.RunValid, 1), 50)
	}
	return clitest.Holding(t, objects...)
}

// reading returns the command for a cluster.
func reading(from client.WithWatch) *cobra.Command {
	return NewCommand(func() (client.WithWatch, string, error) { return from, "bench", nil })
}

func TestGolden(t *testing.T) {
	running := nightly()
	running.Status.CompletionTime, running.Status.Verdict, running.Status.Summary = nil, "", ""
	waiting := nightly()
	waiting.Status = v1alpha1.CephBenchmarkStatus{Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "WaitingForQuiescence", Message: "recovery is under way",
	}}}
	unseen := nightly()
	unseen.Status = v1alpha1.CephBenchmarkStatus{}
	three := func(b *v1alpha1.CephBenchmark) client.WithWatch {
		return world(t, b, run(t, 3, v1alpha1.RunValid, 54), run(t, 1, v1alpha1.RunValid, 50), run(t, 2, v1alpha1.RunInvalid, 20), run(t, 4, v1alpha1.RunValid, 51))
	}
	failed := &archive.Run{
		Number: 1, State: v1alpha1.RunFailed, Reason: "client 0: ToolFailed: rados ended with 1", StartTime: clitest.Morning(0), EndTime: clitest.Morning(1),
		Phases: []archive.Phase{{Name: "write-4m", Clients: []task.Report{{Status: task.Status{ID: "t", State: task.Failed}, Output: "error"}}}},
	}
	gate := nightly()
	gate.Spec.RunID, gate.Status.Verdict, gate.Status.Summary = "2", v1alpha1.BenchmarkFailed, "Failed: randrw-4k LatencyP99 is 4.02ms, at most 3ms."
	at := func(phase v1alpha1.PhaseName, metric v1alpha1.Metric) v1alpha1.MetricReference {
		return v1alpha1.MetricReference{Phase: phase, Metric: metric}
	}
	gate.Spec.Expectations = []v1alpha1.Expectation{
		{MetricReference: at("write-4m", v1alpha1.MetricBandwidth), AtLeast: "400Mi"},
		{MetricReference: at("randrw-4k", v1alpha1.MetricLatencyP99), AtMost: "3ms"},
		{MetricReference: at("randrw-4k", v1alpha1.MetricIOPS), MaximumRegression: "10%", Reference: "reference"},
	}
	gate.Status.Expectations = []v1alpha1.ExpectationResult{
		{MetricReference: at("write-4m", v1alpha1.MetricBandwidth), Outcome: v1alpha1.ExpectationMet, Value: "432013312"},
		{MetricReference: at("randrw-4k", v1alpha1.MetricLatencyP99), Outcome: v1alpha1.ExpectationMissed, Value: "0.00402"},
		{MetricReference: at("randrw-4k", v1alpha1.MetricIOPS), Outcome: v1alpha1.ExpectationUnknown},
	}
	gate.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
	broken, unfinished, edited := gate.DeepCopy(), gate.DeepCopy(), gate.DeepCopy()
	broken.Status.Expectations, broken.Status.Summary, broken.Status.Conditions = nil, "", []metav1.Condition{
		{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonClientsLost, Message: "The clients' <Job> is gone."},
	}
	unfinished.Status.Conditions = nil
	edited.Generation, edited.Status.Schedule = 3, &v1alpha1.ScheduleStatus{Generation: 2}
	for name, c := range map[string]struct {
		reader client.WithWatch
		line   string
	}{
		"benchstat":                  {three(nightly()), "nightly -o benchstat"},
		"error no valid run":         {world(t, nightly(), failed), "nightly -o benchstat"},
		"junit":                      {world(t, gate), "nightly -o junit"},
		"junit of a failed run":      {world(t, broken), "nightly -o junit"},
		"error no verdict yet":       {world(t, unfinished), "nightly -o junit"},
		"error edited since":         {world(t, edited), "nightly -o junit"},
		"usage no expectations":      {three(nightly()), "nightly -o junit"},
		"usage one run of a gate":    {three(nightly()), "nightly -o junit --run 1"},
		"table":                      {three(nightly()), "nightly"},
		"table of one run":           {three(nightly()), "nightly --run 2"},
		"table while it runs":        {three(running), "nightly"},
		"table of an earlier run ID": {three(nightly()), "nightly --run-id 1"},
		"table of a failed run":      {world(t, nightly(), failed), "nightly"},
		"csv":                        {three(nightly()), "nightly -o csv --run 1"},
		"yaml":                       {world(t, nightly(), failed), "nightly -o yaml"},
		"json":                       {world(t, nightly(), failed), "nightly -o json"},
		"series":                     {three(nightly()), "nightly --series write-4m --run 1"},
		"error no course":            {three(nightly()), "nightly --series randrw-4k -o csv"},
		"error no phase":             {three(nightly()), "nightly --series seq-4m"},
		"error no such benchmark":    {three(nightly()), "weekly"},
		"error no such run":          {three(nightly()), "nightly --run 9"},
		"error no such run ID":       {three(nightly()), "nightly --run-id x"},
		"error nothing yet":          {world(t, waiting), "nightly"},
		"error nobody has looked":    {world(t, unseen), "nightly"},
		"usage no name":              {three(nightly()), ""},
		"usage two names":            {three(nightly()), "a b"},
		"usage unknown output":       {three(nightly()), "nightly -o xml"},
		"usage run zero":             {three(nightly()), "nightly --run 0"},
		"usage series are CSV":       {three(nightly()), "nightly --series write-4m -o json"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, reading(c.reader), c.line, "")
			if got.Err != nil && got.Stdout != "" {
				t.Errorf("an error with output on stdout: half an answer looks like one")
			}
			text := fmt.Sprintf("$ kubectl cephtune results %s\n--- stdout\n%s--- error\n%v\n--- exit code %d\n", c.line, got.Stdout, got.Err, got.Code())
			clitest.Golden(t, name, text, *update)
		})
	}
}

func TestJSONIsTheDocuments(t *testing.T) {
	got := clitest.Execute(t, reading(world(t, nightly(), run(t, 1, v1alpha1.RunValid, 50))), "nightly -o json", "")
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	var runs []archive.Run
	if err := json.Unmarshal([]byte(got.Stdout), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 || runs[0].RunID != "2" || runs[0].Phases[0].Clients[1].Result.Write.Series.Len() != 6 {
		t.Errorf("got %d runs, %+v", len(runs), runs)
	}
}

// broken answers every request with an error.
func broken(t *testing.T, err error) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(clitest.Holding(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	damaged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: "damaged", Labels: archive.Labels("nightly"),
		OwnerReferences: []metav1.OwnerReference{{UID: "4f9c", Controller: new(true)}},
	}}
	damaged.Labels[archive.LabelExecution] = archive.Execution(nightly())
	for name, c := range map[string]struct {
		reader client.WithWatch
		want   string
	}{
		"no such kind": {broken(t, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "cephtune.dev", Kind: "CephBenchmark"}}), "install cephtune"},
		"forbidden": {
			broken(t, apierrors.NewForbidden(schema.GroupResource{Resource: "cephbenchmarks"}, "nightly", errors.New("no"))), "forbidden",
		},
		"a damaged archive": {clitest.Holding(t, nightly(), damaged), "ConfigMap damaged has no run.json.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, reading(c.reader), "nightly", "")
			if got.Err == nil || !strings.Contains(got.Err.Error(), c.want) || got.Code() != exit.Failure || got.Stdout != "" {
				t.Errorf("got %v with exit code %d, want an error with %q", got.Err, got.Code(), c.want)
			}
		})
	}
}

// A reader must learn about the background load of a phase.
func TestTheBackgroundIsNoted(t *testing.T) {
	runs := []*archive.Run{run(t, 1, v1alpha1.RunValid, 100), run(t, 2, v1alpha1.RunValid, 100)}
	name := runs[0].Phases[0].Name
	if note := backgroundNote(name, runs); note != "" {
		t.Errorf("without a background load there is %q", note)
	}
	for i, iops := range []float64{498, 20} {
		runs[i].Phases[0].Background = []figure.Figure{{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: iops}}
	}
	all, err := notes(runs)
	if err != nil {
		t.Fatal(err)
	}
	want := string(name) + ": meanwhile, the background load did 498 IOPS in run 1, 20 IOPS in run 2"
	if !slices.Contains(all, want) {
		t.Errorf("no %q in\n%s", want, strings.Join(all, "\n"))
	}
}

// The plugin has no key to verify signatures with. But status, which only the operator writes, has digests.
func TestResultsOfOtherUsersAreIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *v1alpha1.CephBenchmark, cm *corev1.ConfigMap)
		want   string
		not    string
	}{
		"as recorded": {func(*v1alpha1.CephBenchmark, *corev1.ConfigMap) {}, "Valid", "signed"},
		"replaced":    {func(_ *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) { cm.BinaryData[archive.Key] = []byte("x") }, "is not the operator's", "Valid"},
		"added":       {func(b *v1alpha1.CephBenchmark, _ *corev1.ConfigMap) { b.Status.Runs = nil }, "there are no results", "Valid"},
		"of an earlier version": {
			func(b *v1alpha1.CephBenchmark, _ *corev1.ConfigMap) { b.Status.Runs[0].ResultsDigest = "" },
			"unsigned: an earlier version of the operator wrote these results", "not the operator's",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.Benchmark(t, "radosbench")
			b.Name, b.Namespace, b.UID = "nightly", "bench", "u"
			b.Status.StartTime = new(metav1.NewTime(clitest.Morning(0)))
			cm, err := archive.ConfigMap(b, run(t, 1, v1alpha1.RunValid, 10))
			if err != nil {
				t.Fatal(err)
			}
			clitest.Record(t, b, cm)
			c.change(b, cm)
			got := strings.Join(strings.Fields(clitest.Execute(t, reading(clitest.Holding(t, b, cm)), "nightly", "").String()), " ")
			if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("no %q, or %q, in\n%s", c.want, c.not, got)
			}
		})
	}
}
