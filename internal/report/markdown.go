package report

import (
	"cmp"
	"fmt"
	"strings"
)

// Markdown returns the report for a pull request or an issue. The text has no plots, and folds long tables.
func (d *Document) Markdown() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s %s\n\n", d.Kind, Escape(d.Name))
	if d.Verdict != "" {
		fmt.Fprintf(&out, "**%s.** ", d.Verdict)
	}
	fmt.Fprintf(&out, "%s\n", Escape(cmp.Or(d.Sentence, "There is no outcome yet.")))
	for _, w := range d.Warnings {
		fmt.Fprintf(&out, "\n> %s\n", Escape(w))
	}
	out.WriteString("\n")
	for _, f := range d.Facts {
		fmt.Fprintf(&out, "- %s: %s\n", f.Name, Escape(f.Text))
	}
	for _, s := range d.Sections {
		var body strings.Builder
		for _, p := range s.Parts {
			body.WriteString(p.markdown())
		}
		if body.Len() > 0 {
			fmt.Fprintf(&out, "\n## %s\n%s", s.Title, body.String())
		}
	}
	return []byte(out.String())
}

func (p Part) markdown() string {
	switch {
	case p.Table != nil:
		table := "\n" + p.Table.Markdown()
		if p.Table.Folded != "" {
			return fmt.Sprintf("\n<details><summary>%s</summary>\n%s\n</details>\n", p.Table.Folded, table)
		}
		return table
	case p.Code != "":
		return "\n```yaml\n" + strings.TrimRight(p.Code, "\n") + "\n```\n"
	case p.Text != "":
		return "\n" + Escape(p.Text) + "\n"
	}
	return "" // Markdown has no plots.
}

// Markdown returns the table as Markdown.
func (t *Table) Markdown() string {
	var out strings.Builder
	row := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(&out, "| %s ", Escape(c))
		}
		out.WriteString("|\n")
	}
	row(t.Header)
	out.WriteString(strings.Repeat("|---", len(t.Header)) + "|\n")
	for _, r := range t.Rows {
		row(r)
	}
	return out.String()
}

// Escape escapes names and messages, so that Markdown does not interpret them as markup.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`", "\n", " ").Replace(s)
}
