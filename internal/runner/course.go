package runner

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// Course is what a tool did by the second.
type Course struct {
	// Rows are in order.
	Rows []result.Second
	// Began bounds the moment from which rows count, by the manager's clock.
	Began Started
}

// Bounds of courses.
const (
	maxSeconds       = 6 * 3600 // of a task; what comes later is left out
	maxSecondsAnswer = 1000     // of an answer; who has so many asks again
)

// answeredCourse is the answer to who asks for a course.
type answeredCourse struct {
	Rows []result.Second `json:"rows"`
	// RunningNanoseconds is how long ago the tool was started.
	RunningNanoseconds int64 `json:"runningNanoseconds"`
}

// addSecond keeps a row. The tool's output is read as soon as it is there, so that the row before
// ended when its line came.
func (r *execution) addSecond(rate parse.Rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entry.since.IsZero() {
		return // A line before the tool is known to run.
	}
	row := result.Second{ToNanoseconds: int64(time.Since(r.entry.since)), Done: result.Done{
		Operations: rate.OperationsPerSecond * rate.Seconds, Bytes: rate.BytesPerSecond * rate.Seconds,
		LatencySeconds: rate.MeanLatencySeconds * rate.OperationsPerSecond * rate.Seconds,
	}}
	if n := len(r.entry.course); n > 0 {
		row.FromNanoseconds = r.entry.course[n-1].ToNanoseconds
	}
	if row.ToNanoseconds > row.FromNanoseconds && len(r.entry.course) < maxSeconds {
		r.entry.course = append(r.entry.course, row)
	}
}

// course returns rows of a task, the first one at from.
func (s *session) course(id string, from int) (answeredCourse, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	switch {
	case err != nil:
		return answeredCourse{}, err
	case e.since.IsZero():
		return answeredCourse{}, refuse(NotReady, "the tool of task %s does not run yet", id)
	case from < 0 || from > len(e.course):
		return answeredCourse{}, refuse(Invalid, "task %s has %d rows, and none at %d", id, len(e.course), from)
	}
	rows := e.course[from:]
	rows = rows[:min(len(rows), maxSecondsAnswer)]
	return answeredCourse{Rows: append([]result.Second{}, rows...), RunningNanoseconds: int64(time.Since(e.since))}, nil
}

// Course implements [Client].
func (c *client) Course(ctx context.Context, id string, from int) (Course, error) {
	var answer answeredCourse
	sent := time.Now()
	err := c.exchange(ctx, 0, http.MethodGet, taskPath(id, "/course?"+url.Values{"from": {strconv.Itoa(from)}}.Encode()), nil, &answer)
	received := time.Now()
	if err != nil {
		return Course{}, err
	}
	running := time.Duration(answer.RunningNanoseconds)
	return Course{Rows: answer.Rows, Began: Started{NotBefore: sent.Add(-running), NotAfter: received.Add(-running)}}, nil
}
