package fio

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/result"
)

// loadOf returns the load of a task for the generator.
func loadOf(t *testing.T, p place.Place, s v1alpha1.Fio, run load.Run) openloop.Load {
	t.Helper()
	made, err := newLoad(t, s).Task(p, run)
	if err != nil {
		t.Fatal(err)
	}
	argv := made.Measure.Argv
	encoded, found := strings.CutPrefix(argv[len(argv)-1], "--load=")
	var l openloop.Load
	if err := json.Unmarshal([]byte(encoded), &l); err != nil || !found || argv[0] != Generator || made.Measure.Format != openloop.Format {
		t.Fatalf("%v: %v", err, made.Measure)
	}
	return l
}

func TestGeneratorMakesTheLoadAtARate(t *testing.T) {
	s := spec("", func(s *v1alpha1.Fio) {
		s.RateIOPS, s.RateProcess = new(int64(100)), v1alpha1.FioRatePoisson
		s.Jobs = []v1alpha1.FioJob{
			{Name: "log", Pattern: v1alpha1.FioWrite, BlockSize: new(resource.MustParse("8Ki")), RateBandwidth: new(resource.MustParse("1Mi"))},
			{Name: "tables", Pattern: v1alpha1.FioRandReadWrite, NumJobs: new(int32(2))},
		}
	})
	run := load.Run{ID: "r1-mixed", Switched: true, Windows: true}
	got := loadOf(t, pool(), s, run)
	want := openloop.Load{
		Engine: openloop.RBD, User: pool().CephUser, Pool: pool().Pool, RampSeconds: s.Ramp.Seconds(), Seconds: 60, Histograms: true, Windows: true,
		Copies: []openloop.Copy{
			{Target: "cephtune-1-2-w3x340m-0", Size: 356515840, Writes: true, Blocks: []openloop.Block{{Bytes: 8192, Weight: 1}}, BytesPerSecond: 1 << 20, Seed: seed(run.ID, 2, 0)},
			{Target: "cephtune-1-2-w3x340m-1", Size: 356515840, Reads: true, Writes: true, Random: true, Blocks: []openloop.Block{{Bytes: 4096, Weight: 1}}, IOPS: 100, Poisson: true, Seed: seed(run.ID, 2, 1)},
			{Target: "cephtune-1-2-w3x340m-2", Size: 356515840, Reads: true, Writes: true, Random: true, Blocks: []openloop.Block{{Bytes: 4096, Weight: 1}}, IOPS: 100, Poisson: true, Seed: seed(run.ID, 2, 2)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGeneratorUsesTheDataOfThePlace(t *testing.T) {
	rate := func(s *v1alpha1.Fio) { s.RateIOPS = new(int64(10)) }
	folder := place.Place{Owner: "o", Clients: 1, Directory: "/data", DatasetBytes: 1 << 30}
	device := place.Place{Owner: "o", Clients: 1, Device: "/dev/cephtune", DatasetBytes: 1 << 30}
	run := load.Run{ID: "r1"}
	if got := loadOf(t, folder, spec(v1alpha1.FioRandWrite, rate), run); got.Engine != openloop.LibAIO || !strings.HasPrefix(got.Copies[0].Target, "/data/") || got.Pool != "" {
		t.Errorf("on a folder: %+v", got)
	}
	if got := loadOf(t, device, spec(v1alpha1.FioRandWrite, rate), run); got.Copies[0].Target != "/dev/cephtune" {
		t.Errorf("on a device: %+v", got)
	}
	objects := spec(v1alpha1.FioRandRead, rate)
	objects.Engine = v1alpha1.FioEngineRADOS
	if got := loadOf(t, pool(), objects, run); got.Engine != openloop.RADOS || got.Copies[0].ObjectBytes != 4<<20 || !strings.HasPrefix(got.Copies[0].Target, place.ObjectPrefix) {
		t.Errorf("on objects: %+v", got)
	}
}

// A job without a rate makes the phase a closed loop, which fio runs.
func TestOneJobWithoutARateIsAClosedLoop(t *testing.T) {
	s := spec("", func(s *v1alpha1.Fio) {
		s.Jobs = []v1alpha1.FioJob{{Name: "a", Pattern: v1alpha1.FioRead, RateIOPS: new(int64(10))}, {Name: "b", Pattern: v1alpha1.FioRead}}
	})
	if argv := newTask(t, pool(), s).Measure.Argv; argv[0] != "fio" || !strings.Contains(strings.Join(argv, " "), "--rate_iops=10") {
		t.Errorf("got %q", argv)
	}
}

func TestOptionsThatAreNotPossibleAtARate(t *testing.T) {
	cases := map[string]func(s *v1alpha1.Fio){
		"fsync":               func(s *v1alpha1.Fio) { s.Fsync = 1 },
		"fdatasync":           func(s *v1alpha1.Fio) { s.Fdatasync = 1 },
		"direct: false":       func(s *v1alpha1.Fio) { s.Direct = new(false) },
		"compressiblePercent": func(s *v1alpha1.Fio) { s.CompressiblePercent = 1 },
		"IOUring":             func(s *v1alpha1.Fio) { s.Engine = v1alpha1.FioEngineIOUring },
		"distribution": func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionZipf, Theta: "1.2"}
		},
	}
	for name, change := range cases {
		s := spec(v1alpha1.FioRandWrite, change)
		if _, err := New("p", s); err != nil {
			t.Errorf("%s in a closed loop: %v", name, err)
		}
		s.RateIOPS = new(int64(1))
		if _, err := New("p", s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestRatesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *v1alpha1.Fio)
		want   string // "" if it is possible
	}{
		"the highest rate":    {func(s *v1alpha1.Fio) { s.RateIOPS = new(int64(1_000_000)) }, ""},
		"millions":            {func(s *v1alpha1.Fio) { s.RateIOPS = new(int64(5_000_000)) }, "5000000 operations a second in all copies and directions, and one makes at most 1000000"},
		"millions, of copies": {func(s *v1alpha1.Fio) { s.RateIOPS, s.NumJobs = new(int64(100_000)), 11 }, "use a larger clients.count"},
		"millions, of reads and writes": {
			func(s *v1alpha1.Fio) { s.Pattern, s.RateIOPS = v1alpha1.FioRandReadWrite, new(int64(600_000)) }, "1200000 operations a second",
		},
		"blocks that are too large": {
			func(s *v1alpha1.Fio) { s.RateIOPS, s.BlockSize = new(int64(50_000)), resource.MustParse("4Mi") }, "would move 195 GiB a second, and one moves at most 100",
		},
		"below one a second": {func(s *v1alpha1.Fio) {
			s.RateBandwidth, s.BlockSize = new(resource.MustParse("1Mi")), resource.MustParse("4Mi")
		}, "below one operation of 4194304 bytes a second"},
		"just one a second": {func(s *v1alpha1.Fio) {
			s.RateBandwidth, s.BlockSize = new(resource.MustParse("4Mi")), resource.MustParse("4Mi")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New("p", spec(v1alpha1.FioRandWrite, c.change))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseGenerated(t *testing.T) {
	res := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolOpenLoop, Format: openloop.Format},
		Arrivals: &result.Arrivals{Process: result.PoissonArrivals, Operations: 10, InFlightLimit: 256},
		Read:     &result.Direction{Operations: 10, Bytes: 40960, Seconds: 60, ShortestSeconds: 60},
	}
	encoded, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseGenerated(strings.NewReader(string(encoded)), parse.Options{RequestedSeconds: 60})
	if diff := cmp.Diff(res, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"an early end": {strings.ReplaceAll(string(encoded), ":60", ":50"), string(parse.EndedEarly)},
		"nothing done": {strings.ReplaceAll(string(encoded), `"read"`, `"none"`), string(parse.NoIO)},
		"no JSON":      {"generator: lost", "a result of the generator"},
		"no figures":   {strings.ReplaceAll(string(encoded), ":40960", ":-1"), "possible figures"},
		"no process":   {strings.ReplaceAll(string(encoded), "Poisson", "Other"), "unknown process"},
	} {
		if _, err := parseGenerated(strings.NewReader(tc.text), parse.Options{RequestedSeconds: 60}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestLinesOfTheGenerator(t *testing.T) {
	taken := time.Now().Round(0).UTC()
	line, err := json.Marshal(parse.Counted{Seconds: 2, Taken: taken, Done: result.Done{Operations: 10, Bytes: 4096, LatencySeconds: 1}})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := generated().NewLive().Line(line)
	if !ok || got.OperationsPerSecond != 5 || got.MeanLatencySeconds != 0.1 || !got.Counted.Taken.Equal(taken) {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, line := range []string{"", "{}", "generator: lost", `{"seconds":-1}`} {
		if _, ok := generated().NewLive().Line([]byte(line)); ok {
			t.Errorf("%q has a rate", line)
		}
	}
}
