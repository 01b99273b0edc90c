package fio

import (
	"bytes"
	"io"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

const (
	// maxSnapshot, in bytes, exceeds the size of a report of one group with all bins of reads and writes.
	maxSnapshot = 1 << 20
	// shortestSnapshot is the shortest time, in seconds, between two reports that fio prints at its interval. A report
	// at the end may follow sooner.
	shortestSnapshot = 0.1
)

// live reads the output of a running fio: status lines or, with --status-interval and JSON+, cumulative
// reports. The differences between reports are exact, including bins. Before each report, fio waits until
// each job has finished an operation, so a stall of all operations of a job delays the report. The timestamp
// of a report is from after that wait.
type live struct {
	open   []byte
	inside bool
	last   *snapshot
	ramped bool // the latest status line was of the ramp

	began   int64 // when the jobs began their work, at the latest, in milliseconds since 1970
	stopped bool  // a signal stopped fio
}

// snapshot holds fio's counters at one moment.
type snapshot struct {
	milliseconds int64   // the time of the report, since 1970
	seconds      float64 // for how long the jobs have worked
	runs         bool    // that is not all
	parts        map[result.DirectionName]direction
}

func newLive() parse.Live { return &live{} }

// Line implements [parse.Live].
func (l *live) Line(line []byte) (parse.Rate, bool) {
	switch l.stopped = l.stopped || isKill(line); {
	case l.inside && len(line) > 0 && line[0] == '}':
		l.inside = false
		return l.report(append(l.open, '}'))
	case l.inside && (len(l.open)+len(line) >= maxSnapshot || (len(line) > 0 && line[0] == '{')):
		l.inside = false
	case l.inside && len(line) > 0 && parse.IsMessage(line):
	case l.inside:
		l.open = append(append(l.open, line...), '\n')
	case string(line) == "{":
		l.open, l.inside = append(l.open[:0], "{\n"...), true
	default:
		return l.status(line)
	}
	return parse.Rate{}, false
}

// status returns the rate in a status line; false until the second one after the ramp. In the first one, fio divides the
// work since the end of the ramp by the time since its beginning.
func (l *live) status(line []byte) (parse.Rate, bool) {
	rate, ok := liveRate(line)
	switch {
	case inRamp(line):
		l.ramped = true
		return parse.Rate{}, false
	case ok && l.ramped:
		l.ramped = false
		return parse.Rate{}, false
	}
	return rate, ok
}

// report reads a document, and returns the rate since the previous readable document; false if no rate can be
// computed. When fio ends, it prints what it has done since the latest report, and then prints that again.
func (l *live) report(document []byte) (parse.Rate, bool) {
	next, err := readSnapshot(document)
	if err != nil {
		return parse.Rate{}, false
	}
	before := l.last
	l.settle(next)
	if before == nil { // The interval began when fio was started. That includes the time in which it connected.
		l.last = next
		counted, ok := next.since(&snapshot{})
		if !ok || next.seconds <= 0 {
			return parse.Rate{}, false
		}
		counted.Taken = time.UnixMilli(next.milliseconds)
		return rateOver(counted, next.seconds), true
	}
	seconds := float64(next.milliseconds-before.milliseconds) / 1e3
	counted, ok := next.since(before)
	if seconds == 0 || (seconds > 0 && (seconds < shortestSnapshot || l.ended(next)) && ok && counted.Operations == 0) {
		return parse.Rate{}, false // The same again, or too early to tell.
	}
	l.last = next
	if !ok || seconds < 0 { // fio reset its counters after the ramp, or the clock was set back.
		l.began = next.milliseconds - next.worked()
		return parse.Rate{}, false
	}
	counted.Seconds, counted.Taken = seconds, time.UnixMilli(next.milliseconds)
	return rateOver(counted, seconds), true
}

// ended reports whether a report is the last one of a fio that was stopped.
func (l *live) ended(next *snapshot) bool { return l.stopped && !next.runs }

// settle makes the last report of a fio that was stopped end when its jobs ended their work, after they had finished what
// was in flight. Closing the data, and writing the report, take long on a busy machine.
func (l *live) settle(next *snapshot) {
	if began := next.milliseconds - next.worked(); l.last == nil || began < l.began {
		l.began = began
	}
	if last := l.began + next.worked(); l.ended(next) && l.last != nil && last > l.last.milliseconds {
		next.milliseconds = min(next.milliseconds, last)
	}
}

// worked returns for how many milliseconds the jobs have worked.
func (s *snapshot) worked() int64 { return int64(s.seconds * 1e3) }

// rateOver returns the rate of what was done within a number of seconds.
func rateOver(counted *parse.Counted, seconds float64) parse.Rate {
	rate := parse.Rate{BytesPerSecond: counted.Bytes / seconds, OperationsPerSecond: counted.Operations / seconds, Counted: counted}
	if timed := counted.Timed(); timed > 0 {
		rate.MeanLatencySeconds = counted.LatencySeconds / timed
	}
	return rate
}

// readSnapshot reads a report and adds up all jobs.
func readSnapshot(document []byte) (*snapshot, error) {
	r, err := readReport(document, 1)
	if err != nil {
		return nil, err
	}
	s := &snapshot{milliseconds: r.milliseconds, parts: map[result.DirectionName]direction{}}
	for _, j := range r.jobs {
		s.runs = s.runs || j.runs
		for name, dir := range j.directions {
			s.seconds = max(s.seconds, dir.Seconds)
			sum, err := addCounts(s.parts[name], *dir)
			if err != nil {
				return nil, err
			}
			s.parts[name] = sum
		}
	}
	return s, nil
}

// addCounts adds up the counters that two jobs have of one direction.
func addCounts(a, b direction) (sum direction, err error) {
	sum.Operations, sum.Bytes = a.Operations+b.Operations, a.Bytes+b.Bytes
	switch {
	case a.Latency == nil:
		sum.Latency = b.Latency
	case b.Latency == nil:
		sum.Latency = a.Latency
	default:
		n := a.Latency.Moments.Count + b.Latency.Moments.Count
		waited := waitedIn(a.Latency) + waitedIn(b.Latency)
		sum.Latency = &result.Latency{Moments: result.Moments{Count: n, MeanSeconds: waited / float64(n)}}
		if a.Latency.Histogram != nil && b.Latency.Histogram != nil {
			sum.Latency.Histogram, err = result.AddHistograms(a.Latency.Histogram, b.Latency.Histogram)
		}
	}
	return sum, err
}

func waitedIn(l *result.Latency) float64 { return l.Moments.MeanSeconds * float64(l.Moments.Count) }

// since returns the reads and writes since an earlier report; false if fio reset its counters in between.
func (s *snapshot) since(before *snapshot) (*parse.Counted, bool) {
	var parts [2]*result.Done
	for i, name := range []result.DirectionName{result.Read, result.Write} {
		var ok bool
		if parts[i], ok = done(before.parts[name], s.parts[name]); !ok {
			return nil, false
		}
	}
	read, write := parts[0], parts[1]
	counted := &parse.Counted{}
	switch {
	case s.parts[result.Write].Operations == 0:
		counted.Done = *read
	case s.parts[result.Read].Operations == 0:
		counted.Done = *write
	default:
		counted.Read, counted.Write = read, write
		counted.Done = result.Done{
			Operations: read.Operations + write.Operations, Bytes: read.Bytes + write.Bytes,
			LatencySeconds: read.LatencySeconds + write.LatencySeconds,
		}
	}
	return counted, true
}

// done returns the work between two counts of one direction; false if fio reset its counters in between. It
// counts only operations with a recorded latency, so that operations and latencies match: fio's total of
// operations may differ from its number of latencies by a few. Without latencies, done counts all operations.
func done(before, after direction) (*result.Done, bool) {
	d := &result.Done{Operations: float64(after.Operations - before.Operations), Bytes: float64(after.Bytes - before.Bytes)}
	begun := before.Latency == nil && before.Operations > 0 && after.Latency != nil // fio records no latencies during the ramp.
	if d.Operations < 0 || d.Bytes < 0 || begun || (after.Latency == nil && before.Latency != nil) {
		return nil, false
	}
	if after.Latency == nil {
		return d, true
	}
	previous := &result.Latency{}
	if before.Latency != nil {
		previous = before.Latency
	}
	d.Operations = float64(after.Latency.Moments.Count - previous.Moments.Count)
	d.LatencySeconds = max(0, waitedIn(after.Latency)-waitedIn(previous))
	if d.Operations < 0 {
		return nil, false
	}
	var ok bool
	d.Latencies, ok = subtract(after.Latency.Histogram, previous.Histogram)
	return d, ok
}

// subtract returns the bins of the later histogram minus those of the earlier one; nil if no bins are left. It
// returns false if a bin has a larger count in the earlier histogram.
func subtract(after, before *result.Histogram) (*result.Histogram, bool) {
	if after == nil {
		return nil, before == nil
	}
	difference := &result.Histogram{}
	var rest []result.Bin
	if before != nil {
		rest = before.Bins
	}
	for _, bin := range after.Bins {
		if len(rest) > 0 && rest[0].Nanoseconds < bin.Nanoseconds {
			return nil, false
		}
		if len(rest) > 0 && rest[0].Nanoseconds == bin.Nanoseconds {
			bin.Count -= rest[0].Count
			rest = rest[1:]
		}
		if bin.Count < 0 {
			return nil, false
		}
		if bin.Count > 0 {
			difference.Bins = append(difference.Bins, bin)
		}
	}
	if len(rest) > 0 {
		return nil, false
	}
	if len(difference.Bins) == 0 {
		return nil, true
	}
	return difference, true
}

// restorer implements [parse.Restorer]. It holds at most two reports: the last complete one and the one that is
// being written.
type restorer struct {
	around io.Writer // gets the lines that are not part of a report; Write ignores its errors

	line, open, last []byte
	inside, tooLong  bool
}

func newRestorer(around io.Writer) parse.Restorer { return &restorer{around: around} }

// Write implements [parse.Restorer].
func (k *restorer) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if len(k.line)+len(line) <= maxSnapshot {
			k.line = append(k.line, line...)
		}
		if !whole {
			return n, nil
		}
		k.take(append(k.line, '\n'))
		k.line, p = k.line[:0], rest
	}
}

func (k *restorer) take(line []byte) {
	switch {
	case !k.inside && string(line) == "{\n":
		k.inside, k.tooLong, k.open = true, false, append(k.open[:0], line...)
		return
	case !k.inside:
		_, _ = k.around.Write(line)
		return
	case parse.IsMessage(line):
		_, _ = k.around.Write(line)
		return
	}
	if k.tooLong = k.tooLong || len(k.open)+len(line) > parse.MaxDocument; !k.tooLong {
		k.open = append(k.open, line...)
	}
	if line[0] == '}' {
		k.inside = false
		if !k.tooLong {
			k.last, k.open = k.open, k.last
		}
	}
}

// Last implements [parse.Restorer].
func (k *restorer) Last() []byte {
	if k.inside {
		return append(append(bytes.Clone(k.last), k.open...), k.line...)
	}
	return k.last
}
