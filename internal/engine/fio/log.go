package fio

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// LogKind is the quantity that a log of fio records. Only the file name shows the kind, not the log
// itself.
type LogKind string

// These are the kinds of logs that runs write.
const (
	BandwidthLog  LogKind = "bw"   // KiB/s
	OperationsLog LogKind = "iops" // 1/s
	LatencyLog    LogKind = "lat"  // ns
)

// logKinds returns all kinds, in the order in which AttachSeries joins them.
func logKinds() []LogKind { return []LogKind{BandwidthLog, OperationsLog, LatencyLog} }

// KindOfLog returns the kind of a log from its file name, such as name_bw.log or name_lat.1.log; false for any
// other name.
func KindOfLog(fileName string) (LogKind, bool) {
	name, isLog := strings.CutSuffix(filepath.Base(fileName), ".log")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		if _, ok := parse.Int([]byte(name[i+1:])); ok {
			name = name[:i]
		}
	}
	for _, kind := range logKinds() {
		if strings.HasSuffix(name, "_"+string(kind)) {
			return kind, isLog
		}
	}
	return "", false
}

// Log is the content of one log of one job: the bandwidth, the operations or the mean total latency of each
// direction in the log.
type Log struct {
	Kind   LogKind
	Series map[result.DirectionName]*result.Series
}

// ParseLog reads one log of one job, with windows of courseWindow.
//
// A log has a line for each window and direction, with the time at which the window ended. A window in which
// nothing completed has no line. For bandwidth and operations, ParseLog fills such a gap between two lines with
// 0. The error is a [*parse.SyntaxError], an [*parse.IncompleteError] if the last line is cut off, or an error of
// the reader.
func ParseLog(r io.Reader, kind LogKind) (*Log, error) {
	p := &logParser{lines: parse.NewLines(r), windows: map[result.DirectionName][]logWindow{}}
	if err := p.lines.Each(p.window); err != nil {
		return nil, err
	}
	log := &Log{Kind: kind, Series: map[result.DirectionName]*result.Series{}}
	for name, windows := range p.windows {
		log.Series[name] = kind.series(windows)
	}
	return log, nil
}

// maxLogSeconds bounds the memory for a log: a week of seconds.
const maxLogSeconds = 7 * 24 * 3600

type logParser struct {
	lines   *parse.Lines
	windows map[result.DirectionName][]logWindow
}

type logWindow struct {
	milliseconds int64
	value        float64
}

// window reads a line: "time, value, direction, block size, …".
func (p *logParser) window(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var columns [4]int64
	for i := range columns {
		var field []byte
		field, line, _ = bytes.Cut(line, []byte(","))
		n, ok := parse.Int(bytes.TrimSpace(field))
		if !ok {
			return p.unexpected(fmt.Sprintf("a whole number, not negative, in column %d of a log", i+1))
		}
		columns[i] = n
	}
	w := logWindow{columns[0], float64(columns[1])}
	names := []result.DirectionName{result.Read, result.Write, result.Trim}
	switch {
	case w.milliseconds > maxLogSeconds*1000:
		return p.unexpected("milliseconds since the start, at most a week of them (without log_unix_epoch)")
	case columns[2] >= int64(len(names)):
		return p.unexpected("a direction (0, 1 or 2) in its column; log_window_value=both is not supported")
	case columns[3] != 0:
		return p.unexpected("the block size 0, which fio writes for a window (log_avg_msec)")
	}
	name := names[columns[2]]
	before := p.windows[name]
	if n := len(before); n > 0 && w.milliseconds <= before[n-1].milliseconds {
		if w.milliseconds < before[n-1].milliseconds {
			return p.unexpected("a time after that of the line before")
		}
		return nil // fio closes the last window twice, the second time with no or few operations.
	}
	if len(before) == maxLogSeconds {
		return p.unexpected(fmt.Sprintf("a log of at most %d windows", maxLogSeconds))
	}
	p.windows[name] = append(before, w)
	return nil
}

func (p *logParser) unexpected(want string) error {
	return &parse.SyntaxError{Line: p.lines.Number(), Want: want, Found: parse.Quote(p.lines.Bytes())}
}

// series turns windows into the intervals of a series. Except for latencies, a gap between windows becomes an
// interval with value 0.
func (kind LogKind) series(windows []logWindow) *result.Series {
	s := &result.Series{Boundaries: result.NominalBoundaries}
	column, unit := &s.MeanLatencySeconds, 1e-9
	switch kind {
	case LatencyLog:
	case BandwidthLog:
		column, unit = &s.BytesPerSecond, 1024
	case OperationsLog:
		column, unit = &s.OperationsPerSecond, 1
	}
	add := func(start, end int64, value float64) {
		s.StartSeconds = append(s.StartSeconds, float64(start)/1e3)
		s.EndSeconds = append(s.EndSeconds, float64(end)/1e3)
		*column = append(*column, value*unit)
	}
	last := int64(0)
	for i, w := range windows {
		start := windowStart(last, w.milliseconds)
		if i > 0 && start > last && kind != LatencyLog {
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

// windowStart returns the start of a window from its end, both in milliseconds. Windows end a few milliseconds
// late. The start is therefore the end of the previous window (last), unless windows are missing in between.
func windowStart(last, end int64) int64 {
	if start := end - courseWindow; start-last >= courseWindow/2 {
		return start
	}
	return last
}

// AttachSeries sets the series of a result from the logs of its jobs. It adds up logs of one kind second by
// second, and joins the sums of different kinds as columns, in the order bandwidth, operations, latency. The
// first kind in this order that has logs determines the seconds. AttachSeries omits any other kind that lacks
// one of these seconds. From logs of several jobs it omits latencies, because a latency log lacks the
// operations that weight them.
func AttachSeries(res *result.Result, logs ...*Log) {
	for _, d := range res.Directions() {
		var kinds []*result.Series
		for _, kind := range logKinds() {
			var jobs []*result.Series
			for _, log := range logs {
				if series := log.Series[d.Name]; log.Kind == kind && series != nil {
					jobs = append(jobs, series)
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
