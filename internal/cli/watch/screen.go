package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// output is the destination of the lines. Its writer passes on escape sequences, so each line must be one
// of medium.Line.
type output struct {
	w io.Writer
	// width returns how many characters fit on a line; 0 if lines cannot be redrawn, as in a file.
	width func() int
}

func newOutput(w io.Writer) output {
	w = terminal.Raw(w)
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return output{w: w, width: func() int { return 0 }}
	}
	return output{w: w, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// liveEvery is the interval between lines with the clients' rate if lines cannot be redrawn.
const liveEvery = 10 * time.Second

// screen shows successive views, and the clients' rate between them. Its methods may be
// called concurrently, except explain and draw: their callers hold mu.
type screen struct {
	out output
	now func() time.Time

	mu    sync.Mutex
	last  view
	begun bool
	open  bool // the last line may be redrawn
	// These are about the clients' rate.
	figure  string    // the rate as text
	printed time.Time // when the rate was last printed as a line
	unknown string    // the last printed text about why the rate is unknown
}

// show writes a line if the view has news, and reports whether the object has ended. It returns the
// error of a failed write: following is useless if its lines do not arrive.
func (s *screen) show(v view) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.last
	if v.clients != before.clients {
		s.figure = ""
	}
	first := !s.begun
	s.last, s.begun = v, true
	width := s.out.width()
	switch {
	case width > 0 && (first || v.line(time.Time{}) != before.line(time.Time{})):
		err = s.draw(v, width, !first && v.landmark() != before.landmark())
	case width == 0 && (first || v.news() != before.news()):
		_, err = fmt.Fprintln(s.out.w, v.line(s.now()))
	}
	return v.end != endNone, err
}

// follow shows the clients' rate until the returned function is called.
func (s *screen) follow(parent context.Context, pods client.Reader, logs live.Logs) (stop func()) {
	if logs == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		live.New(pods, logs).Follow(ctx, s.clients, s.showSpeed)
	}()
	return func() {
		cancel()
		<-done
	}
}

// clients returns the clients of the last view.
func (s *screen) clients() live.Subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.clients
}

// showSpeed shows the clients' rate, unless the last view names another benchmark. It ignores write
// errors, because the next write of show reports them.
func (s *screen) showSpeed(subject live.Subject, f live.Figure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	width := s.out.width()
	switch text := medium.Line(f.Text(subject.Objective)); {
	case subject != s.last.clients:
	case f.Unknown != "":
		s.explain(text, width)
	case width > 0 && (text != "" || s.figure != ""):
		s.figure = text
		_ = s.draw(s.last, width, false)
	case width == 0 && text != "" && s.now().Sub(s.printed) >= liveEvery:
		s.printed = s.now()
		v := s.last
		v.live = text
		_, _ = fmt.Fprintln(s.out.w, v.liveLine(s.printed))
	}
}

// explain prints, on a line of its own, why the clients' rate is unknown, unless it printed the same text last.
func (s *screen) explain(text string, width int) {
	if text == s.unknown {
		return
	}
	s.unknown, s.figure = text, ""
	if width == 0 {
		_, _ = fmt.Fprintln(s.out.w, text)
		return
	}
	_, _ = fmt.Fprintln(s.out.w, "\r\x1b[K"+text)
	_ = s.draw(s.last, width, false)
}

// draw writes the view over the last line, or below it. It cuts a line that does not fit, because
// redrawing a wrapped line would leave its first half on the screen.
func (s *screen) draw(v view, width int, below bool) error {
	v.live = s.figure
	line := []rune(v.line(s.now()))
	if len(line) >= width {
		line = append(line[:max(width-2, 0)], '…')
	}
	start := "\r\x1b[K" // Go to the beginning of the line, and clear the line.
	if below {
		start = "\n"
	}
	s.open = true
	_, err := fmt.Fprint(s.out.w, start+string(line))
	return err
}

// finish ends the last line.
func (s *screen) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		_, _ = fmt.Fprintln(s.out.w) // The next write reports a closed output.
	}
	s.open = false
}
