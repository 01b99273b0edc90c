package rbdbench

import (
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
	return place.Place{
		CephUser: "io", CephMajor: 20, Pool: "p", Owner: "cephtune-1", Client: 2, Clients: 3, DatasetBytes: 1 << 30,
		Image: place.Image{SizeBytes: 10 << 30, ObjectSizeBytes: 4 << 20},
	}
}

func spec(change func(s *v1alpha1.RBDBench)) v1alpha1.RBDBench {
	total := resource.MustParse("1Gi")
	s := v1alpha1.RBDBench{
		IOType: v1alpha1.RBDBenchWrite, IOPattern: v1alpha1.RBDBenchSeq, IOSize: resource.MustParse("4Ki"), IOThreads: 16,
		IOTotal: &total, Duration: metav1.Duration{Duration: time.Minute}, DataPattern: v1alpha1.RBDBenchIncompressible,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func newLoad(t *testing.T, s v1alpha1.RBDBench) load.Piloted {
	t.Helper()
	l, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMeasuredArguments(t *testing.T) {
	const written, read = "cephtune-1-2-w1x1024m-0", "cephtune-1-2-r1x1024m-0"
	argv := func(image, ioType, size, threads, total, pattern string, rest ...string) []string {
		return append([]string{
			"rbd", "--id=io", "bench", "--pool=p", "--image=" + image, "--io-type=" + ioType,
			"--io-size=" + size, "--io-threads=" + threads, "--io-total=" + total, "--io-pattern=" + pattern,
		}, rest...)
	}
	cases := map[string]struct {
		change func(s *v1alpha1.RBDBench)
		want   []string
	}{
		"write": {nil, argv(written, "write", "4096B", "16", "1073741824B", "seq", "--pattern-byte=rand-str")},
		"write of one byte": {
			func(s *v1alpha1.RBDBench) { s.DataPattern = v1alpha1.RBDBenchRepeatedByte },
			argv(written, "write", "4096B", "16", "1073741824B", "seq"),
		},
		"read at random": {
			func(s *v1alpha1.RBDBench) { s.IOType, s.IOPattern = v1alpha1.RBDBenchRead, v1alpha1.RBDBenchRand },
			argv(read, "read", "4096B", "16", "1073741824B", "rand"),
		},
		"both": {
			func(s *v1alpha1.RBDBench) {
				s.IOType, s.IOPattern = v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchFullSeq
			},
			argv(written, "readwrite", "4096B", "16", "1073741824B", "full-seq", "--rw-mix-read=50", "--pattern-byte=rand-str"),
		},
		"mostly reads": {
			func(s *v1alpha1.RBDBench) { s.IOType, s.ReadPercent = v1alpha1.RBDBenchReadWrite, new(int32(70)) },
			argv(written, "readwrite", "4096B", "16", "1073741824B", "seq", "--rw-mix-read=70", "--pattern-byte=rand-str"),
		},
		"large and few": {
			func(s *v1alpha1.RBDBench) { s.IOSize, s.IOThreads = resource.MustParse("4Mi"), 1 },
			argv(written, "write", "4194304B", "1", "1073741824B", "seq", "--pattern-byte=rand-str"),
		},
		"as much as the run says": {
			func(s *v1alpha1.RBDBench) { s.IOTotal = nil },
			argv(written, "write", "4096B", "16", "123456B", "seq", "--pattern-byte=rand-str"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := newLoad(t, spec(tc.change)).Task(pool(), load.Run{ID: "run-7", IOTotalBytes: 123456})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Measure.Argv); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTaskWithoutItsArguments(t *testing.T) {
	got, err := newLoad(t, spec(nil)).Task(pool(), load.Run{ID: "run-7"})
	if err != nil {
		t.Fatal(err)
	}
	want := task.Task{
		ID: "run-7",
		// Ceph keeps the lock of a killed client for half a minute.
		Steps: []task.Command{{Argv: []string{
			"rbd", "--id=io", "image-meta", "set", "--pool=p", "--image=cephtune-1-2-w1x1024m-0", "cephtune", "prepared",
		}}},
		StepsTimeoutSeconds:   120,
		Measure:               &task.Measurement{Command: got.Measure.Command, Format: Format, RequestedBytes: 1 << 30, MinimumSeconds: 30},
		MeasureTimeoutSeconds: 360,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	read, err := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOType = v1alpha1.RBDBenchRead })).Task(pool(), load.Run{ID: "run-7"})
	if err != nil || read.Steps != nil {
		t.Errorf("a read, which takes no lock, has steps %v, %v", read.Steps, err)
	}
}

// Before Tentacle, rbd bench cannot write incompressible data, and must not write other data
// instead.
func TestIncompressibleNeedsTentacle(t *testing.T) {
	for major, ok := range map[int]bool{0: true, 18: false, 19: false, 20: true, 21: true} {
		p := pool()
		p.CephMajor = major
		if _, err := newLoad(t, spec(nil)).Task(p, load.Run{ID: "a"}); (err == nil) != ok {
			t.Errorf("Ceph %d: %v", major, err)
		}
		read := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOType = v1alpha1.RBDBenchRead }))
		if _, err := read.Task(p, load.Run{ID: "a"}); err != nil {
			t.Errorf("Ceph %d, read: %v", major, err)
		}
	}
}

func TestInvalidSpecsAreRefused(t *testing.T) {
	for name, change := range map[string]func(s *v1alpha1.RBDBench){
		"no size":            func(s *v1alpha1.RBDBench) { s.IOSize = resource.Quantity{} },
		"no threads":         func(s *v1alpha1.RBDBench) { s.IOThreads = 0 },
		"no duration":        func(s *v1alpha1.RBDBench) { s.Duration.Duration = 0 },
		"less than one":      func(s *v1alpha1.RBDBench) { s.IOTotal = new(resource.MustParse("1Ki")) },
		"an unknown type":    func(s *v1alpha1.RBDBench) { s.IOType = "Trim" },
		"an unknown pattern": func(s *v1alpha1.RBDBench) { s.IOPattern = "Zipf" },
	} {
		if l, err := New(spec(change)); err == nil || l != nil {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
	unsized, small := pool(), pool()
	unsized.DatasetBytes, small.DatasetBytes = 0, 1<<20
	for name, p := range map[string]place.Place{"no dataset": unsized, "an image of less than one operation": small, "no place": {}} {
		l := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOSize = resource.MustParse("4Mi") }))
		if _, err := l.Task(p, load.Run{ID: "a"}); err == nil {
			t.Errorf("%s: a task was made", name)
		}
	}
	unknown := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOTotal = nil }))
	if _, err := unknown.Task(pool(), load.Run{ID: "a"}); err == nil {
		t.Error("a task without a size was made")
	}
}

// Pilots of a client with a given speed must lead to a run of about the wanted time.
func TestPilots(t *testing.T) {
	for name, tc := range map[string]struct {
		bytesPerSecond float64
		change         func(s *v1alpha1.RBDBench)
		pilots         int
	}{
		"slow":               {200 << 10, nil, 1},
		"usual":              {40 << 20, nil, 3},
		"fast":               {2 << 30, nil, 5},
		"hours":              {40 << 20, func(s *v1alpha1.RBDBench) { s.Duration.Duration = 5 * time.Hour }, 3},
		"large operations":   {200 << 20, func(s *v1alpha1.RBDBench) { s.IOSize = resource.MustParse("64Mi") }, 1},
		"faster than anyone": {1 << 40, nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoad(t, spec(func(s *v1alpha1.RBDBench) {
				s.IOTotal = nil
				if tc.change != nil {
					tc.change(s)
				}
			}))
			if !l.NeedsPilot() {
				t.Fatal("needs no pilot")
			}
			var pilots []load.Pilot
			for {
				bytes, done := l.NextPilot(pilots)
				if done {
					got, want := float64(bytes)/tc.bytesPerSecond, l.Timing().MeasuredSeconds
					if len(pilots) != tc.pilots || got < want || got > 1.2*want+1 {
						t.Errorf("%d pilots %v lead to %v s, want %d and %v s", len(pilots), pilots, got, tc.pilots, want)
					}
					return
				}
				pilots = append(pilots, load.Pilot{Bytes: bytes, Seconds: float64(bytes) / tc.bytesPerSecond})
			}
		})
	}
}

// If a run is twice as fast as its pilot, it must still be long enough to count, however short it
// was planned. No pilot may take much longer than necessary.
func TestPilotsLeaveAMargin(t *testing.T) {
	for _, asked := range []time.Duration{30 * time.Second, 40 * time.Second, time.Minute, 10 * time.Minute} {
		for rate := float64(1 << 20); rate < 4<<30; rate *= 1.7 {
			l := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOTotal, s.Duration.Duration = nil, asked }))
			bytes, seconds := sizeAt(l, rate)
			if got := float64(bytes) / (2 * rate); got < minimumSeconds || got < asked.Seconds()/2 {
				t.Errorf("%v at %.3g B/s: a run twice as fast takes %.3g s", asked, rate, got)
			}
			if planned := l.Timing().MeasuredSeconds; planned < asked.Seconds() || planned > max(asked.Seconds(), 60) {
				t.Errorf("%v: %v s are planned", asked, planned)
			}
			if seconds > 30 {
				t.Errorf("%v at %.3g B/s: pilots take %.3g s together", asked, rate, seconds)
			}
		}
	}
}

// sizeAt returns the size of a run after the pilots of a client with a constant rate, and the time
// of the pilots.
func sizeAt(l load.Piloted, bytesPerSecond float64) (bytes int64, pilotSeconds float64) {
	var pilots []load.Pilot
	for {
		bytes, done := l.NextPilot(pilots)
		if done {
			return bytes, pilotSeconds
		}
		seconds := float64(bytes) / bytesPerSecond
		pilots = append(pilots, load.Pilot{Bytes: bytes, Seconds: seconds})
		pilotSeconds += seconds
	}
}

// A phase with a given number of bytes is planned with its own duration.
func TestTimingOfGivenSize(t *testing.T) {
	l := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.Duration.Duration = 30 * time.Second }))
	if got := l.Timing().MeasuredSeconds; got != 30 {
		t.Errorf("%v s are planned, want 30", got)
	}
}

func TestPilotsEnd(t *testing.T) {
	l := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOTotal = nil }))
	var pilots []load.Pilot
	for range 100 {
		bytes, done := l.NextPilot(pilots)
		if bytes <= 0 || bytes%(16*4096) != 0 {
			t.Fatalf("%d bytes are no whole rounds", bytes)
		}
		if done {
			return
		}
		pilots = append(pilots, load.Pilot{Bytes: bytes}) // in almost no time
	}
	t.Fatal("pilots do not end")
}

func TestPilotTaskMayBeShort(t *testing.T) {
	got, err := newLoad(t, spec(func(s *v1alpha1.RBDBench) { s.IOTotal = nil })).PilotTask(pool(), load.Run{ID: "pilot-1"}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got.Measure.MinimumSeconds != 0 || got.Measure.RequestedBytes != 1<<20 {
		t.Errorf("got %+v", got.Measure)
	}
}
