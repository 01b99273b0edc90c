package runner

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

func TestCourse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExecution(t.TempDir())
		e := &entry{}
		e.status.ID = "a"
		s.entries = append(s.entries, e)
		r := &running{execution: s, entry: e}
		r.addSecond(&parse.Counted{Done: result.Done{Operations: 9}, Seconds: 1})
		if _, err := s.course("a", 0, 0); err == nil || err.Code != NotReady {
			t.Errorf("before it runs: %v", err)
		}
		e.since = time.Now()
		time.Sleep(time.Second)
		r.addSecond(&parse.Counted{Done: result.Done{Operations: 4, Bytes: 4096, LatencySeconds: 2}, Seconds: 1})
		time.Sleep(2 * time.Second)
		r.addSecond(&parse.Counted{Seconds: 2}) // a stall
		time.Sleep(time.Second / 2)
		got, err := s.course("a", 0, 0)
		want := answeredCourse{RunningNanoseconds: int64(3500 * time.Millisecond), Rows: []result.Second{
			{ToNanoseconds: 1e9, Done: result.Done{Operations: 4, Bytes: 4096, LatencySeconds: 2}}, {FromNanoseconds: 1e9, ToNanoseconds: 3e9},
		}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		if got, err := s.course("a", 0, 1); err != nil || !cmp.Equal(got.Rows, want.Rows[1:]) {
			t.Errorf("from the second row: %+v, %v", got, err)
		}
		if _, err := s.course("a", 0, 3); err == nil || err.Code != Invalid {
			t.Errorf("from a row that is not there: %v", err)
		}
		if _, err := s.course("b", 0, 0); err == nil || err.Code != NotFound {
			t.Errorf("of another task: %v", err)
		}
	})
}

func TestACourseHasABound(t *testing.T) {
	s := newExecution(t.TempDir())
	e := &entry{since: time.Now().Add(-time.Hour), course: make([]result.Second, maxSeconds)}
	e.status.ID = "a"
	s.entries = append(s.entries, e)
	(&running{execution: s, entry: e}).addSecond(&parse.Counted{Done: result.Done{Operations: 4}, Seconds: 1})
	if got, err := s.course("a", 0, 0); err != nil || len(e.course) != maxSeconds || len(got.Rows) != maxSecondsAnswer {
		t.Errorf("%d rows of %d, %v", len(got.Rows), len(e.course), err)
	}
}

func TestACourseIsReadWithinBounds(t *testing.T) {
	want := answeredCourse{RunningNanoseconds: int64(time.Hour - 10*time.Second), Rows: make([]result.Second, maxSecondsAnswer)}
	for i := range want.Rows {
		want.Rows[i] = result.Second{FromNanoseconds: int64(1e12 + 1e9*i), ToNanoseconds: int64(1e12 + 1e9*i + 1e9), Done: result.Done{Operations: 1.0 / 3, Bytes: 1e9 / 3, LatencySeconds: 1e-3 / 3}}
	}
	c := served(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, want) })
	before := time.Now()
	got, err := c.Course(t.Context(), "a", 0)
	if err != nil || !cmp.Equal(got.Rows, want.Rows) {
		t.Fatalf("%d rows, %v", len(got.Rows), err)
	}
	if ago := before.Sub(got.Began.NotBefore) - (time.Hour - 10*time.Second); ago > 0 || ago < -5*time.Second || got.Began.NotAfter.Before(got.Began.NotBefore) {
		t.Errorf("began %v ago, %+v", ago, got.Began)
	}
}

// A row ends when the tool has counted, however late it is read. It does not include what was left
// out before.
func TestACourseHasTheTimesOfItsTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExecution(t.TempDir())
		r := &running{execution: s, entry: &entry{since: time.Now()}}
		time.Sleep(3 * time.Second)
		r.addSecond(&parse.Counted{Seconds: 1, Taken: time.Now().Add(-400 * time.Millisecond)})
		time.Sleep(700 * time.Millisecond)
		r.addSecond(&parse.Counted{Seconds: 1.02, Taken: time.Now().Add(-100 * time.Millisecond)})
		want := []result.Second{{FromNanoseconds: 16e8, ToNanoseconds: 26e8}, {FromNanoseconds: 26e8, ToNanoseconds: 36e8}}
		if diff := cmp.Diff(want, r.entry.course); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestHistogramsOfACourseHaveABound(t *testing.T) {
	bins := make([]result.Bin, result.NumBins)
	for i := range bins {
		bins[i] = result.Bin{Nanoseconds: result.BinNanoseconds(i), Count: 1}
	}
	const fit = maxBinsAnswer/result.NumBins + 3 // more than fits into one answer
	s := newExecution(t.TempDir())
	r := &running{execution: s, entry: &entry{since: time.Now().Add(-time.Hour), bins: maxBins - fit*len(bins)}}
	r.entry.status.ID = "a"
	s.entries = append(s.entries, r.entry)
	for i := range fit + 2 {
		r.addSecond(&parse.Counted{Seconds: 1, Done: result.Done{Operations: float64(i), Latencies: &result.Histogram{Bins: bins}}})
	}
	if rows := r.entry.course; len(rows) != fit+2 || rows[fit-1].Latencies == nil || rows[fit].Latencies != nil || r.entry.bins > maxBins {
		t.Errorf("%d rows, %d bins", len(rows), r.entry.bins)
	}
	// A client gets all rows, in answers within the limits of what it reads.
	answers := 0
	c := served(t, func(w http.ResponseWriter, request *http.Request) {
		answers++
		from, _ := strconv.Atoi(request.URL.Query().Get("from"))
		got, err := s.course("a", 0, from)
		if err != nil {
			t.Error(err)
		}
		answer(w, got)
	})
	got, err := c.Course(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.entry.course, got.Rows); diff != "" || answers < 2 {
		t.Errorf("%d answers, -want +got:\n%.2000s", answers, diff)
	}
}

// If a tool prints a report each second, the last report is the result.
func TestATaskWithSnapshots(t *testing.T) {
	r := run(t, options(t))
	report := r.measure(t, task.Task{ID: "t", MeasureTimeoutSeconds: 60, Measure: &task.Measurement{
		Command: task.Command{Argv: []string{"fio", "print=" + captured(t, "fio/testdata/snapshots-3.33/mixed.out")}},
		Format:  "fio-json", Snapshots: true,
	}})
	if report.Failure != nil || report.Result == nil || report.Result.Read == nil || report.Result.Read.Operations < 100 {
		t.Fatalf("%+v", report)
	}
	if strings.Contains(report.Output, "fio version") {
		t.Error("the output that is kept has reports")
	}
	for _, w := range report.Result.Warnings {
		if w.Code == result.WarnSnapshots {
			t.Errorf("%+v", w)
		}
	}
}

// Histograms that the manager has received do not count, so an execution may last for hours.
func TestReceivedHistogramsAreDropped(t *testing.T) {
	bins := make([]result.Bin, result.NumBins)
	for i := range bins {
		bins[i] = result.Bin{Nanoseconds: result.BinNanoseconds(i), Count: 1}
	}
	s := newExecution(t.TempDir())
	r := &running{execution: s, entry: &entry{since: time.Now().Add(-time.Hour)}}
	r.entry.status.ID = "a"
	s.entries = append(s.entries, r.entry)
	second := func() { // After a lost answer, the manager requests the same rows again.
		r.addSecond(&parse.Counted{Seconds: 1, Done: result.Done{Operations: 1, Latencies: &result.Histogram{Bins: bins}}})
		for range 2 {
			got, err := s.course("a", len(r.entry.course)-1, len(r.entry.course)-1)
			if err != nil || len(got.Rows) != 1 || got.Rows[0].Latencies == nil {
				t.Fatalf("after %d rows: %+v, %v", len(r.entry.course), got, err)
			}
		}
	}
	for range 2*maxBins/len(bins) + 1 {
		second()
	}
	if r.entry.bins != len(bins) {
		t.Errorf("%d bins, want those of the last row", r.entry.bins)
	}
}
