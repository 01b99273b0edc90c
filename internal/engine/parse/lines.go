package parse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxLine is the length, in bytes, of the longest line that a text parser accepts. fio's histogram log has
// the longest lines of all text formats: 22 KiB with counts of ten digits.
const MaxLine = 64 << 10

// bufferSize, in bytes, is enough for nearly all lines. readLong reads longer ones.
const bufferSize = 16 << 10

// Lines reads lines of bounded length without an allocation for each line.
type Lines struct {
	reader *bufio.Reader
	long   []byte // memory for lines that are longer than the reader's buffer
	line   []byte
	open   bool // whether the output ends without a newline after the line
	number int
	err    error
}

// NewLines returns a reader of lines of at most [MaxLine] bytes.
func NewLines(r io.Reader) *Lines { return &Lines{reader: bufio.NewReaderSize(r, bufferSize)} }

// Next advances to the next line. It returns false at the end and after an error.
func (l *Lines) Next() bool {
	if l.err != nil {
		return false
	}
	line, err := l.reader.ReadSlice('\n')
	if err != nil {
		if line = l.unusual(line, err); line == nil {
			return false
		}
	}
	l.number++
	l.open = line[len(line)-1] != '\n'
	if !l.open {
		line = line[:len(line)-1]
	}
	l.line = line
	return true
}

// Each passes each line to a function, and returns its first error as Explain does, or that of Err.
func (l *Lines) Each(read func(line []byte) error) error {
	for l.Next() {
		if err := read(l.Bytes()); err != nil {
			return l.Explain(err)
		}
	}
	return l.Err()
}

// unusual handles a line that is longer than the reader's buffer, or that does not end with a newline. It
// returns nil if no line is left, or if the line is too long.
func (l *Lines) unusual(line []byte, err error) []byte {
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.readLong(line)
	}
	switch {
	case len(line) == 0:
		l.err = err
		return nil
	case len(line) > MaxLine:
		l.err = &SyntaxError{Line: l.number + 1, Want: fmt.Sprintf("a line of at most %d bytes", MaxLine), Found: "a longer one"}
		return nil
	}
	l.err = err // With an error, this line is the last one.
	return line
}

// Explain turns a [*SyntaxError] about the current line into an [*IncompleteError] if the end of the output
// cuts off that line. It returns other errors unchanged.
func (l *Lines) Explain(err error) error {
	var syntax *SyntaxError
	if !l.open || !errors.As(err, &syntax) {
		return err
	}
	return &IncompleteError{Reason: Truncated, Line: l.number, Detail: "the output ends within a line: " + syntax.Found}
}

// readLong reads the rest of a line that is longer than the reader's buffer. It stops when the line is longer
// than allowed.
func (l *Lines) readLong(piece []byte) ([]byte, error) {
	l.long = append(l.long[:0], piece...)
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= MaxLine {
		piece, err = l.reader.ReadSlice('\n')
		l.long = append(l.long, piece...)
	}
	return l.long, err
}

// trimLine removes the line ending. It also removes text before a carriage return, which a terminal would have
// overwritten: fio ends progress lines with a carriage return alone.
func trimLine(line []byte) []byte {
	line = trimEnd(line)
	if bytes.IndexByte(line, '\r') < 0 { // IndexByte is much faster than LastIndexByte.
		return line
	}
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

func trimEnd(line []byte) []byte {
	end := len(line)
	for end > 0 && (line[end-1] == '\n' || line[end-1] == '\r') {
		end--
	}
	return line[:end]
}

// Bytes returns the current line without its line ending. A reader from [NewLines] also removes text that
// a terminal would have overwritten. The line is valid until the next call of Next.
func (l *Lines) Bytes() []byte { return trimLine(l.line) }

// Number returns the number of the current line, from 1.
func (l *Lines) Number() int { return l.number }

// Err returns the error that ended the reading; nil if the input ended without an error.
func (l *Lines) Err() error {
	var syntax *SyntaxError
	switch {
	case l.err == nil, errors.Is(l.err, io.EOF):
		return nil
	case errors.As(l.err, &syntax):
		return l.err
	}
	return fmt.Errorf("read the output after line %d: %w", l.number, l.err)
}

// maxExcerpt is the length, in bytes, to which a quoted line is cut.
const maxExcerpt = 120

// Excerpt returns the beginning of a line as valid UTF-8, for a message or a result. Characters below
// U+0020 and invalid UTF-8 become spaces, and spaces at both ends are removed.
func Excerpt(line []byte) string {
	cut := len(line) > maxExcerpt
	if cut {
		line = line[:maxExcerpt]
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, string(line))
	text = strings.TrimSpace(text)
	if cut {
		text += "…"
	}
	return text
}

// Quote returns the Excerpt of a line in quotation marks, for the field Found of a [SyntaxError]. For an
// empty line it returns the word nothing without quotation marks.
func Quote(line []byte) string {
	if len(line) == 0 {
		return "nothing"
	}
	return "\"" + Excerpt(line) + "\""
}

// Field returns the first field of a line, which ends at a space or tab, and the rest of the line. Both are
// nil for a line without a field.
func Field(line []byte) (field, rest []byte) {
	start := 0
	for start < len(line) && isSpace(line[start]) {
		start++
	}
	end := start
	for end < len(line) && !isSpace(line[end]) {
		end++
	}
	if start == end {
		return nil, nil
	}
	return line[start:end], line[end:]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// SplitLines returns the offsets of the lines that begin a run. A command that was typed on the line before
// belongs to that run, too.
func SplitLines(text []byte, begins func(line []byte) bool) []int {
	var starts []int
	index, command := 0, -1 // command is the offset of the previous line if it is a command; otherwise -1
	for line := range bytes.Lines(text) {
		if begins(bytes.TrimSpace(line)) {
			start := index
			if command >= 0 {
				start = command
			}
			starts = append(starts, start)
		}
		command = -1
		if bytes.Contains(line, []byte("rados ")) && bytes.Contains(line, []byte(" bench ")) || bytes.Contains(line, []byte("rbd bench")) {
			command = index
		}
		index += len(line)
	}
	return starts
}
