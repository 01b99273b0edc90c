package openloop

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// Format is the name of the format of results.
const Format = "open-loop-json"

const (
	// windowRows is the number of rows, which are seconds, of a latency window.
	windowRows = 5
	// maxRows limits the series and the latency windows: a load that ends by itself takes at most a day.
	maxRows = 24 * 3600
	// shortestRow is the shortest last row.
	shortestRow = 100 * time.Millisecond
)

// tally counts the latencies of one direction.
type tally struct {
	counts                  [result.NumBins]int64
	operations              int64
	seconds, secondsSquared float64
	minSeconds, maxSeconds  float64
}

func (t *tally) add(latency time.Duration) {
	s := latency.Seconds()
	if t.operations == 0 || s < t.minSeconds {
		t.minSeconds = s
	}
	t.maxSeconds = max(t.maxSeconds, s)
	t.counts[result.BinIndex(int64(latency))]++
	t.operations++
	t.seconds += s
	t.secondsSquared += s * s
}

func (t *tally) histogram() *result.Histogram {
	h := &result.Histogram{Bins: []result.Bin{}}
	for i, n := range t.counts {
		if n > 0 {
			h.Bins = append(h.Bins, result.Bin{Nanoseconds: result.BinNanoseconds(i), Count: n})
		}
	}
	return h
}

func (t *tally) latency() *result.Latency {
	if t.operations == 0 {
		return nil
	}
	n := float64(t.operations)
	spread := max(0, t.secondsSquared-t.seconds*t.seconds/n)
	return &result.Latency{
		Moments: result.Moments{
			Count: t.operations, MeanSeconds: t.seconds / n, M2SecondsSquared: &spread, MinSeconds: &t.minSeconds, MaxSeconds: &t.maxSeconds,
		},
		Histogram: t.histogram(),
	}
}

// work counts operations that were done.
type work struct{ operations, bytes int64 }

// side holds the figures of one direction.
type side struct {
	write bool
	// row has the operations that were done in the current row, and total those of the measurement.
	row, total work
	// latency has the operations that were due in the measurement, and due those of each row that is not printed.
	latency tally
	due     map[int]*tally
	series  result.Series
	window  tally
	windows []result.LatencyWindow
}

// ofRow returns the latencies of the operations that were due in a row.
func (s *side) ofRow(row int) *tally {
	if s.due[row] == nil {
		s.due[row] = &tally{}
	}
	return s.due[row]
}

// endedRow is a row that has ended, and is not printed.
type endedRow struct {
	number   int
	from, to time.Duration
	taken    time.Time
	done     map[result.DirectionName]work
}

// rowLimit is how long a row that has ended waits for the operations that were due in it. What is not done then
// counts with the time that it has waited.
const rowLimit = 30 * time.Second

// schedule is what a recorder asks the generator.
type schedule interface {
	// backlog returns the number of operations that are due, but not done.
	backlog(now time.Duration) float64
	// settled reports whether all operations that were due in a row, which ends at a time, are done.
	settled(row int, end time.Duration) bool
	// waiting passes each operation that was due in a span, and is not done, to a function.
	waiting(from, to time.Duration, take func(write bool, due time.Duration))
	// lateness returns the generator's own lateness in a row, and forgets it; nil if it is not recorded.
	lateness(row int) *result.Histogram
}

// recorder turns the operations of a load into rows, which each take a second, and a result. A row counts the
// operations that were done in it. Its latencies are those of the operations that were due in it, so it is printed only
// when these are done: otherwise, a stall would count for the time after it, where other settings may apply.
type recorder struct {
	load       *Load
	lines      *json.Encoder
	sides      map[result.DirectionName]*side
	from       time.Duration // of the current row
	rows       int           // the number of rows that have ended
	ended      []endedRow
	closed     bool // the last row has ended
	backlogs   []float64
	unfinished int64
}

func newRecorder(l *Load, lines io.Writer) *recorder {
	r := &recorder{load: l, lines: json.NewEncoder(lines), sides: map[result.DirectionName]*side{}, from: l.ramp()}
	for i := range l.Copies {
		for _, write := range l.Copies[i].directions() {
			r.sides[direction(write)] = &side{write: write, due: map[int]*tally{}, series: result.Series{Boundaries: result.MeasuredBoundaries}}
		}
	}
	return r
}

func direction(write bool) result.DirectionName {
	if write {
		return result.Write
	}
	return result.Read
}

// rowOf returns the number of the row in which an operation is due; below 0 during the ramp.
func rowOf(due, ramp time.Duration) int {
	if due < ramp {
		return -1
	}
	return int((due - ramp) / time.Second)
}

// add counts an operation that is done.
func (r *recorder) add(write bool, due, latency time.Duration, bytes int64) {
	if s := r.sides[direction(write)]; !r.closed {
		s.row.operations++
		s.row.bytes += bytes
	}
	r.count(write, due, latency)
}

// count counts the latency of an operation, in the row in which it was due unless that is printed.
func (r *recorder) count(write bool, due, latency time.Duration) {
	s, row := r.sides[direction(write)], rowOf(due, r.load.ramp())
	if row < 0 {
		return
	}
	s.latency.add(latency)
	if row >= r.rows-len(r.ended) {
		s.ofRow(row).add(latency)
	}
}

// abandon counts an operation that is not done, with the time that it has waited.
func (r *recorder) abandon(write bool, due, waited time.Duration) {
	r.unfinished++
	r.count(write, due, waited)
}

// untilNext returns the time to the end of the current row, or of the ramp.
func (r *recorder) untilNext(now time.Duration) time.Duration {
	next := r.from + time.Second
	if now < r.from {
		next = r.from
	}
	return max(next-now, time.Millisecond)
}

// advance ends the rows that have ended by now, and prints those that are complete. The load ends at the time end.
func (r *recorder) advance(now, end time.Duration, g schedule) {
	if r.rows == 0 && now < r.from+time.Second {
		r.ramp(now)
	}
	for to := r.from + time.Second; to <= min(now, end); to = r.from + time.Second {
		r.closeRow(now, to, g)
	}
	if now >= end && !r.closed {
		if end-r.from >= shortestRow {
			r.closeRow(now, end, g)
		}
		r.closed = true
	}
	for len(r.ended) > 0 {
		row := &r.ended[0]
		if !g.settled(row.number, row.to) {
			if now < row.to+rowLimit {
				return
			}
			g.waiting(row.from, row.to, func(write bool, due time.Duration) {
				r.sides[direction(write)].ofRow(row.number).add(now - due)
			})
		}
		r.printFirst(g)
	}
}

// finish prints the rows that are left. All operations have to be done or abandoned.
func (r *recorder) finish(g schedule) {
	for len(r.ended) > 0 {
		r.printFirst(g)
	}
}

// ramp forgets the operations that were done in the ramp.
func (r *recorder) ramp(now time.Duration) {
	if now > r.from {
		return
	}
	for _, s := range r.sides {
		s.row = work{}
	}
}

func (r *recorder) closeRow(now, end time.Duration, g schedule) {
	row := endedRow{number: r.rows, from: r.from, to: end, taken: time.Now().Add(end - now), done: map[result.DirectionName]work{}}
	for name, s := range r.sides {
		row.done[name] = s.row
		s.total.operations += s.row.operations
		s.total.bytes += s.row.bytes
		s.row = work{}
	}
	r.ended = append(r.ended, row)
	if r.rows++; r.rows <= maxRows {
		r.backlogs = append(r.backlogs, g.backlog(end))
	}
	r.from = end
}

// printFirst writes a line with the oldest row that has ended, and adds the row to the series and the windows.
func (r *recorder) printFirst(g schedule) {
	row := r.ended[0]
	r.ended = r.ended[1:]
	now := time.Now() // The clock may have been set since the row ended. The reader of the line subtracts from the present time.
	line := parse.Counted{Seconds: (row.to - row.from).Seconds(), Taken: now.Add(-now.Sub(row.taken)), Lateness: g.lateness(row.number)}
	parts := map[result.DirectionName]*result.Done{}
	for name, s := range r.sides {
		t := s.ofRow(row.number)
		delete(s.due, row.number)
		parts[name] = partOf(row.done[name], t, r.load.Histograms)
		if row.number < maxRows {
			s.extend(row, t, r.load)
		}
	}
	read, write := parts[result.Read], parts[result.Write]
	switch {
	case write == nil:
		line.Done = *read
	case read == nil:
		line.Done = *write
	default:
		due := *read.Due + *write.Due
		line.Read, line.Write = read, write
		line.Done = result.Done{
			Operations: read.Operations + write.Operations, Bytes: read.Bytes + write.Bytes, Due: &due,
			LatencySeconds: read.LatencySeconds + write.LatencySeconds,
		}
	}
	_ = r.lines.Encode(&line) // The result, which is written later, is checked.
}

func partOf(done work, t *tally, histogram bool) *result.Done {
	due := float64(t.operations)
	d := &result.Done{Operations: float64(done.operations), Bytes: float64(done.bytes), LatencySeconds: t.seconds, Due: &due}
	if histogram && t.operations > 0 {
		d.Latencies = t.histogram()
	}
	return d
}

// extend adds a row to the series and to the latency windows.
func (s *side) extend(row endedRow, t *tally, l *Load) {
	from, to := (row.from - l.ramp()).Seconds(), (row.to - l.ramp()).Seconds()
	done, mean := row.done[direction(s.write)], 0.0
	if t.operations > 0 {
		mean = t.seconds / float64(t.operations)
	}
	s.series.Append(from, to, float64(done.operations)/(to-from), float64(done.bytes)/(to-from))
	s.series.MeanLatencySeconds = append(s.series.MeanLatencySeconds, mean)
	if l.Windows {
		s.addWindow(row.number+1, to, t)
	}
}

// addWindow adds a row to the latency window, which ends with every windowRows-th row.
func (s *side) addWindow(rows int, end float64, t *tally) {
	for i, n := range t.counts {
		s.window.counts[i] += n
	}
	if rows%windowRows != 0 {
		return
	}
	s.windows = append(s.windows, result.LatencyWindow{StartSeconds: end - windowRows, EndSeconds: end, Histogram: s.window.histogram()})
	s.window = tally{}
}

// These constants define saturation. The backlog of each of the last parts is its minimum in that part, so that a
// stall does not look like a growing backlog.
const (
	backlogParts      = 4    // of the second half
	minBacklogSeconds = 0.05 // of arrivals
)

// saturated reports whether the backlog grew during the whole second half of the measurement.
func (r *recorder) saturated(l *Load) bool {
	half := r.backlogs[len(r.backlogs)/2:]
	if len(half) < backlogParts {
		return false
	}
	before := -1.0
	for i := range backlogParts {
		least := slices.Min(half[i*len(half)/backlogParts : (i+1)*len(half)/backlogParts])
		if least <= before {
			return false
		}
		before = least
	}
	return before > math.Max(minBacklogSeconds*l.rate(), backlogParts)
}

// result returns the result of a measurement that took some time. It has no latencies if the generator did not
// follow the schedule, or if the load was more than the storage could take.
func (r *recorder) result(arrivals *result.Arrivals, took time.Duration) *result.Result {
	res := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Arrivals: arrivals,
		Source: result.Source{Tool: result.ToolOpenLoop, Format: Format, Settings: map[string]string{"ioengine": string(r.load.Engine)}},
	}
	p99 := math.Inf(1) // of the faster direction
	for _, s := range r.sides {
		if s.latency.operations > 0 {
			p99 = min(p99, percentile(s.latency.latency(), 99))
		}
	}
	warning := arrivals.Warning(p99)
	for name, s := range r.sides {
		d := &result.Direction{
			Operations: s.total.operations, Bytes: s.total.bytes, Seconds: took.Seconds(), ShortestSeconds: took.Seconds(), LatencyWindows: s.windows,
		}
		if s.series.Len() > 0 {
			d.Series = &s.series
		}
		d.Latency = s.latency.latency()
		if warning != nil {
			d.Latency, d.LatencyWindows = nil, nil
			s.series.MeanLatencySeconds = nil
		}
		if d.Operations > 0 {
			res.SetDirection(name, d)
		}
	}
	if warning != nil {
		res.Warn(*warning)
	}
	return res
}
