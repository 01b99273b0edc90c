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

func parseLog(t testing.TB, file string) *Log {
	t.Helper()
	kind, ok := KindOfLog(file)
	if !ok {
		t.Fatalf("%s is not the name of a log", file)
	}
	log, err := ParseLog(strings.NewReader(read(t, "fio-3.33-logs/"+file)), kind)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func parsed(t testing.TB, kind LogKind, text string) *Log {
	t.Helper()
	log, err := ParseLog(strings.NewReader(text), kind)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestKindIsInTheNameOfALog(t *testing.T) {
	for name, want := range map[string]LogKind{
		"run_bw.1.log": BandwidthLog, "run_iops.log": OperationsLog, "a/b/run_lat.12.log": LatencyLog, "run_slat.1.log": "",
		"run_clat.1.log": "", "run_clat_hist.1.log": "", "run_bw": "", "bw.log": "", "run_x.1.log": "",
	} {
		if got, ok := KindOfLog(name); (want != "") != ok || (ok && got != want) {
			t.Errorf("KindOfLog(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestWindowsOfBandwidth(t *testing.T) {
	log := parseLog(t, "avg_bw.1.log")
	want := &Log{Kind: BandwidthLog, Series: map[result.DirectionName]*result.Series{
		result.Read: {
			Boundaries:   result.NominalBoundaries,
			StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
			BytesPerSecond: []float64{96904 * 1024, 98486 * 1024, 97061 * 1024},
		},
		result.Write: {
			Boundaries:   result.NominalBoundaries,
			StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
			BytesPerSecond: []float64{96512 * 1024, 97593 * 1024, 96320 * 1024},
		},
	}}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A second in which nothing completed has no line.
func TestWindowsWithoutLinesAreStalls(t *testing.T) {
	for _, kind := range []LogKind{BandwidthLog, OperationsLog} {
		series := parsed(t, kind, "1003, 5, 1, 0\n2001, 5, 1, 0\n4002, 5, 1, 0\n").Series[result.Write]
		var stalled []bool
		for i := range series.Len() {
			stalled = append(stalled, series.Stalled(i))
			if i > 0 && series.StartSeconds[i] != series.EndSeconds[i-1] {
				t.Errorf("%s: there is a gap before %v s", kind, series.StartSeconds[i])
			}
		}
		if want := []bool{false, false, true, false}; !reflect.DeepEqual(stalled, want) {
			t.Errorf("%s: stalled is %v, want %v", kind, stalled, want)
		}
	}
}

// A window without operations has no latency, which is a gap and not zero. The log has the last window twice.
func TestWindowsOfLatency(t *testing.T) {
	log := parseLog(t, "avg_lat.1.log")
	want := &result.Series{
		Boundaries:   result.NominalBoundaries,
		StartSeconds: []float64{0, 1, 2, 3}, EndSeconds: []float64{1, 2, 3, 4},
		MeanLatencySeconds: []float64{75324e-9, 75170e-9, 75989e-9, 76424e-9},
	}
	if diff := cmp.Diff(want, log.Series[result.Read], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	gap := parsed(t, LatencyLog, "1000, 5, 0, 0\n3000, 7, 0, 0\n")
	if got := gap.Series[result.Read].StartSeconds; !reflect.DeepEqual(got, []float64{0, 2}) {
		t.Errorf("windows begin at %v, want 0 and 2", got)
	}
}

func TestAttachedSeriesHaveTheColumnsOfAllLogs(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	AttachSeries(res, parseLog(t, "avg_bw.1.log"), parseLog(t, "avg_iops.1.log"), parseLog(t, "avg_lat.1.log"))
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
	log := parseLog(t, "avg_bw.1.log")
	AttachSeries(res, log, log)
	if got, want := res.Read.Series.BytesPerSecond[0], 2*96904*1024.0; got != want {
		t.Errorf("got %v bytes/s, want %v", got, want)
	}
}

func TestStalledSecondsOutliveTheLogOfLatencies(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	AttachSeries(res, parsed(t, BandwidthLog, "1000, 5, 0, 0\n3000, 5, 0, 0\n"), parsed(t, LatencyLog, "1000, 5, 0, 0\n3000, 5, 0, 0\n"))
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
		"times of the day":      {BandwidthLog, read(t, "fio-3.33-logs/epoch_bw.1.log"), 1, "log_unix_epoch"},
		"two values in a line":  {BandwidthLog, "1000, 5, 9000, 0, 0, 0\n", 1, "log_window_value"},
		"a time that goes back": {BandwidthLog, "2000, 5, 0, 0\n1000, 5, 0, 0\n", 2, "after that of the line before"},
		"single operations":     {BandwidthLog, "1000, 5, 0, 0\n1001, 5, 0, 4096\n", 2, "log_avg_msec"},
		"something else":        {LatencyLog, "1000, 5, 0, 0\nfio: message\n1001, 5, 0, 4096\n", 2, "a whole number"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log, err := ParseLog(strings.NewReader(tc.text), tc.kind)
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
	for _, file := range parsetest.Outputs(f, "fio-3.33-logs/avg_[bil]*.log", "fio-3.33-logs/epoch*.log") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range logKinds() {
			checkLog(t, kind, data)
		}
	})
}

// checkLog checks properties of every log: parsing it twice has the same result, which is either a
// clear error or series that fit a result.
func checkLog(t *testing.T, kind LogKind, data []byte) {
	t.Helper()
	log, err := ParseLog(bytes.NewReader(data), kind)
	again, errAgain := ParseLog(bytes.NewReader(data), kind)
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
	for name, series := range log.Series {
		res := &result.Result{SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: LogFormat}}
		res.SetDirection(name, &result.Direction{Operations: 1, Seconds: 1, ShortestSeconds: 1, Series: series})
		if err := res.Validate(); err != nil {
			t.Fatalf("%s of %s: %v", kind, name, err)
		}
		AttachSeries(res, log, log)
		if err := res.Validate(); err != nil {
			t.Fatalf("%s of %s, attached: %v", kind, name, err)
		}
	}
}
