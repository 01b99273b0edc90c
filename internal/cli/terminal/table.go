package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// maxCell is the most bytes of a cell in any column but the last. All rows are padded to the longest cell of
// a column.
const maxCell = 1024

// gap is the number of spaces between two columns.
const gap = 2

// WriteTable appends a table with aligned columns, and without spaces at the ends of lines. If the table is wider than
// the given number of columns of characters, it breaks the cells of the widest columns at words, and long words after
// one of the characters in breakAfter. It does not break words in columns of names, because people copy these. A table
// whose longest words do not fit stays wider.
func WriteTable(out *strings.Builder, columns int, header []string, rows [][]string) {
	all := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, data := range row {
			if cells[i] = medium.Line(data); i < len(row)-1 {
				cells[i] = ellipsis.Cut(cells[i], maxCell)
			}
		}
		all = append(all, cells)
	}
	limits := widthsOf(columns, all)
	widths, table := make([]int, len(limits)), make([][][]string, len(all))
	for row, cells := range all {
		for i, cell := range cells {
			lines := wrapped(cell, limits[i], isName(header, i))
			for _, line := range lines {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
			table[row] = append(table[row], lines)
		}
	}
	for _, row := range table {
		writeRow(out, widths, row)
	}
}

// writeRow appends a row, whose cells may have several lines.
func writeRow(out *strings.Builder, widths []int, lines [][]string) {
	most := 1
	for _, cell := range lines {
		most = max(most, len(cell))
	}
	for n := range most {
		var line strings.Builder
		for i := range lines {
			part := ""
			if n < len(lines[i]) {
				part = lines[i][n]
			}
			line.WriteString(part + strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(part), 0)+gap))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// widthsOf returns the widths of the columns of a table. It narrows the widest columns, but none below its longest
// unbreakable part.
func widthsOf(columns int, rows [][]string) []int {
	var widths, least []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths, least = append(widths, 0), append(least, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			for _, part := range partsOf(cell, isName(rows[0], i)) {
				least[i] = max(least[i], utf8.RuneCountInString(strings.TrimRight(part, " ")))
			}
		}
	}
	total := gap * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for ; total > columns; total-- {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// breakAfter are the characters after which a line may end within a word, unless only a short rest would follow, as in
// MiB/s.
const (
	breakAfter = "=/,"
	shortRest  = 3
)

// units are the words that stay on the line of the number before them.
func units() []string { return []string{"IOPS", "B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "%"} }

// isName reports whether a column has names of objects.
func isName(header []string, column int) bool {
	return column < len(header) && slices.Contains([]string{"NAME", "NAMESPACE"}, header[column])
}

// partsOf cuts text after each space, except between a number and its unit, and after breakAfter unless words are whole.
// The parts together are the text.
func partsOf(text string, whole bool) []string {
	var parts []string
	for word := range strings.SplitAfterSeq(text, " ") {
		if last := len(parts) - 1; last >= 0 && slices.Contains(units(), strings.TrimRight(word, "), ")) && strings.HasSuffix(parts[last], " ") {
			parts[last] += word
			continue
		}
		begin := 0
		for i := 1; i < len(word)-shortRest && !whole; i++ {
			if strings.IndexByte(breakAfter, word[i-1]) >= 0 {
				parts, begin = append(parts, word[begin:i]), i
			}
		}
		parts = append(parts, word[begin:])
	}
	return parts
}

// wrapped breaks text into lines of at most the given width, if its parts allow.
func wrapped(text string, width int, whole bool) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, part := range partsOf(text, whole) {
		if line != "" && utf8.RuneCountInString(line+strings.TrimRight(part, " ")) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += part
	}
	return slices.Clip(append(lines, strings.TrimRight(line, " ")))
}

// wrapLines breaks long lines of prose at words. It leaves lines alone that begin with a space, such as commands, and
// lines with two spaces in a row, such as rows of a table.
func wrapLines(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		if utf8.RuneCountInString(body) > width && !strings.HasPrefix(body, " ") && !strings.Contains(body, "  ") {
			body = strings.Join(atSpaces(body, width), "\n")
		}
		out.WriteString(body)
		if end {
			out.WriteString("\n")
		}
	}
	return out.String()
}

// atSpaces breaks text into lines of at most the given width, at spaces only: a path or a command in it stays whole.
func atSpaces(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
