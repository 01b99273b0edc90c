package radosbench

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/parse/parsetest"
	"github.com/cephtune/cephtune/internal/result"
)

// Rows 1 and 2 of rand-4m.txt: 247 reads of 0.0622593 s, then 511 of 0.0602384 s.
func TestLatencyOfASecondFromRunningMeans(t *testing.T) {
	series := parseText(t, read(t, "lab-ceph-18.2.7/rand-4m.txt")).Read.Series
	want := []float64{0.0622593, (511*0.0602384 - 247*0.0622593) / (511 - 247)}
	if diff := cmp.Diff(want, series.MeanLatencySeconds[:2], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("latencies of the first rows (-want +got):\n%s", diff)
	}
}

func TestLatenciesAddUpToTheTotal(t *testing.T) {
	for _, file := range parsetest.Outputs(t, "osd-count/*.txt", "rados-howto/*.txt", "lab-ceph-18.2.7/*4m.txt", "lab-ceph-18.2.7/*64k.json") {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parser := ParseText
			if strings.HasSuffix(file, ".json") {
				parser = ParseJSON
			}
			res, err := parser(strings.NewReader(string(data)), parse.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range res.Directions() {
				if got, want := meanOf(d.Series), d.Latency.Moments.MeanSeconds; math.Abs(got-want) > 1e-9 {
					t.Errorf("the series has a mean of %v s, the summary one of %v s", got, want)
				}
			}
		})
	}
}

func meanOf(s *result.Series) float64 {
	var sum, operations float64
	for i, latency := range s.MeanLatencySeconds {
		n := s.OperationsPerSecond[i] * (s.EndSeconds[i] - s.StartSeconds[i])
		sum += n * latency
		operations += n
	}
	return sum / operations
}

func TestAStalledSecondHasNoLatency(t *testing.T) {
	series := parseText(t, read(t, "synthetic/repeated-heads-and-stalls.txt")).Write.Series
	for i, latency := range series.MeanLatencySeconds {
		if (latency == 0) != series.Stalled(i) {
			t.Errorf("interval %d: latency %v, stalled %v", i, latency, series.Stalled(i))
		}
	}
}

// document returns the JSON of a run with a write each 50 µs, whose latency depends on the second.
func document(seconds int, latency func(second int) float64) string {
	const perSecond = 20000
	var rows []string
	var sum float64
	for i := range seconds {
		sum += perSecond * latency(i)
		rows = append(rows, fmt.Sprintf(`{"sec":"%d","finished":"%d","avg_bw":"%f","avg_lat":"%f"}`,
			i+1, (i+1)*perSecond, 4096.0*perSecond/mebibyte/1.0001, sum/perSecond/float64(i+1)))
	}
	return fmt.Sprintf(`{"concurrent_ios":"16","datas":[%s],"total_time_run":"%f","total_writes_made":"%d","write_size":"4096","average_latency":"%f"}`,
		strings.Join(rows, ","), float64(seconds)*1.0001, seconds*perSecond, sum/perSecond/float64(seconds))
}

func TestIntervalsShareAMeanWhereDigitsAreFew(t *testing.T) {
	// First 1 ms, then 2 ms. After a minute, six decimals of the mean are 6 % of the change by one
	// second.
	step := func(second int) float64 {
		if second < 30 {
			return 0.001
		}
		return 0.002
	}
	for name, c := range map[string]struct {
		latency func(int) float64
		known   bool
	}{
		"a millisecond":        {step, true},
		"half a microsecond":   {func(int) float64 { return 0.8e-6 }, false},
		"nothing but rounding": {func(int) float64 { return 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := ParseJSON(strings.NewReader(document(60, c.latency)), parse.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := res.Write.Series.MeanLatencySeconds
			if known := got != nil; known != c.known {
				t.Fatalf("latencies are known: %v, want %v", known, c.known)
			}
			for i, latency := range got {
				if want := c.latency(i); math.Abs(latency-want) > 0.25*want {
					t.Errorf("second %d has a latency of %v s, want about %v s", i, latency, want)
				}
			}
			if !c.known {
				return
			}
			if got, want := meanOf(res.Write.Series), res.Write.Latency.Moments.MeanSeconds; math.Abs(got-want) > 1e-9 {
				t.Errorf("the series has a mean of %v s, the summary one of %v s", got, want)
			}
		})
	}
}
