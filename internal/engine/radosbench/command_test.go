package radosbench

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

func pool() place.Place {
	return place.Place{CephUser: "io", Pool: "p", Owner: "cephtune-1", Client: 2, Clients: 3, DatasetBytes: 1 << 30}
}

func spec(mode v1alpha1.RadosBenchMode, change func(s *v1alpha1.RadosBench)) v1alpha1.RadosBench {
	s := v1alpha1.RadosBench{
		Mode: mode, BlockSize: resource.MustParse("4Mi"), Concurrency: 16,
		Duration: metav1.Duration{Duration: time.Minute}, Ramp: &metav1.Duration{Duration: 10 * time.Second},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func newLoad(t *testing.T, s v1alpha1.RadosBench) load.Load {
	t.Helper()
	l, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMeasuredArguments(t *testing.T) {
	const written, data = "cephtune-1-2-run", "cephtune-1-2-rados-read-256x4194304-4194304"
	begin := func(namespace string, rest ...string) []string {
		return append([]string{"rados", "--id=io", "--pool=p", "--namespace=" + namespace, "--run-name=benchmark_data_run", "--concurrent-ios=16"}, rest...)
	}
	cases := map[string]struct {
		mode   v1alpha1.RadosBenchMode
		change func(s *v1alpha1.RadosBench)
		want   []string
	}{
		"write": {v1alpha1.RadosBenchWrite, nil, begin(written, "--no-cleanup", "--block-size=4194304", "--object-size=4194304", "bench", "60", "write")},
		"write of a part of each object": {
			v1alpha1.RadosBenchWrite,
			func(s *v1alpha1.RadosBench) {
				s.BlockSize, s.ObjectSize = resource.MustParse("64Ki"), new(resource.MustParse("8Mi"))
			},
			begin(written, "--no-cleanup", "--block-size=65536", "--object-size=8388608", "bench", "60", "write"),
		},
		"write to omap without hints": {
			v1alpha1.RadosBenchWrite,
			func(s *v1alpha1.RadosBench) {
				s.Destination, s.AllocationHints = v1alpha1.RadosBenchOMap, v1alpha1.AllocationHintsOmit
			},
			begin(written, "--no-cleanup", "--no-hints", "--write-omap", "--block-size=4194304", "--object-size=4194304", "bench", "60", "write"),
		},
		"write to attributes": {
			v1alpha1.RadosBenchWrite, func(s *v1alpha1.RadosBench) { s.Destination = v1alpha1.RadosBenchXAttr },
			begin(written, "--no-cleanup", "--write-xattr", "--block-size=4194304", "--object-size=4194304", "bench", "60", "write"),
		},
		"write over objects": {
			v1alpha1.RadosBenchWrite, func(s *v1alpha1.RadosBench) { s.ReuseObjects = true },
			begin("cephtune-1-2-rados-over-256x4194304-4194304", "--no-cleanup", "--reuse-bench", "--max-objects=256", "bench", "60", "write"),
		},
		"write of a part of a second": {
			v1alpha1.RadosBenchWrite, func(s *v1alpha1.RadosBench) { s.Duration.Duration = 30100 * time.Millisecond },
			begin(written, "--no-cleanup", "--block-size=4194304", "--object-size=4194304", "bench", "31", "write"),
		},
		"seq":                {v1alpha1.RadosBenchSeq, nil, begin(data, "bench", "60", "seq")},
		"rand":               {v1alpha1.RadosBenchRand, nil, begin(data, "bench", "60", "rand")},
		"rand, not verified": {v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) { s.Verification = v1alpha1.VerificationNone }, begin(data, "--no-verify", "bench", "60", "rand")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newLoad(t, spec(tc.mode, tc.change)).Task(pool(), load.Run{ID: "run-7"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Measure.Argv); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A phase that only its duration ends must not write more than fits.
func TestRoomLimitsWrites(t *testing.T) {
	const mib = 1 << 20
	cases := map[string]struct {
		change func(s *v1alpha1.RadosBench)
		room   int64
		want   string // a part of the command line
		// wantSeconds is the shortest run time that does not count as an early end.
		wantSeconds float64
		chunks      int
	}{
		"objects with what OSDs note of them": {room: 100 * 4 * mib, want: "--max-objects=99 ", wantSeconds: 60},
		"objects of many operations": {
			func(s *v1alpha1.RadosBench) { s.ObjectSize = new(resource.MustParse("8Mi")) }, 100 * 4 * mib, "--max-objects=49 ", 60, 0,
		},
		"hardly any room": {room: 1, want: "--max-objects=1 ", wantSeconds: 60},
		"more than the tool counts": {
			func(s *v1alpha1.RadosBench) {
				s.BlockSize, s.ObjectSize = resource.MustParse("4Ki"), new(resource.MustParse("8Ki"))
			},
			1 << 60, "--max-objects=1073741823 ", 60, 0,
		},
		"small objects in chunks": {
			change: func(s *v1alpha1.RadosBench) { s.BlockSize = resource.MustParse("4Ki") }, room: 64 << 10, chunks: 4, want: "--max-objects=2 ", wantSeconds: 60,
		},
		"what is there already": {func(s *v1alpha1.RadosBench) { s.ReuseObjects = true }, 1, "--max-objects=256 ", 60, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			where := pool()
			where.RoomBytes, where.DataChunks = tc.room, tc.chunks
			got, err := newLoad(t, spec(v1alpha1.RadosBenchWrite, tc.change)).Task(where, load.Run{ID: "run-7"})
			if err != nil {
				t.Fatal(err)
			}
			if line := strings.Join(got.Measure.Argv, " "); !strings.Contains(line, tc.want) || got.Measure.RequestedSeconds != tc.wantSeconds {
				t.Errorf("%s, for %v s; want %q in it, for %v s", line, got.Measure.RequestedSeconds, tc.want, tc.wantSeconds)
			}
		})
	}
}

func TestTaskWithoutItsArguments(t *testing.T) {
	got, err := newLoad(t, spec(v1alpha1.RadosBenchWrite, nil)).Task(pool(), load.Run{ID: "run-7"})
	if err != nil {
		t.Fatal(err)
	}
	want := task.Task{
		ID:                    "run-7",
		Measure:               &task.Measurement{Command: got.Measure.Command, Format: TextFormat, RequestedSeconds: 60, MinimumSeconds: 57},
		MeasureTimeoutSeconds: 135,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTiming(t *testing.T) {
	got := newLoad(t, spec(v1alpha1.RadosBenchSeq, nil)).Timing()
	if diff := cmp.Diff(load.Timing{RampSeconds: 10, Cut: true, MeasuredSeconds: 50}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrefill(t *testing.T) {
	const namespace = "--namespace=cephtune-1-2-rados-read-512x2097152-65536"
	l := newLoad(t, spec(v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) {
		s.BlockSize, s.ObjectSize = resource.MustParse("64Ki"), new(resource.MustParse("2Mi"))
	}))
	clean := task.Command{Argv: []string{
		"rados", "--id=io", "--pool=p", namespace, "--run-name=cephtune-1-2-none", "--prefix=benchmark_data_", "cleanup",
	}}
	want := []load.Dataset{{
		Key: "rados-read-512x2097152-65536", Bytes: 1 << 30,
		Commands: []task.Command{clean, {Argv: []string{
			"rados", "--id=io", "--pool=p", namespace, "--run-name=benchmark_data_run",
			"--block-size=65536", "--object-size=2097152", "--concurrent-ios=64", "--max-objects=512", "--no-cleanup",
			"bench", "604800", "write",
		}}},
		Warm: []task.Command{{Argv: []string{
			"rados", "--id=io", "--pool=p", namespace, "--run-name=benchmark_data_run",
			"--concurrent-ios=64", "--no-verify", "bench", "604800", "seq",
		}}},
		Remove: []task.Command{clean},
	}}
	if diff := cmp.Diff(want, l.Datasets(pool())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := l.Tidy(pool(), load.Run{}); got != nil {
		t.Errorf("a run of reads left something to tidy: %v", got)
	}
}

// rados bench would read objects whose data is in their omaps as empty.
func TestOMapsAreNotWarmed(t *testing.T) {
	for destination, want := range map[v1alpha1.RadosBenchDestination]int{v1alpha1.RadosBenchObject: 1, v1alpha1.RadosBenchOMap: 0, v1alpha1.RadosBenchXAttr: 0} {
		l := newLoad(t, spec(v1alpha1.RadosBenchWrite, func(s *v1alpha1.RadosBench) { s.ReuseObjects, s.Destination = true, destination }))
		if got := l.Datasets(pool())[0].Warm; len(got) != want {
			t.Errorf("%s: warmed by %v", destination, got)
		}
	}
}

// A prefill needs no more memory than a small client has. It creates at least one object for each
// operation that is in flight when the reads begin.
func TestPrefillFitsTheClient(t *testing.T) {
	large := newLoad(t, spec(v1alpha1.RadosBenchSeq, func(s *v1alpha1.RadosBench) {
		s.BlockSize, s.Concurrency = resource.MustParse("64Mi"), 32
	})).Datasets(pool())[0]
	if large.Bytes != 32*64<<20 {
		t.Errorf("%d bytes for 32 operations of 64 MiB", large.Bytes)
	}
	if got := large.Commands[1].Argv[7]; got != "--concurrent-ios=1" {
		t.Errorf("prefill with %s of 64 MiB each", got)
	}
}

func TestReadsShareOneDataset(t *testing.T) {
	keys := map[string]bool{}
	for name, s := range map[string]v1alpha1.RadosBench{
		"seq":        spec(v1alpha1.RadosBenchSeq, nil),
		"rand":       spec(v1alpha1.RadosBenchRand, nil),
		"deeper":     spec(v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) { s.Concurrency = 128 }),
		"unverified": spec(v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) { s.Verification = v1alpha1.VerificationNone }),
		"longer":     spec(v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) { s.Duration.Duration = time.Hour }),
	} {
		datasets := newLoad(t, s).Datasets(pool())
		if len(datasets) != 1 {
			t.Fatalf("%s: %d datasets", name, len(datasets))
		}
		keys[datasets[0].Key] = true
	}
	if len(keys) != 1 {
		t.Errorf("keys of the same data: %v", keys)
	}
	others := newLoad(t, spec(v1alpha1.RadosBenchRand, func(s *v1alpha1.RadosBench) { s.BlockSize = resource.MustParse("1Mi") })).Datasets(pool())
	if keys[others[0].Key] {
		t.Errorf("key %s of other data", others[0].Key)
	}
	over := newLoad(t, spec(v1alpha1.RadosBenchWrite, func(s *v1alpha1.RadosBench) { s.ReuseObjects = true })).Datasets(pool())
	if keys[over[0].Key] {
		t.Errorf("key %s of data that is written over", over[0].Key)
	}
}

func TestTidyRemovesWhatARunWrote(t *testing.T) {
	p := pool()
	p.DataPool, p.Namespace = "ec", "space"
	l := newLoad(t, spec(v1alpha1.RadosBenchWrite, nil))
	want := []task.Command{{Argv: []string{
		"rados", "--id=io", "--pool=ec", "--namespace=space-2-run", "--run-name=cephtune-1-2-none", "--prefix=benchmark_data_", "cleanup",
	}}}
	if diff := cmp.Diff(want, l.Tidy(p, load.Run{ID: "run-7"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"space-2-run"}, l.Namespaces(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidSpecsAreRefused(t *testing.T) {
	for name, change := range map[string]func(s *v1alpha1.RadosBench){
		"no block size":     func(s *v1alpha1.RadosBench) { s.BlockSize = resource.Quantity{} },
		"a part of a block": func(s *v1alpha1.RadosBench) { s.ObjectSize = new(resource.MustParse("6Mi")) },
		"no concurrency":    func(s *v1alpha1.RadosBench) { s.Concurrency = 0 },
		"ramp to the end":   func(s *v1alpha1.RadosBench) { s.Ramp = &s.Duration },
		"an unknown mode":   func(s *v1alpha1.RadosBench) { s.Mode = "Trim" },
	} {
		if l, err := New(spec(v1alpha1.RadosBenchWrite, change)); err == nil || l != nil {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
	claim := place.Place{Directory: "/data", Owner: "o", Clients: 1, DatasetBytes: 1}
	unsized := pool()
	unsized.DatasetBytes = 0
	for name, p := range map[string]place.Place{"a claim": claim, "no dataset": unsized, "no place": {}} {
		l := newLoad(t, spec(v1alpha1.RadosBenchSeq, nil))
		if _, err := l.Task(p, load.Run{ID: "a"}); err == nil {
			t.Errorf("%s: a task was made", name)
		}
		if got := l.Datasets(p); got != nil {
			t.Errorf("%s: datasets %v", name, got)
		}
	}
	if _, err := newLoad(t, spec(v1alpha1.RadosBenchWrite, nil)).Task(pool(), load.Run{ID: "--yes"}); err == nil {
		t.Error("a run's ID that is an option was taken")
	}
}
