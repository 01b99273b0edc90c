package terminal

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/medium"
)

// maxCell is the most bytes of a cell in any column but the last. All rows are padded to the longest cell of
// a column.
const maxCell = 1024

// WriteTable appends a table with aligned columns, and without spaces at the ends of lines.
func WriteTable(out *strings.Builder, header []string, rows [][]string) {
	// Writing into memory never fails.
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, data := range row {
			if cells[i] = medium.Line(data); i < len(row)-1 {
				cells[i] = ellipsis.Cut(cells[i], maxCell)
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush()
	for line := range strings.Lines(text.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
