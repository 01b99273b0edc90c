package live

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/workload/progress"
)

func now() time.Time { return time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC) }

// newHeard returns a line that a client printed some time ago.
func newHeard(ago time.Duration, task string, elapsed time.Duration, mib, iops, latencySeconds float64) heard {
	return heard{arrived: now().Add(-ago), line: progress.Line{
		Task: task, Elapsed: elapsed,
		Rate: parse.Rate{BytesPerSecond: mib * (1 << 20), OperationsPerSecond: iops, MeanLatencySeconds: latencySeconds},
	}}
}

func TestClientsAreAddedUp(t *testing.T) {
	const second = time.Second
	for name, tc := range map[string]struct {
		clients  []heard
		expected int
		want     string
	}{
		"nobody has said anything": {nil, 2, ""},
		"one of one": {
			[]heard{newHeard(0, "r1-write-4m", 12*second, 412, 103, 0.155)},
			1,
			"412 MiB/s, 103 IOPS, 155ms mean, write-4m at 12s",
		},
		// The two lines are means over 100 operations of 10 ms and 300 operations of 20 ms.
		"latencies weigh by operations": {
			[]heard{newHeard(0, "r2-a", 3*second, 100, 100, 0.010), newHeard(second, "r2-a", 2*second, 300, 300, 0.020)},
			2,
			"400 MiB/s, 400 IOPS, 17.5ms mean, a at 3s (2 clients)",
		},
		"one does not know its latency": {
			[]heard{newHeard(0, "r1-a", 3*second, 100, 100, 0.010), newHeard(0, "r1-a", 3*second, 100, 100, 0)},
			2,
			"200 MiB/s, 200 IOPS, a at 3s (2 clients)",
		},
		"one did nothing in this second": {
			[]heard{newHeard(0, "r1-a", 3*second, 100, 100, 0.010), newHeard(0, "r1-a", 3*second, 0, 0, 0)},
			2,
			"100 MiB/s, 100 IOPS, 10ms mean, a at 3s (2 clients)",
		},
		"nobody did": {
			[]heard{newHeard(0, "r1-a", 3*second, 0, 0, 0)},
			1,
			"0 B/s, 0 IOPS, a at 3s",
		},
		"not all have said something": {
			[]heard{newHeard(0, "r1-a", 3*second, 100, 100, 0.010)},
			3,
			"100 MiB/s, 100 IOPS, 10ms mean, a at 3s (of 1 of 3 clients)",
		},
		"one has not said anything of late": {
			[]heard{newHeard(5*second, "r1-a", 3*second, 700, 700, 0.7), newHeard(0, "r1-a", 8*second, 100, 100, 0.010)},
			2,
			"100 MiB/s, 100 IOPS, 10ms mean, a at 8s (of 1 of 2 clients)",
		},
		"all of it is old": {[]heard{newHeard(5*second, "r1-a", 3*second, 700, 700, 0.7)}, 1, ""},
		"one is at the phase before": {
			[]heard{newHeard(2*second, "r1-a", 60*second, 700, 700, 0.7), newHeard(0, "r1-b", second, 100, 100, 0.010)},
			2,
			"100 MiB/s, 100 IOPS, 10ms mean, b at 1s (of 1 of 2 clients)",
		},
		"more clients than were known": {
			[]heard{newHeard(0, "r1-a", second, 100, 100, 0), newHeard(0, "r1-a", second, 100, 100, 0)},
			0,
			"200 MiB/s, 200 IOPS, a at 1s (2 clients)",
		},
		"a run to find out how much to write": {
			[]heard{newHeard(0, "pilot-rbd-write", second, 10, 2560, 0)},
			1,
			"10 MiB/s, 2.56k IOPS, pilot-rbd-write at 1s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := merge(tc.clients, tc.expected, now())
			if got.Text("") != tc.want || ok != (tc.want != "") {
				t.Errorf("%t, %q, want %q", ok, got.Text(""), tc.want)
			}
		})
	}
}

func TestTheFigureOfTheObjectiveIsFirst(t *testing.T) {
	f := Figure{Task: "r1-a", Elapsed: 3 * time.Second, Clients: 1, Of: 1, Rate: parse.Rate{BytesPerSecond: 100 << 20, OperationsPerSecond: 100, MeanLatencySeconds: 0.01}}
	for metric, want := range map[v1alpha1.Metric]string{
		"":                        "100 MiB/s, 100 IOPS, 10ms mean, a at 3s",
		v1alpha1.MetricBandwidth:  "100 MiB/s, 100 IOPS, 10ms mean, a at 3s",
		v1alpha1.MetricIOPS:       "100 IOPS, 100 MiB/s, 10ms mean, a at 3s",
		v1alpha1.MetricLatencyP99: "10ms mean, 100 IOPS, 100 MiB/s, a at 3s",
	} {
		if got := f.Text(metric); got != want {
			t.Errorf("%s: got %q, want %q", metric, got, want)
		}
	}
}
