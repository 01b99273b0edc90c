package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
)

// CSV returns the table of all raw figures, in base units.
func (d *Document) CSV() ([]byte, error) {
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(d.Figures); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}
