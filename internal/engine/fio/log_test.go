package fio

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/parse/parsetest"
	"github.com/cephtune/cephtune/internal/result"
)

func parseLog(t testing.TB, file string, options LogOptions) *Log {
	t.Helper()
	kind, ok := KindOfLog(file)
	if !ok {
		t.Fatalf("%s is not the name of a log", file)
	}
	log, err := ParseLog(strings.NewReader(read(t, "fio-3.33-logs/"+file)), kind, options)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestKindIsInTheNameOfALog(t *testing.T) {
	for name, want := range map[string]LogKind{
		"run_bw.1.log": BandwidthLog, "run_iops.log": OperationsLog, "a/b/run_lat.12.log": LatencyLog, "run_slat.1.log": SubmissionLatencyLog,
		"run_clat.1.log": CompletionLatencyLog, "run_clat_hist.1.log": HistogramLog, "run_bw": "", "bw.log": "", "run_x.1.log": "",
	} {
		if got, ok := KindOfLog(name); (want != "") != ok || (ok && got != want) {
			t.Errorf("KindOfLog(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestWindowsOfBandwidth(t *testing.T) {
	log := parseLog(t, "avg_bw.1.log", LogOptions{WindowMilliseconds: 1000})
	want := &Log{Kind: BandwidthLog, Directions: map[result.DirectionName]*LogDirection{
		result.Read: {Series: &result.Series{
			Boundaries:   result.NominalBoundaries,
			StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
			BytesPerSecond: []float64{96904 * 1024, 98486 * 1024, 97061 * 1024},
		}},
		result.Write: {Series: &result.Series{
			Boundaries:   result.NominalBoundaries,
			StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
			BytesPerSecond: []float64{96512 * 1024, 97593 * 1024, 96320 * 1024},
		}},
	}}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(log, parseLog(t, "avg_bw.1.log", LogOptions{})); diff != "" {
		t.Errorf("the shortest step is another window (-told +found):\n%s", diff)
	}
}

// With one write per second and windows of half a second, every other window has no line.
func TestWindowsWithoutLinesAreStalls(t *testing.T) {
	for _, file := range []string{"stalls_bw.1.log", "stalls_iops.1.log"} {
		series := parseLog(t, file, LogOptions{WindowMilliseconds: 500}).Directions[result.Write].Series
		var stalled []bool
		for i := range series.Len() {
			stalled = append(stalled, series.Stalled(i))
			if i > 0 && series.StartSeconds[i] != series.EndSeconds[i-1] {
				t.Errorf("%s: there is a gap before %v s", file, series.StartSeconds[i])
			}
		}
		if want := []bool{false, false, true, false, true, false, true, false, true, false}; !reflect.DeepEqual(stalled, want) {
			t.Errorf("%s: stalled is %v, want %v", file, stalled, want)
		}
	}
}

// A window without operations has no latency, which is a gap and not zero.
func TestWindowsOfLatency(t *testing.T) {
	log := parseLog(t, "avg_lat.1.log", LogOptions{WindowMilliseconds: 1000})
	want := &result.Series{
		Boundaries:   result.NominalBoundaries,
		StartSeconds: []float64{0, 1, 2, 3}, EndSeconds: []float64{1, 2, 3, 4},
		MeanLatencySeconds: []float64{75324e-9, 75170e-9, 75989e-9, 76424e-9},
	}
	if diff := cmp.Diff(want, log.Directions[result.Read].Series, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(log.Warnings) != 1 { // The log has the last window twice.
		t.Errorf("warnings are %v, want one of the second line for 4000 ms", log.Warnings)
	}
	gap, err := ParseLog(strings.NewReader("1000, 5, 0, 0\n3000, 7, 0, 0\n"), LatencyLog, LogOptions{WindowMilliseconds: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got := gap.Directions[result.Read].Series.StartSeconds; !reflect.DeepEqual(got, []float64{0, 2}) {
		t.Errorf("windows begin at %v, want 0 and 2", got)
	}
}

func TestLogOfSingleOperationsHasBothRates(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/perio.plus.json"))
	for _, file := range []string{"perio_bw.1.log", "perio_iops.1.log", "perio_lat.1.log"} {
		log := parseLog(t, file, LogOptions{})
		for name, d := range log.Directions {
			length := d.Series.EndSeconds[0]
			want := res.Direction(name)
			if got := d.Series.OperationsPerSecond[0] * length; int64(got+0.5) != want.Operations {
				t.Errorf("%s: %v %ss, want %d", file, got, name, want.Operations)
			}
			if got := d.Series.BytesPerSecond[0] * length; int64(got+0.5) != want.Bytes {
				t.Errorf("%s: %v bytes of %ss, want %d", file, got, name, want.Bytes)
			}
			if log.Kind == LatencyLog {
				near := cmpopts.EquateApprox(1e-6, 0)
				if got := d.Series.MeanLatencySeconds[0]; !cmp.Equal(got, want.Latency.Moments.MeanSeconds, near) {
					t.Errorf("%s: mean latency of %ss is %v, want %v", file, name, got, want.Latency.Moments.MeanSeconds)
				}
			}
		}
	}
}

// The log of histograms and the report of the run count the same operations. Only those after the
// last whole window are missing in the log.
func TestHistogramLogIsPartOfTheReport(t *testing.T) {
	log := parseLog(t, "avg_clat_hist.1.log", LogOptions{})
	report := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	for name, d := range log.Directions {
		whole := report.Direction(name).CompletionLatency.Histogram
		counts := map[int64]int64{}
		for _, b := range whole.Bins {
			counts[b.Nanoseconds] = b.Count
		}
		for _, b := range d.Histogram.Bins {
			if b.Count > counts[b.Nanoseconds] {
				t.Errorf("%s: the log counts %d in bin %d, the report %d", name, b.Count, b.Nanoseconds, counts[b.Nanoseconds])
			}
		}
		if share := float64(d.Histogram.Count()) / float64(whole.Count()); share < 0.7 {
			t.Errorf("%s: the log has %v of the operations", name, share)
		}
		if len(d.Windows) != 3 || d.Windows[0].StartSeconds != 0 || d.Windows[2].EndSeconds != 3.001 {
			t.Errorf("%s: windows are %v", name, d.Windows)
		}
	}
}

func TestAttachedSeriesHaveTheColumnsOfAllLogs(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	options := LogOptions{WindowMilliseconds: 1000}
	AttachSeries(res, parseLog(t, "avg_bw.1.log", options), parseLog(t, "avg_iops.1.log", options), parseLog(t, "avg_lat.1.log", options))
	want := &result.Series{
		Boundaries:   result.AlignedBoundaries,
		StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
		OperationsPerSecond: []float64{24228, 24621, 24265},
		BytesPerSecond:      []float64{96904 * 1024, 98486 * 1024, 97061 * 1024},
		MeanLatencySeconds:  []float64{75324e-9, 75170e-9, 75989e-9},
	}
	if diff := cmp.Diff(want, res.Read.Series, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := res.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAttachedSeriesOfTwoJobsAreAddedUp(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	log := parseLog(t, "avg_bw.1.log", LogOptions{})
	AttachSeries(res, log, log)
	if got, want := res.Read.Series.BytesPerSecond[0], 2*96904*1024.0; got != want {
		t.Errorf("got %v bytes/s, want %v", got, want)
	}
}

func TestStalledSecondsOutliveTheLogOfLatencies(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	parsed := func(kind LogKind, text string) *Log {
		log, err := ParseLog(strings.NewReader(text), kind, LogOptions{WindowMilliseconds: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	AttachSeries(res, parsed(BandwidthLog, "1000, 5, 0, 0\n3000, 5, 0, 0\n"), parsed(LatencyLog, "1000, 5, 0, 0\n3000, 5, 0, 0\n"))
	if s := res.Read.Series; s.Len() != 3 || !s.Stalled(1) || s.MeanLatencySeconds != nil {
		t.Errorf("got %+v, want three seconds, the second one stalled", s)
	}
}

func TestLogsThatAreRefused(t *testing.T) {
	cases := map[string]struct {
		kind     LogKind
		text     string
		wantLine int
		wantText string
	}{
		"coarse bins":               {HistogramLog, read(t, "fio-3.33-logs/coarse_clat_hist.1.log"), 1, "log_hist_coarseness"},
		"times of the day":          {BandwidthLog, read(t, "fio-3.33-logs/epoch_bw.1.log"), 1, "log_unix_epoch"},
		"two values in a line":      {BandwidthLog, "1000, 5, 9000, 0, 0, 0\n", 1, "log_window_value"},
		"a time that goes back":     {BandwidthLog, "2000, 5, 0, 0\n1000, 5, 0, 0\n", 2, "after that of the line before"},
		"windows and operations":    {BandwidthLog, "1000, 5, 0, 0\n1001, 5, 0, 4096\n", 2, "not both"},
		"something else":            {LatencyLog, "1000, 5, 0, 0\nfio: message\n1001, 5, 0, 4096\n", 2, "a whole number"},
		"a histogram that is short": {HistogramLog, "1000, 0, 4096, 1, 2, 3\n", 1, "1856 bins"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log, err := ParseLog(strings.NewReader(tc.text), tc.kind, LogOptions{})
			var syntax *parse.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != tc.wantLine || !strings.Contains(syntax.Error(), tc.wantText) {
				t.Errorf("got %v, %v, want a SyntaxError on line %d with %q", log, err, tc.wantLine, tc.wantText)
			}
		})
	}
}

func TestALogIsNotAResult(t *testing.T) {
	res, err := refuseLog(strings.NewReader("1000, 5, 0, 0\n"), parse.Options{})
	if res != nil || err == nil {
		t.Errorf("got %v, %v, want an error", res, err)
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte("1000, 0, 4096" + strings.Repeat(", 0", result.NumBins-1) + ", 7\n"))
	for _, file := range parsetest.Outputs(f, "fio-3.33-logs/avg_[bil]*.log", "fio-3.33-logs/stalls*.log", "fio-3.33-logs/epoch*.log") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []LogKind{BandwidthLog, OperationsLog, LatencyLog, SubmissionLatencyLog, HistogramLog} {
			checkLog(t, kind, data)
		}
	})
}

// checkLog checks properties of every log: parsing it twice has the same result, which is either a
// clear error or series that fit a result.
func checkLog(t *testing.T, kind LogKind, data []byte) {
	t.Helper()
	log, err := ParseLog(bytes.NewReader(data), kind, LogOptions{})
	again, errAgain := ParseLog(bytes.NewReader(data), kind, LogOptions{})
	if diff := cmp.Diff(log, again); diff != "" || (err == nil) != (errAgain == nil) {
		t.Fatalf("%v, then %v (-once +again):\n%s", err, errAgain, diff)
	}
	var syntax *parse.SyntaxError
	var incomplete *parse.IncompleteError
	if err != nil {
		if !errors.As(err, &syntax) && !errors.As(err, &incomplete) {
			t.Fatalf("neither a SyntaxError nor an IncompleteError: %v", err)
		}
		return
	}
	for name, d := range log.Directions {
		res := &result.Result{SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: LogFormat}}
		res.SetDirection(name, &result.Direction{Operations: 1, Seconds: 1, ShortestSeconds: 1, Series: d.Series})
		if d.Histogram != nil && d.Histogram.Count() > 0 {
			res.Direction(name).CompletionLatency = &result.Latency{Moments: result.Moments{Count: 1}, Histogram: d.Histogram}
		}
		if err := res.Validate(); err != nil {
			t.Fatalf("%s of %s: %v", kind, name, err)
		}
		AttachSeries(res, log, log)
		if err := res.Validate(); err != nil {
			t.Fatalf("%s of %s, attached: %v", kind, name, err)
		}
	}
}
