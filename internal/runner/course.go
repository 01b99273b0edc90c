package runner

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// Course is the work of an engine, second by second.
type Course struct {
	// Rows are in chronological order. Their times count from the start of the engine.
	Rows []result.Second
	// Began bounds the time at which the engine started, by the manager's clock.
	Began Started
	// Usage has the CPU time of the client and of its host since the start of the engine. It lacks the figures
	// that only the end of an engine shows: its own CPU time and memory.
	Usage task.Usage
	// Held is charged for the rows. Release it after rows that are kept were charged elsewhere.
	Held *limits.Holding
}

// The limits of courses. If an answer has no room for all rows, the manager sends further requests for the
// rest.
const (
	maxSeconds       = 6 * 3600 // rows of a task, see maxRows
	maxSecondsAnswer = 1000     // rows of an answer
	// maxBins is the maximum number of histogram bins in those rows of a task that the manager has not yet
	// confirmed as received. Each call of Client.Course confirms the rows before the first row that it
	// requests. A bin takes 16 bytes. The maximum is enough for an hour with 290 bins a second. Rows beyond
	// the maximum have no histograms.
	maxBins       = 1 << 20
	maxBinsAnswer = 1 << 16
)

// maxRows returns the maximum number of rows of a task whose engine has been running for a time. An engine prints one
// row a second. The rest allows for an engine that catches up after a stall. A runner adds no more rows, and the
// manager accepts no more.
func maxRows(running time.Duration) int {
	if running < 0 {
		return 0
	}
	seconds := int(min(running, maxSeconds*time.Second) / time.Second)
	return min(seconds+seconds/8+60, maxSeconds)
}

// maxRowBytes is the maximum memory of a row, as [limits.Decode] counts it: with one count in each bin of reads and
// writes.
const maxRowBytes = 1<<10 + 2*16*result.NumBins

// maxClockError is by how much times of a runner may exceed times of the manager: their clocks run at slightly
// different rates, and system clocks may be set.
const maxClockError = 2 * time.Second

// courseLimits limits the memory of an answer that has room for a number of rows.
func (c *client) courseLimits(rows int) limits.Limits {
	return limits.Limits{
		TextBytes: 4 << 20, ValueBytes: maxStatusBytes, StringBytes: maxStatusBytes, Depth: 8, Account: c.memory,
		MemoryBytes: 1<<10 + min(8<<20, int64(rows)*maxRowBytes),
	}
}

// answeredCourse is the answer to a request for a course.
type answeredCourse struct {
	Rows []result.Second `json:"rows"`
	// RunningNanoseconds is the time since the engine started.
	RunningNanoseconds int64      `json:"runningNanoseconds"`
	Usage              task.Usage `json:"usage"`
	// More says that the task has further rows, for which the answer has no room.
	More bool `json:"more,omitempty"`
}

// addSecond stores counts as a row. The row ends at the timestamp of the counts. Without a plausible
// timestamp it ends now, because the runner reads each line as soon as the engine has printed it. addSecond
// drops a row without duration, a row before the start of the engine is recorded, and rows beyond maxRows.
func (r *running) addSecond(counted *parse.Counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entry.since.IsZero() {
		return // The start of the engine is not recorded yet.
	}
	now := time.Now()
	ended := now.Sub(r.entry.since)
	row := result.Second{Done: counted.Done, Read: counted.Read, Write: counted.Write, Lateness: counted.Lateness, Target: r.entry.target, Engine: r.entry.engine}
	n := len(r.entry.course)
	if n > 0 {
		row.FromNanoseconds = r.entry.course[n-1].ToNanoseconds
	}
	// A row of an engine that was started again does not begin before that engine.
	row.FromNanoseconds = max(row.FromNanoseconds, int64(r.entry.engineSince.Sub(r.entry.since)))
	if taken := ended - counted.Delay(now); int64(taken) > row.FromNanoseconds { // Otherwise, the clock was set meanwhile.
		ended = taken
	}
	if !counted.Taken.IsZero() && counted.Seconds > 0 { // The row does not always begin where the previous row ended: for example, a ramp has no rows.
		row.FromNanoseconds = max(row.FromNanoseconds, int64(ended)-int64(counted.Seconds*1e9))
	}
	row.ToNanoseconds = int64(ended)
	if row.ToNanoseconds <= row.FromNanoseconds || n >= maxRows(now.Sub(r.entry.since)) {
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
	if row.Lateness != nil {
		n += len(row.Lateness.Bins)
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

// course returns those rows of a task whose number equals or exceeds the parameter first, as many as fit into
// an answer. Of the earlier rows, it drops the histograms of those whose number is below the parameter
// received, because the manager has these rows.
func (s *execution) course(id string, received, first int) (answeredCourse, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	switch {
	case err != nil:
		return answeredCourse{}, err
	case e.since.IsZero():
		return answeredCourse{}, refuse(NotReady, "the engine of task %s does not run yet", id)
	case first < 0 || first > len(e.course):
		return answeredCourse{}, refuse(Invalid, "task %s has %d rows, and none at %d", id, len(e.course), first)
	}
	e.drop(min(received, first))
	rows := answerOf(e.course[first:])
	answer := answeredCourse{Rows: append([]result.Second{}, rows...), More: first+len(rows) < len(e.course), RunningNanoseconds: int64(time.Since(e.since))}
	e.cpu.addTo(&answer.Usage)
	return answer, nil
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
func (c *client) Course(ctx context.Context, id string, first int) (Course, error) {
	signalled, known := c.startOf(id)
	if !known {
		return Course{}, refuse(NotReady, "this manager has not started task %s", id)
	}
	got := gathering{client: c, id: id, signalled: signalled, first: first, course: Course{Held: c.memory.Hold()}}
	for more := true; more; {
		var err error
		if more, err = got.next(ctx); err != nil {
			got.course.Held.Release()
			return Course{}, err
		}
	}
	return got.course, nil
}

// gathering is the course of a task that is being read, answer by answer.
type gathering struct {
	client    *client
	id        string
	signalled time.Time // when the manager sent the start signal
	first     int

	course Course
	ended  int64 // end of the last row
	bins   int
}

// next adds the rows of one more answer. It reports whether the runner has further rows.
func (g *gathering) next(ctx context.Context) (more bool, err error) {
	var answer answeredCourse
	var arrived time.Time // Taken before decoding, which takes a while if several clients answer simultaneously.
	sent, next := time.Now(), g.first+len(g.course.Rows)
	path := taskPath(g.id, "/course?"+url.Values{"from": {strconv.Itoa(next)}, "received": {strconv.Itoa(g.first)}}.Encode())
	err = g.client.request(ctx, 0, http.MethodGet, path, nil, func(body io.Reader) error {
		arrived = time.Now()
		room := min(maxRows(arrived.Sub(g.signalled))-next, maxSecondsAnswer)
		return limits.Decode(body, &answer, g.client.courseLimits(max(room, 0)))
	})
	if err == nil {
		err = g.add(answer, arrived)
	}
	if err != nil {
		return false, err
	}
	running := time.Duration(answer.RunningNanoseconds)
	g.course.Began = Started{NotBefore: sent.Add(-running), NotAfter: arrived.Add(-running)}
	g.course.Usage = answer.Usage
	return answer.More && len(answer.Rows) > 0, g.course.Held.Resize(int64(len(g.course.Rows)+g.bins) * bytesOfSecond)
}

// bytesOfSecond is at least the memory of a row without histograms, and of a histogram's bin.
const bytesOfSecond = 192

// add checks an answer that arrived at a time, and adds its rows. Rows that a client could not have yet, or has made
// up in large numbers, would fill the manager's memory.
func (g *gathering) add(answer answeredCourse, arrived time.Time) error {
	running, elapsed := time.Duration(answer.RunningNanoseconds), arrived.Sub(g.signalled)
	if running < 0 || running > elapsed+maxClockError {
		return violation("it says that task %s has been running for %v, and it was started %v ago", g.id, running, elapsed.Round(time.Millisecond))
	}
	if n := g.first + len(g.course.Rows) + len(answer.Rows); len(answer.Rows) > maxSecondsAnswer || n > maxRows(elapsed) {
		return violation("it has %d rows of task %s after %v, %d of them in one answer", n, g.id, elapsed.Round(time.Second), len(answer.Rows))
	}
	for i := range answer.Rows {
		row := &answer.Rows[i]
		if err := row.Validate(); err != nil {
			return violation("task %s: %v", g.id, err)
		}
		if row.FromNanoseconds < g.ended || row.ToNanoseconds > int64(running+maxClockError) {
			return violation("task %s has a row from %v to %v, before its previous row, or in the future", g.id, time.Duration(row.FromNanoseconds), time.Duration(row.ToNanoseconds))
		}
		g.ended, g.bins = row.ToNanoseconds, g.bins+binsOf(row)
	}
	if g.bins > maxBins {
		return violation("it has %d bins of task %s that were not confirmed, more than %d", g.bins, g.id, maxBins)
	}
	g.course.Rows = append(g.course.Rows, answer.Rows...)
	return nil
}
