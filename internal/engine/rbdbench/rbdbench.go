// Package rbdbench makes the command lines of `rbd bench` and reads its output. Ceph writes the output in
// src/tools/rbd/action/Bench.cc. The package supports all forms of the output: up to Jewel, the command is `rbd
// bench-write`; up to Nautilus, bytes per second are a plain number; later versions print "43 MiB/s".
//
// When SIGTERM stops rbd bench, it prints a normal summary and exits with 0. Therefore, a run is valid only
// if it moved all requested bytes. rbd bench reports no latency, and in readwrite mode no I/O errors.
package rbdbench

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// These are the names of the formats.
const (
	Format        = "rbd-bench-text"
	ExcerptFormat = "rbd-bench-lines" // the last line of each run, as of `rbd bench … | grep elapsed`
)

// Formats lists the formats of rbd bench.
func Formats() []parse.Format {
	return []parse.Format{
		{Name: Format, Tool: result.ToolRBDBench, Detect: detect, Parse: Parse, Split: split, NewLive: newLive},
		{Name: ExcerptFormat, Tool: result.ToolRBDBench, Detect: detectExcerpt, Parse: parseExcerpt, Parts: excerptParts, Split: splitExcerpt},
	}
}

func detect(head []byte) bool {
	return bytes.Contains(head, []byte("bench  type ")) || bytes.Contains(head, []byte("OPS   OPS/SEC"))
}

// split returns where runs begin in a text with the output of one or several runs.
func split(text []byte) []int {
	return parse.SplitLines(text, func(line []byte) bool {
		return bytes.HasPrefix(line, []byte("bench  type ")) || bytes.HasPrefix(line, []byte(oldHead))
	})
}

// oldHead begins the head of rbd bench-write, the command until Jewel. It only writes.
const oldHead = "bench-write "

// Parse reads the output of one run of rbd bench write, read or readwrite. For the errors see
// [parse.Format].
//
// The printed elapsed time is truncated to whole seconds, so Parse computes it more exactly. It divides the
// bytes by bytes per second if that is a plain number. Otherwise it divides the operations by operations
// per second, which then has six digits. The series comes from the column of operations, since the printed
// rates are means over five rows. A series belongs to one direction. The rows of a readwrite run mix reads
// and writes, so such a run has no series.
func Parse(r io.Reader, options parse.Options) (*result.Result, error) {
	p := &parser{lines: parse.NewLines(r)}
	if err := p.lines.Each(p.line); err != nil {
		return nil, err
	}
	return p.result(options)
}

// row is the number of operations from the start of the run to the end of a second.
type row struct{ second, operations int64 }

// tally is one line of the summary.
type tally struct {
	line                int
	operations          int64
	operationsPerSecond float64
	precision           float64 // The largest relative error of operationsPerSecond.
	bytesPerSecond      float64 // 0 if printed with a unit, and so too coarse.
}

type parser struct {
	lines *parse.Lines
	notes parse.Notes

	settings   map[string]string
	ioSize     int64 // from the head, like bytesAsked
	bytesAsked int64

	rows    []row
	tooLong bool

	elapsed            int64 // Truncated to whole seconds.
	total, read, write *tally
}

func (p *parser) line(line []byte) error {
	first, rest := parse.Field(line)
	switch {
	case first == nil:
		return nil
	case isDigits(first) && p.total == nil:
		return p.row(first, rest)
	case bytes.HasPrefix(line, []byte("bench  type ")):
		return p.head(rest)
	case bytes.HasPrefix(line, []byte(oldHead)):
		return p.head(append([]byte("type write "), rest...))
	case bytes.HasPrefix(line, []byte("elapsed:")):
		return p.elapsedLine(rest)
	case bytes.HasPrefix(line, []byte("read_ops:")):
		return p.tally(&p.read, line, "read_ops:", "read_ops/sec:", "read_bytes/sec:")
	case bytes.HasPrefix(line, []byte("write_ops:")):
		return p.tally(&p.write, line, "write_ops:", "write_ops/sec:", "write_bytes/sec:")
	}
	return p.other(line)
}

func isDigits(field []byte) bool {
	_, ok := parse.Int(field)
	return ok
}

// head reads "bench  type readwrite read:write=70:30 io_size 4096 io_threads 16
// bytes 1073741824 pattern random".
func (p *parser) head(rest []byte) error {
	if p.settings != nil {
		return p.unexpected("the output of one run")
	}
	p.settings = map[string]string{}
	for name, rest := parse.Field(rest); name != nil; name, rest = parse.Field(rest) {
		if mix, ok := bytes.CutPrefix(name, []byte("read:write=")); ok {
			p.settings["read:write"] = parse.Excerpt(mix)
			continue
		}
		value, behind := parse.Field(rest)
		if string(name) == "pattern" {
			value, behind = bytes.TrimSpace(rest), nil // "full sequential" is two words.
		}
		rest = behind
		p.settings[parse.Excerpt(name)] = parse.Excerpt(value)
	}
	var ok [2]bool
	p.ioSize, ok[0] = parse.Int([]byte(p.settings["io_size"]))
	p.bytesAsked, ok[1] = parse.Int([]byte(p.settings["bytes"]))
	if !ok[0] || !ok[1] || p.ioSize == 0 {
		return p.unexpected("io_size and bytes in the head")
	}
	switch p.settings["type"] {
	case "read", "write", "readwrite":
		return nil
	}
	return p.unexpected("type read, write or readwrite in the head")
}

// row reads "SEC OPS OPS/SEC BYTES/SEC". It checks the form of the rates, but does not keep them.
func (p *parser) row(first, rest []byte) error {
	var r row
	r.second, _ = parse.Int(first)
	operations, rest := parse.Field(rest)
	// rbd bench subtracts the operations in flight, so the number can be negative in a slow first
	// second.
	operations, negative := bytes.CutPrefix(operations, []byte("-"))
	var ok bool
	if r.operations, ok = parse.Int(operations); !ok {
		return p.unexpected("a number of operations in the second column")
	}
	if negative {
		r.operations = 0
	}
	rate, rest := parse.Field(rest)
	if _, ok := parse.Float(rate); !ok {
		return p.unexpected("operations per second in the third column")
	}
	if _, err := p.bytesPerSecond(rest); err != nil {
		return err
	}
	if len(p.rows) > 0 {
		if last := p.rows[len(p.rows)-1]; r.second <= last.second || r.operations < last.operations {
			return p.unexpected("a row that follows the one before: a later second, as many operations or more")
		}
	}
	if len(p.rows) == parse.MaxRows {
		p.tooLong = true
		return nil
	}
	p.rows = append(p.rows, r)
	return nil
}

// bytesPerSecond reads a plain number such as "16650199.05". It returns 0 for a value such as "16 MiB/s",
// which is too coarse to be useful. Further text on the line becomes a warning, because rbd bench does not
// print any.
func (p *parser) bytesPerSecond(rest []byte) (float64, error) {
	number, rest := parse.Field(rest)
	value, ok := parse.Float(number)
	if !ok {
		return 0, p.unexpected("bytes per second")
	}
	if unit, behind := parse.Field(rest); bytes.HasSuffix(unit, []byte("B/s")) {
		rest, value = behind, 0
	}
	if rest = bytes.TrimSpace(rest); len(rest) > 0 {
		p.notes.Add(result.WarnUnrecognizedLine, p.lines.Number(), rest)
	}
	return value, nil
}

// elapsedLine reads the rest of "elapsed: 23   ops: 262144   ops/sec: 11012.6
// bytes/sec: 43 MiB/s".
func (p *parser) elapsedLine(rest []byte) error {
	seconds, rest := parse.Field(rest)
	var ok bool
	if p.elapsed, ok = parse.Int(seconds); !ok {
		return p.unexpected("whole seconds after elapsed:")
	}
	return p.tally(&p.total, rest, "ops:", "ops/sec:", "bytes/sec:")
}

// tally reads a line of the summary: three labelled values.
func (p *parser) tally(target **tally, rest []byte, operations, rate, bandwidth string) error {
	if *target != nil {
		return p.unexpected("the output of one run")
	}
	t := &tally{line: p.lines.Number()}
	var ok bool
	var value []byte
	if value, rest = labelled(rest, operations); value != nil {
		t.operations, ok = parse.Int(value)
	}
	if !ok {
		return p.unexpected("a whole number after " + operations)
	}
	*target = t
	if t.operations == 0 {
		return nil // The rates may be nan.
	}
	ok = false
	if value, rest = labelled(rest, rate); value != nil {
		t.operationsPerSecond, ok = parse.Float(value)
	}
	if !ok {
		return p.unexpected("a finite number after " + rate)
	}
	t.precision = precision(value, t.operationsPerSecond)
	label, rest := parse.Field(rest)
	if string(label) != bandwidth {
		return p.unexpected(bandwidth)
	}
	var err error
	t.bytesPerSecond, err = p.bytesPerSecond(rest)
	return err
}

// precision returns the largest relative error of a printed number: half a unit of its last digit. Older
// versions print two decimals, newer versions six significant digits.
func precision(printed []byte, value float64) float64 {
	const sixDigits = 5e-6
	point := bytes.IndexByte(printed, '.')
	if value == 0 || point < 0 || bytes.ContainsAny(printed, "eE") {
		return sixDigits
	}
	decimals := len(printed) - 1 - point
	return max(sixDigits, 0.5*math.Pow10(-decimals)/value)
}

// labelled returns the field after a label, or nil if the line begins with another label.
func labelled(line []byte, label string) (value, rest []byte) {
	found, rest := parse.Field(line)
	if string(found) != label {
		return nil, nil
	}
	return parse.Field(rest)
}

// other handles the lines that are neither row nor summary.
func (p *parser) other(line []byte) error {
	text := bytes.TrimSpace(line)
	for _, failure := range []string{"write error:", "read error:", "bench failed:", "rbd: "} {
		if bytes.HasPrefix(text, []byte(failure)) && !bytes.Contains(text, []byte("deprecated")) {
			return &parse.IncompleteError{Reason: parse.ToolError, Line: p.lines.Number(), Detail: parse.Excerpt(text)}
		}
	}
	if !bytes.HasPrefix(text, []byte("SEC ")) {
		p.notes.Add(result.WarnUnrecognizedLine, p.lines.Number(), text)
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	return &parse.SyntaxError{Line: p.lines.Number(), Want: want, Found: parse.Quote(p.lines.Bytes())}
}

// result turns the parsed output into a result or an error.
func (p *parser) result(options parse.Options) (*result.Result, error) {
	if p.settings == nil {
		return nil, &parse.SyntaxError{Want: `the head of rbd bench, "bench  type …"`, Found: "none"}
	}
	readwrite := p.settings["type"] == "readwrite"
	if p.total == nil || (readwrite && (p.read == nil || p.write == nil)) {
		return nil, &parse.IncompleteError{
			Reason: parse.Truncated, Line: p.lines.Number(),
			Detail: fmt.Sprintf("the summary is missing or cut short, after %d rows", len(p.rows)),
		}
	}
	if p.total.operations == 0 || p.total.operationsPerSecond == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Line: p.total.line, Detail: "it reports no operations"}
	}
	seconds, err := p.seconds()
	if err != nil {
		return nil, err
	}
	if readwrite && p.read.operations+p.write.operations != p.total.operations {
		return nil, &parse.SyntaxError{
			Line: p.total.line, Want: fmt.Sprintf("reads and writes that add up to %d operations", p.total.operations),
			Found: fmt.Sprintf("%d and %d", p.read.operations, p.write.operations),
		}
	}
	if p.total.operations > math.MaxInt64/p.ioSize {
		return nil, &parse.SyntaxError{
			Line: p.total.line, Want: "a sum of bytes that fits into 64 bits",
			Found: fmt.Sprintf("%d operations of %d bytes", p.total.operations, p.ioSize),
		}
	}
	res := p.build(seconds)
	if err := res.Validate(); err != nil {
		return nil, &parse.SyntaxError{Line: p.total.line, Want: "possible figures", Found: err.Error()}
	}
	if err := p.checkComplete(res, seconds, options); err != nil {
		return nil, err
	}
	return res, nil
}

// seconds returns the elapsed time. It returns an error if the figures of the summary contradict each
// other.
func (p *parser) seconds() (float64, error) {
	seconds := float64(p.total.operations) / p.total.operationsPerSecond
	slack := 2 * p.total.precision * seconds
	if p.total.bytesPerSecond > 0 {
		exact := float64(p.total.operations) * float64(p.ioSize) / p.total.bytesPerSecond
		if math.Abs(exact-seconds) > slack+1e-5*exact {
			return 0, &parse.SyntaxError{
				Line: p.total.line, Want: fmt.Sprintf("bytes per second of operations of %d bytes", p.ioSize),
				Found: fmt.Sprintf("%g for %g operations", p.total.bytesPerSecond, p.total.operationsPerSecond),
			}
		}
		seconds = exact
	}
	if seconds < float64(p.elapsed)-slack || seconds > float64(p.elapsed)+1+slack {
		return 0, &parse.SyntaxError{
			Line: p.total.line, Want: fmt.Sprintf("operations per second that fit %d operations in %d s", p.total.operations, p.elapsed),
			Found: fmt.Sprintf("%g", p.total.operationsPerSecond),
		}
	}
	return seconds, nil
}

// build makes the result from a complete summary.
func (p *parser) build(seconds float64) *result.Result {
	res := &result.Result{
		SchemaVersion: result.SchemaVersion,
		Source:        result.Source{Tool: result.ToolRBDBench, Format: Format, Settings: p.settings},
		Clients:       1,
		Jobs:          []result.Job{{Options: p.settings, Partial: true}},
	}
	direction := func(operations int64) *result.Direction {
		if operations == 0 {
			return nil
		}
		return &result.Direction{Operations: operations, Bytes: operations * p.ioSize, Seconds: seconds, ShortestSeconds: seconds}
	}
	switch p.settings["type"] {
	case "read":
		res.Read = direction(p.total.operations)
		res.Read.Series = p.series(seconds)
	case "write":
		res.Write = direction(p.total.operations)
		res.Write.Series = p.series(seconds)
	default:
		res.Read, res.Write = direction(p.read.operations), direction(p.write.operations)
		res.Warn(result.Warning{Code: result.WarnUncheckedErrors, Message: "rbd bench does not check for I/O errors in readwrite mode"})
		res.Warn(result.Warning{Code: result.WarnSeriesDropped, Message: "the rows of rbd bench do not separate reads from writes"})
	}
	p.notes.AppendTo(res)
	if p.tooLong {
		parse.WarnTooLong(res)
	}
	return res
}

// checkComplete returns an error if the run moved too few bytes, as after SIGTERM, or was much shorter than
// requested.
func (p *parser) checkComplete(res *result.Result, seconds float64, options parse.Options) error {
	asked := max(p.bytesAsked, options.RequestedBytes)
	if done := p.total.operations * p.ioSize; done < asked {
		return &parse.IncompleteError{
			Reason: parse.Killed, Line: p.total.line, Partial: res,
			Detail: fmt.Sprintf("it did %d of %d bytes, as after a signal to stop", done, asked),
		}
	}
	return parse.CheckDuration(res, seconds, options.RequestedSeconds)
}

// series turns the rows into intervals. Seconds without I/O have no row, so an interval may be longer than
// a second. rbd bench prints a row as soon as a second is over, so whole seconds are close to the true
// times.
func (p *parser) series(seconds float64) *result.Series {
	if len(p.rows) == 0 || p.tooLong {
		return nil
	}
	s := &result.Series{Boundaries: result.NominalBoundaries}
	start, before := 0.0, int64(0)
	add := func(end float64, operations int64) {
		if end > start+0.001 && operations >= before {
			rate := float64(operations-before) / (end - start)
			s.Append(start, end, rate, rate*float64(p.ioSize))
		}
		start, before = end, operations
	}
	for _, r := range p.rows {
		add(float64(r.second), r.operations)
	}
	add(seconds, p.total.operations) // Operations after the last row: the intervals then add up to the total.
	if s.Len() == 0 {
		return nil
	}
	return s
}
