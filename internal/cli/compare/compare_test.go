package compare

import (
	"encoding/json"
	"flag"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/help"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
)

var update = flag.Bool("update", false, "write the golden files")

const mib = 1 << 20

// environment returns the environment of a Ceph version; "" returns none.
func environment(t *testing.T, version string) json.RawMessage {
	t.Helper()
	if version == "" {
		return nil
	}
	text, err := json.Marshal(quiescence.Describe(quiescence.Inputs{
		FSID: "f", RookVersion: "v1.17.2", Versions: &ceph.Versions{Overall: map[string]int{"ceph version " + version: 7}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// benchmark returns a benchmark with an archive of each run, with these rates in bytes per second.
func benchmark(t *testing.T, name, runID, version, spec string, rates ...float64) []client.Object {
	t.Helper()
	b := clitest.Benchmark(t, "fio_rbd")
	b.Name, b.Namespace, b.UID = name, clitest.Namespace, types.UID("uid-of-"+name)
	b.Status.ObservedRunID = v1alpha1.RunID(runID)
	b.Status.StartTime = new(metav1.NewTime(clitest.Morning(0)))
	if runID == "1" {
		b.Status.StartTime = new(metav1.NewTime(clitest.Morning(-60)))
	}
	clitest.Complete(&b.Status.Conditions, "3 of 3 runs are valid.")
	return append([]client.Object{b}, execution(t, b, version, spec, rates...)...)
}

// execution returns an archive of each run of the execution in a benchmark's status. A benchmark whose name begins with
// loop is a closed loop.
func execution(t *testing.T, b *v1alpha1.CephBenchmark, version, spec string, rates ...float64) []client.Object {
	t.Helper()
	var objects []client.Object
	for i, rate := range rates {
		state, reason := v1alpha1.RunValid, ""
		if rate < 0 {
			state, reason, rate = v1alpha1.RunInvalid, "recovery came up", -rate
		}
		var marks []v1alpha1.ResultMark
		if strings.HasPrefix(b.Name, "loop") {
			marks = append(marks, v1alpha1.MarkClosedLoop)
		}
		kept, err := archive.ConfigMap(b, &archive.Run{
			Number: int32(i + 1), State: state, Reason: reason, Environment: environment(t, version),
			StartTime: clitest.Morning(5 * i), EndTime: clitest.Morning(5*i + 3),
			Phases: []archive.Phase{{Name: "randread-4k", SpecDigest: spec, Observation: &figure.Observation{Marks: marks, Figures: []figure.Figure{
				{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: rate},
				{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: 4e5 / rate, LatencyKind: result.TotalLatency},
				{Metric: v1alpha1.MetricLatencyMax, Direction: v1alpha1.DirectionTotal, Value: 1, LatencyKind: result.TotalLatency},
			}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		kept.CreationTimestamp = metav1.NewTime(b.Status.StartTime.Add(time.Duration(5*i+3) * time.Minute))
		clitest.Record(t, b, kept)
		objects = append(objects, kept)
	}
	return objects
}

// withCurve returns a benchmark with one curve, whose knee has the interval of 10 % around a rate.
func withCurve(t *testing.T, name string, rate float64) []client.Object {
	t.Helper()
	b, ok := benchmark(t, name, "1", "19.2.3", "s")[0].(*v1alpha1.CephBenchmark)
	if !ok {
		t.Fatal("the first object is no benchmark")
	}
	step := curve.Step{OfferedPerSecond: rate, AchievedPerSecond: rate, Count: 1000, PercentileSeconds: 0.009, P50Seconds: 0.001, P99Seconds: 0.009}
	course := &curve.Course{
		Question: curve.Question{Percent: 99, LimitSeconds: 0.01}, ClosedLoopPerSecond: 2 * rate, Steps: []curve.Step{step},
		Knee: curve.Knee{State: curve.Found, Reason: "It keeps the limit.", PerSecond: rate, LowPerSecond: rate / 1.1, HighPerSecond: rate * 1.1},
	}
	kept, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, Environment: environment(t, "19.2.3"), StartTime: clitest.Morning(0), EndTime: clitest.Morning(3),
		Phases: []archive.Phase{{Name: "randread-4k", SpecDigest: "s", Observation: &figure.Observation{Curve: course, Figures: []figure.Figure{
			{Metric: v1alpha1.MetricSustainableIOPS, Direction: v1alpha1.DirectionTotal, Value: rate},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	kept.CreationTimestamp = metav1.NewTime(clitest.Morning(3))
	clitest.Record(t, b, kept)
	return []client.Object{b, kept}
}

func world(t *testing.T) client.WithWatch {
	nightly := benchmark(t, "nightly", "2", "19.2.3", "s", 100*mib, 103*mib, 98*mib)
	earlier := benchmark(t, "nightly", "1", "18.2.7", "s", 80*mib, 83*mib, -20*mib, 79*mib)
	var objects []client.Object
	objects = append(objects, nightly...)
	objects = append(objects, earlier[1:]...) // of the same benchmark
	objects = append(objects, benchmark(t, "weekly", "1", "19.2.3", "s", 101*mib, 99*mib, 100*mib)...)
	objects = append(objects, benchmark(t, "other", "1", "19.2.3", "t", 50*mib)...)
	objects = append(objects, benchmark(t, "blind", "1", "", "s", 100*mib, 101*mib, 102*mib)...)
	objects = append(objects, benchmark(t, "broken", "1", "19.2.3", "s", -1*mib)...)
	objects = append(append(objects, withCurve(t, "before", 3000)...), withCurve(t, "after", 3600)...)
	return clitest.Holding(t, append(objects, benchmark(t, "new", "1", "19.2.3", "s")...)...)
}

func TestGolden(t *testing.T) {
	for name, line := range map[string]string{
		"two of the same":               "nightly weekly",
		"an upgrade that was meant":     "nightly@1 nightly@2 --expect Ceph",
		"an upgrade that was not":       "nightly@1 cephbenchmark/nightly@2",
		"two repetitions":               "nightly:1 nightly:3",
		"two curves":                    "before after",
		"two curves drawn":              "before after -o html",
		"one that does not count":       "nightly@1:3 nightly@1:1",
		"another specification":         "nightly other",
		"an environment is not known":   "nightly blind",
		"expected and not there":        "nightly weekly --expect pool",
		"a kind that was meant":         "nightly@1 nightly@2 --expect-difference=ceph-version",
		"a kind of several":             "nightly@1 nightly@2 --expect-difference=ceph-version,osds",
		"another kind than was meant":   "nightly@1 nightly@2 --expect-difference=rook-version",
		"usage a kind that is none":     "nightly weekly --expect-difference=disks",
		"a page":                        "nightly@1 nightly@2 --max-regression 5% --this-hour --metric p99,bw --expect Ceph -o html",
		"markdown":                      "nightly@1 nightly@2 --expect Ceph -o markdown",
		"yaml":                          "nightly weekly -o yaml",
		"error no results":              "nightly new",
		"error no valid run":            "nightly broken",
		"error no such run":             "nightly:1 nightly:9",
		"error no such run ID":          "nightly nightly@0",
		"error no such benchmark":       "nightly monthly",
		"a gate that is kept":           "nightly weekly --max-regression 10% --this-hour",
		"a gate that is broken":         "nightly@2 nightly@1 --max-regression 5% --this-hour --metric p99,bw --expect Ceph -o markdown",
		"a gate of which is not known":  "nightly weekly --max-regression 1% --this-hour",
		"a gate of too few runs":        "nightly:1 nightly:3 --max-regression 10% -o yaml",
		"a gate of no figure":           "nightly weekly --max-regression 10% --metric p50",
		"usage a regression of no unit": "nightly weekly --max-regression 10",
		"usage a metric of nothing":     "nightly weekly --metric p99",
		"usage the longest operation":   "nightly weekly --max-regression 10% --metric max",
		"usage one side":                "nightly",
		"usage the same twice":          strings.Repeat(" nightly", 2)[1:],
		"usage a sweep":                 "cephtuningsweep/pg-num nightly",
		"usage a number that is none":   "nightly:x weekly",
		"usage a run ID that is none":   "nightly@ weekly",
		"usage an output that is not":   "nightly weekly -o csv",
		"usage an empty expected thing": "nightly weekly --expect=",
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCommand(clitest.Connecting(world(t))), line, "")
			clitest.Golden(t, name, "$ compare "+line+"\n"+got.String(), *update)
		})
	}
}

// TestTheIntervalIsWelchs computes what R's t.test(log(b), log(a)) does, for three runs each. It does
// not compute the quantile, but compares it with a table.
func TestTheIntervalIsWelchs(t *testing.T) {
	got := clitest.Execute(t, NewCommand(clitest.Connecting(world(t))), "nightly weekly -o json", "")
	var found comparison
	if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil || got.Err != nil {
		t.Fatal(err, got.Err)
	}
	f := found.Figures[0]
	if !found.Comparable || f.Low == nil || f.High == nil {
		t.Fatalf("got %+v", found)
	}
	la, lb := []float64{math.Log(100), math.Log(103), math.Log(98)}, []float64{math.Log(101), math.Log(99), math.Log(100)}
	mean := func(xs []float64) float64 { return (xs[0] + xs[1] + xs[2]) / 3 }
	variance := func(xs []float64) float64 {
		sum := 0.0
		for _, x := range xs {
			sum += (x - mean(xs)) * (x - mean(xs))
		}
		return sum / 2
	}
	if want := math.Exp(mean(lb) - mean(la)); math.Abs(f.Ratio-want) > 1e-9 {
		t.Errorf("ratio %v, want %v", f.Ratio, want)
	}
	va, vb := variance(la)/3, variance(lb)/3
	half := (math.Log(*f.High) - math.Log(*f.Low)) / 2
	df := (va + vb) * (va + vb) / (va*va/2 + vb*vb/2)
	if quantile := half / math.Sqrt(va+vb); df < 2 || df > 4 || quantile < 2.776 || quantile > 4.303 {
		t.Errorf("t quantile %v at %v degrees of freedom: want it between those of 4 (2.776) and of 2 (4.303)", quantile, df)
	}
}

// Runs with different initial states are distinguished. A different request makes them
// incomparable. A different state in single runs results in a note.
func TestInitialStatesAreToldApart(t *testing.T) {
	newSide := func(name string, initially v1alpha1.InitialState, found ...v1alpha1.DataState) side {
		environment, err := json.Marshal(quiescence.Describe(quiescence.Inputs{FSID: "f", InitialState: initially}))
		if err != nil {
			t.Fatal(err)
		}
		s := side{name: name}
		for i, state := range found {
			s.runs = append(s.runs, &archive.Run{Number: int32(i + 1), State: v1alpha1.RunValid, Environment: environment, InitialState: state})
		}
		return s
	}
	kept := newSide("kept", v1alpha1.InitialStateKeep, v1alpha1.DataPrefilled, v1alpha1.DataUsed, v1alpha1.DataUsed)
	for name, tc := range map[string]struct {
		a, b   side
		expect []string
		// same says whether they are comparable, and noted whether there is a note about data.
		same, noted bool
	}{
		"the same":                     {kept, kept, nil, true, false},
		"rolled back":                  {kept, newSide("back", v1alpha1.InitialStateRollback, v1alpha1.DataRolledBack), nil, false, true},
		"rolled back, as was meant":    {kept, newSide("back", v1alpha1.InitialStateRollback, v1alpha1.DataRolledBack), []string{"initial-state"}, true, true},
		"a first run and a second":     {newSide("a", v1alpha1.InitialStateKeep, v1alpha1.DataPrefilled), newSide("b", v1alpha1.InitialStateKeep, v1alpha1.DataUsed), nil, true, true},
		"one of which it is not known": {kept, newSide("old", v1alpha1.InitialStateKeep, ""), nil, true, false},
		"fresh, and as often as it was": {
			newSide("a", v1alpha1.InitialStateFresh, v1alpha1.DataPrefilled),
			newSide("b", v1alpha1.InitialStateFresh, v1alpha1.DataPrefilled, v1alpha1.DataPrefilled), nil, true, false,
		},
	} {
		expect, err := expectations(tc.expect, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := compare(tc.a, tc.b, expect)
		if err != nil {
			t.Fatal(err)
		}
		noted := strings.Contains(strings.Join(got.Notes, " "), "The data of "+tc.a.name)
		if got.Comparable != tc.same || noted != tc.noted {
			t.Errorf("%s: comparable %v, differences %+v, notes %q", name, got.Comparable, got.Differences, got.Notes)
		}
	}
}

func TestTheLongestOperationHasNoRatio(t *testing.T) {
	got := clitest.Execute(t, NewCommand(clitest.Connecting(world(t))), "nightly weekly -o json", "")
	if got.Err != nil || strings.Contains(got.Stdout, "LatencyMax") || !strings.Contains(got.Stdout, "LatencyP99") {
		t.Errorf("%v\n%s", got.Err, got.Stdout)
	}
}

// wantAll checks that an environment sets every field, so that this test must be extended for a new
// field.
func wantAll(t *testing.T, d quiescence.Detail) {
	t.Helper()
	fields := reflect.ValueOf(d)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("the environment has no %s", fields.Type().Field(i).Name)
		}
	}
}

// Every possible difference between two environments belongs to a kind that --expect-difference
// accepts.
func TestKindsAreAboutEverything(t *testing.T) {
	a := quiescence.Describe(quiescence.Inputs{
		FSID: "f", RookVersion: "v1.17.2", KubernetesVersion: "v1.35.0", Devices: []ceph.OSDDevice{{ID: 0, Kernel: "6.8.0"}}, Versions: &ceph.Versions{Overall: map[string]int{"18.2.7": 1}},
		OSDs: []ceph.OSD{{ID: 0, DeviceClass: "hdd", TotalBytes: 1}}, ConfinedTo: []int{0},
		Pools: []ceph.Pool{{Name: "p", Size: 1}}, Images: map[string]string{"tools": "a"}, Nodes: []quiescence.Node{{Name: "n"}},
		Config: []ceph.ConfigEntry{{Section: "osd", Name: "osd_memory_target", Value: "1"}, {Section: "osd.0", Name: "osd_mclock_max_capacity_iops_hdd", Value: "315"}},
	})
	b := quiescence.Describe(quiescence.Inputs{
		FSID: "g", RookVersion: "v1.18.0", KubernetesVersion: "v1.36.0", Devices: []ceph.OSDDevice{{ID: 0, Kernel: "6.12.0"}}, Versions: &ceph.Versions{Overall: map[string]int{"19.2.3": 1}},
		OSDs: []ceph.OSD{{ID: 0, DeviceClass: "ssd", TotalBytes: 2}}, ConfinedTo: []int{1},
		Pools: []ceph.Pool{{Name: "p", Size: 2}}, Images: map[string]string{"tools": "b"}, Nodes: []quiescence.Node{{Name: "m"}},
		Config:       []ceph.ConfigEntry{{Section: "osd", Name: "osd_memory_target", Value: "2"}, {Section: "osd.0", Name: "osd_mclock_max_capacity_iops_hdd", Value: "99000"}},
		InitialState: v1alpha1.InitialStateFresh, OSDCaches: v1alpha1.OSDCachesDropBeforePhase,
		Background: "fio", BackgroundNodes: []quiescence.Node{{Name: "n"}},
	})
	wantAll(t, b)
	lines := append(quiescence.Compare(a, b), "phase write: was specified otherwise")
	used := map[string]int{}
	for _, line := range lines {
		known := false
		for _, k := range kinds() {
			if k.Matches(line) {
				known = true
				used[k.Name]++
			}
		}
		if !known {
			t.Errorf("%q is of no kind", line)
		}
	}
	for _, k := range kinds() {
		if used[k.Name] == 0 {
			t.Errorf("kind %s is about nothing: %q", k.Name, lines)
		}
		if !strings.Contains(help.Of("compare").Long, "\n  "+k.Name+" ") {
			t.Errorf("the help does not describe kind %s", k.Name)
		}
	}
	// The measured capacities of disks count as part of the disks. Other options do not.
	if used["osds"] != 4 || used["config"] != 2 {
		t.Errorf("osds is about %d lines, want 4, and config about %d, want 2", used["osds"], used["config"])
	}
}

// Reads from memory must not be compared with reads from disks without a note.
func TestMarksOfOneSideAreNoted(t *testing.T) {
	newSide := func(name string, marks ...v1alpha1.ResultMark) side {
		return side{name: name, runs: []*archive.Run{{Number: 1, State: v1alpha1.RunValid, Phases: []archive.Phase{{
			Name: "read", Observation: &figure.Observation{Marks: marks},
		}}}}}
	}
	for name, tc := range map[string]struct {
		a, b side
		want string
	}{
		"both":    {newSide("a", v1alpha1.MarkCached), newSide("b", v1alpha1.MarkCached), ""},
		"the one": {newSide("a", v1alpha1.MarkCached), newSide("b"), "Phase read is marked Cached in a alone"},
		"other":   {newSide("a"), newSide("b", v1alpha1.MarkThrottled), "Phase read is marked Throttled in b alone"},
	} {
		c := &comparison{}
		c.noteMarks(tc.a, tc.b)
		if notes := strings.Join(c.Notes, " "); !strings.Contains(notes, tc.want) || (notes == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, notes, tc.want)
		}
	}
}
