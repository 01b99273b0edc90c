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

// cutRoom is left for the line that says what was cut from the middle.
const cutRoom = 64

// capture keeps the beginning and the end of what a command prints in bounded memory.
type capture struct {
	half int // Bytes of each.

	mu         sync.Mutex
	head, tail []byte
	left       int64 // out between head and tail
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
	// Moved only when it has twice its length, so that each byte is moved once.
	if len(c.tail) >= 2*c.half {
		c.left += int64(c.trim(c.half))
	}
	return n, nil
}

// trim cuts the tail to a length and returns how much that was.
func (c *capture) trim(length int) int {
	excess := max(0, len(c.tail)-length)
	c.tail = append(c.tail[:0], c.tail[excess:]...)
	return excess
}

// text is what was printed, cut in the middle.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += int64(c.trim(c.half))
	if c.left == 0 {
		return clean(append(bytes.Clone(c.head), c.tail...))
	}
	return clean(c.head) + fmt.Sprintf("\n[… %d bytes …]\n", c.left) + clean(c.tail)
}

// lastLines are whole lines from the end, unless the last one alone is longer, of
// at most limit bytes.
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

// streams are both of a tool, apart: one is parsed, and the order between them is
// not known.
type streams struct{ stdout, stderr *capture }

func newStreams() *streams {
	return &streams{newCapture(task.MaxOutputBytes / 2), newCapture(task.MaxOutputBytes / 2)}
}

// text is what both say, standard error last.
func (s *streams) text() string { return s.stdout.text() + s.stderr.text() }

// lastLines returns the last lines of both streams, at most limit bytes. Standard error gets
// most of them, if it has output.
func (s *streams) lastLines(limit int) string {
	why := s.stderr.lastLines(limit * 3 / 4)
	what := s.stdout.lastLines(limit - len(why) - len("\n"))
	return strings.Trim(what+"\n"+why, "\n")
}

// clean makes text of bytes: valid UTF-8 without control characters, none of them
// longer than it was, so that bounds hold in JSON as well.
func clean(b []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == unicode.ReplacementChar, r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, string(b))
}

// boundedWriter writes up to a number of bytes, discards the rest, and remembers the first
// error. An engine must never wait for the reader of its output.
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

// complete returns an error unless all was written.
func (b *boundedWriter) complete() error {
	if b.lost {
		return errors.New("it is too long")
	}
	return b.err
}
