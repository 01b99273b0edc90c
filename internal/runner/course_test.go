package runner

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

func TestCourse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t.TempDir())
		e := &entry{}
		e.status.ID = "a"
		s.entries = append(s.entries, e)
		r := &execution{session: s, entry: e}
		r.addSecond(parse.Rate{OperationsPerSecond: 9, Seconds: 1})
		if _, err := s.course("a", 0); err == nil || err.Code != NotReady {
			t.Errorf("before it runs: %v", err)
		}
		e.since = time.Now()
		time.Sleep(time.Second)
		r.addSecond(parse.Rate{OperationsPerSecond: 4, BytesPerSecond: 4096, MeanLatencySeconds: 0.5, Seconds: 1})
		time.Sleep(2 * time.Second)
		r.addSecond(parse.Rate{Seconds: 2}) // a stall
		time.Sleep(time.Second / 2)
		got, err := s.course("a", 0)
		want := answeredCourse{RunningNanoseconds: int64(3500 * time.Millisecond), Rows: []result.Second{
			{ToNanoseconds: 1e9, Done: result.Done{Operations: 4, Bytes: 4096, LatencySeconds: 2}}, {FromNanoseconds: 1e9, ToNanoseconds: 3e9},
		}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		if got, err := s.course("a", 1); err != nil || !cmp.Equal(got.Rows, want.Rows[1:]) {
			t.Errorf("from the second row: %+v, %v", got, err)
		}
		if _, err := s.course("a", 3); err == nil || err.Code != Invalid {
			t.Errorf("from a row that is not there: %v", err)
		}
		if _, err := s.course("b", 0); err == nil || err.Code != NotFound {
			t.Errorf("of another task: %v", err)
		}
	})
}

func TestACourseHasABound(t *testing.T) {
	s := newSession(t.TempDir())
	e := &entry{since: time.Now().Add(-time.Hour), course: make([]result.Second, maxSeconds)}
	e.status.ID = "a"
	s.entries = append(s.entries, e)
	(&execution{session: s, entry: e}).addSecond(parse.Rate{OperationsPerSecond: 4, Seconds: 1})
	if got, err := s.course("a", 0); err != nil || len(e.course) != maxSeconds || len(got.Rows) != maxSecondsAnswer {
		t.Errorf("%d rows of %d, %v", len(got.Rows), len(e.course), err)
	}
}

func TestACourseIsReadWithinBounds(t *testing.T) {
	want := answeredCourse{RunningNanoseconds: int64(10 * time.Second), Rows: make([]result.Second, maxSecondsAnswer)}
	for i := range want.Rows {
		want.Rows[i] = result.Second{FromNanoseconds: 36e11, ToNanoseconds: 72e11, Done: result.Done{Operations: 1.0 / 3, Bytes: 1e9 / 3, LatencySeconds: 1e-3 / 3}}
	}
	c := served(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, want) })
	before := time.Now()
	got, err := c.Course(t.Context(), "a", 0)
	if err != nil || !cmp.Equal(got.Rows, want.Rows) {
		t.Fatalf("%d rows, %v", len(got.Rows), err)
	}
	if ago := before.Sub(got.Began.NotBefore); ago > 10*time.Second || ago < 5*time.Second || got.Began.NotAfter.Before(got.Began.NotBefore) {
		t.Errorf("began %v ago, %+v", ago, got.Began)
	}
}
