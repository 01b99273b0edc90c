package results

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
)

func writeTable(w io.Writer, f *findings) error {
	page := terminal.NewPage(w)
	writeHead(page, f)
	writeRuns(page, f.runs)
	header, rows, err := figureRows(f.runs)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		page.WriteString("\n")
		single := len(f.runs) > 1 && !page.Fits(header, rows)
		if single {
			header = header[:len(header)-len(f.runs)]
			for i := range rows {
				rows[i] = rows[i][:len(header)]
			}
		}
		page.Table(header, rows)
		if single {
			page.WriteString("\nFor the figures of each run, use --run NUMBER, -o csv, or a wider terminal.\n")
		}
	}
	for _, curve := range report.Curves(f.runs) {
		page.Printf("\n%s\n\n", curve.Sentence)
		writeReported(page, curve.Picture)
		page.WriteString("\n")
		writeReported(page, curve.Steps)
	}
	for _, t := range report.OutageTables(f.runs) {
		page.WriteString("\n")
		writeReported(page, t)
	}
	notes, err := notes(f.runs)
	if err != nil {
		return err
	}
	page.Lines(notes)
	return page.Print()
}

// Answer returns the outcome of a benchmark in one line; "" without an outcome.
func Answer(b *v1alpha1.CephBenchmark) string {
	return strings.Trim(string(b.Status.Verdict)+": "+b.Status.Headline, ": ")
}

func writeHead(page *terminal.Page, f *findings) {
	status := f.benchmark.Status
	if answer := Answer(f.benchmark); f.current && answer != "" {
		page.Printf("%s\n", answer)
	}
	page.Printf("%s/%s, run ID %s", f.benchmark.Namespace, f.benchmark.Name, f.runs[0].RunID)
	if !f.current {
		page.WriteString(" (earlier)\n\n")
		return
	}
	if status.CompletionTime == nil {
		page.WriteString(", not completed")
	}
	page.WriteString("\n")
	if status.Summary != "" {
		page.Printf("%s\n", status.Summary)
	}
	page.WriteString("\n")
}

func writeRuns(page *terminal.Page, runs []*archive.Run) {
	var rows [][]string
	for _, run := range runs {
		rows = append(rows, []string{
			strconv.Itoa(int(run.Number)), string(run.State), run.StartTime.UTC().Format(time.RFC3339),
			run.EndTime.Sub(run.StartTime).Round(time.Second).String(), startSpread(run), run.Reason,
		})
	}
	page.Table([]string{"RUN", "STATE", "STARTED", "TOOK", "START SPREAD", "REASON"}, rows)
}

func startSpread(run *archive.Run) string {
	seconds, known := run.StartSpread()
	if !known {
		return "unknown"
	}
	return figure.Human(v1alpha1.MetricLatencyMax, seconds)
}

// figureRows returns a row for each figure of each phase.
func figureRows(runs []*archive.Run) (header []string, rows [][]string, err error) {
	header = []string{"PHASE", "DIRECTION", "METRIC"}
	if len(runs) > 1 {
		header = append(header, "ALL RUNS", "95% INTERVAL", "SPREAD")
	}
	for _, run := range runs {
		header = append(header, fmt.Sprintf("RUN %d", run.Number))
	}
	for _, name := range archive.PhaseNames(runs) {
		combined, err := figure.Combine(name, archive.Observations(runs, name))
		if err != nil {
			return nil, nil, err
		}
		for _, direction := range figure.Directions() {
			for _, metric := range figure.Metrics() {
				if row := figureRow(runs, combined, direction, metric); row != nil {
					rows = append(rows, row)
				}
			}
		}
	}
	return header, rows, nil
}

// figureRow returns the row of one figure, or nil if no run has the figure.
func figureRow(runs []*archive.Run, combined v1alpha1.PhaseResult, direction v1alpha1.Direction, metric v1alpha1.Metric) []string {
	var cells []string
	var valid []float64
	known := false
	for _, run := range runs {
		text := ""
		if f, ok := run.Figure(combined.Name, metric, direction); ok {
			known = true
			text = figure.Human(metric, f.Value)
			if f.AtLeast {
				text = "≥ " + text
			}
			if run.State == v1alpha1.RunValid {
				valid = append(valid, f.Value)
			} else {
				text = "(" + text + ")"
			}
		}
		cells = append(cells, text)
	}
	if !known {
		return nil
	}
	row := []string{string(combined.Name), string(direction), string(metric)}
	if len(runs) > 1 {
		value, interval := combinedCells(combined, direction, metric)
		row = append(row, value, interval, spread(valid))
	}
	return append(row, cells...)
}

func combinedCells(combined v1alpha1.PhaseResult, direction v1alpha1.Direction, metric v1alpha1.Metric) (value, interval string) {
	write := func(d v1alpha1.Decimal) string { return figure.HumanDecimal(metric, d) }
	for _, m := range combined.Metrics {
		if m.Metric == metric && m.Direction == direction {
			return write(m.Value), report.Interval(m.Low, m.High, write)
		}
	}
	return "", ""
}

// spread returns how much the largest value exceeds the smallest, in percent; "" for fewer than two
// values.
func spread(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return strconv.FormatFloat(100*(slices.Max(values)/slices.Min(values)-1), 'f', 1, 64) + "%"
}
