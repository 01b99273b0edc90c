// Package radosbench makes the command lines of `rados bench` and reads its output, plain or JSON. Ceph
// writes the output in src/common/obj_bencher.cc. The package supports Hammer and later versions. "MB" in
// the output means MiB.
//
// A result contains no printed rates. "avg MB/s" is a running mean since the start. After a stall, "cur
// MB/s" is a mean that includes the stalled seconds. "Average IOPS" is truncated to a whole number, and the
// JSON form prints "stddev_iops" with the wrong format of printf. The package computes rates from
// operations and seconds instead. It computes the latency of a second from the change of the running mean
// "avg lat". Only the bandwidth during a run comes from "cur MB/s". It is shown to people, and counted for the
// windows of switched settings.
package radosbench

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
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
		{Name: JSONFormat, Tool: result.ToolRadosBench, Words: marks(), Detect: detectJSON, Parse: ParseJSON, Split: splitJSON},
		{Name: TextFormat, Tool: result.ToolRadosBench, Detect: detectText, Parse: ParseText, Split: splitText, NewLive: newLive},
		{Name: ExcerptFormat, Tool: result.ToolRadosBench, Detect: detectExcerpt, Parse: parseExcerpt, Parts: excerptParts, Split: splitExcerpt},
	}
}

func detectJSON(head []byte) bool {
	return slices.ContainsFunc(marks(), func(mark string) bool { return containsAny(head, strconv.Quote(mark)) })
}

// marks are names in the JSON of a run.
func marks() []string {
	return []string{"concurrent_ios", "datas", "total_writes_made", "total_reads_made"}
}

// splitJSON returns where runs begin in a text with the JSON of one or several runs.
func splitJSON(text []byte) []int {
	var starts []int
	for _, found := range parse.Documents(text) {
		if found.HasWord(marks()...) {
			starts = append(starts, found.Start)
		}
	}
	return starts
}

func detectText(head []byte) bool {
	return containsAny(head, "Cur ops", "Total writes made:", "Total reads made:", "concurrent writes of") && !detectExcerpt(head)
}

func containsAny(head []byte, marks ...string) bool {
	for _, mark := range marks {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// mebibyte is the unit that rados bench calls MB.
const mebibyte = 1 << 20

// usualRows is the initial capacity for rows, enough for ten minutes.
const usualRows = 640

// row is the line that rados bench prints at the end of one second.
type row struct {
	second   int64
	inFlight int64 // "Cur ops"; 0 if unknown
	finished int64
	// averageMiBPerSecond is the mean since the start; 0 if unknown. It yields the exact time of the row.
	averageMiBPerSecond float64
	// averageLatency is the mean latency, in seconds, of all operations since the start; 0 if unknown. It
	// yields the mean latency of the row's own operations.
	averageLatency float64
}

// bench is the content of an output in either format.
type bench struct {
	format string
	// fault returns the error for an output that does not have the expected text at the present place.
	fault    func(want string, found []byte) error
	settings map[string]string
	notes    parse.Notes

	// decimals says that latencies are printed with six decimals, not with six significant digits.
	decimals bool

	mode string // "seq" or "rand" if a command before the output of reads names it

	rows         []row
	mostInFlight int64 // the largest inFlight of all rows
	tooLong      bool  // The run has more than [parse.MaxRows] rows.

	// requestedSeconds and maxObjects are limits from the head of a write's output; 0 if unknown. maxObjects is
	// also 0 if the number of objects is not limited.
	requestedSeconds float64
	maxObjects       int64

	// The fields below are the summary. A pointer is nil if the output lacks the value.
	direction       result.DirectionName
	seconds         *float64
	operations      *int64
	operationBytes  *int64
	mibPerSecond    *float64
	bandwidthLine   int // The number of the line with mibPerSecond.
	latencyMean     *float64
	latencyStddev   *float64
	latencyMin      *float64
	latencyMax      *float64
	summaryComplete bool
}

func newBench(format string) *bench {
	return &bench{format: format, settings: map[string]string{}, rows: make([]row, 0, usualRows)}
}

// int sets a field of the summary. It returns an error if the field was already set to another value, or if the value is
// not a whole number. Scripts print lines of the summary again.
func (b *bench) int(target **int64, value []byte) error {
	n, ok := parse.Int(value)
	if !ok || *target != nil && **target != n {
		return b.fault("a whole number of at most 18 digits, once", value)
	}
	*target = &n
	return nil
}

// float is like int, for numbers with a fraction.
func (b *bench) float(target **float64, value []byte) error {
	f, ok := parse.Float(value)
	if !ok || *target != nil && **target != f {
		return b.fault("a finite number, once", value)
	}
	*target = &f
	return nil
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

// addRow adds a row, unless the run already has [parse.MaxRows] rows. If the row is not consistent with the previous
// row, addRow returns false and does not add the row.
func (b *bench) addRow(r row) bool {
	if n := len(b.rows); n > 0 {
		last := b.rows[n-1]
		if r.second <= last.second || r.finished < last.finished {
			return false
		}
	}
	b.mostInFlight = max(b.mostInFlight, r.inFlight)
	if len(b.rows) == parse.MaxRows {
		b.tooLong = true
		return true
	}
	b.rows = append(b.rows, r)
	return true
}

// result turns the parsed output into a result or an error. The argument line is the number of the last line
// that was read.
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

// partial returns a result from the rows of a stopped run, whose output lacks a summary. It returns nil if
// no operation has finished, if no second has passed, if operationBytes is 0, or if the figures are impossible.
// The caller passes operationBytes, because a read prints the size of its operations only in the summary.
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

// build makes the result from the fields of the summary, which partial sets for a stopped run.
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
		Jobs:          []result.Job{{Options: b.load(), Partial: true}},
	}
	res.SetDirection(b.direction, direction)
	b.notes.AppendTo(res)
	if b.tooLong {
		parse.WarnTooLong(res)
	}
	return res
}

// load returns the options that describe the load. The output of a read does not name its number of concurrent
// operations, but its rows show it.
func (b *bench) load() map[string]string {
	load := maps.Clone(b.settings)
	if _, named := load["concurrent_ios"]; !named && b.mostInFlight > 0 {
		load["cur_ops"] = strconv.FormatInt(b.mostInFlight, 10)
	}
	if b.mode != "" && b.direction == result.Read {
		load["mode"] = b.mode
	}
	return load
}

// command takes a line that may be the command of the run, such as "# rados bench -p a 10 seq". It returns false for
// any other line.
func (b *bench) command(line []byte) bool {
	_, arguments, ok := bytes.Cut(line, []byte("rados "))
	if !ok || !bytes.Contains(line, []byte(" bench ")) {
		return false
	}
	for field, rest := parse.Field(arguments); field != nil; field, rest = parse.Field(rest) {
		if mode := string(field); mode == "seq" || mode == "rand" {
			b.mode = mode
		}
	}
	return true
}

// checkBandwidth returns an error if the printed bandwidth contradicts the totals. Before Octopus, for
// example, rados bench counted whole objects when it read parts of objects. The printed bandwidth may have
// only three digits, so a difference of about 1 % is allowed.
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

// checkDuration returns an error if the run was much shorter than requested, or moved fewer bytes than
// requested. If the caller requests no time, the time in the output's head counts, unless a number of
// objects could end the run.
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

// latency returns the moments from the summary; nil if the summary lacks a mean. rados bench prints no
// standard deviation for reads, and never prints percentiles.
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
