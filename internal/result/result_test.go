package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write1 returns the result of a client that wrote, with all fields of a direction.
func write1() *Result {
	return &Result{
		SchemaVersion: SchemaVersion,
		Source: Source{
			Tool: ToolFIO, ToolVersion: "fio-3.33", Format: "fio-json",
			Settings: map[string]string{"bs": "4k", "rbdname": "a"},
		},
		Clients: 1,
		Write: &Direction{
			Operations: 100, Bytes: 409600, Seconds: 4, ShortestSeconds: 4,
			Latency: &Latency{
				Moments: Moments{Count: 100, MeanSeconds: 0.002, M2SecondsSquared: new(0.0001), MinSeconds: new(0.001), MaxSeconds: new(0.004)},
				Histogram: &Histogram{Bins: []Bin{
					{Nanoseconds: BinNanoseconds(BinIndex(1_000_000)), Count: 60},
					{Nanoseconds: BinNanoseconds(BinIndex(4_000_000)), Count: 40},
				}},
			},
			Series: &Series{
				Boundaries:   NominalBoundaries,
				StartSeconds: []float64{0, 1, 2, 3}, EndSeconds: []float64{1, 2, 3, 4},
				OperationsPerSecond: []float64{25, 25, 0, 50}, BytesPerSecond: []float64{102400, 102400, 0, 204800},
			},
		},
		Warnings: []Warning{{Code: WarnToolMessage, Message: "clock", Line: 1}},
	}
}

func TestRatesComeFromTotals(t *testing.T) {
	d := write1().Write
	if got, want := d.BytesPerSecond(), 102400.0; got != want {
		t.Errorf("BytesPerSecond() = %v, want %v", got, want)
	}
	if got, want := d.OperationsPerSecond(), 25.0; got != want {
		t.Errorf("OperationsPerSecond() = %v, want %v", got, want)
	}
}

func TestDirectionsAreListedInOneOrder(t *testing.T) {
	r := &Result{Mixed: &Direction{}, Trim: &Direction{}, Read: &Direction{}}
	var got []DirectionName
	for _, d := range r.Directions() {
		got = append(got, d.Name)
	}
	if diff := cmp.Diff([]DirectionName{Read, Trim, Mixed}, got); diff != "" {
		t.Errorf("Directions() (-want +got):\n%s", diff)
	}
	if r.Direction("sideways") != nil {
		t.Error("Direction of an unknown name is not nil")
	}
}

func TestPercentileOfDirectionSaysOfWhichLatencyItIs(t *testing.T) {
	printed := &Latency{Moments: Moments{Count: 1}, Percentiles: []Percentile{{Percent: 99, Seconds: 0.5}}}
	cases := map[string]struct {
		direction Direction
		percent   float64
		want      Percentile
		wantKind  LatencyKind
		wantOK    bool
	}{
		"the total latency has a histogram": {
			direction: *write1().Write, percent: 50,
			want: Percentile{Percent: 50, Seconds: 0.00100352}, wantKind: TotalLatency, wantOK: true,
		},
		"only the completion latency has what fio printed": {
			direction: Direction{Latency: &Latency{}, CompletionLatency: printed}, percent: 99,
			want: Percentile{Percent: 99, Seconds: 0.5}, wantKind: CompletionLatency, wantOK: true,
		},
		"a percentile that was not printed is not known": {
			direction: Direction{CompletionLatency: printed}, percent: 98,
		},
		"a tool without percentiles": {
			direction: Direction{Latency: &Latency{Moments: Moments{Count: 9}}}, percent: 50,
		},
		"a tool without latencies": {percent: 50},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, kind, ok := tc.direction.LatencyOf(func(l *Latency) (Percentile, bool) { return l.Percentile(tc.percent) })
			if diff := cmp.Diff(tc.want, got); diff != "" || kind != tc.wantKind || ok != tc.wantOK {
				t.Errorf("got kind %q, ok %v; want %q, %v; percentile (-want +got):\n%s", kind, ok, tc.wantKind, tc.wantOK, diff)
			}
		})
	}
}
