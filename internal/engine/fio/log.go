package fio

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// LogKind is the quantity that a log of fio records. Only the file name shows the kind, not the log
// itself.
type LogKind string

// These are the kinds of logs.
const (
	BandwidthLog         LogKind = "bw"        // KiB/s
	OperationsLog        LogKind = "iops"      // 1/s
	LatencyLog           LogKind = "lat"       // ns
	SubmissionLatencyLog LogKind = "slat"      // ns
	CompletionLatencyLog LogKind = "clat"      // ns
	HistogramLog         LogKind = "clat_hist" // histograms of the completion latency
)

// KindOfLog returns the kind of a log from its file name, such as name_bw.log or name_clat_hist.1.log; false
// for any other name.
func KindOfLog(fileName string) (LogKind, bool) {
	name, isLog := strings.CutSuffix(filepath.Base(fileName), ".log")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		if _, ok := parse.Int([]byte(name[i+1:])); ok {
			name = name[:i]
		}
	}
	for _, kind := range []LogKind{HistogramLog, SubmissionLatencyLog, CompletionLatencyLog, LatencyLog, OperationsLog, BandwidthLog} {
		if strings.HasSuffix(name, "_"+string(kind)) {
			return kind, isLog
		}
	}
	return "", false
}

// LogOptions holds facts about a log that its text lacks.
type LogOptions struct {
	// WindowMilliseconds is log_avg_msec (log_hist_msec for a histogram log). If it is 0, ParseLog uses the
	// shortest step between the times in the log, including the step from 0 to the first time.
	WindowMilliseconds int64
}

// Log is the content of one log of one job.
type Log struct {
	Kind LogKind
	// Directions has an entry for each direction in the log.
	Directions map[result.DirectionName]*LogDirection
	Warnings   []result.Warning
}

// LogDirection holds a log's figures of one direction. A field for which this kind of log has no data is nil.
type LogDirection struct {
	// Series has the bandwidth, the operations or the mean total latency. A log of single operations (without
	// log_avg_msec) yields both bandwidth and operations, and a latency log of that form also latencies.
	Series *result.Series
	// Histogram has all completion latencies of a histogram log, and Windows has them by window.
	Histogram *result.Histogram
	Windows   []HistogramWindow
}

// HistogramWindow is the histogram of one window of a log.
type HistogramWindow struct {
	StartSeconds, EndSeconds float64
	Histogram                *result.Histogram
}

// ParseLog reads one log of one job.
//
// A windowed log, with log_avg_msec, has a line for each window and direction, with the time at which the
// window ended. A window in which nothing completed has no line. For bandwidth and operations, ParseLog fills
// such a gap between two lines with 0. A log of single operations has a line for each operation. The error is
// a [*parse.SyntaxError], an [*parse.IncompleteError] if the last line is cut off, or an error of the reader.
func ParseLog(r io.Reader, kind LogKind, options LogOptions) (*Log, error) {
	p := &logParser{kind: kind, options: options, lines: parse.NewLines(r), directions: map[result.DirectionName]*logLines{}}
	read := p.sample
	if kind == HistogramLog {
		read = p.histogram
	}
	for p.lines.Next() {
		if len(bytes.TrimSpace(p.lines.Bytes())) == 0 {
			continue
		}
		if err := read(p.lines.Bytes()); err != nil {
			return nil, p.lines.Explain(err)
		}
	}
	if err := p.lines.Err(); err != nil {
		return nil, err
	}
	return p.log()
}

// These limits bound the memory for a log: a week of seconds, and 4 million bins.
const (
	maxLogSeconds = 7 * 24 * 3600
	maxLogBins    = 4 << 20
)

type logParser struct {
	kind    LogKind
	options LogOptions
	lines   *parse.Lines

	directions map[result.DirectionName]*logLines
	windowed   *bool // whether each line is a window; nil before the first line
	bins       int
	duplicates int
}

type logLines struct {
	windows []logWindow  // of a windowed log
	seconds []logSeconds // of a log of single operations
	last    int64        // the latest time in a log of single operations, in milliseconds
	hist    []HistogramWindow
}

type logWindow struct {
	milliseconds int64
	value        float64
}

type logSeconds struct {
	operations, bytes int64
	latencySeconds    float64
}

// columns fills a slice with the first fields of a line such as "1000, 96904, 0, 0, 0". It returns the rest of
// the line.
func (p *logParser) columns(line []byte, fields []int64) ([]byte, error) {
	for i := range fields {
		var field []byte
		field, line, _ = bytes.Cut(line, []byte(","))
		n, ok := parse.Int(bytes.TrimSpace(field))
		if !ok {
			return nil, p.unexpected(fmt.Sprintf("a whole number, not negative, in column %d of a log", i+1))
		}
		fields[i] = n
	}
	if fields[0] > maxLogSeconds*1000 {
		return nil, p.unexpected("milliseconds since the start, at most a week of them (without log_unix_epoch)")
	}
	return line, nil
}

// direction returns the lines of a direction. In a log, 0 means reads, 1 means writes and 2 means trims.
func (p *logParser) direction(number int64) (*logLines, error) {
	names := []result.DirectionName{result.Read, result.Write, result.Trim}
	if number >= int64(len(names)) {
		return nil, p.unexpected("a direction (0, 1 or 2) in its column; log_window_value=both is not supported")
	}
	name := names[number]
	if p.directions[name] == nil {
		p.directions[name] = &logLines{}
	}
	return p.directions[name], nil
}

// sample reads a line without a histogram: "time, value, direction, block size, …".
func (p *logParser) sample(line []byte) error {
	var columns [4]int64
	if _, err := p.columns(line, columns[:]); err != nil {
		return err
	}
	milliseconds, value, blockBytes := columns[0], columns[1], columns[3]
	d, err := p.direction(columns[2])
	if err != nil {
		return err
	}
	windowed := blockBytes == 0 // fio writes 0 for a window.
	if p.windowed == nil {
		p.windowed = &windowed
	}
	if windowed != *p.windowed {
		return p.unexpected("lines of windows (block size 0) or of operations, not both")
	}
	if windowed {
		return p.window(d, milliseconds, float64(value))
	}
	return p.operation(d, milliseconds, blockBytes, value)
}

func (p *logParser) window(d *logLines, milliseconds int64, value float64) error {
	if n := len(d.windows); n > 0 && milliseconds <= d.windows[n-1].milliseconds {
		if milliseconds < d.windows[n-1].milliseconds {
			return p.unexpected("a time after that of the line before")
		}
		p.duplicates++ // fio closes the last window twice, the second time with no or few operations.
		return nil
	}
	if len(d.windows) == maxLogSeconds {
		return p.unexpected(fmt.Sprintf("a log of at most %d windows", maxLogSeconds))
	}
	d.windows = append(d.windows, logWindow{milliseconds, value})
	return nil
}

func (p *logParser) operation(d *logLines, milliseconds, blockBytes, value int64) error {
	second := int(milliseconds / 1000)
	for len(d.seconds) <= second {
		d.seconds = append(d.seconds, logSeconds{})
	}
	s := &d.seconds[second]
	if s.bytes > math.MaxInt64-blockBytes {
		return p.unexpected("bytes that add up to less than 2⁶³ in a second")
	}
	s.operations++
	s.bytes += blockBytes
	s.latencySeconds += float64(value) / 1e9
	d.last = max(d.last, milliseconds)
	return nil
}

// histogram reads a line with a histogram: "time, direction, block size, count of bin 0, count of bin 1, …".
func (p *logParser) histogram(line []byte) error {
	var columns [3]int64
	rest, err := p.columns(line, columns[:])
	if err != nil {
		return err
	}
	d, err := p.direction(columns[1])
	if err != nil {
		return err
	}
	if n := bytes.Count(rest, []byte(",")) + 1; n != result.NumBins {
		return p.unexpected(fmt.Sprintf("%d bins (log_hist_coarseness=0), not %d", result.NumBins, n))
	}
	var bins []result.Bin
	for i := range result.NumBins {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte(","))
		count, ok := parse.Int(bytes.TrimSpace(field))
		if !ok {
			return p.unexpected(fmt.Sprintf("a count, not negative, in bin %d", i))
		}
		if count > 0 {
			bins = append(bins, result.Bin{Nanoseconds: result.BinNanoseconds(i), Count: count})
		}
	}
	return p.histogramWindow(d, float64(columns[0])/1e3, bins)
}

func (p *logParser) histogramWindow(d *logLines, end float64, bins []result.Bin) error {
	if p.bins += len(bins); p.bins > maxLogBins {
		return p.unexpected(fmt.Sprintf("a log of at most %d bins", maxLogBins))
	}
	if n := len(d.hist); n > 0 && end <= d.hist[n-1].EndSeconds {
		return p.unexpected("a time after that of the line before")
	}
	histogram, err := result.NewHistogram(bins)
	if err != nil {
		return p.unexpected("a valid histogram: " + err.Error())
	}
	d.hist = append(d.hist, HistogramWindow{EndSeconds: end, Histogram: histogram})
	return nil
}

func (p *logParser) unexpected(want string) error {
	return &parse.SyntaxError{Line: p.lines.Number(), Want: want, Found: parse.Quote(p.lines.Bytes())}
}

func (p *logParser) log() (*Log, error) {
	log := &Log{Kind: p.kind, Directions: map[result.DirectionName]*LogDirection{}}
	if p.duplicates > 0 {
		log.Warnings = append(log.Warnings, result.Warning{
			Code:    result.WarnSeriesDropped,
			Message: fmt.Sprintf("%d windows were left out, because each ends at the same time as the window before it", p.duplicates),
		})
	}
	window := p.windowMilliseconds()
	for name, d := range p.directions {
		logged := &LogDirection{}
		switch {
		case p.kind == HistogramLog:
			if err := logged.addHistograms(d.hist, window); err != nil {
				return nil, &parse.SyntaxError{Want: "a valid histogram", Found: err.Error()}
			}
		case *p.windowed:
			logged.Series = p.windowSeries(d.windows, window)
		default:
			logged.Series = p.operationSeries(d)
		}
		log.Directions[name] = logged
	}
	return log, nil
}

// windowMilliseconds returns the length of a window: the caller's value, or the shortest step between the
// times in the log, including the step from 0 to the first time.
func (p *logParser) windowMilliseconds() int64 {
	if p.options.WindowMilliseconds > 0 {
		return p.options.WindowMilliseconds
	}
	shortest := int64(math.MaxInt64)
	for _, d := range p.directions {
		last := int64(0)
		step := func(milliseconds int64) {
			if milliseconds > last {
				shortest = min(shortest, milliseconds-last)
			}
			last = milliseconds
		}
		for _, w := range d.windows {
			step(w.milliseconds)
		}
		for _, w := range d.hist {
			step(toMilliseconds(w.EndSeconds))
		}
	}
	return shortest
}

func toMilliseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e3)) }

func (d *LogDirection) addHistograms(windows []HistogramWindow, length int64) error {
	all := &result.Histogram{}
	last := int64(0)
	for i := range windows {
		w := &windows[i]
		end := toMilliseconds(w.EndSeconds)
		w.StartSeconds = float64(windowStart(last, end, length)) / 1e3
		last = end
		var err error
		if all, err = result.AddHistograms(all, w.Histogram); err != nil {
			return err
		}
	}
	d.Histogram, d.Windows = all, windows
	return nil
}

// windowSeries turns windows into the intervals of a series. Except for latencies, a gap between windows
// becomes an interval with value 0.
func (p *logParser) windowSeries(windows []logWindow, length int64) *result.Series {
	s := &result.Series{Boundaries: result.NominalBoundaries}
	column, unit := &s.MeanLatencySeconds, 1e-9
	switch p.kind {
	case LatencyLog:
	case BandwidthLog:
		column, unit = &s.BytesPerSecond, 1024
	case OperationsLog:
		column, unit = &s.OperationsPerSecond, 1
	default:
		return nil // A series has a column only for the total latency.
	}
	add := func(start, end int64, value float64) {
		s.StartSeconds = append(s.StartSeconds, float64(start)/1e3)
		s.EndSeconds = append(s.EndSeconds, float64(end)/1e3)
		*column = append(*column, value*unit)
	}
	last := int64(0)
	for i, w := range windows {
		start := windowStart(last, w.milliseconds, length)
		if i > 0 && start > last && p.kind != LatencyLog {
			add(last, start, 0)
		}
		if w.milliseconds > start {
			add(start, w.milliseconds, w.value)
		}
		last = w.milliseconds
	}
	if s.Len() == 0 {
		return nil
	}
	return s
}

// windowStart returns the start of a window from its end and its nominal length, all in milliseconds. Windows
// end a few milliseconds late. The start is therefore the end of the previous window (last), unless windows are
// missing in between.
func windowStart(last, end, length int64) int64 {
	if start := end - length; start-last >= length/2 {
		return start
	}
	return last
}

// operationSeries turns the operations of each second into an interval. The last interval ends with the last
// operation.
func (p *logParser) operationSeries(d *logLines) *result.Series {
	s := &result.Series{Boundaries: result.MeasuredBoundaries}
	for i, second := range d.seconds {
		start, end := float64(i), float64(i+1)
		if i == len(d.seconds)-1 {
			end = math.Max(float64(d.last)/1e3, start+0.001)
		}
		s.Append(start, end, float64(second.operations)/(end-start), float64(second.bytes)/(end-start))
		if p.kind == LatencyLog && second.operations > 0 {
			s.MeanLatencySeconds = append(s.MeanLatencySeconds, second.latencySeconds/float64(second.operations))
		}
	}
	if len(s.MeanLatencySeconds) != s.Len() {
		s.MeanLatencySeconds = nil // A column cannot have gaps, but a second without operations has no latency.
	}
	return s
}

// AttachSeries sets the series of a result from the logs of its jobs. It adds up logs of one kind second by
// second, and joins the sums of different kinds as columns, in the order bandwidth, operations, latency. The
// first kind in this order that has logs determines the seconds. AttachSeries omits any other kind that lacks
// one of these seconds. From windowed logs of several jobs it omits latencies, because a latency log lacks the
// operations that weight them.
func AttachSeries(res *result.Result, logs ...*Log) {
	for _, d := range res.Directions() {
		var kinds []*result.Series
		for _, kind := range []LogKind{BandwidthLog, OperationsLog, LatencyLog} {
			var jobs []*result.Series
			for _, log := range logs {
				if part := log.Directions[d.Name]; log.Kind == kind && part != nil && part.Series != nil {
					jobs = append(jobs, part.Series)
				}
			}
			if sum := reduce(jobs, result.AddSeries); sum != nil {
				kinds = append(kinds, sum)
			}
		}
		if joined := reduce(kinds, joinWithoutLoss); joined != nil {
			d.Series = joined
		}
	}
}

// joinWithoutLoss joins b to a if b has all seconds of a; otherwise it returns a, aligned to whole seconds. If
// a covers no whole second, it returns b. A log of latencies lacks the seconds of a stall. Joining such a log
// would drop these seconds from the series.
func joinWithoutLoss(a, b *result.Series) *result.Series {
	if a = a.PerSecond(); a == nil {
		return b
	}
	joined := result.JoinSeries(a, b)
	if joined == nil || joined.Len() < a.Len() {
		return a
	}
	return joined
}

// reduce combines series from left to right. It returns nil for an empty list.
func reduce(series []*result.Series, combine func(a, b *result.Series) *result.Series) *result.Series {
	if len(series) == 0 {
		return nil
	}
	combined := series[0]
	for _, next := range series[1:] {
		combined = combine(combined, next)
	}
	return combined
}

// detectLog recognises a log by its first line, which begins with four whole numbers. The third is a
// direction, except in a histogram log, whose lines have nine fields or more.
func detectLog(head []byte) bool {
	line, _, complete := bytes.Cut(head, []byte("\n"))
	fields := bytes.Split(bytes.TrimRight(line, "\r"), []byte(","))
	if len(fields) < 4 || !complete {
		return false
	}
	for i, field := range fields {
		n, ok := parse.Int(bytes.TrimSpace(field))
		if (!ok && i < 4) || (i == 2 && len(fields) < 9 && n > 2) {
			return false
		}
	}
	return true
}

// refuseLog returns the error for an attempt to parse a log as a result.
func refuseLog(io.Reader, parse.Options) (*result.Result, error) {
	return nil, &parse.SyntaxError{
		Want:  "a report with totals (fio --output-format=json+)",
		Found: "a log of fio, which has the time series of a run without its totals",
	}
}
