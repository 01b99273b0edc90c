// Package terminal lays out text for a terminal: tables with aligned columns, and verdicts in color.
package terminal

import (
	"io"
	"os"
	"regexp"

	"golang.org/x/term"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// These are the escape sequences of ECMA-48 for colors that nearly every terminal supports.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// WriteString writes text, with its verdicts and outcomes colored if w is a terminal. The environment
// variable NO_COLOR turns colors off (https://no-color.org), and so does TERM=dumb. Lay tables out
// before coloring: a table would count escape sequences, which have no width on a terminal.
func WriteString(w io.Writer, text string) (int, error) {
	if isColored(w, os.Getenv) {
		text = Colored(text)
	}
	return io.WriteString(w, text)
}

func isColored(w io.Writer, getenv func(string) string) bool {
	file, isFile := w.(interface{ Fd() uintptr })
	return isFile && term.IsTerminal(int(file.Fd())) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// words matches verdicts, and the outcomes of constraints and expectations except Unknown. At the start of a
// line, it also matches the states of doctor's findings, except note.
var words = regexp.MustCompile(`(?m)\b(?:Superior|Better|Inferior|Equivalent|Inconclusive|Invalid|Passed|Failed|Kept|Broken|Met|Missed)\b|^(?:ok|unknown|wrong)\b`)

// Colored returns text with all matches of the pattern words colored.
func Colored(text string) string {
	return words.ReplaceAllStringFunc(text, func(word string) string { return of(word) + word + reset })
}

func of(word string) string {
	switch word {
	case string(v1alpha1.VerdictSuperior), string(v1alpha1.VerdictBetter), string(v1alpha1.VerdictEquivalent),
		string(v1alpha1.BenchmarkPassed), string(v1alpha1.ConstraintKept), string(v1alpha1.ExpectationMet), "ok":
		return green
	case string(v1alpha1.VerdictInconclusive), string(v1alpha1.VerdictInvalid), "unknown":
		return yellow
	}
	return red
}
