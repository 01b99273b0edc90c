package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/cephtune/cephtune/internal/task"
)

// cutRoom is the number of bytes reserved for the line that says how many bytes were cut out.
const cutRoom = 64

// capture keeps the beginning and the end of a command's output in bounded memory.
type capture struct {
	half int // maximum bytes of the head, and of the tail in the text

	mu         sync.Mutex
	head, tail []byte
	left       int64 // number of bytes dropped between head and tail
}

// newCapture returns a capture whose text has at most limit bytes.
func newCapture(limit int) *capture { return &capture{half: (limit - cutRoom) / 2} }

// Write implements io.Writer; it never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	room := min(c.half-len(c.head), len(p))
	c.head = append(c.head, p[:room]...)
	c.tail = append(c.tail, p[room:]...)
	// The tail is trimmed only when it has twice its final length, so that Write moves each kept byte at most
	// once.
	if len(c.tail) >= 2*c.half {
		c.left += int64(c.trim(c.half))
	}
	return n, nil
}

// trim removes the beginning of the tail, so that at most length bytes remain. It returns the number of bytes
// removed.
func (c *capture) trim(length int) int {
	excess := max(0, len(c.tail)-length)
	c.tail = append(c.tail[:0], c.tail[excess:]...)
	return excess
}

// text returns the output. If bytes were dropped, a line in the middle says how many.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += int64(c.trim(c.half))
	if c.left == 0 {
		return clean(append(bytes.Clone(c.head), c.tail...))
	}
	return clean(c.head) + fmt.Sprintf("\n[… %d bytes …]\n", c.left) + clean(c.tail)
}

// lastLines returns the last whole lines of the text, in at most limit bytes. If the last line alone has more
// than limit bytes, it returns the end of that line.
func (c *capture) lastLines(limit int) string {
	text := strings.TrimRightFunc(c.text(), unicode.IsSpace)
	if len(text) <= limit {
		return text
	}
	if _, whole, found := strings.Cut(text[len(text)-limit-1:], "\n"); found {
		return whole
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

// streams captures an engine's standard output and standard error separately. The order of lines between the
// two streams is lost.
type streams struct{ stdout, stderr *capture }

func newStreams() *streams {
	return &streams{newCapture(task.MaxOutputBytes / 2), newCapture(task.MaxOutputBytes / 2)}
}

// text returns both outputs, standard error last.
func (s *streams) text() string { return s.stdout.text() + s.stderr.text() }

// lastLines returns the last lines of both streams, in at most limit bytes. Standard error gets up to three
// quarters of the bytes.
func (s *streams) lastLines(limit int) string {
	reason := s.stderr.lastLines(limit * 3 / 4)
	output := s.stdout.lastLines(limit - len(reason) - len("\n"))
	return strings.Trim(output+"\n"+reason, "\n")
}

// clean converts bytes to valid UTF-8 of visible characters, newlines and tabs. It leaves out control
// characters, and those without width or that change the direction of writing. Invalid bytes,
// carriage returns and the replacement character U+FFFD become spaces. If invalid bytes became U+FFFD, which
// has three bytes, the text could exceed its limit.
func clean(b []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == unicode.ReplacementChar, r == '\r':
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, string(b))
}

// boundedWriter writes no more bytes than its field left says, discards all further bytes, and remembers the
// first error. Write never returns an error. An error would end the copying of the output, and the full pipe
// would block the engine.
type boundedWriter struct {
	w    io.Writer
	left int64
	err  error
	lost bool
}

// Write implements io.Writer; it never fails.
func (b *boundedWriter) Write(p []byte) (int, error) {
	n := len(p)
	if int64(n) > b.left {
		p, b.lost = p[:b.left], true
	}
	if b.err == nil && len(p) > 0 {
		_, b.err = b.w.Write(p)
	}
	b.left -= int64(len(p))
	return n, nil
}

// complete returns an error unless all bytes were written.
func (b *boundedWriter) complete() error {
	if b.lost {
		return errors.New("it is too long")
	}
	return b.err
}
