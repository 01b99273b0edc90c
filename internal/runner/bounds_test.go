package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

func TestCaptureKeepsBothEnds(t *testing.T) {
	captureHalf := newCapture(task.MaxOutputBytes).half
	for _, length := range []int{0, 1, 1000, captureHalf, 2 * captureHalf, 2*captureHalf + 1, 3 * captureHalf, 10 * captureHalf} {
		for _, piece := range []int{1000, 33_333, 1 << 20} {
			var all strings.Builder
			c := newCapture(task.MaxOutputBytes)
			for i := 0; all.Len() < length; i++ {
				part := strings.Repeat(fmt.Sprintf("%d\n", i), piece/4)
				part = part[:min(len(part), length-all.Len())]
				all.WriteString(part)
				if n, err := io.WriteString(c, part); n != len(part) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			got, want := c.text(), all.String()
			head, tail, cut := strings.Cut(got, "[… ")
			_, tail, _ = strings.Cut(tail, "…]\n")
			if cut {
				head = strings.TrimSuffix(head, "\n")
			}
			if len(got) > task.MaxOutputBytes || !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail) || cut != (length > 2*captureHalf) {
				t.Errorf("%d bytes in pieces of %d: %d bytes are left, cut %v", length, piece, len(got), cut)
			}
			if cut && !strings.Contains(got, fmt.Sprintf("[… %d bytes …]", length-len(head)-len(tail))) {
				t.Errorf("%d bytes in pieces of %d: says %q", length, piece, got[len(head):len(head)+30])
			}
		}
	}
}

func TestLastLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"one\ntwo\n\n":          "one\ntwo",
		"one\ntwo\nthree":       "two\nthree",
		"a long line of 20 xxx": "of 20 xxx",
	} {
		c := newCapture(task.MaxOutputBytes)
		_, _ = io.WriteString(c, text)
		if got := c.lastLines(9); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
	}
}

func TestTextIsClean(t *testing.T) {
	if got, want := clean([]byte("a\x00b\u202e\u200b\x1b[1m\tc\rd\xffé\n")), "ab[1m\tc d é\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBoundedWriterForgetsTheRest(t *testing.T) {
	broken := errors.New("no space")
	for name, tc := range map[string]struct {
		w    io.Writer
		text string
		want string
	}{
		"all of it": {&strings.Builder{}, "12345678", ""},
		"too much":  {&strings.Builder{}, "123456789", "too long"},
		"no room":   {failingWriter{broken}, "1", broken.Error()},
	} {
		b := &boundedWriter{w: tc.w, left: 8}
		n, err := io.Copy(b, strings.NewReader(tc.text))
		if int(n) != len(tc.text) || err != nil {
			t.Errorf("%s: %d, %v: a tool must never wait", name, n, err)
		}
		if err := b.complete(); (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: complete: %v, want %q", name, err, tc.want)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestAStatusIsSmall(t *testing.T) {
	long := strings.Repeat("--option=value,", 100)
	for name, text := range map[string]string{
		"words": strings.Repeat("some words\n", 10_000), "quotes": strings.Repeat(`"`, 100_000), "brackets": strings.Repeat("<é>", 10_000), "noise": strings.Repeat("\xff\x01", 50_000),
	} {
		c := newCapture(task.MaxOutputBytes)
		_, _ = io.WriteString(c, text)
		f := &task.Failure{Reason: task.ToolFailed, Message: text, Command: []string{"rados", long, text, text}, Tail: c.lastLines(maxTailBytes)}
		boundFailure(f)
		data, err := json.Marshal(task.Status{ID: strings.Repeat("a", 100), State: task.Failed, Failure: f})
		if err != nil || len(data) > 4<<10 || !utf8.Valid(data) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if f.Command[0] != "rados" || f.Message == "" || (name == "words" && len(f.Tail) < 1<<10) {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

func TestAReportIsBounded(t *testing.T) {
	series := func(n int) *result.Series {
		s := &result.Series{Boundaries: result.NominalBoundaries}
		for i := range n {
			s.StartSeconds, s.EndSeconds = append(s.StartSeconds, float64(i)), append(s.EndSeconds, float64(i+1))
			s.BytesPerSecond = append(s.BytesPerSecond, 1e9/float64(i+1))
		}
		return s
	}
	windows := func(n int) (all []result.LatencyWindow) {
		h := &result.Histogram{}
		for i := range int64(100) {
			h.Bins = append(h.Bins, result.Bin{Nanoseconds: 1_000_000 + 1000*i, Count: 7})
		}
		for i := range n {
			all = append(all, result.LatencyWindow{StartSeconds: float64(i), EndSeconds: float64(i + 1), Histogram: h})
		}
		return all
	}
	for name, tc := range map[string]struct {
		seconds     int
		windows     int
		wantSeries  bool
		wantWarning string
	}{
		"an hour": {3600, 0, true, ""}, "two days": {200_000, 0, false, "time series"}, "an outage of two hours": {7200, 7200, true, "latencies in windows"},
	} {
		r := &task.Report{Output: "output", Result: &result.Result{
			SchemaVersion: 1, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
			Write: &result.Direction{Operations: 1, Bytes: 1, Seconds: 1, ShortestSeconds: 1, Series: series(tc.seconds), LatencyWindows: windows(tc.windows)},
		}}
		r.ID, r.State = "a", task.Done
		encoded, err := encodeReport(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readReport(bytes.NewReader(encoded), maxReportMemory, nil)
		if err != nil || (got.Result.Write.Series != nil) != tc.wantSeries || !strings.Contains(fmt.Sprint(got.Result.Warnings), tc.wantWarning) ||
			(len(got.Result.Warnings) == 0) != (tc.wantWarning == "") || got.Result.Write.LatencyWindows != nil || got.Output != "output" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestReportsThatAreNotBelieved(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":               `{`,
		"no ID":                 `{"state":"Done"}`,
		"not ended":             `{"id":"a","state":"Ready"}`,
		"a result of a failure": `{"id":"a","state":"Failed","result":{}}`,
		"a bad result":          `{"id":"a","state":"Done","result":{"schemaVersion":1}}`,
	} {
		if got, err := readReport(compressed(t, text), maxReportMemory, nil); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func compressed(t testing.TB, text string) io.Reader {
	t.Helper()
	data, err := compress([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

func TestThrottling(t *testing.T) {
	const v2 = "usage_usec 10\nuser_usec 5\nsystem_usec 5\nnr_periods 120\nnr_throttled 30\nthrottled_usec 1500000\nnr_bursts 0\n"
	const v1 = "nr_periods 120\nnr_throttled 30\nthrottled_time 1500000000\n"
	want := &throttling{seconds: 1.5, throttled: 30, total: 120}
	for name, tc := range map[string]struct {
		file, text string
		want       *throttling
	}{
		"version 2":            {"cpu.stat", v2, want},
		"version 1":            {"cpu,cpuacct/cpu.stat", v1, want},
		"version 1, apart":     {"cpu/cpu.stat", v1, want},
		"no limit":             {"cpu.stat", "usage_usec 10\n", nil},
		"no file":              {"memory.stat", v2, nil},
		"something else":       {"cpu.stat", "nr_periods x\nnr_throttled y\n", nil},
		"periods without time": {"cpu.stat", "nr_periods 1\nnr_throttled 1\n", nil},
	} {
		got := readThrottling(fstest.MapFS{tc.file: {Data: []byte(tc.text)}})
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(throttling{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMeterCountsTheTrial(t *testing.T) {
	const stat = "cpu  %d 0 %d %d %d 0 0 %d 5 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
	began := time.Now()
	cgroup, proc := fstest.MapFS{}, fstest.MapFS{}
	set := func(throttled, waited int, user, system, idle, iowait, steal int) {
		cgroup["cpu.stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "nr_periods 120\nnr_throttled %d\nthrottled_usec %d\n", throttled, throttled*1000)}
		cgroup["cpu.pressure"] = &fstest.MapFile{Data: fmt.Appendf(nil, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 total=9\n", waited)}
		proc["stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, stat, user, system, idle, iowait, steal)}
	}
	set(30, 1_000_000, 1000, 500, 7000, 300, 10)
	m := newMeter(cgroup, proc)
	m.first.taken, m.last.taken = began, began
	set(30, 1_000_000, 1050, 550, 7050, 350, 10) // Half of two CPUs.
	m.sample(began.Add(time.Second))
	set(40, 1_500_000, 1190, 600, 7055, 350, 15) // 195 of 200 ticks.
	m.sample(began.Add(2 * time.Second))
	var got task.Usage
	m.addTo(&got)
	want := task.Usage{
		Seconds: 2, ThrottledSeconds: new(0.01), ThrottledPeriods: new(int64(10)), Periods: new(int64(0)), WaitedSeconds: new(0.5),
		HostCPUSeconds: 4, HostBusySeconds: new(2.95), HostStolenSeconds: new(0.05), HostSaturatedSeconds: new(1.0),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAMeterLeavesOutWhatTheKernelDoesNotReport(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"nothing":         {},
		"something else":  {"cpu.pressure": {Data: []byte("full avg10=0 total=1\n")}, "stat": {Data: []byte("cpu 1 2 x 4 5 6 7 8 9\n")}},
		"an old kernel's": {"stat": {Data: []byte("cpu 1 2 3 4\n")}},
		"not the host's":  {"stat": {Data: []byte("cpu0 1 2 3 4 5 6 7 8 9 10\n")}},
	} {
		m := newMeter(files, files)
		m.sample(m.first.taken.Add(time.Second))
		var got task.Usage
		m.addTo(&got)
		if diff := cmp.Diff(task.Usage{Seconds: 1}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
