package analyze

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/loadfacts"
	"github.com/cephtune/cephtune/internal/medium"
	document "github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/result"
)

// overview holds the figures of one configuration: all metrics that its outputs have, or only the
// metric of --metric. It is also the JSON form of the summary.
type overview struct {
	SchemaVersion int             `json:"schemaVersion"`
	Source        string          `json:"source"`
	Name          string          `json:"name"`
	Tool          string          `json:"tool"`
	Operations    string          `json:"operations"`
	Runs          int             `json:"runs"`
	Metrics       []overviewEntry `json:"metrics"`
	Warnings      []string        `json:"warnings"`
	HiddenWaits   []waitEntry     `json:"hiddenWaits,omitempty"`

	doubts map[string][]string // the metrics that cannot show the storage, by reason
}

type overviewEntry struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`

	shown unit
}

// summarise writes an overview of the only argument.
func (o *options) summarise(w io.Writer) error {
	all := metrics()
	if o.metricGiven {
		m, err := lookupMetric(o.metric)
		if err != nil {
			return err
		}
		all = []metric{m}
	}
	out := &overview{SchemaVersion: schemaVersion, Source: "files", Name: o.baselineName, Metrics: []overviewEntry{}, Warnings: []string{}, doubts: map[string][]string{}}
	var absent error
	for _, m := range all {
		if out.Tool != "" && !slices.Contains(m.tools, result.Tool(out.Tool)) {
			continue
		}
		if err := out.add(o, m); err != nil {
			if len(out.Metrics) == 0 {
				return err // Not even the first metric can be read.
			}
			if m.sync == nil {
				absent = err
			}
		}
	}
	if absent != nil && !slices.ContainsFunc(out.Metrics, func(e overviewEntry) bool { return e.Unit == "seconds" }) {
		out.Warnings = append(out.Warnings, absent.Error())
	}
	for _, doubt := range slices.Sorted(maps.Keys(out.doubts)) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s cannot show the storage: %s", strings.Join(out.doubts[doubt], ", "), doubt))
	}
	switch o.output {
	case "json":
		return writeJSON(w, out)
	case "yaml":
		return writeYAML(w, out)
	}
	return out.write(w, o.output == "markdown")
}

// add reads a metric of all runs. It returns an error if a file cannot be read, if a run lacks the metric, or
// if the runs cannot be compared.
func (v *overview) add(o *options, m metric) error {
	s := &study{source: "files", metric: m.name, unit: m.unit, higherIsBetter: m.higherIsBetter}
	reader := fileReader{metric: m, direction: o.direction, study: s, owners: map[[sha256.Size]byte]string{}}
	c, err := reader.configuration(group{o.baselineName, o.baseline})
	if err != nil {
		return err
	}
	s.baseline = c
	if err := s.checkComparable(); err != nil {
		return err
	}
	s.warnAboutRuns()
	v.examine(s)
	for _, warning := range s.warnings {
		if !slices.Contains(v.Warnings, warning) {
			v.Warnings = append(v.Warnings, warning)
		}
	}
	values := c.evidence().values()
	v.Runs, v.Tool, v.Operations = len(c.Runs), string(c.Runs[0].Tool), c.Runs[0].Directions
	v.Metrics = append(v.Metrics, overviewEntry{
		Metric: m.name, Unit: m.unit.name, Runs: len(values),
		Mean: stat.Mean(values, nil), Min: slices.Min(values), Max: slices.Max(values), shown: m.unit,
	})
	return nil
}

// examine warns of runs with different loads, of hidden waits, and of a figure that cannot show the storage.
func (v *overview) examine(s *study) {
	side := s.baseline.side()
	for _, line := range loadfacts.Within(side) {
		s.warn("different load: %s", line)
	}
	if len(side.Loads) > 1 {
		for _, note := range loadfacts.Notes(side) {
			s.warn("%s", note)
		}
	}
	for _, r := range s.baseline.Runs {
		if r.Doubt != "" && !slices.Contains(v.doubts[r.Doubt], s.metric) {
			v.doubts[r.Doubt] = append(v.doubts[r.Doubt], s.metric)
		}
	}
	if v.HiddenWaits == nil {
		s.markWaits()
		v.HiddenWaits = s.waits
	}
}

func (v *overview) write(w io.Writer, markdown bool) error {
	header := []string{"METRIC", "UNIT", "RUNS", "MEAN", "MIN", "MAX"}
	rows := make([][]string, len(v.Metrics))
	for i, m := range v.Metrics {
		scale := m.shown.scale
		rows[i] = []string{m.Metric, m.shown.symbol, strconv.Itoa(m.Runs), number(m.Mean / scale), number(m.Min / scale), number(m.Max / scale)}
	}
	var out strings.Builder
	runs := "1 run"
	if v.Runs != 1 {
		runs = strconv.Itoa(v.Runs) + " runs"
	}
	text, start := medium.Line, ""
	if markdown {
		text, start = medium.Markdown, "\n" // a paragraph for each warning
	}
	out.WriteString(medium.Format(text, "%s: %s of %s, %s\n\n", v.Name, runs, v.Tool, v.Operations))
	if markdown {
		out.WriteString((&document.Table{Header: header, Rows: rows}).Markdown())
	} else {
		terminal.WriteTable(&out, header, rows)
	}
	if v.Runs < 3 {
		out.WriteString("\nWith fewer than 3 runs the noise is unknown: another run may differ by any amount.\n")
	}
	for _, warning := range v.Warnings {
		out.WriteString(start + medium.Format(text, "warning: %s\n", warning))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
