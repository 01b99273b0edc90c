package medium

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
)

// number matches a cell that is a number to a spreadsheet, such as -1.5, 2e-3 or +3%.
var number = regexp.MustCompile(`^ *[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? ?%? *$`)

// formula matches the begin of a formula. A spreadsheet takes a cell for one that begins with one of these
// characters, in some languages also in full width. Where the decimal separator is a comma, cells end at a
// semicolon instead of a comma, so a formula may begin there, too.
var formula = regexp.MustCompile(`(^|[;|])([\s\p{Z}"']*[=+\-@＝＋－＠﹦﹢﹣﹫])`)

// CSV returns rows as CSV for machines and for spreadsheets. A number stays as it is. A cell that a
// spreadsheet would take for a formula and run gets an apostrophe before the formula.
func CSV(rows [][]string) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, data := range row {
			cells[i] = csvCell(data)
		}
		if err := w.Write(cells); err != nil {
			return nil, fmt.Errorf("csv: %w", err)
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

func csvCell(data string) string {
	data = Line(data)
	if number.MatchString(data) {
		return data
	}
	return formula.ReplaceAllString(data, "$1'$2")
}
