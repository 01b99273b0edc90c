package fio

import (
	"bytes"
	"io"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// documents separates the JSON documents of an output from the messages before, between and within them. fio
// writes warnings and errors to the same file or stream as the JSON, even with --output (fio#731). With
// --status-interval, fio writes several documents. Memory holds at most two: the last complete document and
// the one that is being read.
type documents struct {
	lines *parse.Lines
	notes parse.Notes

	last     bytes.Buffer // the last complete document
	lastLine int          // the line on which that document begins
	complete int          // the number of complete documents

	open     bytes.Buffer // the document that is being read
	openLine int          // the line on which that document begins; 0 outside of a document

	killedLine int // the line about the signal that stopped fio, or 0
}

func readDocuments(r io.Reader) (*documents, error) {
	d := &documents{lines: parse.NewDocumentLines(r)}
	for d.lines.Next() {
		if err := d.take(d.lines.Bytes()); err != nil {
			return nil, err
		}
	}
	return d, d.lines.Err()
}

// take handles one line. A document is either one line that starts with "{", or several lines: the first is
// "{", the last is "}", and all lines between are indented.
func (d *documents) take(line []byte) error {
	switch inside := d.openLine > 0; {
	case inside && len(line) > 0 && line[0] == ' ': // Nearly all lines are of this kind.
		return d.add(line)
	case inside && isMessage(line):
		d.message(line)
		return d.add(nil) // An empty line replaces the message, to keep the line numbers right.
	case !inside && !bytes.HasPrefix(line, []byte("{")):
		d.message(line)
		return nil
	case !inside:
		d.open.Reset()
		d.openLine = d.lines.Number()
	}
	if err := d.add(line); err != nil {
		return err
	}
	line = bytes.TrimSpace(line)
	if onOneLine := d.openLine == d.lines.Number() && len(line) > 1; onOneLine || string(line) == "}" {
		d.last, d.open = d.open, d.last // Swapping reuses the buffer of the previous document.
		d.lastLine, d.openLine = d.openLine, 0
		d.complete++
	}
	return nil
}

func (d *documents) add(line []byte) error {
	if d.open.Len()+len(line) >= parse.MaxDocument {
		return parse.DocumentTooLong(d.openLine)
	}
	d.open.Write(line)
	d.open.WriteByte('\n')
	return nil
}

// isMessage reports whether a line within a document is a message, and not JSON.
func isMessage(line []byte) bool {
	return len(line) > 0 && bytes.IndexByte([]byte(" \t{}[]\","), line[0]) < 0
}

func (d *documents) message(line []byte) {
	if isPlainOutput(line) {
		return
	}
	if isKill(line) {
		d.killedLine = d.lines.Number()
	}
	d.notes.Add(result.WarnToolMessage, d.lines.Number(), line)
}

// isPlainOutput recognises lines of the plain output, which --output-format=normal,json writes around the
// JSON.
func isPlainOutput(line []byte) bool {
	return len(bytes.TrimSpace(line)) == 0 || line[0] == ' ' || isProgress(line) || detectText(line) || isFIO3(line) ||
		bytes.HasPrefix(line, []byte("Run status group "))
}

// isKill recognises the line that fio writes when a signal stops it.
func isKill(line []byte) bool { return bytes.HasPrefix(line, []byte("fio: terminating on signal")) }
