package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
)

func (c *comparison) write(out io.Writer, format string) error {
	if format != "markdown" && format != "html" {
		return terminal.Write(out, format, c, c.show)
	}
	text, err := c.page().In(format)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// headline says whether the two sides are comparable.
func (c *comparison) headline() string {
	switch {
	case c.Findings != nil:
		return c.findingsHeadline()
	case c.Comparable && len(c.Differences) == 0:
		return "They can be compared: environment and phases are the same."
	case c.Comparable:
		return "They can be compared: only the expected differences were found."
	}
	return "They cannot be compared."
}

func (c *comparison) differenceLines() []string {
	var lines []string
	for _, d := range c.Differences {
		word := "differs"
		if d.Expected {
			word = "differs, as expected"
		}
		lines = append(lines, word+": "+d.Text)
	}
	for _, missing := range c.Missing {
		lines = append(lines, "does not differ, although expected: "+missing)
	}
	return lines
}

func (s Side) String() string {
	numbers := make([]string, len(s.Runs))
	for i, n := range s.Runs {
		numbers[i] = strconv.Itoa(int(n))
	}
	word := "runs"
	if len(numbers) == 1 {
		word = "run"
	}
	return fmt.Sprintf("%s, run ID %s, %s %s, from %s", s.Name, s.RunID, word, strings.Join(numbers, " "), s.Began)
}

func (c *comparison) rows() (header []string, rows [][]string) {
	header = []string{"PHASE", "DIRECTION", "METRIC", "A", "B", "RATIO B/A", "95% INTERVAL"}
	for _, f := range c.Figures {
		interval := "none" // A note below the table says why.
		if f.Low != nil {
			interval = fmt.Sprintf("%.3f to %.3f", *f.Low, *f.High)
		}
		rows = append(rows, []string{
			string(f.Phase), string(f.Direction), string(f.Metric), figure.Human(f.Metric, f.A), figure.Human(f.Metric, f.B),
			fmt.Sprintf("%.3f", f.Ratio), interval,
		})
	}
	return header, rows
}

// titled is a table with its title, and a text about it.
type titled struct {
	report.Table

	title, text string
}

// tables returns the tables that have rows.
func (c *comparison) tables() (all []titled) {
	add := func(title, text string, header []string, rows [][]string) {
		if len(rows) > 0 {
			all = append(all, titled{report.Table{Header: header, Rows: rows}, title, text})
		}
	}
	header, rows := c.rows()
	add("Figures", "A ratio is B over A, with its interval over runs.", header, rows)
	header, rows = c.findingRows()
	add("Findings", "", header, rows)
	header, rows = c.layerRows()
	add("Layers", "The mean time of a layer in the rounds that count, with the interval of its difference.", header, rows)
	return all
}

func (c *comparison) show(page *terminal.Page) {
	page.Printf("A: %s\nB: %s\n\n%s\n", c.A.String(), c.B.String(), c.headline())
	for _, line := range c.differenceLines() {
		page.Printf("%s\n", line)
	}
	for _, t := range c.tables() {
		page.WriteString("\n")
		page.Table(t.Header, t.Rows)
	}
	page.Lines(c.regressionLines())
	page.Lines(c.Notes)
}

// page returns the comparison as a report. The raw figures of the report are the rows of the table.
func (c *comparison) page() *report.Document {
	d := &report.Document{
		Kind: "Comparison", Name: c.A.Name + " and " + c.B.Name, Tone: report.ToneNeutral, Sentence: c.headline(),
		Facts:    []report.Fact{{Name: "A", Text: c.A.String()}, {Name: "B", Text: c.B.String()}},
		Warnings: c.differenceLines(),
	}
	section := func(title string, parts ...report.Part) {
		d.Sections = append(d.Sections, report.Section{Title: title, Parts: parts})
	}
	for _, t := range c.tables() {
		if d.Figures == nil {
			d.Figures = append([][]string{t.Header}, t.Rows...)
		}
		section(t.title, report.Part{Text: t.text}, report.Part{Table: &t.Table})
	}
	if len(c.curves) > 0 {
		section("Curves", c.curves...)
	}
	if lines := c.regressionLines(); len(lines) > 0 {
		var parts []report.Part
		for _, line := range lines {
			parts = append(parts, report.Part{Text: line + "."})
		}
		section("Regressions", parts...)
	}
	if len(c.Notes) > 0 {
		section("Notes", report.Part{Text: strings.Join(c.Notes, " ")})
	}
	return d
}
