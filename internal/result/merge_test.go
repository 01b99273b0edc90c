package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rounding is the permitted difference of floating-point sums in another order.
var rounding = cmpopts.EquateApprox(1e-12, 1e-15)

// randomResult returns a client's result as a parser could have produced it.
func randomResult(t *testing.T, random *rand.Rand) *Result {
	t.Helper()
	r := &Result{
		SchemaVersion: SchemaVersion,
		Source:        Source{Tool: ToolFIO, ToolVersion: "fio-3.33", Format: "fio-json", Settings: map[string]string{"bs": "4k"}},
		Clients:       1,
	}
	if random.IntN(4) > 0 {
		r.Warn(Warning{Code: WarnShortIO, Message: "short", Line: random.IntN(3)})
	}
	for _, name := range []DirectionName{Read, Write} {
		if random.IntN(5) == 0 {
			continue
		}
		r.SetDirection(name, randomDirection(t, random))
	}
	if len(r.Directions()) == 0 {
		r.Trim = randomDirection(t, random)
	}
	return r
}

func randomDirection(t *testing.T, random *rand.Rand) *Direction {
	t.Helper()
	latencies := make([]int64, 1+random.IntN(50))
	for i := range latencies {
		latencies[i] = int64(math.Exp(random.NormFloat64() + 13))
	}
	seconds := 10 + random.Float64()
	d := &Direction{
		Operations: int64(len(latencies)), Bytes: int64(len(latencies)) * 4096, Seconds: seconds, ShortestSeconds: seconds,
		Latency: &Latency{Moments: momentsOf(latencies)},
		Series:  &Series{Boundaries: MeasuredBoundaries},
	}
	if random.IntN(4) > 0 {
		d.Latency.Histogram = histogramOf(t, latencies)
	}
	time := 0.0
	for range 10 {
		d.Series.StartSeconds = append(d.Series.StartSeconds, time)
		time += 1.0005
		d.Series.EndSeconds = append(d.Series.EndSeconds, time)
		d.Series.BytesPerSecond = append(d.Series.BytesPerSecond, float64(random.IntN(1e9)))
	}
	return d
}

// momentsOf computes moments by their definition.
func momentsOf(nanoseconds []int64) Moments {
	m := Moments{Count: int64(len(nanoseconds)), MinSeconds: new(math.Inf(1)), MaxSeconds: new(0.0), M2SecondsSquared: new(0.0)}
	for _, ns := range nanoseconds {
		s := float64(ns) / 1e9
		m.MeanSeconds += s / float64(len(nanoseconds))
		*m.MinSeconds, *m.MaxSeconds = min(*m.MinSeconds, s), max(*m.MaxSeconds, s)
	}
	for _, ns := range nanoseconds {
		*m.M2SecondsSquared += math.Pow(float64(ns)/1e9-m.MeanSeconds, 2)
	}
	return m
}

func mustMerge(t *testing.T, results ...*Result) *Result {
	t.Helper()
	merged, err := Merge(results...)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func TestMergeDoesNotDependOnOrderOrSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b, c := randomResult(t, random), randomResult(t, random), randomResult(t, random)
		before := [][]byte{mustMarshal(t, a), mustMarshal(t, b), mustMarshal(t, c)}
		atOnce := mustMerge(t, a, b, c)
		if diff := cmp.Diff(atOnce, mustMerge(t, c, a, b), rounding); diff != "" {
			t.Fatalf("another order (-a+b+c +c+a+b):\n%s", diff)
		}
		if diff := cmp.Diff(atOnce, mustMerge(t, a, mustMerge(t, b, c)), rounding); diff != "" {
			t.Fatalf("in steps (-(a+b)+c +a+(b+c)):\n%s", diff)
		}
		if err := atOnce.Validate(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, [][]byte{mustMarshal(t, a), mustMarshal(t, b), mustMarshal(t, c)}); diff != "" {
			t.Fatalf("the arguments were changed:\n%s", diff)
		}
	}
}

func TestMergedMomentsAreThoseOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		latencies := make([]int64, 2+random.IntN(200))
		for i := range latencies {
			latencies[i] = 1_000_000_000 + random.Int64N(1000) // a large mean and a small spread
		}
		cut := 1 + random.IntN(len(latencies)-1)
		got := momentsOf(latencies[:cut]).merge(momentsOf(latencies[cut:]))
		if diff := cmp.Diff(momentsOf(latencies), got, cmpopts.EquateApprox(1e-7, 1e-18)); diff != "" {
			t.Fatalf("(-whole +merged):\n%s", diff)
		}
	}
}

func TestMergeAddsAndKeepsTheWindow(t *testing.T) {
	a, b := write1(), write1()
	b.Write.Seconds, b.Write.ShortestSeconds = 5, 5
	b.Source.Settings = map[string]string{"bs": "4k", "rbdname": "b"}
	got := mustMerge(t, a, b)
	want := write1()
	want.Clients = 2
	want.Source.Settings = map[string]string{"bs": "4k"}
	want.Write.Operations, want.Write.Bytes = 200, 819200
	want.Write.Seconds, want.Write.ShortestSeconds = 5, 4
	want.Write.Latency.Moments.Count = 200
	want.Write.Latency.Moments.M2SecondsSquared = new(0.0002)
	for i := range want.Write.Latency.Histogram.Bins {
		want.Write.Latency.Histogram.Bins[i].Count *= 2
	}
	want.Write.Series = &Series{
		Boundaries:   AlignedBoundaries,
		StartSeconds: []float64{0, 1, 2, 3}, EndSeconds: []float64{1, 2, 3, 4},
		OperationsPerSecond: []float64{50, 50, 0, 100}, BytesPerSecond: []float64{204800, 204800, 0, 409600},
	}
	want.Warnings = []Warning{
		{Code: WarnToolMessage, Message: "clock", Line: 1},
		{Code: WarnUnevenClients, Message: "write: some clients ended long before the others, so part of the window had less load"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
}

func TestMergeDropsFiguresThatSomeClientsLack(t *testing.T) {
	cases := map[string]struct {
		change   func(d *Direction)
		wantCode WarningCode
		check    func(d *Direction) bool
	}{
		"a client without a histogram": {
			change:   func(d *Direction) { d.Latency.Histogram = nil },
			wantCode: WarnHistogramDropped,
			check:    func(d *Direction) bool { return d.Latency.Histogram == nil && d.Latency.Moments.Count == 200 },
		},
		"a client with printed percentiles only": {
			change: func(d *Direction) {
				d.Latency.Histogram = nil
				d.Latency.Percentiles = []Percentile{{Percent: 99, Seconds: 1}}
			},
			wantCode: WarnHistogramDropped,
			check:    func(d *Direction) bool { return d.Latency.Histogram == nil && d.Latency.Percentiles == nil },
		},
		"a client without latencies": {
			change:   func(d *Direction) { d.Latency = nil },
			wantCode: WarnHistogramDropped,
			check:    func(d *Direction) bool { return d.Latency == nil },
		},
		"a client without a spread": {
			change: func(d *Direction) { d.Latency.Moments.M2SecondsSquared = nil },
			check:  func(d *Direction) bool { return d.Latency.Moments.M2SecondsSquared == nil },
		},
		"a client without a series": {
			change:   func(d *Direction) { d.Series = nil },
			wantCode: WarnSeriesDropped,
			check:    func(d *Direction) bool { return d.Series == nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			without := write1()
			tc.change(without.Write)
			for _, pair := range [][2]*Result{{write1(), without}, {without, write1()}} {
				merged := mustMerge(t, pair[0], pair[1])
				if !tc.check(merged.Write) {
					t.Errorf("kept too much or too little: %+v", merged.Write)
				}
				warned := slices.ContainsFunc(merged.Warnings, func(w Warning) bool { return w.Code == tc.wantCode })
				if tc.wantCode != "" && !warned {
					t.Errorf("warnings %v, want one of %s", merged.Warnings, tc.wantCode)
				}
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	other := write1()
	other.Source.Tool = ToolRBDBench
	huge := write1()
	huge.Write.Bytes = math.MaxInt64
	cases := map[string][]*Result{
		"nothing":             nil,
		"different tools":     {write1(), other},
		"more than 63 bits":   {write1(), huge},
		"more than 63 bits b": {huge, write1()},
	}
	for name, results := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := Merge(results...); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func TestTotalIsThatOfBothDirections(t *testing.T) {
	histogram := func(nanoseconds, count int64) *Histogram {
		return &Histogram{Bins: []Bin{{BinNanoseconds(BinIndex(nanoseconds)), count}}}
	}
	res := &Result{
		Read: &Direction{
			Operations: 300, Bytes: 3000, Seconds: 10, ShortestSeconds: 10,
			Latency: &Latency{Moments: Moments{Count: 300, MeanSeconds: 0.001}, Histogram: histogram(1_000_000, 300)},
		},
		Write: &Direction{
			Operations: 100, Bytes: 1000, Seconds: 10, ShortestSeconds: 10,
			Latency: &Latency{Moments: Moments{Count: 100, MeanSeconds: 0.005}, Histogram: histogram(5_000_000, 100)},
		},
	}
	total, err := res.Total()
	if err != nil {
		t.Fatal(err)
	}
	if got := total.OperationsPerSecond(); got != 40 {
		t.Errorf("%v operations per second, want 40", got)
	}
	if got := total.Latency.Moments.MeanSeconds; math.Abs(got-0.002) > 1e-12 {
		t.Errorf("mean latency %v s, want that of all operations, 0.002 s", got)
	}
	// A quarter of all operations took 5 ms. Neither direction alone has its 80th percentile there.
	if p, ok := total.Latency.Percentile(80); !ok || math.Abs(p.Seconds-0.005) > 0.0001 {
		t.Errorf("80th percentile %v s, want about 0.005 s", p.Seconds)
	}
}
