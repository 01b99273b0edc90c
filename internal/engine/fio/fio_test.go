package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/parse/parsetest"
	"github.com/cephtune/cephtune/internal/result"
)

func TestGoldenJSON(t *testing.T) { parsetest.Golden(t, ParseJSON, "*/*.json") }

func TestGoldenText(t *testing.T) { parsetest.Golden(t, ParseText, "*/*.txt") }

// The seeds are small documents in testdata/fuzz. With captured documents, the fuzzer would spend
// its time on making them smaller.
func FuzzParseJSON(f *testing.F) { parsetest.Fuzz(f, ParseJSON) }

func FuzzParseText(f *testing.F) { parsetest.Fuzz(f, ParseText, "*/*.txt") }

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parseJSON(t testing.TB, text string) *result.Result {
	t.Helper()
	res, err := ParseJSON(strings.NewReader(text), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func parseText(t testing.TB, text string) *result.Result {
	t.Helper()
	res, err := ParseText(strings.NewReader(text), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The document has the percentiles that fio computed from the same bins. Without the bins, the
// parser keeps these percentiles.
func TestPercentilesFromBinsAreThoseOfFIO(t *testing.T) {
	for _, file := range []string{
		"libaio-randread.plus.json", "libaio-randread-all-percentiles.plus.json", "libaio-randrw.plus.json", "null-write.plus.json",
		"unified-mixed.plus.json", "three-jobs-grouped.plus.json", "logs.plus.json",
	} {
		t.Run(file, func(t *testing.T) {
			text := read(t, "fio-3.33/"+file)
			withBins := parseJSON(t, text)
			withoutBins := parseJSON(t, strings.ReplaceAll(text, `"bins"`, `"ignored"`))
			compared := 0
			for _, d := range withBins.Directions() {
				printed := withoutBins.Direction(d.Name)
				for _, pair := range [][2]*result.Latency{
					{d.Latency, printed.Latency}, {d.SubmissionLatency, printed.SubmissionLatency}, {d.CompletionLatency, printed.CompletionLatency},
				} {
					compared += comparePercentiles(t, pair[0], pair[1])
				}
			}
			if compared == 0 {
				t.Error("there was nothing to compare")
			}
		})
	}
}

func comparePercentiles(t *testing.T, bins, printed *result.Latency) int {
	t.Helper()
	if bins == nil || printed == nil {
		return 0
	}
	if bins.Histogram != nil && bins.Histogram.Count() != bins.Moments.Count {
		t.Errorf("the bins have %d operations, the moments %d", bins.Histogram.Count(), bins.Moments.Count)
	}
	for _, want := range printed.Percentiles {
		if got, ok := bins.Percentile(want.Percent); !ok || got != want {
			t.Errorf("got %+v, %v, want what fio printed: %+v", got, ok, want)
		}
	}
	return len(printed.Percentiles)
}

// Three jobs of one group must result in the same figures as one report of the group.
func TestJobsOfOneGroupAreAddedUp(t *testing.T) {
	text := read(t, "fio-3.33/three-jobs.plus.json")
	res := parseJSON(t, text)
	var operations, bins int64
	for _, job := range strings.SplitAfter(text, `"jobname"`)[1:] {
		one := `{ "fio version" : "fio-3.33", "jobs" : [ { "jobname"` + strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(job, `"jobname"`), " \n,{"), "") + "]}"
		if i := strings.Index(one, `"disk_util"`); i >= 0 {
			one = strings.TrimRight(one[:i], " \n,") + "}"
		}
		part := parseJSON(t, strings.ReplaceAll(one, "\n", " "))
		operations += part.Read.Operations
		bins += part.Read.CompletionLatency.Histogram.Count()
	}
	if res.Clients != 1 || res.Read.Operations != operations || res.Read.CompletionLatency.Histogram.Count() != bins {
		t.Errorf("got %d clients, %d operations, %d in bins, want 1, %d, %d",
			res.Clients, res.Read.Operations, res.Read.CompletionLatency.Histogram.Count(), operations, bins)
	}
	if res.Read.Seconds != 2.001 {
		t.Errorf("it took %v s, want the window of 2.001 s, not the sum", res.Read.Seconds)
	}
}

func TestAGroupCanBeChosen(t *testing.T) {
	for _, form := range []struct {
		file  string
		parse parsetest.Parser
		parts func(io.Reader, parse.Options) ([]parse.Part, error)
	}{{"fio-3.33/stonewall-groups.json", ParseJSON, jsonParts}, {"fio-3.33/stonewall-groups.txt", ParseText, textParts}} {
		text := read(t, form.file)
		parts, err := form.parts(strings.NewReader(text), parse.Options{})
		if err != nil || len(parts) != 2 {
			t.Fatalf("%s: got %d parts, %v, want one for each group", form.file, len(parts), err)
		}
		for group, want := range []result.DirectionName{result.Read, result.Write} {
			for _, name := range []string{parts[group].Group, parts[group].Jobs[0]} {
				res, err := form.parse(strings.NewReader(text), parse.Options{Job: name})
				if err != nil {
					t.Fatal(err)
				}
				if all := res.Directions(); len(all) != 1 || all[0].Name != want {
					t.Errorf("%s: %s has %v, want %s alone", form.file, name, all, want)
				}
			}
		}
		for _, name := range []string{"", "group 7", "other"} {
			_, err = form.parse(strings.NewReader(text), parse.Options{Job: name})
			if err == nil || !strings.Contains(err.Error(), "group 1") {
				t.Errorf("%s: got %v for %q, want an error that lists the groups", form.file, err, name)
			}
		}
	}
}

// normal,json wrote the same run twice.
func TestPlainOutputIsTheJSONRounded(t *testing.T) {
	both := read(t, "fio-3.33/normal-and-json.json")
	start, end := strings.Index(both, "\n{\n"), strings.Index(both, "\n}\n")
	exact := parseJSON(t, both).Read
	rounded := parseText(t, both[:start+1]+both[end+3:]).Read
	if rounded.Operations != exact.Operations || rounded.Bytes != exact.Bytes || rounded.Seconds != exact.Seconds {
		t.Errorf("got %d operations, %d bytes, %v s, want exactly %d, %d, %v", rounded.Operations, rounded.Bytes, rounded.Seconds,
			exact.Operations, exact.Bytes, exact.Seconds)
	}
	near := cmpopts.EquateApprox(0.01, 1e-6) // fio rounds percentiles up to whole µs.
	if diff := cmp.Diff(exact.CompletionLatency, rounded.CompletionLatency, near); diff != "" {
		t.Errorf("(-JSON +text):\n%s", diff)
	}
}

func TestOptionsDecideWhetherARunEndedEarly(t *testing.T) {
	cases := map[string]struct {
		file       string
		options    parse.Options
		wantReason parse.Reason
	}{
		"a run that lasted":                           {"fio-3.33/libaio-randread.plus.json", parse.Options{RequestedSeconds: 3}, ""},
		"a run shorter than requested":                {"fio-3.33/libaio-randread.plus.json", parse.Options{RequestedSeconds: 60}, parse.EndedEarly},
		"less done than requested":                    {"fio-3.33/libaio-randread.plus.json", parse.Options{RequestedBytes: 1 << 40}, parse.EndedEarly},
		"a run that ended before its runtime":         {"synthetic/ended-early.json", parse.Options{}, parse.EndedEarly},
		"a run that had done its size":                {"fio-3.33/ended-by-size.json", parse.Options{}, ""},
		"a run that had done its size, but too early": {"fio-3.33/ended-by-size.json", parse.Options{RequestedSeconds: 60}, parse.EndedEarly},
		"a stopped run":                               {"fio-3.33/killed-sigterm.json", parse.Options{}, parse.Killed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := ParseJSON(strings.NewReader(read(t, tc.file)), tc.options)
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

func TestOptionsOfFIOHaveUnits(t *testing.T) {
	for text, want := range map[string]float64{"60": 60, "60s": 60, "5m": 300, "1h": 3600, "1d": 86400, "500ms": 0.5, "7us": 7e-6, "": 0, "s": 0, "1.5x": 0} {
		if got := parseSeconds(text); got != want {
			t.Errorf("parseSeconds(%q) = %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]int64{"64M": 64 << 20, "4k": 4096, "1GiB": 1 << 30, "200m": 200 << 20, "512": 512, "7b": 7, "2T": 2 << 40, "100%": 0, "x": 0, "": 0, "9999999P": 0} {
		if got := parseBytes(text); got != want {
			t.Errorf("parseBytes(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestPrintedNumbersHaveUnits(t *testing.T) {
	for text, want := range map[string]size{
		"4096B": {4096, 0}, "64.0KiB": {65536, 102.4}, "1200MiB": {1200 << 20, 1 << 20}, "1258MB": {1258e6, 1e6}, "21.0GiB": {21 << 30, 1 << 30 / 10.0},
	} {
		if got, ok := parseSize([]byte(text)); !ok || math.Abs(got.bytes-want.bytes) > 1e-6 || math.Abs(got.slack-want.slack) > 1e-6*want.slack {
			t.Errorf("parseSize(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "B", "12", "12Q", "12iB", "1e400B", "-1B", "16EiB"} {
		if got, ok := parseSize([]byte(text)); ok {
			t.Errorf("parseSize(%q) = %v, want none", text, got)
		}
	}
	for text, want := range map[string]float64{"14537k": 14537e3, "1539.6k": 1539.6e3, "7": 7, "2M": 2e6} {
		if got, ok := parseScaled([]byte(text)); !ok || got != want {
			t.Errorf("parseScaled(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "k", "1kk", "x"} {
		if got, ok := parseScaled([]byte(text)); ok {
			t.Errorf("parseScaled(%q) = %v, want none", text, got)
		}
	}
}

func TestSyntaxErrorsNameTheLine(t *testing.T) {
	cases := map[string]struct {
		file     string
		parse    parsetest.Parser
		wantLine int
	}{
		"nan in JSON":                           {"synthetic/nan.json", ParseJSON, 37},
		"a negative time":                       {"synthetic/negative.json", ParseJSON, 30},
		"a message within a line":               {"synthetic/message-within-a-line.json", ParseJSON, 25},
		"a bin that fio does not have":          {"synthetic/unknown-bin.json", ParseJSON, 356},
		"units of another version":              {"synthetic/fio2.json", ParseJSON, 6},
		"a direction without its time":          {"synthetic/damaged-direction.txt", ParseText, 6},
		"bytes that the operations cannot have": {"synthetic/bytes-disagree.txt", ParseText, 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.parse(strings.NewReader(read(t, tc.file)), parse.Options{})
			var syntax *parse.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != tc.wantLine {
				t.Errorf("got %v, want a SyntaxError on line %d", err, tc.wantLine)
			}
		})
	}
}

func BenchmarkParseJSON(b *testing.B) {
	for _, bc := range []struct{ name, text string }{
		{"with bins", manyJobs(read(b, "fio-3.33/libaio-randread-all-percentiles.plus.json"), 12)},
		{"without bins", manyJobs(read(b, "fio-3.33/libaio-randwrite.json"), 60)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseJSON(strings.NewReader(bc.text), parse.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyJobs repeats the job of a captured document.
func manyJobs(document string, jobs int) string {
	start := strings.Index(document, "    {\n      \"jobname\"")
	end := strings.Index(document, "\n  ],\n  \"disk_util\"")
	parts := make([]string, jobs)
	for i := range parts {
		parts[i] = document[start:end]
	}
	return document[:start] + strings.Join(parts, ",\n") + document[end:]
}

func BenchmarkParseText(b *testing.B) {
	text := read(b, "fio-3.33/three-jobs.txt")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseText(strings.NewReader(text), parse.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseLog(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d, %d, %d, 0, 0\n", i/2*1000, 90_000+i%777, i%2)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ParseLog(strings.NewReader(text.String()), LatencyLog); err != nil {
			b.Fatal(err)
		}
	}
}

// Hostile outputs must not take unlimited memory, or more than linear time.
func TestManyJobsAreRefused(t *testing.T) {
	document := `{"fio version":"fio-3.33","jobs":[` + strings.Repeat("{},\n", 1_000_000) + "{}]}"
	_, err := ParseJSON(strings.NewReader(strings.ReplaceAll(document, "\n", " ")), parse.Options{})
	var syntax *parse.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(syntax.Want, "4096 jobs") {
		t.Errorf("got %v, want a SyntaxError about the number of jobs", err)
	}
	var report strings.Builder
	for i := range maxJobs + 1 {
		report.WriteString("a: (groupid=0, jobs=1): err= 0: pid=" + strconv.Itoa(i) + ": x\n")
	}
	if _, err := ParseText(strings.NewReader(report.String()), parse.Options{}); !errors.As(err, &syntax) {
		t.Errorf("got %v, want a SyntaxError about the number of jobs", err)
	}
}

func TestSyncsAndLoadsAreRead(t *testing.T) {
	const document = `{
  "fio version" : "fio-3.36",
  "global options" : {"ioengine" : "libaio", "time_based" : null},
  "jobs" : [
    {"jobname" : "a", "groupid" : 0, "error" : 0, "job options" : {"rw" : "write", "fdatasync" : "1", "log_avg_msec" : "9"},
     "write" : {"io_bytes" : 4096000, "total_ios" : 1000, "runtime" : 1000},
     "sync" : {"total_ios" : 1000, "lat_ns" : {"min" : 1, "max" : 9, "mean" : 2.0, "stddev" : 1.0, "N" : 1000, "percentile" : {"99.000000" : 5}}}}
  ]
}`
	fromJSON, err := ParseJSON(strings.NewReader(document), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/fio-3.33/fsync.txt")
	if err != nil {
		t.Fatal(err)
	}
	fromText, err := ParseText(bytes.NewReader(data), parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		res         *result.Result
		count       int64
		mean, p99   float64
		load        result.Job
		hasSettings string
	}{
		"JSON": {fromJSON, 1000, 2e-9, 5e-9, result.Job{
			Name: "a", Options: map[string]string{"rw": "write", "fdatasync": "1", "log_avg_msec": "9"},
			Global: map[string]string{"ioengine": "libaio", "time_based": ""},
		}, "libaio"},
		"plain": {fromText, 569, 1675.09e-6, 5276e-6, result.Job{
			Name: "fsyncs", Partial: true,
			Options: map[string]string{"rw": "randwrite", "bs": "4096,4096,4096", "ioengine": "sync", "iodepth": "1", "numjobs": "1"},
		}, "sync"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]result.Job{tc.load}, tc.res.Jobs); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
			syncs := tc.res.SyncLatency
			if syncs == nil || syncs.Moments.Count != tc.count || math.Abs(syncs.Moments.MeanSeconds-tc.mean) > 1e-12 {
				t.Fatalf("syncs %+v, want %d of %v s", syncs, tc.count, tc.mean)
			}
			if p, ok := syncs.Percentile(99); !ok || math.Abs(p.Seconds-tc.p99) > 1e-12 {
				t.Errorf("P99 %v, want %v s", p, tc.p99)
			}
			if got := tc.res.Source.Settings["ioengine"]; got != tc.hasSettings {
				t.Errorf("setting ioengine %q, want %q", got, tc.hasSettings)
			}
		})
	}
}
