package results

import (
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
)

// writeOutages writes the cost of each outage: how long the cluster took to recover, and the clients'
// figures before, during and after the outage. It writes nothing for runs without an outage.
func writeOutages(out *strings.Builder, columns int, runs []*archive.Run) {
	var costs, backfills, windows [][]string
	for _, run := range runs {
		for _, phase := range run.Phases {
			d := phase.Outage
			if d == nil {
				continue
			}
			number, recovered := strconv.Itoa(int(run.Number)), ""
			if d.RecoveredObjects != nil {
				recovered = strconv.FormatInt(*d.RecoveredObjects, 10)
			}
			costs = append(costs, []string{
				number, string(phase.Name), human(d.SecondsToUp), human(d.SecondsToActive), human(d.SecondsToClean), string(d.DegradedObjectSeconds), recovered, string(d.RecoveredObjectsPerSecond),
			})
			if d.SecondsToOut != "" {
				backfills = append(backfills, []string{number, human(d.SecondsToOut), human(d.SecondsToBackfilled)})
			}
			for _, w := range d.Windows {
				windows = append(windows, []string{
					number, string(w.Name), strconv.Itoa(int(w.Seconds)), string(w.IOPS), human(w.LatencyP50), human(w.LatencyP99), strconv.Itoa(int(w.StalledSeconds)),
				})
			}
		}
	}
	if len(costs) == 0 {
		return
	}
	out.WriteString("\n")
	terminal.WriteTable(out, columns, []string{"RUN", "OUTAGE IN", "UP AFTER", "ACTIVE AFTER", "CLEAN AFTER", "DEGRADED OBJECT-SECONDS", "COPIES RECOVERED", "PER SECOND"}, costs)
	if len(backfills) > 0 {
		out.WriteString("\n")
		terminal.WriteTable(out, columns, []string{"RUN", "MARKED OUT AFTER", "DATA MOVED AFTER THAT"}, backfills)
	}
	if len(windows) > 0 {
		out.WriteString("\n")
		terminal.WriteTable(out, columns, []string{"RUN", "WINDOW", "SECONDS", "IOPS", "P50", "P99", "STALLED SECONDS"}, windows)
	}
}

// human formats seconds for people; empty if unknown.
func human(d v1alpha1.Decimal) string { return figure.HumanDecimal(v1alpha1.MetricTimeToClean, d) }
