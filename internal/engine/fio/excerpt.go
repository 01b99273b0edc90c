package fio

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// These are lines of plain output with the figures of a job, and with those of the jobs of a group together. Each has
// groups for a direction, a total and the milliseconds in which it was moved. fio 2 wrote io= first.
const (
	jobFigures   = `\b(read|write|trim|mixed) ?: (?:IOPS=|io=)`
	groupFigures = `\b(READ|WRITE|TRIM|MIXED): (?:bw=.*\b)?(io=)([0-9.]+[kKMGTPEi]*B)\b.*(?:run=[0-9]+-|maxt= *)([0-9]+)msec`
)

// detectExcerpt recognises lines of plain output, as of `fio … | grep IOPS` in a loop.
func detectExcerpt(head []byte) bool {
	return figuresIn(head) != nil && !detectText(head) && !detectJSON(head)
}

// figuresIn returns the expression for lines with figures of a text: those of jobs, or, without any, those of groups,
// which have the same work again. It returns nil for a text without such lines.
func figuresIn(text []byte) *regexp.Regexp { return firstIn(text, expressions()) }

func expressions() []*regexp.Regexp {
	return []*regexp.Regexp{regexp.MustCompile(jobFigures), regexp.MustCompile(groupFigures)}
}

func firstIn(text []byte, all []*regexp.Regexp) *regexp.Regexp {
	i := slices.IndexFunc(all, func(e *regexp.Regexp) bool { return e.Match(text) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// splitExcerpt returns where the lines with figures begin. Each is about one direction of a job or of a group.
func splitExcerpt(text []byte) []int {
	figures := figuresIn(text)
	return parse.SplitLines(text, func(line []byte) bool { return figures != nil && figures.Match(line) })
}

// excerptParts reads a line such as "read: IOPS=2560, BW=10.0MiB/s (10.5MB/s)(300MiB/30000msec)".
func excerptParts(r io.Reader, _ parse.Options) ([]parse.Part, error) {
	p := &textParser{lines: parse.NewLines(r)}
	all := expressions()
	for p.lines.Next() {
		line := bytes.TrimSpace(p.lines.Bytes())
		figures := firstIn(line, all)
		if figures == nil {
			continue
		}
		found := figures.FindSubmatchIndex(line)
		direction := result.DirectionName(bytes.ToLower(line[found[2]:found[3]]))
		if len(found) > 4 {
			return p.groupPart(direction, figures.FindSubmatch(line))
		}
		return p.jobPart(direction, bytes.TrimLeft(line[found[3]:], " "))
	}
	return nil, orNone(p.lines.Err())
}

// groupPart returns the figures of the jobs of a group.
func (p *textParser) groupPart(direction result.DirectionName, groups [][]byte) ([]parse.Part, error) {
	total, ok := parseSize(groups[3])
	if bytes.Contains(groups[0], []byte(": io=")) {
		total, ok = oldSize(groups[3])
	}
	milliseconds, okTime := parse.Int(groups[4])
	if !ok || !okTime || milliseconds == 0 {
		return nil, p.unexpected("a size, and a time of at least 1 ms")
	}
	return someFigures(direction, total.bytes/float64(milliseconds)*1e3, 0), nil
}

// jobPart returns the figures of a job in the rest of a line. A total is more precise than the rate before it.
func (p *textParser) jobPart(direction result.DirectionName, rest []byte) ([]parse.Part, error) {
	p.job = &jobReport{directions: map[result.DirectionName]*printedDirection{}}
	var err error
	old, isOld := bytes.CutPrefix(rest, []byte(": io="))
	_, rate, _ := bytes.Cut(bytes.ToLower(rest), []byte("iops="))
	rate, _, _ = bytes.Cut(rate, []byte(","))
	operations, ok := parseScaled(bytes.TrimSpace(rate))
	bandwidth, okBandwidth := bandwidthIn(rest)
	switch {
	case isOld:
		err = p.oldDirectionLine(direction, old)
	case bytes.Contains(rest, []byte("msec)")):
		err = p.directionLine(direction, rest)
	case !ok || !okBandwidth:
		err = p.unexpected("IOPS= and BW= with figures")
	}
	switch {
	case err != nil:
		return nil, p.lines.Explain(err)
	case p.direction == nil: // The line was cut behind the rate.
	case !ok || p.direction.milliseconds == 0:
		return nil, p.unexpected("operations per second, and a time of at least 1 ms")
	default:
		bandwidth = p.direction.size.bytes / float64(p.direction.milliseconds) * 1e3
	}
	return someFigures(direction, bandwidth, operations), nil
}

// bandwidthIn returns the printed bandwidth, in bytes a second.
func bandwidthIn(rest []byte) (float64, bool) {
	_, text, _ := bytes.Cut(rest, []byte("BW="))
	text, _, ok := bytes.Cut(text, []byte("/s"))
	parsed, okSize := parseSize(text)
	return parsed.bytes, ok && okSize
}

func someFigures(direction result.DirectionName, bandwidth, operations float64) []parse.Part {
	return []parse.Part{parse.SomeFigures(result.ToolFIO, ExcerptFormat, &parse.Figures{
		Direction: direction, BytesPerSecond: bandwidth, OperationsPerSecond: operations,
	})}
}

func orNone(err error) error {
	if err == nil {
		err = &parse.SyntaxError{Want: "a line with the figures of a job", Found: "none"}
	}
	return err
}

// parseExcerpt refuses a line as the result of a run.
func parseExcerpt(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(excerptParts(r, options))
}

// terseStart begins a line of terse output, behind the version of that format.
const terseStart = ";fio-"

// These are the fields of the terse formats 3, 4 and 5: the first one of the reads, and of a direction.
const (
	terseReads     = 5
	terseKiB       = 0
	terseRate      = 2
	terseRuntime   = 3
	terseMaximum   = 33
	terseMean      = 34
	terseDirection = 41
	terseFive      = 47 // in format 5
)

// detectTerse recognises terse output (--minimal) by its first line.
func detectTerse(head []byte) bool {
	for line := range bytes.Lines(head) {
		if isTerse(line) {
			return true
		}
	}
	return false
}

func isTerse(line []byte) bool {
	return len(line) > 1 && line[0] >= '2' && line[0] <= '5' && bytes.HasPrefix(line[1:], []byte(terseStart))
}

// splitTerse returns where the lines of jobs begin. The output does not tell whether jobs ran together.
func splitTerse(text []byte) []int { return parse.SplitLines(text, isTerse) }

// terseParts reads the line of a job. It has no number of operations and no options.
func terseParts(r io.Reader, _ parse.Options) ([]parse.Part, error) {
	lines := parse.NewLines(r)
	for lines.Next() {
		if line := lines.Bytes(); isTerse(line) {
			parts, err := tersePart(bytes.Split(line, []byte(";")), lines.Number())
			if err != nil {
				return nil, lines.Explain(err)
			}
			return parts, nil
		}
	}
	return nil, orNone(lines.Err())
}

func tersePart(fields [][]byte, line int) ([]parse.Part, error) {
	unexpected := func(want string) error {
		return &parse.SyntaxError{Line: line, Want: want, Found: fmt.Sprintf("%d fields of the terse format %s", len(fields), fields[0])}
	}
	length := terseDirection
	switch string(fields[0]) {
	case "2":
		return nil, unexpected("terse output of format 3, 4 or 5, or better --output-format=json+")
	case "5":
		length = terseFive
	}
	if len(fields) < terseReads+2*length {
		return nil, unexpected("all fields of reads and writes")
	}
	if string(fields[terseReads-1]) != "0" {
		return nil, &parse.IncompleteError{Reason: parse.ToolError, Line: line, Detail: "error code " + parse.Excerpt(fields[terseReads-1])}
	}
	var parts []parse.Part
	for i, direction := range []result.DirectionName{result.Read, result.Write} {
		block := fields[terseReads+i*length:][:length]
		var values [5]float64
		for k, place := range []int{terseKiB, terseRate, terseRuntime, terseMaximum, terseMean} {
			value, ok := parse.Float(block[place])
			if !ok {
				return nil, unexpected(fmt.Sprintf("a number in field %d of the %ss", place+1, direction))
			}
			values[k] = value
		}
		if values[0] > 0 && values[2] > 0 {
			part := parse.SomeFigures(result.ToolFIO, TerseFormat, &parse.Figures{
				Direction: direction, BytesPerSecond: values[0] * 1024 / values[2] * 1e3, OperationsPerSecond: values[1],
				MaxLatencySeconds: values[3] / 1e6, MeanLatencySeconds: values[4] / 1e6,
			})
			part.Jobs = []string{parse.Excerpt(fields[2])}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Line: line, Detail: "it reports no operations"}
	}
	return parts, nil
}

// parseTerse refuses a line as the result of a run.
func parseTerse(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(terseParts(r, options))
}
