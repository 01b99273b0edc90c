package figure

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// captured parses an engine's example output.
func captured(t *testing.T, file string) *result.Result {
	t.Helper()
	text, err := os.ReadFile("../engine/" + file)
	if err != nil {
		t.Fatal(err)
	}
	res, err := parse.OnlyPart(engine.Output{Text: text}.Parts(engine.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func report(res *result.Result) task.Report {
	return task.Report{Status: task.Status{ID: "t", State: task.Done}, Result: res}
}

// course returns the result of a rados bench client, from the number of operations of 4 MiB in each
// second and their common latency.
func course(operations []float64, latency float64) *result.Result {
	const size = 4 << 20
	s := &result.Series{Boundaries: result.MeasuredBoundaries}
	total := 0.0
	for i, n := range operations {
		s.StartSeconds = append(s.StartSeconds, float64(i))
		s.EndSeconds = append(s.EndSeconds, float64(i+1))
		s.OperationsPerSecond = append(s.OperationsPerSecond, n)
		s.BytesPerSecond = append(s.BytesPerSecond, n*size)
		s.MeanLatencySeconds = append(s.MeanLatencySeconds, latency)
		total += n
	}
	seconds := float64(len(operations))
	return &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1,
		Source: result.Source{Tool: result.ToolRadosBench, Format: "rados-bench-json"},
		Write: &result.Direction{
			Operations: int64(total), Bytes: int64(total) * size, Seconds: seconds, ShortestSeconds: seconds,
			Latency: &result.Latency{Moments: result.Moments{Count: int64(total), MeanSeconds: latency, MaxSeconds: new(10 * latency)}},
			Series:  s,
		},
	}
}

// wobbling returns a steady course: a level with a little noise.
func wobbling(seconds int, level float64) []float64 {
	out := make([]float64, seconds)
	for i := range out {
		out[i] = level + float64(i*7919%13)
	}
	return out
}

func find(t *testing.T, figures []Figure, metric v1alpha1.Metric, direction v1alpha1.Direction) float64 {
	t.Helper()
	f, ok := Find(figures, metric, direction)
	if !ok {
		t.Fatalf("there is no %s of %s", metric, direction)
	}
	return f.Value
}

func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// The rows of the captured run: 1956 of 12341 operations had completed at the row of
// second 2, with a running mean of 16.307 ms; the whole took 12.033225 s.
func TestRampOfRadosBenchIsCut(t *testing.T) {
	obs, err := Observe([]task.Report{report(captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-64k.json"))},
		engine.Timing{RampSeconds: 2.0007374497299373, Cut: true, MeasuredSeconds: 10})
	if err != nil {
		t.Fatal(err)
	}
	seconds := 12.033225 - 2.0007374497299373
	wantIOPS := (12341 - 1956) / seconds
	if got := find(t, obs.Figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal); !near(got, wantIOPS, 1e-9) {
		t.Errorf("IOPS %v, want %v", got, wantIOPS)
	}
	if got := find(t, obs.Figures, v1alpha1.MetricBandwidth, v1alpha1.DirectionTotal); !near(got, wantIOPS*65536, 1e-9) {
		t.Errorf("bandwidth %v, want %v", got, wantIOPS*65536)
	}
	wantLatency := (12341*0.015573 - 1956*0.016307) / (12341 - 1956)
	if got := find(t, obs.Figures, v1alpha1.MetricLatencyMean, v1alpha1.DirectionTotal); !near(got, wantLatency, 1e-9) {
		t.Errorf("mean latency %v, want %v", got, wantLatency)
	}
	if _, ok := Find(obs.Figures, LatencyStdDev, v1alpha1.DirectionTotal); ok {
		t.Error("a deviation that includes the ramp is told")
	}
	if diff := cmp.Diff(([]v1alpha1.ResultMark)(nil), obs.Marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

func TestTheIntervalThatTheRampEndsInCountsForItsShare(t *testing.T) {
	obs, err := Observe([]task.Report{report(course([]float64{1000, 100, 40, 40}, 0.1))}, engine.Timing{RampSeconds: 1.25, Cut: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := find(t, obs.Figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal), (75.0+40+40)/2.75; !near(got, want, 1e-12) {
		t.Errorf("IOPS %v, want %v", got, want)
	}
	if diff := cmp.Diff([]float64{1.25, 2, 3}, obs.Result.Write.Series.StartSeconds); diff != "" {
		t.Errorf("course (-want +got):\n%s", diff)
	}
}

func TestRampIsLeftToTheToolThatKnowsIt(t *testing.T) {
	res := course([]float64{10, 10, 20, 20}, 0.1)
	obs, err := Observe([]task.Report{report(res)}, engine.Timing{RampSeconds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, obs.Figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal); got != 15 {
		t.Errorf("IOPS %v, want 15", got)
	}
}

func TestALatencyThatCannotBeCutSaysSo(t *testing.T) {
	res := course([]float64{10, 10, 20, 20}, 0.1)
	res.Write.Series.MeanLatencySeconds = nil
	obs, err := Observe([]task.Report{report(res)}, engine.Timing{RampSeconds: 2, Cut: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, obs.Figures, v1alpha1.MetricLatencyMean, v1alpha1.DirectionTotal); got != 0.1 {
		t.Errorf("mean latency %v, want that of the whole run", got)
	}
	if len(obs.Result.Warnings) != 1 || obs.Result.Warnings[0].Code != result.WarnRampIncluded {
		t.Errorf("warnings %v, want RampIncluded", obs.Result.Warnings)
	}
}

func TestClientsAreAddedWithoutTheirRamps(t *testing.T) {
	a, b := course(wobbling(60, 100), 0.1), course(wobbling(60, 300), 0.2)
	obs, err := Observe([]task.Report{report(a), report(b)}, engine.Timing{RampSeconds: 10, Cut: true})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i := 10; i < 60; i++ {
		sum += a.Write.Series.OperationsPerSecond[i] + b.Write.Series.OperationsPerSecond[i]
	}
	if got := find(t, obs.Figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal); !near(got, sum/50, 1e-12) {
		t.Errorf("IOPS %v, want %v", got, sum/50)
	}
	if obs.Result.Clients != 2 || obs.Result.Write.Series.Len() != 50 {
		t.Errorf("%d clients, %d seconds, want 2 and 50", obs.Result.Clients, obs.Result.Write.Series.Len())
	}
	if a.Write.Seconds != 60 || a.Write.Series.Len() != 60 {
		t.Error("the reports have been changed")
	}
}

func TestObserveRefusesInvalidReports(t *testing.T) {
	steady := course(wobbling(60, 100), 0.1)
	withoutCourse := course(wobbling(60, 100), 0.1)
	withoutCourse.Write.Series = nil
	failed := report(nil)
	failed.State, failed.Failure = task.Failed, &task.Failure{Reason: task.ToolFailed, Message: "rados ended with 1"}
	cancelled := report(nil)
	cancelled.State = task.Cancelled
	other := course(wobbling(60, 100), 0.1)
	other.Source.Tool = result.ToolFIO
	broken := course(wobbling(60, 100), 0.1)
	broken.Write.Seconds = math.NaN()
	for name, c := range map[string]struct {
		reports []task.Report
		want    string
	}{
		"no client":                    {nil, "no client has reported"},
		"a client that failed":         {[]task.Report{report(steady), failed}, "ToolFailed: rados ended with 1"},
		"a client that was cancelled":  {[]task.Report{cancelled}, "it is Cancelled"},
		"a client without result":      {[]task.Report{report(nil)}, "it has no result"},
		"a result that cannot be":      {[]task.Report{report(broken)}, "took NaN seconds"},
		"no course to cut the ramp of": {[]task.Report{report(withoutCourse)}, "no values over time"},
		"ended within the ramp":        {[]task.Report{report(course([]float64{5, 5}, 0.1))}, "within its ramp of 10 s"},
		"stalled after the ramp":       {[]task.Report{report(course(append(make([]float64, 0, 40), append(wobbling(10, 9), make([]float64, 20)...)...), 0.1))}, "nothing completed after the ramp"},
		"different tools":              {[]task.Report{report(steady), report(other)}, "do not belong together"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Observe(c.reports, engine.Timing{RampSeconds: 10, Cut: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestMarksOfAnObservation(t *testing.T) {
	rising := make([]float64, 60)
	for i := range rising {
		rising[i] = 100 + 10*float64(i)
	}
	stalling := append(wobbling(30, 100), make([]float64, 30)...)
	rbd := course(rising, 0.1)
	rbd.Source.Tool = result.ToolRBDBench
	withoutCourse := course(rising, 0.1)
	withoutCourse.Write.Series = nil
	for name, c := range map[string]struct {
		res       *result.Result
		throttled *float64
		want      []v1alpha1.ResultMark
	}{
		"steady":                           {course(wobbling(60, 100), 0.1), nil, nil},
		"rising to the end":                {course(rising, 0.1), nil, []v1alpha1.ResultMark{v1alpha1.MarkNotSteady}},
		"stalled for good":                 {course(stalling, 0.1), nil, []v1alpha1.ResultMark{v1alpha1.MarkNotSteady}},
		"too short to tell":                {course(rising[:7], 0.1), nil, nil},
		"no course":                        {withoutCourse, nil, nil},
		"rbd bench has rolling averages":   {rbd, nil, nil},
		"a CPU limit that was hardly felt": {course(wobbling(60, 100), 0.1), new(0.6), nil},
		"a CPU limit that was felt":        {course(wobbling(60, 100), 0.1), new(0.61), []v1alpha1.ResultMark{v1alpha1.MarkThrottled}},
		"everything":                       {course(rising, 0.1), new(30.0), []v1alpha1.ResultMark{v1alpha1.MarkThrottled, v1alpha1.MarkNotSteady}},
	} {
		t.Run(name, func(t *testing.T) {
			r := report(c.res)
			r.Usage.ThrottledSeconds = c.throttled
			obs, err := Observe([]task.Report{r}, engine.Timing{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, obs.Marks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if c.throttled != nil && !near(*obs.Instrument.Throttled, *c.throttled/60, 1e-12) {
				t.Errorf("throttled for %v of the time, want %v", *obs.Instrument.Throttled, *c.throttled/60)
			}
		})
	}
}

func TestABusyHostMarksAPhase(t *testing.T) {
	r := report(course(wobbling(60, 100), 0.1))
	r.Usage.Seconds, r.Usage.HostCPUSeconds, r.Usage.HostBusySeconds = 60, 120, new(119.0)
	obs, err := Observe([]task.Report{report(course(wobbling(60, 100), 0.1)), r}, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]v1alpha1.ResultMark{v1alpha1.MarkStarved}, obs.Marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

// One client becomes slower while the other becomes faster. Together their rate stays the same.
func TestSteadinessIsThatOfAllClientsTogether(t *testing.T) {
	var up, down []float64
	for i, noise := range wobbling(60, 0) {
		up = append(up, 100+10*float64(i)+noise)
		down = append(down, 700-10*float64(i))
	}
	obs, err := Observe([]task.Report{report(course(up, 0.1)), report(course(down, 0.1))}, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.Marks) > 0 {
		t.Errorf("marks %v, want none", obs.Marks)
	}
}

func TestFiguresOfAMixedPhase(t *testing.T) {
	res := captured(t, "fio/testdata/fio-3.33/libaio-randrw.plus.json")
	figures, err := Figures(res)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, f := range figures {
		listed = append(listed, fmt.Sprintf("%s %s", f.Direction, f.Metric))
	}
	var want []string
	for _, d := range []string{"Total", "Read", "Write"} {
		for _, m := range []string{"Bandwidth", "IOPS", "LatencyMean", "LatencyStdDev", "LatencyMin", "LatencyP50", "LatencyP95", "LatencyP99", "LatencyP999", "LatencyMax"} {
			want = append(want, d+" "+m)
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, write := res.Read, res.Write
	total := find(t, figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
	if want := float64(read.Operations+write.Operations) / max(read.Seconds, write.Seconds); !near(total, want, 1e-12) {
		t.Errorf("total IOPS %v, want %v", total, want)
	}
	// All latency figures have the same kind: the one that has percentiles.
	for _, f := range figures {
		if strings.HasPrefix(string(f.Metric), "Latency") && f.LatencyKind != result.CompletionLatency {
			t.Errorf("%s of %s is a %s latency", f.Metric, f.Direction, f.LatencyKind)
		}
	}
	p99 := func(d v1alpha1.Direction) float64 { return find(t, figures, v1alpha1.MetricLatencyP99, d) }
	low, high := min(p99(v1alpha1.DirectionRead), p99(v1alpha1.DirectionWrite)), max(p99(v1alpha1.DirectionRead), p99(v1alpha1.DirectionWrite))
	if got := p99(v1alpha1.DirectionTotal); got < low || got > high {
		t.Errorf("total p99 %v is not between %v and %v", got, low, high)
	}
}

func TestFiguresOfTools(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []v1alpha1.Metric
	}{
		"rados bench write": {
			"radosbench/testdata/osd-count/1osd-write.txt",
			[]v1alpha1.Metric{"Bandwidth", "IOPS", "LatencyMean", "LatencyStdDev", "LatencyMin", "LatencyMax"},
		},
		"rados bench seq": {
			"radosbench/testdata/osd-count/1osd-seq.txt",
			[]v1alpha1.Metric{"Bandwidth", "IOPS", "LatencyMean", "LatencyMin", "LatencyMax"},
		},
		"rbd bench": {
			"rbdbench/testdata/pvc-and-rbd/rbd-bench-4k-randread.txt",
			[]v1alpha1.Metric{"Bandwidth", "IOPS"},
		},
		"fio without percentiles": {
			"fio/testdata/fio-3.33/percentiles-off.json",
			[]v1alpha1.Metric{"Bandwidth", "IOPS", "LatencyMean", "LatencyStdDev", "LatencyMin", "LatencyMax"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			figures, err := Figures(captured(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []v1alpha1.Metric
			for _, f := range figures {
				got = append(got, f.Metric)
				if f.Direction != v1alpha1.DirectionTotal {
					t.Errorf("%s has direction %s", f.Metric, f.Direction)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLastBinHasNoUpperEnd(t *testing.T) {
	last := result.BinNanoseconds(result.NumBins - 1)
	res := course([]float64{10}, 0.1)
	res.Write.Latency.Histogram = &result.Histogram{Bins: []result.Bin{{Nanoseconds: last, Count: 10}}}
	figures, err := Figures(res)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := Find(figures, v1alpha1.MetricLatencyP99, v1alpha1.DirectionTotal); !ok || !f.AtLeast {
		t.Errorf("got %+v, want a lower bound", f)
	}
	combined, err := Combine("p", []Observation{{Result: res, Figures: figures}})
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := FindResult(combined, v1alpha1.MetricLatencyP99, v1alpha1.DirectionTotal); ok {
		t.Errorf("a bound is taken for a value: %+v", m)
	}
}

func TestMarksOfSpec(t *testing.T) {
	image := func(sharing v1alpha1.ImageSharing) v1alpha1.Target {
		return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Image: v1alpha1.Image{Sharing: sharing}}}
	}
	rate := new(int64(100))
	closed := []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop}
	for name, c := range map[string]struct {
		target  v1alpha1.Target
		clients int32
		phase   v1alpha1.Phase
		want    []v1alpha1.ResultMark
	}{
		"rados bench has no percentiles": {image(v1alpha1.ImageSharingClients), 2, v1alpha1.Phase{RadosBench: &v1alpha1.RadosBench{}}, nil},
		"fio without a rate":             {image(v1alpha1.ImageSharingNone), 2, v1alpha1.Phase{Fio: &v1alpha1.Fio{}}, closed},
		"fio with a rate":                {image(v1alpha1.ImageSharingNone), 2, v1alpha1.Phase{Fio: &v1alpha1.Fio{RateIOPS: rate}}, nil},
		"every job has a rate": {
			image(v1alpha1.ImageSharingNone), 2,
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Jobs: []v1alpha1.FioJob{{RateIOPS: rate}, {RateIOPS: rate}}}},
			nil,
		},
		"one job has no rate": {
			image(v1alpha1.ImageSharingNone), 2,
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Jobs: []v1alpha1.FioJob{{RateIOPS: rate}, {}}}},
			closed,
		},
		"rbd bench on a shared image": {
			image(v1alpha1.ImageSharingClients), 2,
			v1alpha1.Phase{RBDBench: &v1alpha1.RBDBench{}},
			[]v1alpha1.ResultMark{v1alpha1.MarkSharedImage},
		},
		"fio on a shared image": {
			image(v1alpha1.ImageSharingClients), 2,
			v1alpha1.Phase{Fio: &v1alpha1.Fio{RateIOPS: rate}},
			[]v1alpha1.ResultMark{v1alpha1.MarkSharedImage},
		},
		"a single client": {image(v1alpha1.ImageSharingClients), 1, v1alpha1.Phase{RBDBench: &v1alpha1.RBDBench{}}, nil},
		"fio on objects": {
			image(v1alpha1.ImageSharingClients), 2,
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Engine: v1alpha1.FioEngineRADOS, RateIOPS: rate}},
			nil,
		},
		"fio on a claim": {
			v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{}},
			2,
			v1alpha1.Phase{Fio: &v1alpha1.Fio{RateIOPS: rate}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := v1alpha1.BenchmarkTemplate{Target: c.target, Clients: v1alpha1.Clients{Count: c.clients}}
			if diff := cmp.Diff(c.want, MarksOfSpec(&template, &c.phase)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarksOfResultSayWhyLatenciesAreMissing(t *testing.T) {
	r := &result.Result{Warnings: []result.Warning{{Code: result.WarnOffSchedule}, {Code: result.WarnSaturated, Message: "a"}, {Code: result.WarnSaturated, Message: "b"}, {Code: result.WarnShortIO}}}
	if got := MarksOfResult(r); !slices.Equal(got, []v1alpha1.ResultMark{v1alpha1.MarkOffSchedule, v1alpha1.MarkSaturated}) {
		t.Errorf("got %v", got)
	}
	if got := MarksOfResult(nil); got != nil {
		t.Errorf("got %v without a result", got)
	}
}

func TestBelowRate(t *testing.T) {
	did := func(operations int64) *result.Direction {
		return &result.Direction{Operations: operations, Bytes: 4096 * operations, Seconds: 30}
	}
	rate, bandwidth := new(int64(200)), resource.MustParse("800Ki") // the same rate, at 4 KiB
	for name, c := range map[string]struct {
		fio     *v1alpha1.Fio
		clients int32
		result  *result.Result
		want    bool
	}{
		"another tool":            {nil, 1, &result.Result{Read: did(1)}, false},
		"no rate":                 {&v1alpha1.Fio{}, 1, &result.Result{Read: did(1)}, false},
		"it is reached":           {&v1alpha1.Fio{RateIOPS: rate}, 1, &result.Result{Read: did(5990)}, false},
		"arrivals vary":           {&v1alpha1.Fio{RateIOPS: rate}, 1, &result.Result{Read: did(5500)}, false},
		"less than half of it":    {&v1alpha1.Fio{RateIOPS: rate}, 1, &result.Result{Read: did(2400)}, true},
		"half, of two jobs":       {&v1alpha1.Fio{RateIOPS: rate, NumJobs: 2}, 1, &result.Result{Read: did(6000)}, true},
		"half, of two clients":    {&v1alpha1.Fio{RateIOPS: rate}, 2, &result.Result{Write: did(6000)}, true},
		"the larger direction is": {&v1alpha1.Fio{RateIOPS: rate}, 1, &result.Result{Read: did(6000), Write: did(2570)}, false},
		"neither direction is":    {&v1alpha1.Fio{RateIOPS: rate}, 1, &result.Result{Read: did(3000), Write: did(1280)}, true},
		"bytes are reached":       {&v1alpha1.Fio{RateBandwidth: &bandwidth}, 1, &result.Result{Write: did(5990)}, false},
		"bytes are not":           {&v1alpha1.Fio{RateBandwidth: &bandwidth}, 1, &result.Result{Write: did(2400)}, true},
		"jobs have their own":     {&v1alpha1.Fio{RateIOPS: rate, Jobs: []v1alpha1.FioJob{{}}}, 1, &result.Result{Read: did(1)}, false},
		"nothing was measured":    {&v1alpha1.Fio{RateIOPS: rate}, 1, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			template := v1alpha1.BenchmarkTemplate{Clients: v1alpha1.Clients{Count: c.clients}}
			if got := BelowRate(&template, &v1alpha1.Phase{Fio: c.fio}, c.result); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMarksAreInOrderAndOnce(t *testing.T) {
	obs := Observation{}
	obs.Mark(v1alpha1.MarkDisturbed, v1alpha1.MarkCached)
	obs.Mark(v1alpha1.MarkCached, v1alpha1.MarkClosedLoop)
	want := []v1alpha1.ResultMark{v1alpha1.MarkCached, v1alpha1.MarkClosedLoop, v1alpha1.MarkDisturbed}
	if diff := cmp.Diff(want, obs.Marks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var approximately = cmpopts.EquateApprox(1e-6, 0)
