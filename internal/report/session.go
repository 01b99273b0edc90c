package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// ScopeOf describes the scope of a sweep's verdict; "" for an unknown or empty scope.
func ScopeOf(s *v1alpha1.CephTuningSweep) string {
	switch s.Status.Scope {
	case v1alpha1.ScopeCluster:
		return "this cluster, on several days"
	default:
		return strings.TrimPrefix(sweepspec.ScopeNote(&s.Spec, s.Status.Plan, s.Status.Scope), "on ")
	}
}

// hostTable shows the CPU of the clients' hosts in each session whose archive has it. The worst host counts, as for the
// marks Starved and Throttled.
func hostTable(sessions []*archive.SwitchedSession) *Table {
	table := &Table{Header: []string{"Trial", "Clients", "Host busy", "Host saturated", "Client waited for a CPU", "Mark"}}
	for _, s := range sessions {
		shares := fitness.Of(s.Evidence.Usage)
		if shares.HostBusy == nil && shares.Waited == nil {
			continue
		}
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(s.Number()), strconv.Itoa(len(s.Evidence.Usage)), percentOfTime(shares.HostBusy), percentOfTime(shares.Saturated), percentOfTime(shares.Waited), string(shares.Mark()),
		})
	}
	return table
}

// percentOfTime formats a share of the time; "unknown" if the kernel does not report it.
func percentOfTime(share *float64) string {
	if share == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f %% of the time", 100**share)
}

// sessionFigures returns a row for the objective of each candidate in each trial, and a row without figures for an
// invalid trial. deviation is the standard deviation of ln(ratio) between blocks of windows.
func sessionFigures(s *v1alpha1.CephTuningSweep, trials []v1alpha1.Trial) [][]string {
	objective := s.Spec.Objective
	rows := [][]string{{
		"trial", "validity", "windows", "seconds", "written_mib", "configuration_index", "configuration",
		"phase", "metric", "direction", "blocks", "ratio", "deviation", "unit", "baseline_value", "value",
	}}
	for _, t := range trials {
		row := []string{strconv.Itoa(int(t.Number)), t.Validity(), string(t.Windows), strconv.Itoa(int(t.DurationSeconds)), strconv.FormatInt(t.WrittenMebibytes, 10)}
		if len(t.Comparisons) == 0 {
			rows = append(rows, append(row, "", "", "", "", "", "", "", "", "", "", ""))
			continue
		}
		direction := cmp.Or(string(objective.Direction), string(v1alpha1.DirectionTotal))
		for _, c := range t.Comparisons {
			rows = append(rows, append(slices.Clip(row), strconv.Itoa(int(c.Configuration)), nameOf(s, int(c.Configuration)), string(objective.Phase), string(objective.Metric), direction,
				strconv.Itoa(int(c.Blocks)), string(c.Ratio), string(c.Deviation), figure.Unit(objective.Metric), string(t.BaselineObjective), string(c.Objective)))
		}
	}
	return rows
}

// Comparisons returns a table with a row for each candidate of each trial. An invalid trial has one row. Comparisons returns nil
// without trials, for a sweep that is not interleaved, and for trials of another version.
func Comparisons(s *v1alpha1.CephTuningSweep) *Table {
	trials, err := sweepspec.Trials(&s.Status)
	if err != nil || len(trials) == 0 || !sweepspec.HasWindows(s.Status.Plan) {
		return nil
	}
	metric := s.Spec.Objective.Metric
	table := &Table{Header: []string{"Trial", "Configuration", "Blocks", "Baseline", string(metric), "Ratio", "Took", "Counts"}}
	for _, t := range trials {
		number := strconv.Itoa(int(t.Number))
		if t.Windows != "" {
			number += " (" + string(t.Windows) + ")"
		}
		row := func(configuration, blocks, before, after, ratio string) {
			table.Rows = append(table.Rows, []string{
				number, configuration, blocks, before, after, ratio, fmt.Sprintf("%ds", t.DurationSeconds), t.Validity(),
			})
		}
		if len(t.Comparisons) == 0 {
			row("", "", "", "", "")
		}
		for _, c := range t.Comparisons {
			row(nameOf(s, int(c.Configuration)), strconv.Itoa(int(c.Blocks)), figure.HumanDecimal(metric, t.BaselineObjective), figure.HumanDecimal(metric, c.Objective), Ratio(c.Ratio))
		}
	}
	return table
}
