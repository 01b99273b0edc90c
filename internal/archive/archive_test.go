package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// sized is the size of an example run.
type sized struct {
	clients, seconds, bins, osds, output int
}

// example returns a run of one phase. Its numbers are random, so that they do not compress well.
func example(t testing.TB, state v1alpha1.RunState, size sized) *Run {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	phase := Phase{
		Name: "randread-4k", SpecDigest: "sha256:1", StartTime: &start, EndTime: new(start.Add(75 * time.Second)),
		StartSpreadSeconds: new(0.012), Disturbances: json.RawMessage(`[{"kind":"Scrub"}]`), Space: &Space{StoredBytes: 100, UsedBytes: 300},
	}
	var results []*result.Result
	for i := range size.clients {
		res := randomResult(t, random, size)
		results = append(results, res)
		phase.Clients = append(phase.Clients, task.Report{
			Status: task.Status{ID: "t1", State: task.Done, StartTime: &start}, Client: i, Result: res,
			Usage: task.Usage{CPUSeconds: 12.5, MaxResidentBytes: 1 << 20}, Output: randomText(random, size.output),
		})
	}
	merged, err := result.Merge(results...)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := figure.Figures(merged)
	if err != nil {
		t.Fatal(err)
	}
	phase.Observation = &figure.Observation{Result: merged, Figures: figures, Marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop}}
	sample := OSDSample{Time: start}
	for i := range size.osds {
		sample.OSDs = append(sample.OSDs, ceph.OSDLatency{ID: i, CommitSeconds: random.Float64(), ApplySeconds: random.Float64()})
	}
	phase.OSDLatencies = []OSDSample{sample}
	for i := range size.osds {
		phase.OSDIO = append(phase.OSDIO, ceph.OSDIO{ID: i, WriteOperationsPerSecond: random.Float64(), WriteBytesPerSecond: random.Float64()})
	}
	return &Run{
		SchemaVersion: SchemaVersion, Number: 2, State: state, StartTime: start, EndTime: start.Add(time.Minute),
		Environment: json.RawMessage(`{"cephVersion":"18.2.7"}`), Phases: []Phase{phase},
	}
}

func randomResult(t testing.TB, random *rand.Rand, size sized) *result.Result {
	t.Helper()
	s := &result.Series{Boundaries: result.AlignedBoundaries}
	for i := range size.seconds {
		s.StartSeconds = append(s.StartSeconds, float64(i))
		s.EndSeconds = append(s.EndSeconds, float64(i+1))
		s.OperationsPerSecond = append(s.OperationsPerSecond, 1e5*random.Float64())
	}
	if size.seconds == 0 {
		s = nil
	}
	seconds := float64(max(size.seconds, 1))
	d := &result.Direction{Operations: 1000, Bytes: 4096000, Seconds: seconds, ShortestSeconds: seconds, Series: s}
	d.Latency = &result.Latency{Moments: result.Moments{Count: 1000, MeanSeconds: 0.001}}
	var bins []result.Bin
	for i := range size.bins {
		bins = append(bins, result.Bin{Nanoseconds: result.BinNanoseconds(i), Count: 1 + random.Int64N(1e12)})
	}
	if size.bins > 0 {
		h, err := result.NewHistogram(bins)
		if err != nil {
			t.Fatal(err)
		}
		d.Latency.Histogram = h
	}
	return &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"}, Read: d,
	}
}

func randomText(random *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func roundTrip(t *testing.T, run *Run) *Run {
	t.Helper()
	data, err := Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > MaxBytes {
		t.Errorf("%d bytes, want at most %d", len(data), MaxBytes)
	}
	back, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestRoundTrip(t *testing.T) {
	run := example(t, v1alpha1.RunFailed, sized{clients: 3, seconds: 60, bins: 300, osds: 12, output: 1000})
	if diff := cmp.Diff(run, roundTrip(t, run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSameRunIsTheSameBytes(t *testing.T) {
	run := example(t, v1alpha1.RunValid, sized{clients: 2, seconds: 60, bins: 100})
	first, err := Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two writings differ")
	}
}

func TestOutputIsKeptAsThePolicySays(t *testing.T) {
	for name, c := range map[string]struct {
		policy v1alpha1.RawOutputPolicy
		state  v1alpha1.RunState
		want   bool
	}{
		"on failure, failed":  {v1alpha1.RawOutputOnFailure, v1alpha1.RunFailed, true},
		"on failure, invalid": {v1alpha1.RawOutputOnFailure, v1alpha1.RunInvalid, true},
		"on failure, valid":   {v1alpha1.RawOutputOnFailure, v1alpha1.RunValid, false},
		"unset, valid":        {"", v1alpha1.RunValid, false},
		"always, valid":       {v1alpha1.RawOutputAlways, v1alpha1.RunValid, true},
		"never, failed":       {v1alpha1.RawOutputNever, v1alpha1.RunFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := example(t, c.state, sized{clients: 1, output: 100})
			run.RawOutput = c.policy
			back := roundTrip(t, run)
			if got := back.Phases[0].Clients[0].Output != ""; got != c.want {
				t.Errorf("output is kept: %v, want %v", got, c.want)
			}
			if len(back.Dropped) > 0 {
				t.Errorf("dropped %v: what was not asked for is not missing", back.Dropped)
			}
			if run.Phases[0].Clients[0].Output == "" {
				t.Error("the run has been changed")
			}
		})
	}
}

func TestOversizedPartsAreDroppedInOrder(t *testing.T) {
	const limit = 20_000
	for name, c := range map[string]struct {
		size sized
		want []Part
	}{
		"everything fits":        {sized{clients: 3, seconds: 60, bins: 50, osds: 10, output: 1000}, nil},
		"outputs":                {sized{clients: 4, seconds: 60, bins: 50, output: 10_000}, Parts()[:1]},
		"courses of clients":     {sized{clients: 20, seconds: 300, bins: 10, output: 10}, Parts()[:2]},
		"no outputs to drop":     {sized{clients: 20, seconds: 300, bins: 10}, Parts()[1:2]},
		"histograms of clients":  {sized{clients: 20, seconds: 60, bins: 300, output: 10}, Parts()[:3]},
		"latencies of many OSDs": {sized{clients: 2, seconds: 60, bins: 100, osds: 1500, output: 10}, Parts()[:4]},
		"a course of hours":      {sized{clients: 2, seconds: 6000, bins: 100, osds: 1, output: 10}, Parts()[:5]},
		"a wide histogram":       {sized{clients: 2, seconds: 60, bins: 1800, osds: 1, output: 10}, Parts()[:5]},
	} {
		t.Run(name, func(t *testing.T) {
			run := example(t, v1alpha1.RunFailed, c.size)
			data, err := marshal(run, limit)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Unmarshal(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, back.Dropped); diff != "" || len(data) > limit {
				t.Errorf("%d bytes; dropped (-want +got):\n%s", len(data), diff)
			}
			if diff := cmp.Diff(run.Phases[0].Observation.Figures, back.Phases[0].Observation.Figures); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(example(t, v1alpha1.RunFailed, c.size), run); diff != "" {
				t.Errorf("the run has been changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDroppingLeavesTheRest(t *testing.T) {
	size := sized{clients: 1, seconds: 60, bins: 50, osds: 3, output: 10}
	for part, isGone := range map[Part]func(Phase) bool{
		DropOutput:           func(p Phase) bool { return p.Clients[0].Output == "" },
		DropClientSeries:     func(p Phase) bool { return p.Clients[0].Result.Read.Series == nil },
		DropClientHistograms: func(p Phase) bool { return p.Clients[0].Result.Read.Latency.Histogram == nil },
		DropOSDLatencies:     func(p Phase) bool { return p.OSDLatencies == nil && p.OSDIO == nil },
		DropSeries:           func(p Phase) bool { return p.Observation.Result.Read.Series == nil },
		DropClientResults:    func(p Phase) bool { return p.Clients[0].Result == nil },
		DropHistograms:       func(p Phase) bool { return p.Observation.Result.Read.Latency.Histogram == nil },
	} {
		run := example(t, v1alpha1.RunFailed, size)
		less := *run
		less.Phases = clonePhases(run.Phases)
		if !part.from(&less) || !isGone(less.Phases[0]) {
			t.Errorf("%s is still there", part)
		}
		if part.from(&less) {
			t.Errorf("%s can be dropped twice", part)
		}
		if isGone(run.Phases[0]) {
			t.Errorf("%s is gone from the original, too", part)
		}
		if err := less.validate(); err != nil {
			t.Errorf("without %s: %v", part, err)
		}
	}
}

func TestFiguresAreKeptToTheLast(t *testing.T) {
	run := example(t, v1alpha1.RunFailed, sized{clients: 2, seconds: 60, bins: 1800, osds: 3, output: 10})
	data, err := marshal(run, 4000)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Parts(), back.Dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(run.Phases[0].Observation.Figures, back.Phases[0].Observation.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestMarshalRefusesOversizedRuns(t *testing.T) {
	run := example(t, v1alpha1.RunValid, sized{clients: 1})
	run.Environment = json.RawMessage(`"` + randomText(rand.New(rand.NewPCG(3, 4)), 2*MaxBytes) + `"`)
	if _, err := Marshal(run); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}

func TestMarshalRefusesInvalidRuns(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"no number":             func(r *Run) { r.Number = 0 },
		"a result without time": func(r *Run) { r.Phases[0].Observation.Result.Read.Seconds = math.NaN() },
		"broken environment":    func(r *Run) { r.Environment = json.RawMessage(`{`) },
	} {
		t.Run(name, func(t *testing.T) {
			run := example(t, v1alpha1.RunValid, sized{clients: 1})
			change(run)
			if _, err := Marshal(run); err == nil {
				t.Error("it is accepted")
			}
		})
	}
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnmarshalIsStrict(t *testing.T) {
	const good = `{"schemaVersion":1,"number":1,"phases":[]}`
	for _, text := range []string{good, `{"schemaVersion":1,"number":1,"colour":"of a later version","phases":[]}`} {
		if _, err := Unmarshal(compressed(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{
		"nothing":           nil,
		"not compressed":    []byte(good),
		"cut off":           compressed(t, good)[:20],
		"not JSON":          compressed(t, "run"),
		"two documents":     compressed(t, good+good),
		"no number":         compressed(t, `{"schemaVersion":1}`),
		"an invalid result": compressed(t, `{"schemaVersion":1,"number":1,"phases":[{"name":"p","observation":{"figures":[],"result":{"schemaVersion":1}}}]}`),
		"more than it may":  compressed(t, strings.Repeat(" ", maxDocumentBytes)+good),
		"an invalid client": compressed(t, `{"schemaVersion":1,"number":1,"phases":[{"name":"p","clients":[{"result":{"schemaVersion":1}}]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			if run, err := Unmarshal(data); err == nil {
				t.Errorf("it is read as %+v", run)
			}
		})
	}
	for text, want := range map[string]int{`{"schemaVersion":2,"colour":"red"}`: 2, `{}`: 0} {
		var version *VersionError
		if _, err := Unmarshal(compressed(t, text)); !errors.As(err, &version) || version.Found != want {
			t.Errorf("%s: %v, want a VersionError of %d", text, err, want)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	run := example(f, v1alpha1.RunFailed, sized{clients: 2, seconds: 3, bins: 3, osds: 2, output: 10})
	text, err := json.Marshal(run)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"schemaVersion":1,"number":1,"environment":{"a":[1,null]},"phases":[{"name":"p","disturbances":"<&>"}]}`)
	f.Add(`{"schemaVersion":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Unmarshal([]byte(text)) // The text is not compressed. Reading it must do no harm.
		run, err := Unmarshal(compressed(t, text))
		if err != nil {
			return
		}
		// A run that was read can be written, and then no longer changes.
		run.RawOutput = v1alpha1.RawOutputAlways
		first, err := Marshal(run)
		if err != nil {
			t.Skip(err)
		}
		again, err := Unmarshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("written again it is another document")
		}
	})
}

func benchmark(name string) *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: "4f9c"},
		Status: v1alpha1.CephBenchmarkStatus{
			ObservedRunID: "2026-03-01", StartTime: new(metav1.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		},
	}
}

// Names of results are predictable, so an object with such a name may be foreign.
func TestOfRefusesForeignResults(t *testing.T) {
	b := benchmark("nightly")
	run := example(t, v1alpha1.RunValid, sized{clients: 1, seconds: 60})
	cm, err := ConfigMap(b, run)
	if err != nil {
		t.Fatal(err)
	}
	recorded := func(digest string) *v1alpha1.CephBenchmark {
		b := b.DeepCopy()
		b.Status.Runs = []v1alpha1.BenchmarkRun{{Number: run.Number, Results: cm.Name, ResultsDigest: digest}}
		return b
	}
	if got, err := Of(recorded(Digest(cm)), cm); err != nil || got.Number != run.Number || got.Unsigned {
		t.Errorf("its own results are %+v, %v", got, err)
	}
	if old, err := Of(recorded(""), cm); err != nil || !old.Unsigned {
		t.Errorf("results of an earlier version are %+v, %v", old, err)
	}
	later := b.DeepCopy()
	later.Status.ObservedRunID = "later"
	if earlier, err := Of(later, cm); err != nil || earlier.Unsigned {
		t.Errorf("results of an earlier execution are %+v, %v", earlier, err)
	}
	unowned, another, changed := cm.DeepCopy(), cm.DeepCopy(), cm.DeepCopy()
	changed.BinaryData[Key] = append(changed.BinaryData[Key], 0)
	unowned.OwnerReferences = nil
	unowned.BinaryData[Key] = []byte("not looked into")
	successor := b.DeepCopy()
	successor.UID = "another"
	another.OwnerReferences[0].UID = successor.UID
	for name, err := range map[string]error{
		"without an owner": second(Of(b, unowned)), "of an earlier one of the name": second(Of(successor, another)),
		"changed": second(Of(recorded(Digest(cm)), changed)), "not recorded": second(Of(b, cm)),
	} {
		var foreign *ForeignError
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "kubectl delete configmap -n "+cm.Namespace+" "+cm.Name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func second(_ *Run, err error) error { return err }

func TestConfigMap(t *testing.T) {
	b := benchmark("nightly")
	run := example(t, v1alpha1.RunValid, sized{clients: 1, seconds: 60})
	cm, err := ConfigMap(b, run)
	if err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(cm, b) || cm.Immutable == nil || !*cm.Immutable || cm.Namespace != "bench" {
		t.Errorf("it is not an immutable ConfigMap of the benchmark: %+v", cm.ObjectMeta)
	}
	for key, value := range cm.Labels {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Errorf("label %s=%s: %v", key, value, problems)
		}
	}
	for key, want := range map[string]string{LabelBenchmark: "nightly", LabelRunID: "2026-03-01", LabelRun: "2"} {
		if got := cm.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	back, err := FromConfigMap(cm)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Benchmark{Namespace: "bench", Name: "nightly", UID: "4f9c"}); back.Benchmark != want || back.RunID != "2026-03-01" {
		t.Errorf("it is a run of %+v, %s", back.Benchmark, back.RunID)
	}
	if _, err := FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}); err == nil {
		t.Error("another ConfigMap is taken for an archive")
	}
	b.Status.StartTime = nil
	if _, err := ConfigMap(b, run); err == nil {
		t.Error("an execution without a beginning is archived")
	}
}

func TestName(t *testing.T) {
	if got, want := Name(benchmark("nightly"), 3), "nightly-"+Execution(benchmark("nightly"))+"-3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	long := strings.Repeat("a", 49) + ".-" + strings.Repeat("b", 200)
	name := Name(benchmark(long), 20)
	if len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Errorf("%s (%d) is not a name", name, len(name))
	}
	if label := Labels(long)[LabelBenchmark]; len(validation.IsValidLabelValue(label)) > 0 || label == Labels(long + "c")[LabelBenchmark] {
		t.Errorf("%s is not a label, or is that of another benchmark", label)
	}
	same := benchmark("nightly")
	for title, change := range map[string]func(*v1alpha1.CephBenchmark){
		"another owner":  func(b *v1alpha1.CephBenchmark) { b.UID = "other" },
		"another run ID": func(b *v1alpha1.CephBenchmark) { b.Status.ObservedRunID = "2" },
		"the same run ID again": func(b *v1alpha1.CephBenchmark) {
			b.Status.StartTime = new(metav1.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
		},
	} {
		other := benchmark("nightly")
		change(other)
		if Name(other, 1) == Name(same, 1) {
			t.Errorf("%s has the same name", title)
		}
	}
}

func TestPrune(t *testing.T) {
	archived := func(name, execution, start string, created int) metav1.PartialObjectMetadata {
		m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{LabelExecution: execution},
			CreationTimestamp: metav1.Date(2026, 3, 1, created, 0, 0, 0, time.UTC),
		}}
		if start != "" {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, AnnotationExecutionStart, start)
		}
		return m
	}
	const one, two = "2026-03-01T01:00:00Z", "2026-03-01T02:00:00Z"
	maps := []metav1.PartialObjectMetadata{
		archived("c-1", "c", two, 3), archived("b-2", "b", one, 1), archived("b-1", "b", one, 9), // A user has created b-1 again.
		archived("a-2", "a", "", 8), archived("a-1", "a", "", 7), archived("z-1", "z", "", 6), // Without a start.
		{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}},
	}
	for name, c := range map[string]struct {
		keep int
		want []string
	}{
		"more than there are": {5, nil},
		"all":                 {4, nil},
		"three":               {3, []string{"z-1"}},
		"two":                 {2, []string{"a-1", "a-2", "z-1"}},
		"one":                 {1, []string{"a-1", "a-2", "b-1", "b-2", "z-1"}},
		"never none":          {0, []string{"a-1", "a-2", "b-1", "b-2", "z-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range Prune(maps, c.keep) {
				got = append(got, m.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Prune(nil, 1); len(got) > 0 {
		t.Errorf("of nothing %v are deleted", got)
	}
}

func TestObservationsAreThoseOfValidRuns(t *testing.T) {
	valid, invalid := example(t, v1alpha1.RunValid, sized{clients: 1}), example(t, v1alpha1.RunInvalid, sized{clients: 1})
	empty := example(t, v1alpha1.RunValid, sized{clients: 1})
	empty.Phases[0].Observation = nil
	if got := Observations([]*Run{valid, invalid, empty, valid}, "randread-4k"); len(got) != 2 {
		t.Errorf("%d observations, want 2", len(got))
	}
	if got := Observations([]*Run{valid}, "other"); len(got) != 0 {
		t.Errorf("%d observations of another phase", len(got))
	}
}
