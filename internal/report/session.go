package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

const sessionMethod = `Settings were switched while one load ran. Each session has its own pool and data. In it, windows of the baseline and of each candidate follow each other in random order, balanced within groups. The first seconds of a window do not count. The ratio of a session is the mean over its groups, on the scale of logarithms. The verdict of several sessions comes from Student's t test of their means. The verdict of a single session comes from the same test of its groups, at looks that are fixed beforehand. A group does not count if a setting was not proven, was switched late or was not measured completely. A session of dwells applies the baseline and a candidate in turn, for minutes each. Its ratio has to support the verdict of the windows.`

// methodOf describes the method by which a sweep reached its verdict.
func methodOf(s *v1alpha1.CephTuningSweep) string {
	if sweepspec.IsInterleaved(s.Status.Plan) {
		return sessionMethod
	}
	return sweepMethod
}

// ClaimOf describes the scope of a verdict; "" for an unknown or empty claim.
func ClaimOf(claim v1alpha1.SweepClaim) string {
	switch claim {
	case v1alpha1.ClaimThisHour:
		return "this pool, in this hour"
	case v1alpha1.ClaimThisCluster:
		return "this cluster"
	case v1alpha1.ClaimSwitchedWindows:
		return "switched windows only"
	default:
		return ""
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
// for a void session. ln_ratio is the mean of ln(candidate ÷ baseline) over the groups of windows, and
// ln_ratio_sd is the standard deviation between groups.
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
