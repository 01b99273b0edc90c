package radosbench

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ParseJSON reads the output of rados bench --format json or json-pretty.
//
// Numbers in this output are strings. Until ceph#66936 (2026), messages appeared between and within the
// lines of the document. For stalled seconds, rados bench prints an int as a double, so cur_bw and last_lat are
// arbitrary numbers. stddev_iops of a write is arbitrary for the same reason. ParseJSON reads none of these
// three members.
func ParseJSON(r io.Reader, options parse.Options) (*result.Result, error) {
	data, err := parse.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	p := &jsonParser{bench: newBench(JSONFormat), data: data}
	p.fault = p.unexpected
	p.decimals = true
	if err := p.blankMessages(); err != nil {
		return nil, err
	}
	if err := p.document(); err != nil {
		return nil, err
	}
	return p.result(options, parse.LineAt(data, p.decoder.InputOffset()))
}

type jsonParser struct {
	*bench
	data    []byte
	decoder *jsontext.Decoder
}

// blankMessages overwrites messages with spaces, so that only JSON remains and offsets stay valid. It
// returns an error if a message reports a failure.
func (p *jsonParser) blankMessages() error {
	for number, start := 1, 0; start < len(p.data); number++ {
		end := len(p.data)
		if i := bytes.IndexByte(p.data[start:], '\n'); i >= 0 {
			end = start + i
		}
		if message := messageIn(p.data[start:end]); message != nil {
			if isFailure(bytes.TrimSpace(message)) {
				return &parse.IncompleteError{Reason: parse.ToolError, Line: number, Detail: parse.Excerpt(message)}
			}
			if !isChatter(bytes.TrimSpace(withoutTimestamp(message))) && !p.command(message) {
				p.notes.Add(result.WarnToolMessage, number, message)
			}
			blank(message)
		}
		start = end + 1
	}
	return nil
}

func blank(text []byte) {
	for i := range text {
		text[i] = ' '
	}
}

// messageIn returns the message in a line, or nil. A known message may begin anywhere in a line of JSON,
// and extends to the end of the line. Any other message takes a whole line, which does not begin like JSON.
func messageIn(line []byte) []byte {
	for _, message := range []string{
		"hints = ", "Cleaning up (deleting", "Clean up completed", "Removed ", "Warning: using slow", "error during benchmark",
	} {
		if i := bytes.Index(line, []byte(message)); i >= 0 && !insideString(line[:i]) {
			return line[i:]
		}
	}
	if text := bytes.TrimSpace(line); len(text) > 0 && !bytes.ContainsAny(text[:1], `{}[]",`) {
		return line
	}
	return nil
}

// insideString reports whether a text ends inside a JSON string.
func insideString(text []byte) bool { return bytes.Count(text, []byte(`"`))%2 == 1 }

func (p *jsonParser) document() error {
	p.decoder = parse.NewJSONDecoder(p.data)
	token, err := p.decoder.ReadToken()
	if err != nil {
		return p.failed(err)
	}
	if token.Kind() != '{' {
		return p.unexpected("an object", []byte(token.String()))
	}
	for p.decoder.PeekKind() == '"' {
		name, err := p.decoder.ReadValue()
		if err != nil {
			return p.failed(err)
		}
		if err := p.member(string(parse.Unquoted(name))); err != nil {
			return err
		}
	}
	if _, err := p.decoder.ReadToken(); err != nil {
		return p.failed(err)
	}
	p.summaryComplete = true
	p.head(p.settings["concurrent_ios"], p.settings["seconds_to_run"], p.settings["max_objects"])
	return p.nothingElse()
}

// nothingElse returns an error if anything follows the document.
func (p *jsonParser) nothingElse() error {
	switch value, err := p.decoder.ReadValue(); {
	case err == io.EOF: //nolint:errorlint // The decoder documents that it returns io.EOF itself.
		return nil
	case err != nil:
		return p.failed(err)
	default:
		return p.unexpected("the output of one run", value)
	}
}

func (p *jsonParser) member(name string) error {
	if name == "datas" {
		return p.array()
	}
	raw, err := p.decoder.ReadValue()
	if err != nil {
		return p.failed(err)
	}
	value := parse.Unquoted(raw)
	switch name {
	case "concurrent_ios", "object_size", "seconds_to_run", "max_objects":
		p.settings[name] = parse.Excerpt(value)
	case "total_time_run":
		return p.float(&p.seconds, value)
	case "total_writes_made":
		p.direction = result.Write
		return p.int(&p.operations, value)
	case "total_reads_made":
		p.direction = result.Read
		return p.int(&p.operations, value)
	case "write_size", "read_size":
		return p.int(&p.operationBytes, value)
	case "bandwidth":
		p.bandwidthLine = parse.LineAt(p.data, p.decoder.InputOffset())
		return p.float(&p.mibPerSecond, value)
	case "average_latency":
		return p.float(&p.latencyMean, value)
	case "stddev_latency":
		return p.float(&p.latencyStddev, value)
	case "max_latency", "max_latency:": // Before Luminous, the name ended in a colon.
		return p.float(&p.latencyMax, value)
	case "min_latency":
		return p.float(&p.latencyMin, value)
	}
	return nil
}

func (p *jsonParser) array() error {
	token, err := p.decoder.ReadToken()
	if err != nil {
		return p.failed(err)
	}
	if token.Kind() != '[' {
		return p.unexpected("an array of rows", []byte(token.String()))
	}
	for p.decoder.PeekKind() == '{' {
		if err := p.row(); err != nil {
			return err
		}
	}
	if token, err = p.decoder.ReadToken(); err != nil {
		return p.failed(err)
	}
	if token.Kind() != ']' {
		return p.unexpected("rows that are objects", []byte(token.String()))
	}
	return nil
}

// row reads one row. It keeps only five members.
func (p *jsonParser) row() error {
	if _, err := p.decoder.ReadToken(); err != nil {
		return p.failed(err)
	}
	var second, finished *int64
	var r row
	for p.decoder.PeekKind() == '"' {
		name, err := p.decoder.ReadValue()
		if err != nil {
			return p.failed(err)
		}
		key := string(parse.Unquoted(name))
		raw, err := p.decoder.ReadValue()
		if err != nil {
			return p.failed(err)
		}
		switch value := parse.Unquoted(raw); key {
		case "sec":
			err = p.int(&second, value)
		case "finished":
			err = p.int(&finished, value)
		case "cur_ops":
			r.inFlight, _ = parse.Int(value)
		case "avg_bw":
			r.averageMiBPerSecond, _ = parse.Float(value) // nan and inf leave 0, which means unknown.
		case "avg_lat":
			r.averageLatency, _ = parse.Float(value)
		}
		if err != nil {
			return err
		}
	}
	if _, err := p.decoder.ReadToken(); err != nil {
		return p.failed(err)
	}
	if second == nil || finished == nil {
		return p.unexpected(`a row with "sec" and "finished"`, nil)
	}
	r.second, r.finished = *second, *finished
	if !p.addRow(r) {
		return p.unexpected("a row that follows the one before: a later second, as many finished or more", nil)
	}
	return nil
}

func (p *jsonParser) failed(err error) error { return parse.JSONError(err, p.data, 1) }

func (p *jsonParser) unexpected(want string, found []byte) error {
	return &parse.SyntaxError{Line: parse.LineAt(p.data, p.decoder.InputOffset()), Want: want, Found: parse.Quote(found)}
}
