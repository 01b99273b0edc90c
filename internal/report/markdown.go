package report

import (
	"cmp"
	"strings"

	"github.com/cephtune/cephtune/internal/report/medium"
)

// Markdown returns the report for a pull request or an issue. The text has no plots, and folds long tables.
func (d *Document) Markdown() []byte {
	var out strings.Builder
	add := func(format string, data ...any) { out.WriteString(medium.Format(medium.Markdown, format, data...)) }
	add("# %s %s\n\n", d.Kind, d.Name)
	if d.Verdict != "" {
		add("**%s.** ", d.Verdict)
	}
	add("%s\n", cmp.Or(d.Sentence, "There is no outcome yet."))
	for _, w := range d.Warnings {
		add("\n> %s\n", w)
	}
	out.WriteString("\n")
	for _, f := range d.Facts {
		add("- %s: %s\n", f.Name, f.Text)
	}
	for _, s := range d.Sections {
		var body strings.Builder
		for _, p := range s.Parts {
			body.WriteString(p.markdown())
		}
		if body.Len() > 0 {
			add("\n## %s\n", s.Title)
			out.WriteString(body.String())
		}
	}
	return []byte(out.String())
}

func (p Part) markdown() string {
	switch {
	case p.Table != nil:
		table := "\n" + medium.MarkdownTable(p.Table.Header, p.Table.Rows)
		if p.Table.Folded != "" {
			return "\n<details><summary>" + medium.HTML(p.Table.Folded) + "</summary>\n" + table + "\n</details>\n"
		}
		return table
	case p.Code != "":
		return "\n" + medium.MarkdownCode("yaml", p.Code)
	case p.Text != "":
		return "\n" + medium.Markdown(p.Text) + "\n"
	}
	return "" // Markdown has no plots.
}
