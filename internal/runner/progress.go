package runner

import (
	"bytes"
	"time"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/progress"
)

// Bounds of progress in the log: a line each second, until a session has had hours of them.
// Kubelets keep ten MiB of a log, and progress must not crowd reports out of it.
const (
	progressEvery  = time.Second
	progressSeldom = 10 * time.Second
	maxProgress    = 10_000 // lines, about a MiB
)

// maxProgressLine is longer than any line that says how fast a tool is.
const maxProgressLine = 4 << 10

// progressWriter reads an engine's output while it runs, and logs how fast it is. It accepts
// everything and never fails: an engine must never wait for the reader of its output.
type progressWriter struct {
	live  parse.Live
	task  string
	since time.Time
	now   func() time.Time
	// report writes a line; count is the session's number of lines so far.
	report func(progress.Line)
	// counted receives the work of an interval that the engine has counted exactly.
	counted func(*parse.Counted)
	count   *int

	line     []byte
	tooLong  bool
	reported time.Time
}

// watched is what reads the output of a task's tool; nil where that says nothing before
// its end.
func (r *execution) watched() *progressWriter {
	format, ok := engine.Lookup(r.entry.task.Measure.Format)
	if !ok || format.NewLive == nil {
		return nil
	}
	return &progressWriter{
		live: format.NewLive(), task: r.entry.task.ID, since: time.Now(), now: time.Now,
		report:  func(l progress.Line) { r.note("%s", l) },
		counted: r.addSecond,
		count:   &r.progressLines, // One task is at work at a time.
	}
}

// Write implements io.Writer. Status lines of terminals end with a carriage return.
func (w *progressWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			w.add(p)
			return n, nil
		}
		w.add(p[:end])
		w.end()
		p = p[end+1:]
	}
}

func (w *progressWriter) add(p []byte) {
	if w.tooLong = w.tooLong || len(w.line)+len(p) > maxProgressLine; !w.tooLong {
		w.line = append(w.line, p...)
	}
}

// end takes the line that is complete.
func (w *progressWriter) end() {
	line, whole := w.line, !w.tooLong
	w.line, w.tooLong = w.line[:0], false
	if !whole {
		return
	}
	rate, ok := w.live.Line(line)
	now := w.now()
	if ok && rate.Counted != nil {
		w.counted(rate.Counted)
	}
	if !ok || now.Sub(w.reported) < w.pause() {
		return
	}
	w.reported = now
	*w.count++
	w.report(progress.Line{Task: w.task, Elapsed: now.Sub(w.since), Rate: rate})
}

// pause is a little shorter than the pace, so that a line that comes each second is not
// left out for a millisecond.
func (w *progressWriter) pause() time.Duration {
	if *w.count >= maxProgress {
		return progressSeldom - progressEvery/4
	}
	return progressEvery - progressEvery/4
}
