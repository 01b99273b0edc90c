package runner

import (
	"bytes"
	"time"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/workload/progress"
)

// The limits of progress lines in the log. By default, kubelets rotate a log at 10 MiB, and progress must not
// displace reports. So the lines become rarer after maxProgress lines, almost three hours of measurements.
const (
	progressEvery  = time.Second      // between lines, up to maxProgress lines
	progressSeldom = 10 * time.Second // between further lines
	maxProgress    = 10_000           // lines of an execution, about a MiB
)

// maxProgressLine exceeds the length of any engine's progress line: the generator of an open loop prints a histogram of
// up to 1,856 bins for each direction, and 18 bytes for each bin.
const maxProgressLine = 128 << 10

// progressWriter reads an engine's output while the engine runs, and logs the engine's rate. It accepts all
// output and never fails, because a failure would block the engine.
type progressWriter struct {
	live  parse.Live
	task  string
	since time.Time
	now   func() time.Time
	// report writes a line to the log.
	report func(progress.Line)
	// counted receives the exact counts of an interval, if the engine prints them.
	counted func(*parse.Counted)
	count   *int // number of progress lines that the execution has logged

	line     []byte
	tooLong  bool
	reported time.Time
}

// watched returns the reader of an engine's progress; nil for an engine that prints no progress.
func (r *running) watched() *progressWriter {
	format, ok := engine.Lookup(r.entry.task.Measure.Format)
	if !ok || format.NewLive == nil {
		return nil
	}
	return &progressWriter{
		live: format.NewLive(), task: r.entry.task.ID, since: time.Now(), now: time.Now,
		report:  func(l progress.Line) { r.note("%s", l) },
		counted: r.addSecond,
		count:   &r.progressLines, // Needs no mutex, because only one task runs at a time.
	}
}

// Write implements io.Writer. A carriage return ends a line too, because engines end status lines on
// terminals with it.
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

// end processes a complete line.
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

// pause returns the minimum time between two lines in the log. It is slightly shorter than progressEvery or
// progressSeldom, so that an engine's line that comes a millisecond early is logged too.
func (w *progressWriter) pause() time.Duration {
	if *w.count >= maxProgress {
		return progressSeldom - progressEvery/4
	}
	return progressEvery - progressEvery/4
}
