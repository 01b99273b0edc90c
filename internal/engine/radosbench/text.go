package radosbench

import (
	"bytes"
	"io"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ParseText reads the plain output of one run of rados bench write, seq or rand. For the errors see
// [parse.Format].
//
// Lines may have the timestamps of --show-time. The column titles and a line of latencies may repeat every
// 20 rows. A stalled second has "0" as bandwidth and "-" as latency.
func ParseText(r io.Reader, options parse.Options) (*result.Result, error) {
	p := &textParser{bench: newBench(TextFormat), lines: parse.NewLines(r)}
	p.fault = func(want string, _ []byte) error { return p.unexpected(want) }
	if err := p.lines.Each(func(line []byte) error { return p.line(withoutTimestamp(line)) }); err != nil {
		return nil, err
	}
	return p.result(options, p.lines.Number())
}

type textParser struct {
	*bench
	lines *parse.Lines
}

func (p *textParser) line(line []byte) error {
	field, rest := parse.Field(line)
	if field == nil {
		return nil
	}
	if p.seconds == nil && isRow(field, rest) {
		return p.row(field, rest)
	}
	if label, value, ok := cutLabel(line); ok {
		if known, err := p.summary(label, value); known || err != nil {
			return err
		}
	}
	return p.other(line)
}

// isRow reports whether a line begins like a row. A damaged row then causes an error instead of a warning.
// Ceph's own log lines are not rows: after their timestamp come a thread ID, which may look like a number,
// and a priority such as -1.
func isRow(field, rest []byte) bool {
	if _, ok := parse.Int(field); !ok {
		return false
	}
	next, _ := parse.Field(rest)
	return len(next) == 0 || next[0] != '-'
}

// withoutTimestamp removes the timestamp before a line. --show-time adds a timestamp to rows and to the
// first line of the summary; the "min lat" line always has one. Older versions of Ceph print "2016-08-25 15:33:01.123456 ", newer versions
// "2026-01-15T16:08:38.887+0000 ".
func withoutTimestamp(line []byte) []byte {
	const date = len("2006-01-02")
	if len(line) <= date || line[0] != '2' || line[4] != '-' || line[7] != '-' {
		return line
	}
	first, rest := parse.Field(line)
	if len(first) == date {
		_, rest = parse.Field(rest) // In the older form, date and time are two fields.
	}
	return rest
}

// row reads "sec, Cur ops, started, finished, avg MB/s, cur MB/s, last lat(s), avg lat(s)". It ignores the
// values in the sixth and seventh columns and checks only their form, because -1, 0 and - stand for missing
// values there.
func (p *textParser) row(field, rest []byte) error {
	var r row
	var ok [4]bool
	r.second, ok[0] = parse.Int(field)
	field, rest = parse.Field(rest)
	r.inFlight, ok[1] = parse.Int(field)
	field, rest = parse.Field(rest)
	_, ok[2] = parse.Int(field)
	field, rest = parse.Field(rest)
	r.finished, ok[3] = parse.Int(field)
	if ok != [4]bool{true, true, true, true} {
		return p.unexpected("a row that begins with four whole numbers")
	}
	average, rest := parse.Field(rest)
	if !isNumberOrDash(average) {
		return p.unexpected("avg MB/s in the fifth column")
	}
	r.averageMiBPerSecond, _ = parse.Float(average) // nan and inf leave 0, which means unknown.
	for range 3 {
		field, rest = parse.Field(rest)
		if !isNumberOrDash(field) {
			return p.unexpected("a row of eight numbers or dashes")
		}
	}
	r.averageLatency, _ = parse.Float(field) // nan and inf leave 0, which means unknown.
	if field, _ = parse.Field(rest); field != nil {
		return p.unexpected("a row of eight columns")
	}
	if !p.addRow(r) {
		return p.unexpected("a row that follows the one before: a later second, as many finished or more")
	}
	return nil
}

// isNumberOrDash reports whether a field has only the characters of C++'s numbers, nan and inf, and of the dash of a
// stalled second.
func isNumberOrDash(field []byte) bool {
	return len(field) > 0 && len(bytes.Trim(field, "0123456789.-+enaif")) == 0
}

// cutLabel splits "Label(unit): value".
func cutLabel(line []byte) (label, value []byte, ok bool) {
	label, value, ok = bytes.Cut(line, []byte(":"))
	if unit := bytes.IndexByte(label, '('); unit >= 0 {
		label = label[:unit]
	}
	return bytes.TrimSpace(label), bytes.TrimSpace(value), ok
}

// summary reads one line of the summary. It returns false for a line with another label.
func (p *textParser) summary(label, value []byte) (bool, error) {
	switch string(label) {
	case "Total time run":
		if p.seconds != nil {
			return true, p.unexpected("the output of one run, without a second summary")
		}
		return true, p.float(&p.seconds, value)
	case "Total writes made":
		p.direction = result.Write
		return true, p.int(&p.operations, value)
	case "Total reads made":
		p.direction = result.Read
		return true, p.int(&p.operations, value)
	case "Write size", "Read size":
		return true, p.int(&p.operationBytes, value)
	case "Object size":
		p.settings["object_size"] = parse.Excerpt(value)
		return true, nil
	case "Bandwidth":
		p.bandwidthLine = p.lines.Number()
		return true, p.float(&p.mibPerSecond, value)
	case "Average Latency":
		return true, p.float(&p.latencyMean, value)
	case "Stddev Latency":
		return true, p.float(&p.latencyStddev, value)
	case "Max latency":
		return true, p.float(&p.latencyMax, value)
	case "Min latency":
		p.summaryComplete = true // This is the last line of the summary.
		return true, p.float(&p.latencyMin, value)
	case "Stddev Bandwidth", "Max bandwidth", "Min bandwidth",
		"Average IOPS", "Stddev IOPS", "Max IOPS", "Min IOPS", "Object prefix":
		return true, nil
	}
	return false, nil
}

// other handles the lines that are neither row nor summary.
func (p *textParser) other(line []byte) error {
	text := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(text, []byte("Maintaining ")):
		return p.header(text)
	case isChatter(text), p.command(text):
		return nil
	case isFailure(text):
		return &parse.IncompleteError{Reason: parse.ToolError, Line: p.lines.Number(), Detail: parse.Excerpt(text)}
	}
	p.notes.Add(result.WarnUnrecognizedLine, p.lines.Number(), text)
	return nil
}

// header reads "Maintaining 16 concurrent writes of 4194304 bytes to objects of
// size 4194304 for up to 10 seconds or 0 objects". Hammer did not print the size of objects.
func (p *textParser) header(text []byte) error {
	var numbers []string
	for field, rest := parse.Field(text); field != nil; field, rest = parse.Field(rest) {
		if _, ok := parse.Int(field); ok {
			numbers = append(numbers, string(field))
		}
	}
	if len(numbers) != 4 && len(numbers) != 5 {
		return p.unexpected("the four or five numbers of a write's head")
	}
	p.head(numbers[0], numbers[len(numbers)-2], numbers[len(numbers)-1])
	return nil
}

// isChatter recognises lines that a result does not need.
func isChatter(text []byte) bool {
	for _, start := range []string{
		"sec ", "min lat:", "hints = ", "Average IOPS", // Luminous prints "Average IOPS" without a colon.
		"Cleaning up (", "Clean up completed", "Removed ", "Warning: using slow linear search",
	} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// isFailure recognises messages that rados bench failed, or that an object has wrong contents.
func isFailure(text []byte) bool {
	return bytes.HasPrefix(text, []byte("error during benchmark")) ||
		bytes.HasPrefix(text, []byte("error opening pool")) ||
		bytes.HasPrefix(text, []byte("Must write data before")) ||
		bytes.HasPrefix(text, []byte("read got ")) ||
		bytes.HasSuffix(text, []byte(" is not correct!"))
}

func (p *textParser) unexpected(want string) error {
	return &parse.SyntaxError{Line: p.lines.Number(), Want: want, Found: parse.Quote(p.lines.Bytes())}
}

// splitText returns where runs begin in a text with the plain output of one or several runs. A run begins with
// hints (since Jewel), the head of a write, or the titles of the columns, or, if only its end was kept, with the
// summary.
func splitText(text []byte) []int {
	var begun, hinted, summarised bool
	return parse.SplitLines(text, func(line []byte) bool {
		line = withoutTimestamp(line)
		starts := func(mark string) bool { return bytes.HasPrefix(line, []byte(mark)) }
		begins := !begun
		switch {
		case starts("hints = "):
			begins, hinted = true, true
		case starts("Maintaining "):
			begins, hinted = begins || !hinted, false
		case starts("sec "):
			begins = begins || summarised
		case starts("Total time run:"):
			begins = begins || summarised
		default:
			return false
		}
		begun = true
		summarised = starts("Total time run:") || summarised && !begins
		return begins
	})
}
