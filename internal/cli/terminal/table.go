package terminal

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// WriteTable appends a table with aligned columns, and without spaces at the ends of lines.
func WriteTable(out *strings.Builder, header []string, rows [][]string) {
	// Writing into memory never fails.
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, row := range rows {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush()
	for line := range strings.Lines(text.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
