// Package radosbench makes the command lines of phases of `rados bench`, and reads its output, plain
// and JSON, as src/common/obj_bencher.cc of Ceph writes it, from Jewel on. In the output, MB means
// MiB. A result has no printed rates: "avg MB/s" is a running mean since the start, "cur MB/s" is
// spread over the stalled seconds before it, "Average IOPS" is truncated to a whole number, and the
// JSON form prints "stddev_iops" with the wrong format of printf. The package computes rates from
// operations and seconds instead, and the latency of a second from the change of the running mean
// "avg lat". Only the bandwidth during a run comes from "cur MB/s".
package radosbench

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// These are the names of the formats.
const (
	TextFormat = "rados-bench-text"
	JSONFormat = "rados-bench-json"
)

// Formats lists the formats of rados bench.
func Formats() []parse.Format {
	return []parse.Format{
		{Name: JSONFormat, Tool: result.ToolRadosBench, Detect: detectJSON, Parse: ParseJSON},
		{Name: TextFormat, Tool: result.ToolRadosBench, Detect: detectText, Parse: ParseText, NewLive: newLive},
	}
}

func detectJSON(head []byte) bool {
	return containsAny(head, `"concurrent_ios"`, `"datas"`, `"total_writes_made"`, `"total_reads_made"`)
}

func detectText(head []byte) bool {
	return containsAny(head, "Cur ops", "Total writes made:", "Total reads made:", "concurrent writes of")
}

func containsAny(head []byte, marks ...string) bool {
	for _, mark := range marks {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// maxRows bounds the memory for the rows of a run: a week of seconds.
const maxRows = 7 * 24 * 3600

// mebibyte is the unit that rados bench calls MB.
const mebibyte = 1 << 20

// usualRows is the number of rows to expect: up to ten minutes.
const usualRows = 640

// A row is the line that rados bench printed at the end of one second.
type row struct {
	second   int64
	finished int64
	// averageMiBPerSecond is the running mean since the start, which yields the exact time of
	// the row; 0 if unknown.
	averageMiBPerSecond float64
	// averageLatency is the mean of all operations since the start, which yields the mean of the
	// row's own operations; 0 if unknown.
	averageLatency float64
}

// A bench is the content of an output, in either format.
type bench struct {
	format   string
	settings map[string]string
	notes    parse.Notes

	// decimals says that latencies are printed with six decimals instead of six significant
	// digits.
	decimals bool

	rows    []row
	tooLong bool // More than maxRows rows.

	// requestedSeconds and maxObjects are from the head of a write; 0 if unknown.
	requestedSeconds float64
	maxObjects       int64

	// The fields below are the summary. Missing fields are nil.
	direction       result.DirectionName
	seconds         *float64
	operations      *int64
	operationBytes  *int64
	mibPerSecond    *float64
	bandwidthLine   int // The line with mibPerSecond.
	latencyMean     *float64
	latencyStddev   *float64
	latencyMin      *float64
	latencyMax      *float64
	summaryComplete bool
}

func newBench(format string) *bench {
	return &bench{format: format, settings: map[string]string{}, rows: make([]row, 0, usualRows)}
}

// These are the kinds of number that setInt and setFloat expect, for error messages.
const (
	wantInt   = "a whole number, once"
	wantFloat = "a finite number, once"
)

// setInt sets a field of the summary. It returns false if the field was set before, or if the value
// is not a whole number.
func setInt(into **int64, value []byte) bool {
	n, ok := parse.Int(value)
	if !ok || *into != nil {
		return false
	}
	*into = &n
	return true
}

// setFloat is like setInt, for numbers with a fraction.
func setFloat(into **float64, value []byte) bool {
	f, ok := parse.Float(value)
	if !ok || *into != nil {
		return false
	}
	*into = &f
	return true
}

// head records the numbers in the head of a write's output. A read prints no head.
func (b *bench) head(concurrentIOs, secondsToRun, maxObjects string) {
	for name, value := range map[string]string{
		"concurrent_ios": concurrentIOs, "seconds_to_run": secondsToRun, "max_objects": maxObjects,
	} {
		if value != "" {
			b.settings[name] = value
		}
	}
	seconds, _ := parse.Int([]byte(secondsToRun))
	b.requestedSeconds = float64(seconds)
	b.maxObjects, _ = parse.Int([]byte(maxObjects))
}

// addRow adds a row, and reports whether it is consistent with the rows before it.
func (b *bench) addRow(r row) bool {
	if n := len(b.rows); n > 0 {
		last := b.rows[n-1]
		if r.second <= last.second || r.finished < last.finished {
			return false
		}
	}
	if len(b.rows) == maxRows {
		b.tooLong = true
		return true
	}
	b.rows = append(b.rows, r)
	return true
}

// result turns the parsed output into a result or an error. line is the last line that was read.
func (b *bench) result(options parse.Options, line int) (*result.Result, error) {
	if !b.summaryComplete || b.seconds == nil || b.operations == nil || b.operationBytes == nil {
		return nil, &parse.IncompleteError{
			Reason: parse.Truncated, Line: line,
			Detail:  fmt.Sprintf("the summary is missing or cut short, after %d rows", len(b.rows)),
			Partial: b.partial(options.OperationBytes),
		}
	}
	if *b.operations == 0 || *b.operationBytes == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Detail: "it reports no operations"}
	}
	if *b.operations > math.MaxInt64 / *b.operationBytes {
		return nil, &parse.SyntaxError{
			Want:  "a sum of bytes that fits into 64 bits",
			Found: fmt.Sprintf("%d operations of %d bytes", *b.operations, *b.operationBytes),
		}
	}
	if err := b.checkBandwidth(); err != nil {
		return nil, err
	}
	res := b.build()
	if err := res.Validate(); err != nil {
		return nil, &parse.SyntaxError{Want: "possible figures", Found: err.Error()}
	}
	if err := b.checkDuration(res, options); err != nil {
		return nil, err
	}
	return res, nil
}

// partial returns a result from the rows of a stopped run, which lacks a summary. It returns nil
// if no operation has finished, or if operationBytes is 0. The caller passes that size, because
// only a write prints it in a head.
func (b *bench) partial(operationBytes int64) *result.Result {
	if len(b.rows) == 0 || operationBytes <= 0 {
		return nil
	}
	last := b.rows[len(b.rows)-1]
	if last.finished == 0 || last.second == 0 || last.finished > math.MaxInt64/operationBytes {
		return nil
	}
	cut := *b
	cut.direction = result.Read
	if b.requestedSeconds > 0 {
		cut.direction = result.Write
	}
	cut.operations, cut.operationBytes = &last.finished, &operationBytes
	times, _ := cut.rowTimes()
	cut.seconds = &times[len(times)-1]
	cut.latencyMean, cut.latencyStddev, cut.latencyMin, cut.latencyMax = nil, nil, nil, nil
	if last.averageLatency > 0 {
		cut.latencyMean = &last.averageLatency
	}
	res := cut.build()
	if res.Validate() != nil {
		return nil
	}
	return res
}

// build makes the result from a summary.
func (b *bench) build() *result.Result {
	direction := &result.Direction{
		Operations:      *b.operations,
		Bytes:           *b.operations * *b.operationBytes,
		Seconds:         *b.seconds,
		ShortestSeconds: *b.seconds,
		Latency:         b.latency(),
		Series:          b.series(),
	}
	b.settings["op_size"] = strconv.FormatInt(*b.operationBytes, 10)
	res := &result.Result{
		SchemaVersion: result.SchemaVersion,
		Source:        result.Source{Tool: result.ToolRadosBench, Format: b.format, Settings: b.settings},
		Clients:       1,
	}
	res.SetDirection(b.direction, direction)
	b.notes.AppendTo(res)
	if b.tooLong {
		res.Warn(result.Warning{
			Code:    result.WarnSeriesDropped,
			Message: fmt.Sprintf("the run has more than %d rows, so its time series was not kept", maxRows),
		})
	}
	return res
}

// checkBandwidth guards against an output that contradicts itself. Before Octopus, for example,
// a read of parts of objects counted whole objects. The printed value may have only three
// digits, so checkBandwidth allows a difference of about 1 %.
func (b *bench) checkBandwidth() error {
	if b.mibPerSecond == nil {
		return nil
	}
	fromTotals := float64(*b.operations) * float64(*b.operationBytes) / *b.seconds / mebibyte
	if math.Abs(fromTotals-*b.mibPerSecond) <= 0.01*fromTotals+0.001 {
		return nil
	}
	return &parse.SyntaxError{
		Line:  b.bandwidthLine,
		Want:  fmt.Sprintf("the bandwidth of its own totals, %.4g MiB/s", fromTotals),
		Found: fmt.Sprintf("%.4g MiB/s", *b.mibPerSecond),
	}
}

// checkDuration compares the duration with the caller's request, or with the request that the
// output mentions. It ignores the latter if a number of objects could end the run. It also compares
// the bytes with the caller's request.
func (b *bench) checkDuration(res *result.Result, options parse.Options) error {
	requested := options.RequestedSeconds
	if requested == 0 && b.maxObjects == 0 {
		requested = b.requestedSeconds
	}
	if err := parse.CheckDuration(res, *b.seconds, requested); err != nil {
		return err
	}
	if done := *b.operations * *b.operationBytes; done < options.RequestedBytes {
		return &parse.IncompleteError{
			Reason: parse.EndedEarly, Partial: res,
			Detail: fmt.Sprintf("it did %d of the %d bytes requested", done, options.RequestedBytes),
		}
	}
	return nil
}

// latency returns the moments from the summary. Reads have no standard deviation, and
// percentiles are never printed.
func (b *bench) latency() *result.Latency {
	if b.latencyMean == nil {
		return nil
	}
	moments := result.Moments{Count: *b.operations, MeanSeconds: *b.latencyMean}
	if b.latencyStddev != nil {
		moments = result.MomentsFromStddev(*b.operations, *b.latencyMean, *b.latencyStddev)
	}
	moments.MinSeconds, moments.MaxSeconds = b.latencyMin, b.latencyMax
	return &result.Latency{Moments: moments}
}
