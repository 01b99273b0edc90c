package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/outage"
)

const outageMethod = `OSDs were marked down in mid-phase and kept down, while their processes kept running. Times count from when noup was unset; only the time until Ceph marked ` +
	`OSDs out counts from the stop. Ceph reports the state of placement groups every five seconds, so times are no more exact than that, and shorter states are missed. Degraded ` +
	`object-seconds add up the missing copies of objects over time, from the stop until all placement groups were clean. The windows Outage, Recovery and After begin two seconds ` +
	`early, because an engine connects to Ceph before its first second.`

// outageParts shows the cost of each run's outage; nil without an outage.
func outageParts(b *v1alpha1.CephBenchmark, runs []*archive.Run) []Part {
	var parts []Part
	for _, table := range OutageTables(runs) {
		parts = append(parts, Part{Table: table})
	}
	if len(parts) == 0 {
		return nil
	}
	return append(parts, Part{Text: outageBy(b) + outageMethod})
}

// OutageTables returns the cost of each run's outage: how long the cluster took to recover, and the clients' figures before,
// during and after the outage. It returns nil without an outage.
func OutageTables(runs []*archive.Run) []*Table {
	costs := &Table{Header: []string{"Run", "Outage", "Up after", "Active after", "Clean after", "Degraded object-seconds", "Copies recovered", "Per second"}}
	backfills := &Table{Header: []string{"Run", "Marked out after", "Data moved after that"}}
	windows := &Table{Header: []string{"Run", "Window", "Seconds", "Bandwidth", "IOPS", "Latency, median", "99 %", "Stalled seconds"}}
	add := func(run string, d *archive.Outage) {
		recovered := ""
		if d.RecoveredObjects != nil {
			recovered = strconv.FormatInt(*d.RecoveredObjects, 10)
		}
		costs.Rows = append(costs.Rows, []string{
			run, took(d.StopTime, d.NoupUnsetTime), seconds(d.SecondsToUp), seconds(d.SecondsToActive), seconds(d.SecondsToClean),
			string(d.DegradedObjectSeconds), recovered, string(d.RecoveredObjectsPerSecond),
		})
		if d.SecondsToOut != "" {
			backfills.Rows = append(backfills.Rows, []string{run, seconds(d.SecondsToOut), seconds(d.SecondsToBackfilled)})
		}
		for _, w := range d.Windows {
			windows.Rows = append(windows.Rows, []string{
				run, string(w.Name), strconv.Itoa(int(w.Seconds)), figure.HumanDecimal(v1alpha1.MetricBandwidth, w.Bandwidth), figure.HumanDecimal(v1alpha1.MetricIOPS, w.IOPS),
				seconds(w.LatencyP50), seconds(w.LatencyP99), strconv.Itoa(int(w.StalledSeconds)),
			})
		}
	}
	for _, run := range runs {
		for _, phase := range run.Phases {
			if phase.Outage != nil {
				add(strconv.Itoa(int(run.Number)), phase.Outage)
			}
		}
	}
	return slices.DeleteFunc([]*Table{costs, backfills, windows}, func(t *Table) bool { return len(t.Rows) == 0 })
}

// outageBy describes the requested outage.
func outageBy(b *v1alpha1.CephBenchmark) string {
	d := b.Spec.Template.Outage
	if d == nil {
		return ""
	}
	return fmt.Sprintf("In phase %s, %s. ", d.Phase, ceph.OSDNames(outage.PlanOf(d, 0).OSDs))
}

func seconds(d v1alpha1.Decimal) string { return figure.HumanDecimal(v1alpha1.MetricTimeToClean, d) }
