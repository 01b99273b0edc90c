package analyze

import (
	"fmt"
	"io"
	"strings"
)

func writeMarkdown(w io.Writer, r *report, u unit) error {
	var out strings.Builder
	fmt.Fprintf(&out, "**%s**\n\n", escape(r.question(u)))
	writePiped(&out, verdictHeader(u), r.verdictRows(u))
	out.WriteString("\n")
	for _, c := range r.Candidates {
		fmt.Fprintf(&out, "- **%s**: %s\n", c.Verdict, escape(c.Reason))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&out, "- Warning: %s\n", escape(warning))
	}
	if r.Source == "files" {
		out.WriteString("\n<details><summary>Runs</summary>\n\n")
		writePiped(&out, runHeader(u), r.runRows(u))
		out.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func writePiped(out *strings.Builder, header []string, rows [][]string) {
	writeRow := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(out, "| %s ", escape(c))
		}
		out.WriteString("|\n")
	}
	writeRow(header)
	out.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		writeRow(row)
	}
}

// escape keeps names and lines of tools from becoming markup.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`", "\n", " ").Replace(s)
}
