package terminal

import (
	"io"
	"strings"

	"github.com/cephtune/cephtune/internal/report/medium"
)

// Page is text for people that a command makes, and writes at its end.
type Page struct {
	// Markdown says that the text is for a pull request, and not for a terminal.
	Markdown bool

	out  io.Writer
	text strings.Builder
}

// NewPage returns a page that Print writes.
func NewPage(out io.Writer) *Page { return &Page{out: out} }

// Write writes data as json or yaml. In the format markdown, and in any other, it writes what the function adds to a page.
func Write(out io.Writer, format string, data any, add func(*Page)) error {
	if format == "json" || format == "yaml" {
		return WriteData(out, format, data)
	}
	page := &Page{out: out, Markdown: format == "markdown"}
	add(page)
	return page.Print()
}

// WriteString adds text as it is.
func (p *Page) WriteString(text string) { p.text.WriteString(text) }

// String returns the text so far.
func (p *Page) String() string { return p.text.String() }

// Printf adds text. Each argument that is a string or an error appears on one line, as the characters that it has.
func (p *Page) Printf(format string, args ...any) {
	as := medium.Line
	if p.Markdown {
		as = medium.Markdown
	}
	p.WriteString(medium.Format(as, format, args...))
}

// Table adds a table.
func (p *Page) Table(header []string, rows [][]string) {
	if p.Markdown {
		p.WriteString(medium.MarkdownTable(header, rows))
		return
	}
	WriteTable(&p.text, Columns(p.out), header, rows)
}

// Lines adds lines, below an empty one; nothing without lines.
func (p *Page) Lines(lines []string) {
	for i, line := range lines {
		if i == 0 {
			p.WriteString("\n")
		}
		p.Printf("%s\n", line)
	}
}

// Fits reports whether a table fits into the width of the terminal without breaking cells.
func (p *Page) Fits(header []string, rows [][]string) bool {
	total := -gap
	for _, width := range widthsOf(1<<30, append([][]string{header}, rows...)) {
		total += width + gap
	}
	return total <= Columns(p.out)
}

// Print writes the page.
func (p *Page) Print() error {
	write := WriteString
	if p.Markdown {
		write = io.WriteString
	}
	_, err := write(p.out, p.String())
	return err
}
