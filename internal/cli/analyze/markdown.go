package analyze

import (
	"fmt"
	"io"
	"strings"

	document "github.com/cephtune/cephtune/internal/report"
)

func writeMarkdown(w io.Writer, r *report, u unit) error {
	var out strings.Builder
	fmt.Fprintf(&out, "**%s**\n\n", document.Escape(r.question(u)))
	out.WriteString((&document.Table{Header: verdictHeader(u), Rows: r.verdictRows(u)}).Markdown())
	out.WriteString("\n")
	for _, c := range r.Candidates {
		fmt.Fprintf(&out, "- **%s**: %s\n", c.Verdict, document.Escape(c.Reason))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&out, "- Warning: %s\n", document.Escape(warning))
	}
	if r.Source == "files" {
		out.WriteString("\n<details><summary>Runs</summary>\n\n")
		out.WriteString((&document.Table{Header: runHeader(u), Rows: r.runRows(u)}).Markdown())
		out.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
