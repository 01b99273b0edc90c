package result

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBinsAreThoseOfFIO(t *testing.T) {
	for i := range NumBins {
		if got := BinIndex(BinNanoseconds(i)); got != i {
			t.Fatalf("bin %d has the value %d, which is in bin %d", i, BinNanoseconds(i), got)
		}
	}
	// These are names of bins as fio 3.33 prints them in JSON+.
	for _, ns := range []int64{201, 394, 1544, 2040, 2064, 38656, 152576, 3325952} {
		if !IsBin(ns) {
			t.Errorf("IsBin(%d) = false", ns)
		}
	}
	for _, ns := range []int64{-1, 1545, 38657, math.MaxInt64} {
		if IsBin(ns) {
			t.Errorf("IsBin(%d) = true", ns)
		}
	}
	if got := BinIndex(math.MaxInt64); got != NumBins-1 {
		t.Errorf("the longest latency is in bin %d, want the last", got)
	}
}

func TestBinsAreNarrowerThanASixtyFourth(t *testing.T) {
	for range 10000 {
		ns := rand.Int64N(16e9)
		if off := math.Abs(float64(BinNanoseconds(BinIndex(ns)) - ns)); off > float64(ns)/128 {
			t.Fatalf("%d ns is in the bin of %d", ns, BinNanoseconds(BinIndex(ns)))
		}
	}
}

func histogramOf(t *testing.T, latencies []int64) *Histogram {
	t.Helper()
	counts := map[int64]int64{}
	for _, ns := range latencies {
		counts[BinNanoseconds(BinIndex(ns))]++
	}
	var bins []Bin
	for ns, count := range counts {
		bins = append(bins, Bin{ns, count})
	}
	h, err := NewHistogram(bins)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestMergedPartsAreTheHistogramOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		latencies := make([]int64, 1+random.IntN(500))
		for i := range latencies {
			latencies[i] = int64(math.Exp(random.NormFloat64()*2 + 13))
		}
		cut := random.IntN(len(latencies) + 1)
		whole := histogramOf(t, latencies)
		sum, err := AddHistograms(histogramOf(t, latencies[:cut]), histogramOf(t, latencies[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, sum); diff != "" {
			t.Fatalf("(-whole +sum of parts):\n%s", diff)
		}
	}
}

func TestPercentileIsThatOfTheNearestRank(t *testing.T) {
	h := &Histogram{Bins: []Bin{{10, 1}, {20, 8}, {30, 1}}}
	thousand := &Histogram{Bins: []Bin{{10, 999}, {20, 1}}}
	huge := &Histogram{Bins: []Bin{{10, math.MaxInt64 - 1}, {20, 1}}}
	overflow := &Histogram{Bins: []Bin{{10, 1}, {BinNanoseconds(NumBins - 1), 1}}}
	cases := map[string]struct {
		histogram *Histogram
		percent   float64
		want      Percentile
		wantOK    bool
	}{
		"the first bin reaches ten percent":        {h, 10, Percentile{10, 10e-9, false}, true},
		"just above ten percent is the second bin": {h, 10.001, Percentile{10.001, 20e-9, false}, true},
		"a whole rank is not exceeded":             {thousand, 99.9, Percentile{99.9, 10e-9, false}, true},
		"just above a whole rank is the next bin":  {thousand, 99.901, Percentile{99.901, 20e-9, false}, true},
		"counts may fill 63 bits":                  {huge, 100, Percentile{100, 20e-9, false}, true},
		"the median":                               {h, 50, Percentile{50, 20e-9, false}, true},
		"all of it is the last bin":                {h, 100, Percentile{100, 30e-9, false}, true},
		"the bin without end is a bound":           {overflow, 99, Percentile{99, float64(BinNanoseconds(NumBins-1)) / 1e9, true}, true},
		"zero is not a percentile":                 {h, 0, Percentile{}, false},
		"nor is more than a hundred":               {h, 100.5, Percentile{}, false},
		"nor is NaN":                               {h, math.NaN(), Percentile{}, false},
		"an empty histogram has none at all":       {&Histogram{}, 50, Percentile{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.histogram.Percentile(tc.percent)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.wantOK {
				t.Errorf("ok %v, want %v (-want +got):\n%s", ok, tc.wantOK, diff)
			}
		})
	}
}

func TestNewHistogramRefusesImpossibleCounts(t *testing.T) {
	cases := map[string][]Bin{
		"a value between bins":        {{1545, 1}},
		"the same bin twice":          {{10, 1}, {10, 1}},
		"a bin without operations":    {{10, 0}},
		"a negative count":            {{10, -1}},
		"a negative latency":          {{-10, 1}},
		"more than 63 bits of counts": {{10, math.MaxInt64}, {11, 1}},
	}
	for name, bins := range cases {
		t.Run(name, func(t *testing.T) {
			if h, err := NewHistogram(bins); err == nil {
				t.Errorf("got %v, want an error", h)
			}
		})
	}
}
