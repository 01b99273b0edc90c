package watch

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// terminal is where lines go.
type terminal struct {
	w io.Writer
	// width is how many characters fit on a line; 0 where lines cannot be redrawn, as in
	// a file.
	width func() int
}

func newTerminal(w io.Writer) terminal {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return terminal{w: w, width: func() int { return 0 }}
	}
	return terminal{w: w, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// screen shows one view after another.
type screen struct {
	to  terminal
	now func() time.Time

	last  view
	begun bool
	open  bool // the last line may be drawn again
}

// show writes a line if the view is news, and tells whether it is the last one. Whoever
// cannot be written to any more is an error: there is nobody to follow it for.
func (s *screen) show(v view) (done bool, err error) {
	before := s.last
	first := !s.begun
	s.last, s.begun = v, true
	width := s.to.width()
	switch {
	case width > 0 && (first || v.line(time.Time{}) != before.line(time.Time{})):
		err = s.draw(v, width, !first && v.landmark() != before.landmark())
	case width == 0 && (first || v.news() != before.news()):
		_, err = fmt.Fprintln(s.to.w, v.line(s.now()))
	}
	return v.end != endNone, err
}

// draw puts the view on the last line, or below it. A line that does not fit would break,
// and leave its upper half behind when it is drawn again.
func (s *screen) draw(v view, width int, below bool) error {
	line := []rune(v.line(s.now()))
	if len(line) >= width {
		line = append(line[:max(width-2, 0)], '…')
	}
	start := "\r\x1b[K" // To the beginning of the line, and clear it.
	if below {
		start = "\n"
	}
	s.open = true
	_, err := fmt.Fprint(s.to.w, start+string(line))
	return err
}

// finish ends the last line.
func (s *screen) finish() {
	if s.open {
		_, _ = fmt.Fprintln(s.to.w) // What follows will say if nobody reads it.
	}
	s.open = false
}
