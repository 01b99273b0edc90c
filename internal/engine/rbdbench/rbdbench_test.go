package rbdbench

import (
	"errors"
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

func TestGolden(t *testing.T) { parsetest.Golden(t, Parse, "*/*.txt") }

func FuzzParse(f *testing.F) { parsetest.Fuzz(f, Parse, "*/*.txt") }

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parsed(t testing.TB, file string) *result.Result {
	t.Helper()
	res, err := Parse(strings.NewReader(read(t, file)), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// 262144 operations of 4 KiB at 25391.6 each second; the output says "elapsed: 10".
func TestTotalsAreExactAndTimeHasSixDigits(t *testing.T) {
	d := parsed(t, "pvc-and-rbd/rbd-bench-4k-randread.txt").Read
	if d.Operations != 262144 || d.Bytes != 1<<30 {
		t.Errorf("got %d operations of %d bytes", d.Operations, d.Bytes)
	}
	if want := 10.32404; math.Abs(d.Seconds-want) > 1e-5 {
		t.Errorf("it took %v s, want %v", d.Seconds, want)
	}
	if d.Latency != nil || d.CompletionLatency != nil {
		t.Error("rbd bench does not print latencies")
	}
}

// With two decimals, the rate has only three digits here: 2.05 operations per second may be 2.0450
// or 2.0549.
func TestBytesPerSecondGiveTheTimeOfASlowRun(t *testing.T) {
	const text = "bench  type write io_size 4194304 io_threads 1 bytes 41943040 pattern sequential\n" +
		"elapsed:     4  ops:       10  ops/sec:     2.05  bytes/sec: 8577309.03\n"
	res, err := Parse(strings.NewReader(text), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := 41943040 / 8577309.03; math.Abs(res.Write.Seconds-want) > 1e-9 {
		t.Errorf("it took %v s, want %v", res.Write.Seconds, want)
	}
	_, err = Parse(strings.NewReader(strings.Replace(text, "8577309.03", "7577309.03", 1)), parse.Options{})
	var syntax *parse.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 2 {
		t.Errorf("got %v, want a SyntaxError about rates that contradict", err)
	}
}

func TestModesReportReadsAndWrites(t *testing.T) {
	res := parsed(t, "pvc-and-rbd/rbd-bench-4k-randrw-70-30.txt")
	if res.Read.Operations != 183730 || res.Write.Operations != 78414 {
		t.Errorf("got %d reads and %d writes", res.Read.Operations, res.Write.Operations)
	}
	if res.Read.Seconds != res.Write.Seconds {
		t.Errorf("they took %v and %v s, want the same", res.Read.Seconds, res.Write.Seconds)
	}
	if res.Read.Series != nil || res.Write.Series != nil {
		t.Error("rows that do not tell reads from writes became a series")
	}
	if got := res.Source.Settings["read:write"]; got != "70:30" {
		t.Errorf("read:write is %q, want 70:30", got)
	}
}

// The printed rates are means over five rows. The column of operations has no means.
func TestSeriesIsNotTheRollingMean(t *testing.T) {
	d := parsed(t, "pvc-and-rbd/rbd-bench-4k-randread.txt").Read
	want := []float64{26816, 26912, 27920, 9248, 24432, 27088, 27632, 27056, 28160, 28096, (262144 - 253360) / (d.Seconds - 10)}
	if diff := cmp.Diff(want, d.Series.OperationsPerSecond, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Series.Boundaries != result.NominalBoundaries {
		t.Errorf("boundaries are %s, want nominal", d.Series.Boundaries)
	}
}

func TestSecondsWithoutRowAreOneInterval(t *testing.T) {
	series := parsed(t, "pvc-and-rbd/rbd-bench-4k-randwrite.txt").Write.Series
	i := 4 // from the row of second 4 to that of second 64
	if series.StartSeconds[i] != 4 || series.EndSeconds[i] != 64 || series.OperationsPerSecond[i] != (261440.0-17968)/60 {
		t.Errorf("got %v operations/s from %v to %v s", series.OperationsPerSecond[i], series.StartSeconds[i], series.EndSeconds[i])
	}
}

func TestSeriesAddsUpToTheTotals(t *testing.T) {
	for _, file := range []string{"pvc-and-rbd/rbd-bench-4k-randread.txt", "pvc-and-rbd/rbd-bench-1m-write.txt", "synthetic/raw-units.txt"} {
		for _, d := range parsed(t, file).Directions() {
			var sum float64
			for i, rate := range d.Series.BytesPerSecond {
				sum += rate * (d.Series.EndSeconds[i] - d.Series.StartSeconds[i])
			}
			if math.Abs(sum-float64(d.Bytes)) > 1 {
				t.Errorf("%s: the series has %v bytes, want %d", file, sum, d.Bytes)
			}
		}
	}
}

func TestEditedLinesAreReported(t *testing.T) {
	res := parsed(t, "pvc-and-rbd/rbd-bench-4k-randwrite.txt")
	var lines []int
	for _, w := range res.Warnings {
		if w.Code == result.WarnUnrecognizedLine {
			lines = append(lines, w.Line)
		}
	}
	if diff := cmp.Diff([]int{1, 9, 11}, lines); diff != "" {
		t.Errorf("lines warned of (-want +got):\n%s", diff)
	}
}

func TestRunsThatAreNotOnes(t *testing.T) {
	cases := map[string]struct {
		file        string
		options     parse.Options
		wantReason  parse.Reason
		wantPartial bool
	}{
		"stopped by SIGTERM, with a normal summary": {"synthetic/stopped-by-sigterm.txt", parse.Options{}, parse.Killed, true},
		"less than the caller requested": {
			"pvc-and-rbd/rbd-bench-1m-write.txt", parse.Options{RequestedBytes: 1 << 30}, parse.Killed, true,
		},
		"shorter than the caller requested": {
			"pvc-and-rbd/rbd-bench-1m-write.txt", parse.Options{RequestedSeconds: 60}, parse.EndedEarly, true,
		},
		"cut off within the rows":             {"synthetic/truncated-in-rows.txt", parse.Options{}, parse.Truncated, false},
		"cut off between reads and writes":    {"synthetic/truncated-before-write-ops.txt", parse.Options{}, parse.Truncated, false},
		"a write error":                       {"synthetic/write-error.txt", parse.Options{}, parse.ToolError, false},
		"an error after all writes were done": {"synthetic/failed-to-flush.txt", parse.Options{}, parse.ToolError, false},
		"nothing done, at a rate of nan":      {"synthetic/no-operations.txt", parse.Options{}, parse.NoIO, false},
		"nothing done":                        {"synthetic/no-operations-zero.txt", parse.Options{}, parse.NoIO, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := Parse(strings.NewReader(read(t, tc.file)), tc.options)
			var incomplete *parse.IncompleteError
			if !errors.As(err, &incomplete) || res != nil {
				t.Fatalf("got %v, %v, want an IncompleteError", res, err)
			}
			if incomplete.Reason != tc.wantReason || (incomplete.Partial != nil) != tc.wantPartial {
				t.Errorf("got %v, partial %v; want %s, %v", incomplete, incomplete.Partial != nil, tc.wantReason, tc.wantPartial)
			}
		})
	}
}

func TestSyntaxErrorsNameTheLine(t *testing.T) {
	cases := map[string]struct {
		file     string
		wantLine int
	}{
		"a damaged row":                     {"synthetic/damaged-row.txt", 5},
		"the output of two runs":            {"synthetic/two-runs.txt", 5},
		"no head":                           {"synthetic/without-head.txt", 0},
		"totals that contradict":            {"synthetic/contradiction.txt", 4},
		"reads and writes that are not all": {"synthetic/reads-and-writes-do-not-add-up.txt", 13},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(read(t, tc.file)), parse.Options{})
			var syntax *parse.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != tc.wantLine {
				t.Errorf("got %v, want a SyntaxError on line %d", err, tc.wantLine)
			}
		})
	}
}
