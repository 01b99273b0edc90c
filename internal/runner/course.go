package runner

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/result"
)

// Course is the work of an engine, second by second.
type Course struct {
	// Rows are in chronological order. Their times count from the start of the engine.
	Rows []result.Second
	// Began bounds the time at which the engine started, by the manager's clock.
	Began Started
}

// The limits of courses. If an answer has no room for all rows, the manager sends further requests for the
// rest.
const (
	maxSeconds       = 6 * 3600 // rows of a task
	maxSecondsAnswer = 1000     // rows of an answer
	// maxBins is the maximum number of histogram bins in those rows of a task that the manager has not yet
	// confirmed as received. Each call of Client.Course confirms the rows before the first row that it
	// requests. A bin takes 16 bytes. The maximum is enough for an hour with 290 bins a second. Rows beyond
	// the maximum have no histograms.
	maxBins       = 1 << 20
	maxBinsAnswer = 1 << 16
)

// courseLimits limits the memory of an answer.
func courseLimits() limits.Limits {
	return limits.Limits{TextBytes: 4 << 20, StringBytes: maxStatusBytes, MemoryBytes: 8 << 20, Depth: 8}
}

// answeredCourse is the answer to a request for a course.
type answeredCourse struct {
	Rows []result.Second `json:"rows"`
	// RunningNanoseconds is the time since the engine started.
	RunningNanoseconds int64 `json:"runningNanoseconds"`
	// More says that the task has further rows, for which the answer has no room.
	More bool `json:"more,omitempty"`
}

// addSecond stores counts as a row. The row ends at the timestamp of the counts. Without a plausible
// timestamp it ends now, because the runner reads each line as soon as the engine has printed it. addSecond
// drops a row without duration, a row before the start of the engine is recorded, and all rows after the first
// maxSeconds.
func (r *execution) addSecond(counted *parse.Counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entry.since.IsZero() {
		return // The start of the engine is not recorded yet.
	}
	now := time.Now()
	ended := now.Sub(r.entry.since)
	row := result.Second{Done: counted.Done, Read: counted.Read, Write: counted.Write}
	n := len(r.entry.course)
	if n > 0 {
		row.FromNanoseconds = r.entry.course[n-1].ToNanoseconds
	}
	if !counted.Taken.IsZero() { // The row does not always begin where the previous row ended: for example, a ramp has no rows.
		ended -= counted.Delay(now)
		row.FromNanoseconds = max(row.FromNanoseconds, int64(ended)-int64(counted.Seconds*1e9))
	}
	row.ToNanoseconds = int64(ended)
	if row.ToNanoseconds <= row.FromNanoseconds || n >= maxSeconds {
		return
	}
	if bins := binsOf(&row); r.entry.bins+bins > maxBins {
		row = row.WithoutLatencies()
	} else {
		r.entry.bins += bins
	}
	r.entry.course = append(r.entry.course, row)
}

func binsOf(row *result.Second) int {
	n := 0
	for _, d := range row.Parts() {
		if d.Latencies != nil {
			n += len(d.Latencies.Bins)
		}
	}
	return n
}

// answerOf returns the first rows that fit into an answer; at least one, unless rows is empty.
func answerOf(rows []result.Second) []result.Second {
	rows = rows[:min(len(rows), maxSecondsAnswer)]
	bins := 0
	for i := range rows {
		if bins += binsOf(&rows[i]); bins > maxBinsAnswer && i > 0 {
			return rows[:i]
		}
	}
	return rows
}

// course returns those rows of a task whose number equals or exceeds the parameter from, as many as fit into
// an answer. Of the earlier rows, it drops the histograms of those whose number is below the parameter
// received, because the manager has these rows.
func (s *session) course(id string, received, from int) (answeredCourse, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	switch {
	case err != nil:
		return answeredCourse{}, err
	case e.since.IsZero():
		return answeredCourse{}, refuse(NotReady, "the engine of task %s does not run yet", id)
	case from < 0 || from > len(e.course):
		return answeredCourse{}, refuse(Invalid, "task %s has %d rows, and none at %d", id, len(e.course), from)
	}
	e.drop(min(received, from))
	rows := answerOf(e.course[from:])
	return answeredCourse{Rows: append([]result.Second{}, rows...), More: from+len(rows) < len(e.course), RunningNanoseconds: int64(time.Since(e.since))}, nil
}

// drop drops the histograms of the rows whose number is below the parameter received. Otherwise a long
// session of a sweep that compares percentiles would exceed maxBins, and its later rows would have no
// histograms.
func (e *entry) drop(received int) {
	for ; e.plain < received; e.plain++ {
		e.bins -= binsOf(&e.course[e.plain])
		e.course[e.plain] = e.course[e.plain].WithoutLatencies()
	}
}

// Course implements [Client]. It sends further requests until it has all rows.
func (c *client) Course(ctx context.Context, id string, from int) (Course, error) {
	course, err := c.coursePart(ctx, id, from, from)
	for more := course.more; err == nil && more && len(course.Rows) < maxSeconds; {
		var next coursePart
		if next, err = c.coursePart(ctx, id, from, from+len(course.Rows)); err == nil {
			course.Rows, course.Began, more = append(course.Rows, next.Rows...), next.Began, next.more
		}
	}
	return course.Course, err
}

// coursePart has the rows of one answer. The field more says that the runner has further rows.
type coursePart struct {
	Course
	more bool
}

func (c *client) coursePart(ctx context.Context, id string, received, from int) (coursePart, error) {
	var answer answeredCourse
	var arrived time.Time // Taken before decoding, which takes a while if several clients answer simultaneously.
	sent := time.Now()
	path := taskPath(id, "/course?"+url.Values{"from": {strconv.Itoa(from)}, "received": {strconv.Itoa(received)}}.Encode())
	err := c.request(ctx, 0, http.MethodGet, path, nil, func(body io.Reader) error {
		arrived = time.Now()
		return limits.Decode(body, &answer, courseLimits())
	})
	if err != nil {
		return coursePart{}, err
	}
	running := time.Duration(answer.RunningNanoseconds)
	began := Started{NotBefore: sent.Add(-running), NotAfter: arrived.Add(-running)}
	return coursePart{Course: Course{Rows: answer.Rows, Began: began}, more: answer.More && len(answer.Rows) > 0}, nil
}
