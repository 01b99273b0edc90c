package radosbench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

func TestGoldenText(t *testing.T) { parsetest.Golden(t, ParseText, "*/*.txt") }

func TestGoldenJSON(t *testing.T) { parsetest.Golden(t, ParseJSON, "*/*.json") }

func FuzzParseText(f *testing.F) { parsetest.Fuzz(f, ParseText, "*/*.txt") }

func FuzzParseJSON(f *testing.F) { parsetest.Fuzz(f, ParseJSON, "*/*.json") }

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parseText(t testing.TB, text string) *result.Result {
	t.Helper()
	res, err := ParseText(strings.NewReader(text), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// These figures of a captured output can be checked by hand: 2451 writes of 1 MiB in 10.0239 s.
func TestTotalsOfACapturedWrite(t *testing.T) {
	res := parseText(t, read(t, "osd-count/1osd-write.txt"))
	write := res.Write
	if write.Operations != 2451 || write.Bytes != 2451<<20 || write.Seconds != 10.0239 {
		t.Errorf("got %d operations, %d bytes, %v s", write.Operations, write.Bytes, write.Seconds)
	}
	if got := write.BytesPerSecond() / mebibyte; math.Abs(got-244.515) > 0.001 {
		t.Errorf("bandwidth is %v MiB/s, want the printed 244.515", got)
	}
	if got, ok := write.Latency.Moments.StddevSeconds(); !ok || math.Abs(got-0.0580441) > 1e-12 {
		t.Errorf("standard deviation is %v, %v, want the printed 0.0580441", got, ok)
	}
	wantSettings := map[string]string{
		"concurrent_ios": "16", "seconds_to_run": "10", "max_objects": "0",
		"op_size": "1048576", "object_size": "1048576",
	}
	if diff := cmp.Diff(wantSettings, res.Source.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestReadsHaveNoSpread(t *testing.T) {
	latency := parseText(t, read(t, "osd-count/1osd-seq.txt")).Read.Latency
	if latency.Moments.M2SecondsSquared != nil || latency.Histogram != nil || latency.Percentiles != nil {
		t.Errorf("rados bench does not print it, got %+v", latency)
	}
}

func TestSeriesAddsUpToTheTotals(t *testing.T) {
	for _, file := range parsetest.Outputs(t, "osd-count/*.txt", "rados-howto/*.txt") {
		t.Run(file, func(t *testing.T) {
			for _, d := range parseText(t, read(t, strings.TrimPrefix(file, "testdata/"))).Directions() {
				var operations, bytes float64
				for i := range d.Series.Len() {
					length := d.Series.EndSeconds[i] - d.Series.StartSeconds[i]
					operations += d.Series.OperationsPerSecond[i] * length
					bytes += d.Series.BytesPerSecond[i] * length
				}
				if math.Abs(operations-float64(d.Operations)) > 1e-6 || math.Abs(bytes-float64(d.Bytes)) > 1 {
					t.Errorf("%s: the series has %v operations of %v bytes, want %d of %d",
						d.Name, operations, bytes, d.Operations, d.Bytes)
				}
				if d.Series.Boundaries != result.MeasuredBoundaries {
					t.Errorf("boundaries are %s, want measured", d.Series.Boundaries)
				}
			}
		})
	}
}

// The first row of 1osd-write.txt is printed 0.142 s into the run: 22 MiB at a mean of 154.502
// MiB/s.
func TestRowsAreAtTheirMeasuredTimes(t *testing.T) {
	series := parseText(t, read(t, "osd-count/1osd-write.txt")).Write.Series
	want := []float64{22 / 154.502, 271 / 236.913, 526 / 245.316}
	if diff := cmp.Diff(want, series.EndSeconds[:3], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("ends of the first rows (-want +got):\n%s", diff)
	}
}

func TestStalledSecondsAreZeroAndNotSpread(t *testing.T) {
	series := parseText(t, read(t, "synthetic/repeated-heads-and-stalls.txt")).Write.Series
	var stalled []float64
	for i := range series.Len() {
		if series.Stalled(i) {
			stalled = append(stalled, math.Floor(series.EndSeconds[i]))
		}
	}
	// The row of second 10 prints a quarter of the real rate as "cur MB/s".
	if diff := cmp.Diff([]float64{7, 8, 9, 30}, stalled); diff != "" {
		t.Errorf("stalled rows (-want +got):\n%s", diff)
	}
	after := series.BytesPerSecond[9] / mebibyte
	if math.Abs(after-51*4/1.0003) > 0.01 {
		t.Errorf("the row after the stall has %v MiB/s, want about 204", after)
	}
}

func TestUndefinedValuesOfStalledSecondsAreNotRead(t *testing.T) {
	text := parseText(t, read(t, "osd-count/3osd-seq.txt"))
	fromJSON, err := ParseJSON(strings.NewReader(read(t, "synthetic/seq-with-stalls.json")), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.Read, fromJSON.Read, cmpopts.EquateApprox(1e-5, 1e-6)); diff != "" {
		t.Errorf("(-text +JSON):\n%s", diff)
	}
}

func TestJSONIsTheSameWithAndWithoutMessages(t *testing.T) {
	want, err := ParseJSON(strings.NewReader(read(t, "synthetic/write.json")), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"write-with-messages", "write-pretty-with-messages", "write-jewel", "write-numbers"} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseJSON(strings.NewReader(read(t, "synthetic/"+file+".json")), parse.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-without +with):\n%s", diff)
			}
		})
	}
}

func TestOptionsDecideWhetherARunEndedEarly(t *testing.T) {
	cases := map[string]struct {
		file       string
		options    parse.Options
		wantReason parse.Reason
	}{
		"a read that ran out of objects": {
			"osd-count/1osd-seq.txt", parse.Options{RequestedSeconds: 60}, parse.EndedEarly,
		},
		"a read that lasted as long as requested": {
			"osd-count/1osd-seq.txt", parse.Options{RequestedSeconds: 10}, "",
		},
		"a read without options": {
			"osd-count/1osd-seq.txt", parse.Options{}, "",
		},
		"a write that says itself that it should have lasted": {
			"synthetic/ended-early.txt", parse.Options{}, parse.EndedEarly,
		},
		"a write that a number of objects could end": {
			"synthetic/ended-by-objects.txt", parse.Options{}, "",
		},
		"a write of less than was requested": {
			"osd-count/1osd-write.txt", parse.Options{RequestedBytes: 1 << 40}, parse.EndedEarly,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := ParseText(strings.NewReader(read(t, tc.file)), tc.options)
			var incomplete *parse.IncompleteError
			if tc.wantReason == "" {
				if err != nil || res == nil {
					t.Fatalf("got %v, %v, want a result", res, err)
				}
				return
			}
			if !errors.As(err, &incomplete) || incomplete.Reason != tc.wantReason || incomplete.Partial == nil || res != nil {
				t.Errorf("got %v, %v, want an IncompleteError %s with what there is", res, err, tc.wantReason)
			}
		})
	}
}

func TestSyntaxErrorsNameTheLine(t *testing.T) {
	cases := map[string]struct {
		file     string
		wantLine int
	}{
		"a damaged row":          {"synthetic/damaged-row.txt", 9},
		"rows out of order":      {"synthetic/rows-out-of-order.txt", 10},
		"a decimal comma":        {"synthetic/decimal-comma.txt", 15},
		"the output of two runs": {"synthetic/two-runs.txt", 49},
		"an infinite time":       {"synthetic/infinite.txt", 15},
		"a latency below zero":   {"synthetic/negative.txt", 27},
		"totals that contradict": {"synthetic/contradiction.txt", 19},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParseText(strings.NewReader(read(t, tc.file)), parse.Options{})
			var syntax *parse.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != tc.wantLine {
				t.Errorf("got %v, want a SyntaxError on line %d", err, tc.wantLine)
			}
		})
	}
}

func TestClientsOfOnePhaseCanBeMerged(t *testing.T) {
	a, b := parseText(t, read(t, "osd-count/1osd-write.txt")), parseText(t, read(t, "osd-count/2osd-write.txt"))
	merged, err := result.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if merged.Write.Operations != 2451+3966 || merged.Write.Seconds != 10.0321 {
		t.Errorf("got %d operations in %v s", merged.Write.Operations, merged.Write.Seconds)
	}
	if n := merged.Write.Series.Len(); n != 10 {
		t.Errorf("the series has %d seconds, want 10", n)
	}
}

func BenchmarkParseText(b *testing.B) {
	// A run of ten minutes, with rows of a captured run.
	captured := read(b, "rados-howto/write-128k.txt")
	text := longRun(captured, 600)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseText(strings.NewReader(text), parse.Options{RequestedSeconds: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	text := read(b, "synthetic/write-with-messages.json")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseJSON(strings.NewReader(text), parse.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A run that is too long for its course to be kept still has its totals.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 50 MB")
	}
	res, err := ParseText(&rows{left: parse.MaxRows + 100}, parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Read.Series != nil || res.Read.Operations != parse.MaxRows+100 {
		t.Errorf("got %d operations, and a series %v", res.Read.Operations, res.Read.Series != nil)
	}
	if n := len(res.Warnings); n != 1 || res.Warnings[0].Code != result.WarnSeriesDropped {
		t.Errorf("got the warnings %v, want one that the series was dropped", res.Warnings)
	}
}

// rows writes a long run with one operation per second, and its summary.
type rows struct {
	left, second int
	pending      []byte
}

// Read implements io.Reader.
func (r *rows) Read(buffer []byte) (int, error) {
	if len(r.pending) == 0 {
		switch {
		case r.left > 0:
			r.left--
			r.second++
			r.pending = fmt.Appendf(r.pending, "%5d %7d %9d %9d %9d %9d %11s %11s\n", r.second, 1, r.second+1, r.second, 4, 4, "0.9", "0.9")
		case r.left == 0:
			r.left--
			r.pending = fmt.Appendf(r.pending, "Total time run: %d\nTotal reads made: %d\nRead size: 4194304\nMin latency(s): 1\n", r.second, r.second)
		default:
			return 0, io.EOF
		}
	}
	n := copy(buffer, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

func TestRowsShowTheConcurrencyOfReads(t *testing.T) {
	for file, want := range map[string]map[string]string{
		"testdata/osd-count/1osd-seq.txt":   {"cur_ops": "16", "concurrent_ios": ""},
		"testdata/osd-count/1osd-write.txt": {"cur_ops": "", "concurrent_ios": "16"},
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		res, err := ParseText(bytes.NewReader(data), parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range want {
			if got := res.Jobs[0].Options[name]; got != value {
				t.Errorf("%s: %s is %q, want %q", file, name, got, value)
			}
			if _, stored := res.Source.Settings["cur_ops"]; stored {
				t.Errorf("%s: cur_ops must not be stored", file)
			}
		}
	}
}
