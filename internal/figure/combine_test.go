package figure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

// run returns an observation with a rate, and with a number of operations at each latency in
// milliseconds.
func run(t *testing.T, rate float64, milliseconds map[int64]int64) Observation {
	t.Helper()
	var bins []result.Bin
	var n int64
	var longest float64
	for ms, count := range milliseconds {
		bins = append(bins, result.Bin{Nanoseconds: result.BinNanoseconds(result.BinIndex(ms * 1e6)), Count: count})
		n += count
		longest = max(longest, float64(ms)/1000)
	}
	histogram, err := result.NewHistogram(bins)
	if err != nil {
		t.Fatal(err)
	}
	seconds := float64(n) / rate
	res := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Read: &result.Direction{
			Operations: n, Bytes: 4096 * n, Seconds: seconds, ShortestSeconds: seconds,
			Latency: &result.Latency{Moments: result.Moments{Count: n, MeanSeconds: 0.001, MaxSeconds: &longest}, Histogram: histogram},
		},
	}
	figures, err := Figures(res)
	if err != nil {
		t.Fatal(err)
	}
	return Observation{Result: res, Figures: figures}
}

func combined(t *testing.T, runs ...Observation) map[v1alpha1.Metric]bounds {
	t.Helper()
	r, err := Combine("p", runs)
	if err != nil {
		t.Fatal(err)
	}
	if int(r.ValidRuns) != len(runs) {
		t.Errorf("%d valid runs, want %d", r.ValidRuns, len(runs))
	}
	out := map[v1alpha1.Metric]bounds{}
	for _, m := range r.Metrics {
		b, err := readMetric(m)
		if err != nil {
			t.Fatal(err)
		}
		out[m.Metric] = b
	}
	return out
}

func TestRatesAreGeometricMeansWithStudentsInterval(t *testing.T) {
	ms := map[int64]int64{1: 100}
	got := combined(t, run(t, 50, ms), run(t, 100, ms), run(t, 200, ms))[v1alpha1.MetricIOPS]
	// Logarithms 0 and ±ln 2 around 100; t(0.975, 2) = 4.302652729749464.
	factor := math.Exp2(4.302652729749464 / math.Sqrt(3))
	want := bounds{value: 100, low: 100 / factor, high: 100 * factor, isInterval: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(bounds{}), approximately); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFiguresHaveTheirUnitBesideThem(t *testing.T) {
	ms := map[int64]int64{1: 100}
	for want, runs := range map[string][]Observation{
		"100 IOPS (17.9 IOPS to 559 IOPS)": {run(t, 50, ms), run(t, 100, ms), run(t, 200, ms)},
		"50 IOPS":                          {run(t, 50, ms)},
	} {
		r, err := Combine("p", runs)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := FindResult(r, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
		if !ok || m.Text != want {
			t.Errorf("got %q, want %q", m.Text, want)
		}
	}
}

func TestTwoRunsHaveNoInterval(t *testing.T) {
	ms := map[int64]int64{1: 100}
	for metric, b := range combined(t, run(t, 50, ms), run(t, 200, ms)) {
		if b.isInterval {
			t.Errorf("%s has the interval %v to %v", metric, b.low, b.high)
		}
	}
	if got := combined(t, run(t, 50, ms), run(t, 200, ms))[v1alpha1.MetricIOPS].value; !near(got, 100, 1e-9) {
		t.Errorf("IOPS %v, want 100", got)
	}
}

// Half of one run's operations take 100 ms, and none of the other runs' operations do. Of all 3000
// operations, that is a sixth, so p95 is 100 ms and p50 is 1 ms.
func TestPercentilesAreThoseOfAllOperationsTogether(t *testing.T) {
	fast := map[int64]int64{1: 1000}
	slow := map[int64]int64{1: 500, 100: 500}
	got := combined(t, run(t, 100, fast), run(t, 100, slow), run(t, 100, fast))
	if p := got[v1alpha1.MetricLatencyP95]; !near(p.value, 0.1, 0.01) || p.low > p.value || p.high < p.value {
		t.Errorf("p95 %+v, want 0.1 s within its interval", p)
	}
	if p := got[v1alpha1.MetricLatencyP50]; !near(p.value, 0.001, 0.01) {
		t.Errorf("p50 %+v, want 0.001 s", p)
	}
	if longest := got[v1alpha1.MetricLatencyMax]; longest.value != 0.1 || longest.isInterval {
		t.Errorf("longest %+v, want 0.1 s without an interval", longest)
	}
}

func TestAnOddRunWidensTheInterval(t *testing.T) {
	var runs []Observation
	for range 19 {
		runs = append(runs, run(t, 100, map[int64]int64{1: 100}))
	}
	runs = append(runs, run(t, 100, map[int64]int64{100: 100000}))
	p := combined(t, runs...)[v1alpha1.MetricLatencyP99]
	if !near(p.value, 0.1, 0.01) || p.high != p.value || p.low > 0.002 {
		t.Errorf("p99 %+v, want an interval from a typical run's 0.001 s to 0.1 s", p)
	}
}

func TestAFigureThatARunLacksIsAbsent(t *testing.T) {
	ms := map[int64]int64{1: 100}
	whole := run(t, 100, ms)
	withoutFigure := run(t, 100, ms)
	withoutFigure.Figures = withoutFigure.Figures[:1]
	withoutHistogram := run(t, 100, ms)
	withoutHistogram.Result.Read.Latency.Histogram = nil
	withoutResult := run(t, 100, ms)
	withoutResult.Result = nil
	otherKind := run(t, 100, ms)
	for i := range otherKind.Figures {
		if otherKind.Figures[i].LatencyKind != "" {
			otherKind.Figures[i].LatencyKind = result.CompletionLatency
		}
	}
	all := []v1alpha1.Metric{"Bandwidth", "IOPS", "LatencyMean", "LatencyP50", "LatencyP95", "LatencyP99", "LatencyP999", "LatencyMax"}
	noPercentiles := []v1alpha1.Metric{"Bandwidth", "IOPS", "LatencyMean", "LatencyMax"}
	for name, c := range map[string]struct {
		runs []Observation
		want []v1alpha1.Metric
	}{
		"all there":            {[]Observation{whole, whole}, all},
		"one figure":           {[]Observation{whole, withoutFigure}, []v1alpha1.Metric{"Bandwidth"}},
		"one histogram":        {[]Observation{whole, withoutHistogram}, noPercentiles},
		"an archive too large": {[]Observation{whole, withoutResult}, noPercentiles},
		"alone it needs none":  {[]Observation{withoutResult}, all},
		"two kinds of latency": {[]Observation{whole, otherKind}, []v1alpha1.Metric{"Bandwidth", "IOPS"}},
		"no run":               {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Combine("p", c.runs)
			if err != nil {
				t.Fatal(err)
			}
			var got []v1alpha1.Metric
			for _, m := range r.Metrics {
				got = append(got, m.Metric)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// Status admits 34 figures of a phase: reads, writes and both have eight each, an outage adds
// nine, and a curve one.
func TestFiguresFitIntoStatus(t *testing.T) {
	var o Observation
	for _, direction := range Directions() {
		for _, metric := range Metrics() {
			if direction == v1alpha1.DirectionTotal || metric != v1alpha1.MetricTimeToClean && metric != v1alpha1.MetricSustainableIOPS && !OfWindow(metric) {
				o.Figures = append(o.Figures, Figure{Metric: metric, Direction: direction, Value: 1})
			}
		}
	}
	r, err := Combine("p", []Observation{o})
	if err != nil {
		t.Fatal(err)
	}
	got := map[v1alpha1.Direction]int{}
	for _, m := range r.Metrics {
		got[m.Direction]++
	}
	if diff := cmp.Diff(map[v1alpha1.Direction]int{"Total": 8 + 9 + 1, "Read": 8, "Write": 8}, got); diff != "" {
		t.Errorf("figures by direction (-want +got):\n%s\n%+v", diff, r.Metrics)
	}
}

// The runs' recoveries take different times, so their operations cannot be added up. The median
// over runs keeps one run from deciding alone.
func TestLatenciesOfWindowsAreMediansOfRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runs []float64
		want v1alpha1.Decimal
	}{
		"one run":                       {[]float64{0.02}, "0.02"},
		"two runs":                      {[]float64{0.02, 0.08}, "0.04"},
		"three runs, one of them worse": {[]float64{0.9, 0.02, 0.03}, "0.03"},
		"four runs":                     {[]float64{0.01, 0.9, 0.04, 0.09}, "0.06"},
	} {
		var runs []Observation
		for _, value := range c.runs {
			runs = append(runs, Observation{Figures: []Figure{{Metric: v1alpha1.MetricP99Recovery, Direction: v1alpha1.DirectionTotal, Value: value}}})
		}
		r, err := Combine("p", runs)
		if err != nil || len(r.Metrics) != 1 || r.Metrics[0].Value != c.want {
			t.Errorf("%s: %+v, %v, want %s", name, r.Metrics, err, c.want)
		}
	}
	gone := []Observation{{Figures: []Figure{{Metric: v1alpha1.MetricP99After, Direction: v1alpha1.DirectionTotal, Value: 1}}}, {}}
	if r, err := Combine("p", gone); err != nil || len(r.Metrics) != 0 {
		t.Errorf("a window that one run does not tell of: %+v, %v", r.Metrics, err)
	}
}

func TestMarksOfAllRunsAreKept(t *testing.T) {
	ms := map[int64]int64{1: 100}
	a, b := run(t, 100, ms), run(t, 100, ms)
	a.Mark(v1alpha1.MarkNotSteady)
	b.Mark(v1alpha1.MarkCached)
	r, err := Combine("p", []Observation{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]v1alpha1.ResultMark{v1alpha1.MarkCached, v1alpha1.MarkNotSteady}, r.Marks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTypicalFiguresAverageNoPercentiles(t *testing.T) {
	for name, c := range map[string]struct {
		metric        v1alpha1.Metric
		values        []float64
		runs, windows float64
	}{
		"a rate":                  {v1alpha1.MetricIOPS, []float64{100, 400}, 200, 250},
		"a mean latency":          {v1alpha1.MetricLatencyMean, []float64{1, 4}, 2, 2.5},
		"a percentile":            {v1alpha1.MetricLatencyP99, []float64{9, 1, 2}, 2, 2},
		"of two, the slower":      {v1alpha1.MetricLatencyP99, []float64{1, 9}, 9, 9},
		"a window without result": {v1alpha1.MetricIOPS, []float64{0, 100}, 0, 50},
	} {
		if runs, windows := Typical(c.metric, c.values), TypicalOfWindows(c.metric, c.values); runs != c.runs && runs-c.runs > 1e-9 || windows != c.windows {
			t.Errorf("%s: got %v and %v, want %v and %v", name, runs, windows, c.runs, c.windows)
		}
	}
}
