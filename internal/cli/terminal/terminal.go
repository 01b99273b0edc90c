// Package terminal lays out text for a terminal: tables with aligned columns, and verdicts in color. Data
// in the text cannot control the terminal, only this package does.
package terminal

import (
	"encoding/json"
	"io"
	"os"
	"regexp"

	"golang.org/x/term"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// These are the escape sequences of ECMA-48 for colors that nearly every terminal supports.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Output is the standard output or standard error of a program. All that is written to it appears as
// visible text. Each call of Write must get whole characters.
type Output struct{ raw io.Writer }

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w} }

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	if _, err := io.WriteString(o.raw, medium.Lines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Raw returns the writer behind an Output, for escape sequences of this program, and w itself for other
// writers.
func Raw(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.raw
	}
	return w
}

// ForFile returns a writer for text that a program will read, byte for byte. On a terminal, the text still
// appears as visible text.
func ForFile(w io.Writer) io.Writer {
	if isTerminal(Raw(w)) {
		return w
	}
	return Raw(w)
}

// WriteData writes a value as json or yaml.
func WriteData(w io.Writer, format string, value any) error {
	if format == "yaml" {
		text, err := medium.YAML(value)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Printf is like fmt.Fprintf, but writes each argument that is a string or an error on one line.
func Printf(w io.Writer, format string, args ...any) (int, error) {
	return io.WriteString(w, medium.Format(medium.Line, format, args...))
}

// Narrow is the width of text for writers that are no terminals, such as files.
const Narrow = 80

// Columns returns how many characters fit on a line of a terminal; 80 for other writers.
func Columns(w io.Writer) int {
	if file, isFile := Raw(w).(interface{ Fd() uintptr }); isFile {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return Narrow
}

// WriteString writes text whose long lines of prose it breaks at words, with its verdicts and outcomes colored if w is a terminal. The environment
// variable NO_COLOR turns colors off (https://no-color.org), and so does TERM=dumb. Lay tables out
// before coloring: a table would count escape sequences, which have no width on a terminal.
func WriteString(w io.Writer, text string) (int, error) {
	text = wrapLines(medium.Lines(text), Columns(w))
	if isColored(Raw(w), os.Getenv) {
		text = Colored(text)
	}
	return io.WriteString(Raw(w), text)
}

func isColored(w io.Writer, getenv func(string) string) bool {
	return isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	file, isFile := w.(interface{ Fd() uintptr })
	return isFile && term.IsTerminal(int(file.Fd()))
}

// words matches verdicts, and the outcomes of constraints and expectations except Unknown. At the start of a
// line, it also matches the states of doctor's findings, except note.
var words = regexp.MustCompile(`(?m)\b(?:Superior|Better|Inferior|Equivalent|Inconclusive|Invalid|Passed|Failed|Kept|Broken|Met|Missed)\b|^(?:ok|unknown|wrong)\b`)

// Colored returns text with all matches of the pattern words colored.
func Colored(text string) string {
	return words.ReplaceAllStringFunc(text, func(word string) string { return colorOf(word) + word + reset })
}

func colorOf(word string) string {
	switch word {
	case string(v1alpha1.VerdictSuperior), string(v1alpha1.VerdictBetter), string(v1alpha1.VerdictEquivalent),
		string(v1alpha1.BenchmarkPassed), string(v1alpha1.ConstraintKept), string(v1alpha1.ExpectationMet), "ok":
		return green
	case string(v1alpha1.VerdictInconclusive), string(v1alpha1.VerdictInvalid), "unknown":
		return yellow
	}
	return red
}
