package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

const sessionMethod = `Settings were switched while one load ran. With scratch pools, each session has its own pool and data. In a session of short windows, windows of the baseline and of each candidate follow each other in random order, balanced within groups. In a session of long windows, the baseline and one candidate stay applied for a long window each. The first part of a window, in which the setting settles, does not count. The ratio of a session is that of the arithmetic means of its windows. A verdict on long windows comes from Student's t test of the ratios of sessions, at looks that are fixed beforehand. A verdict on short windows speaks only of switched windows. It needs both the same test of the groups of one session and a randomisation test. A group does not count if a setting was not proven, was switched late or was not measured completely. Its figures play no part in that: a window in which no operation finished counts.`

// methodOf describes the method by which a sweep reached its verdict.
func methodOf(s *v1alpha1.CephTuningSweep) string {
	if sweepspec.IsInterleaved(s.Status.Plan) {
		return sessionMethod
	}
	return sweepMethod
}

// ScopeOf describes the scope of a verdict; "" for an unknown or empty scope.
func ScopeOf(scope v1alpha1.SweepScope) string {
	switch scope {
	case v1alpha1.ScopeCluster:
		return "this cluster, on several days"
	default:
		return strings.TrimPrefix(sweepspec.ScopeNote(scope), "on ")
	}
}

// sessionTable returns the table of SessionRows; nil without rows.
func sessionTable(s *v1alpha1.CephTuningSweep) *Table {
	header, rows := SessionRows(s)
	if len(rows) == 0 {
		return nil
	}
	return &Table{Header: header, Rows: rows}
}

// sessionFigures returns a row for the objective of each candidate in each session, and a row without figures
// for a void session. ln_ratio is ln(mean of the candidate ÷ mean of the baseline), and ln_ratio_sd is its standard
// deviation between groups.
func sessionFigures(s *v1alpha1.CephTuningSweep, entries []sweepspec.SessionEntry) [][]string {
	objective := s.Spec.Objective
	rows := [][]string{{
		"session", "validity", "seconds", "written_mib", "configuration_index", "configuration",
		"phase", "metric", "direction", "groups", "ln_ratio", "ln_ratio_sd",
	}}
	for _, e := range entries {
		if e.Constraint > 0 {
			continue // The rows are about the objective only.
		}
		session := []string{strconv.Itoa(e.Session), string(e.Validity), strconv.Itoa(e.Seconds), strconv.FormatInt(e.MiB, 10)}
		if e.Void {
			rows = append(rows, append(session, "", "", "", "", "", "", "", ""))
			continue
		}
		direction := cmp.Or(string(objective.Direction), string(v1alpha1.DirectionTotal))
		rows = append(rows, append(session, strconv.Itoa(e.Candidate), nameOf(s, e.Candidate), string(objective.Phase), string(objective.Metric), direction,
			strconv.Itoa(e.Groups), figure.Exact(e.Mean), figure.Exact(e.StdDev)))
	}
	return rows
}

// SessionRows returns a table header, and a row for each candidate of each session. A void session has one
// row. SessionRows returns nil for a sweep that is not interleaved, and for a ledger of another version.
func SessionRows(s *v1alpha1.CephTuningSweep) (header []string, rows [][]string) {
	if !sweepspec.IsInterleaved(s.Status.Plan) {
		return nil, nil
	}
	entries, err := sweepspec.ReadSessions(s.Status.Runs)
	if err != nil {
		return nil, nil
	}
	header = []string{"Session", "Configuration", "Groups", "Ratio", "Took", "Counts"}
	for _, e := range entries {
		if e.Constraint > 0 {
			continue // Status has the outcomes of constraints.
		}
		row := []string{strconv.Itoa(e.Session), "", "", "", fmt.Sprintf("%ds", e.Seconds), string(e.Validity)}
		if !e.Void {
			row[1], row[2], row[3] = nameOf(s, e.Candidate), strconv.Itoa(e.Groups), Ratio(figure.Decimal(math.Exp(e.Mean)))
		}
		rows = append(rows, row)
	}
	return header, rows
}
