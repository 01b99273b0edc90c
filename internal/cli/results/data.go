package results

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/result"
)

// writeFigures writes one line for each figure of each run.
func writeFigures(w io.Writer, f *findings) error {
	lines := [][]string{{"run", "state", "phase", "direction", "metric", "unit", "value", "at_least", "latency_kind", "marks"}}
	for _, run := range f.runs {
		for _, phase := range run.Phases {
			if phase.Observation == nil {
				continue
			}
			for _, fig := range phase.Observation.Figures {
				lines = append(lines, []string{
					strconv.Itoa(int(run.Number)), string(run.State), string(phase.Name), string(fig.Direction), string(fig.Metric),
					figure.Unit(fig.Metric), figure.Exact(fig.Value), strconv.FormatBool(fig.AtLeast), string(fig.LatencyKind), figure.JoinMarks(phase.Observation.Marks),
				})
			}
		}
	}
	return writeCSV(w, lines)
}

// writeSeries writes one line for each interval of the time series of a phase. The series of all
// clients together is named "all". The series of one client is named by the client's number, and
// includes the ramp. Unknown values are empty.
func writeSeries(w io.Writer, f *findings, name v1alpha1.PhaseName) error {
	lines := [][]string{{
		"run", "client", "direction", "start_seconds", "end_seconds", "operations_per_second", "bytes_per_second", "mean_latency_seconds",
	}}
	found := false
	for _, run := range f.runs {
		for _, phase := range run.Phases {
			if phase.Name == name {
				found = true
				lines = append(lines, seriesLines(run, phase)...)
			}
		}
	}
	switch {
	case !found:
		var names []string
		for _, other := range archive.PhaseNames(f.runs) {
			names = append(names, string(other))
		}
		return fmt.Errorf("there is no phase %s, only %s", name, strings.Join(names, ", "))
	case len(lines) == 1:
		return fmt.Errorf("phase %s has no stored values over time: its engine may report none, and large ones are left out", name)
	}
	return writeCSV(w, lines)
}

func writeCSV(w io.Writer, lines [][]string) error {
	text, err := medium.CSV(lines)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func seriesLines(run *archive.Run, phase archive.Phase) [][]string {
	var lines [][]string
	add := func(client string, res *result.Result) {
		if res == nil {
			return
		}
		for _, d := range res.Directions() {
			for _, values := range intervals(d.Series) {
				lines = append(lines, append([]string{strconv.Itoa(int(run.Number)), client, string(d.Name)}, values...))
			}
		}
	}
	if phase.Observation != nil {
		add("all", phase.Observation.Result)
	}
	for _, reported := range phase.Clients {
		add(strconv.Itoa(reported.Client), reported.Result)
	}
	return lines
}

func intervals(s *result.Series) [][]string {
	if s == nil {
		return nil
	}
	rows := make([][]string, s.Len())
	for i := range rows {
		latency := cell(s.MeanLatencySeconds, i)
		if s.Stalled(i) {
			latency = "" // An interval without operations has no latency.
		}
		rows[i] = []string{figure.Exact(s.StartSeconds[i]), figure.Exact(s.EndSeconds[i]), cell(s.OperationsPerSecond, i), cell(s.BytesPerSecond, i), latency}
	}
	return rows
}

func cell(column []float64, i int) string {
	if column == nil {
		return ""
	}
	return figure.Exact(column[i])
}
