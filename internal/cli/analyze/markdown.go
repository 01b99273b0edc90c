package analyze

import (
	"io"
	"strings"

	document "github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/report/medium"
)

func writeMarkdown(w io.Writer, r *report, u unit) error {
	var out strings.Builder
	add := func(format string, data ...any) { out.WriteString(medium.Format(medium.Markdown, format, data...)) }
	add("**%s**\n\n", r.question(u))
	out.WriteString((&document.Table{Header: verdictHeader(u), Rows: r.verdictRows(u)}).Markdown())
	out.WriteString("\n")
	for _, c := range r.Candidates {
		add("- **%s**: %s\n", c.Verdict, c.Reason)
	}
	for _, warning := range r.Warnings {
		add("- Warning: %s\n", warning)
	}
	if r.Source == "files" {
		out.WriteString("\n<details><summary>Runs</summary>\n\n")
		out.WriteString((&document.Table{Header: runHeader(u), Rows: r.runRows(u)}).Markdown())
		out.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
