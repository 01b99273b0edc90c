package radosbench

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ratesOf returns the rates in an output that arrives line by line.
func ratesOf(output []byte) []parse.Rate {
	live := newLive()
	var rates []parse.Rate
	for line := range bytes.Lines(output) {
		if rate, ok := live.Line(bytes.TrimSuffix(line, []byte("\n"))); ok {
			rates = append(rates, rate)
		}
	}
	return rates
}

// The rates during a run equal those in its result for the same seconds.
func TestLiveRatesAreThoseOfTheResult(t *testing.T) {
	for file, mib := range map[string]float64{"write-1m-show-time.txt": 1, "write-4m.txt": 4, "rand-4m.txt": 4, "rand-64k.json": 0} {
		output, err := os.ReadFile("testdata/lab-ceph-18.2.7/" + file)
		if err != nil {
			t.Fatal(err)
		}
		rates := ratesOf(output)
		if mib == 0 {
			if len(rates) > 0 {
				t.Errorf("%s: %d rates of JSON, which comes at the end", file, len(rates))
			}
			continue
		}
		res, err := ParseText(bytes.NewReader(output), parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		series := res.Directions()[0].Series
		if len(rates) < 8 || len(rates) > series.Len() {
			t.Fatalf("%s: %d rates, and %d seconds in the result", file, len(rates), series.Len())
		}
		for i, rate := range rates {
			for quantity, pair := range map[string][2]float64{
				"operations per second": {rate.OperationsPerSecond, series.OperationsPerSecond[i]},
				"bytes per second":      {rate.BytesPerSecond, series.OperationsPerSecond[i] * mib * (1 << 20)},
				"mean latency":          {rate.MeanLatencySeconds, series.MeanLatencySeconds[i]},
			} {
				if math.Abs(pair[0]/pair[1]-1) > 0.02 { // Rows are not exactly one second apart.
					t.Errorf("%s, second %d: %s %g, and %g in the result", file, i+1, quantity, pair[0], pair[1])
				}
			}
		}
	}
}

func counted(seconds, operations, moved, waited float64) *parse.Counted {
	return &parse.Counted{Seconds: seconds, Done: result.Done{Operations: operations, Bytes: moved, LatencySeconds: waited}}
}

func TestLiveRatesOfLines(t *testing.T) {
	const head = "  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n" +
		"    0       0         0         0         0         0           -           0\n"
	for name, tc := range map[string]struct {
		output string
		want   []parse.Rate
	}{
		"the head alone": {head, nil},
		"a second in which nothing was finished": {
			head + "    1      16        20         4        16        16    0.5         0.5\n    2      16        20         4         8         0           -         0.5\n",
			[]parse.Rate{{BytesPerSecond: 16 << 20, OperationsPerSecond: 4, MeanLatencySeconds: 0.5, Counted: counted(1, 4, 16<<20, 2)}, {Counted: counted(1, 0, 0, 0)}},
		},
		"a row that was skipped": {
			head + "    2      16        24         8        16        16    0.5         0.5\n",
			[]parse.Rate{{BytesPerSecond: 16 << 20, OperationsPerSecond: 4, MeanLatencySeconds: 0.5, Counted: counted(2, 8, 32<<20, 4)}},
		},
		"after a stall": {
			head + "    1      16        20         4        16        16    0.5         0.5\n" +
				"    2      16        20         4         8         0      -         0.5\n" +
				"    3      16        24         8    10.667         8    0.5         0.5\n",
			[]parse.Rate{
				{BytesPerSecond: 16 << 20, OperationsPerSecond: 4, MeanLatencySeconds: 0.5, Counted: counted(1, 4, 16<<20, 2)},
				{Counted: counted(1, 0, 0, 0)},
				{BytesPerSecond: 8 << 20, OperationsPerSecond: 4, MeanLatencySeconds: 0.5, Counted: counted(1, 4, 16<<20, 2)},
			},
		},
		"a row of the past": {
			head + strings.Repeat("    1      16        20         4        16        16    0.5         0.5\n", 2),
			[]parse.Rate{{BytesPerSecond: 16 << 20, OperationsPerSecond: 4, MeanLatencySeconds: 0.5, Counted: counted(1, 4, 16<<20, 2)}},
		},
		"a row that is cut off":        {head + "    1      16        20         4        16        16    0.5\n", nil},
		"a row with more behind it":    {head + "    1      16        20         4        16        16    0.5  0.5  7\n", nil},
		"numbers that there are not":   {head + "    1      16        20         4       nan       inf    0.5         nan\n", nil},
		"what Ceph says in between":    {head + "2026-11-21T14:08:13.402+0000 7f3a -1 monclient: hunting for new mon\n", nil},
		"the summary is no such thing": {"Total time run:         12.0097\nTotal writes made:      2938\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ratesOf([]byte(tc.output))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
