package rbdbench

import (
	"bytes"
	"math"
	"os"
	"testing"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/parse/parsetest"
)

func TestLiveRate(t *testing.T) {
	parsetest.Rates(t, liveRate, map[string]*parse.Rate{
		"    1      3808   3839.36    15 MiB/s":                              {BytesPerSecond: 15 << 20, OperationsPerSecond: 3839.36},
		"    2      6160   3094.19   1.2 GiB/s":                              {BytesPerSecond: 1.2 * (1 << 30), OperationsPerSecond: 3094.19},
		"    3       -12      0.50   512 B/s":                                {BytesPerSecond: 512, OperationsPerSecond: 0.5},
		"    3     16403   4565.67  18700991.63":                             {BytesPerSecond: 18700991.63, OperationsPerSecond: 4565.67},
		"  SEC       OPS   OPS/SEC   BYTES/SEC":                              nil,
		"elapsed: 23   ops: 262144   ops/sec: 11012.6   bytes/sec: 43 MiB/s": nil,
		"    1      3808   3839.36":                                          nil, // cut off
		"    1      3808   3839.36    15 MiB/s  done":                        nil,
		"    1      3808   3839.36    15 MiW/s":                              nil,
		"    1      3808   3839.36    15 iM/s":                               nil,
		"    1      3808   nan    15 MiB/s":                                  nil,
		"":                                                                   nil,
	})
}

// Each row of a run results in a rate. The last rows are means, and must be near the run's result.
func TestLiveRatesOfARun(t *testing.T) {
	for _, file := range []string{"read-4k-rand.txt", "write-4k-rand.txt", "readwrite-4k-70.txt", "write-4m-full-seq.txt"} {
		output, err := os.ReadFile("testdata/lab-ceph-18.2.7/" + file)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Parse(bytes.NewReader(output), parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, d := range res.Directions() {
			total += float64(d.Operations) / d.Seconds
		}
		rows, sum := 0, 0.0
		for line := range bytes.Lines(output) {
			if rate, ok := liveRate(bytes.TrimSpace(line)); ok {
				rows++
				sum += rate.OperationsPerSecond
			}
		}
		if rows < 3 || math.Abs(sum/float64(rows)/total-1) > 0.3 {
			t.Errorf("%s: %d rows of %g operations per second on average, and %g in the result", file, rows, sum/float64(rows), total)
		}
	}
}
