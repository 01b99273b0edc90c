package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/cephtune/cephtune/internal/metrics"
)

// Ceph's own metrics, named as in the mgr's prometheus module.
const (
	cephHealth        = "ceph_health_status" // 0: OK, 1: warning, 2: error
	cephPoolMetadata  = "ceph_pool_metadata" // has the labels pool_id and name
	cephPoolRead      = "ceph_pool_rd"       // counts operations
	cephPoolReadBytes = "ceph_pool_rd_bytes"
	cephPoolWrite     = "ceph_pool_wr"
	cephPoolWritten   = "ceph_pool_wr_bytes"
	cephOSDCommit     = "ceph_osd_commit_latency_ms"
	cephOSDUp         = "ceph_osd_up"
	cephOSDIn         = "ceph_osd_in"
	cephDaemonHealth  = "ceph_daemon_health_metrics" // has the labels ceph_daemon and type
	cephPGs           = "ceph_pg_total"
	cephPGsClean      = "ceph_pg_clean"
	cephMisplaced     = "ceph_num_objects_misplaced"
	cephDegraded      = "ceph_num_objects_degraded"
)

// Performance counters of OSDs. Since Reef, ceph-exporter reports them instead of the mgr. Clusters without
// ceph-exporter lack them, unless they set mgr/prometheus/exclude_perf_counters to false.
const (
	cephOSDSize = "ceph_osd_stat_bytes"
	cephOSDUsed = "ceph_osd_stat_bytes_used"

	// Each of these names needs a suffix: _sum for the seconds, or _count for the number of operations.
	cephOSDReadLatency  = "ceph_osd_op_r_latency"
	cephOSDWriteLatency = "ceph_osd_op_w_latency"
)

// labelDaemon is the label with the name of an OSD, such as osd.3.
const labelDaemon = "ceph_daemon"

// mostOSDs is the largest number of OSDs that a graph shows. Readers cannot distinguish more lines.
const mostOSDs = 20

// noCeph says why a panel with Ceph's metrics is empty.
const noCeph = "No metrics of this Ceph cluster here: set spec.monitoring.enabled of its CephCluster, and let this Prometheus scrape its mgr"

// noExporter says why a panel with performance counters of OSDs is empty.
const noExporter = "No metrics of ceph-exporter here: let Rook run it (spec.monitoring), and let this Prometheus scrape it"

// rookPools is the URL of Rook's dashboard of pools. Rook chose the uid in it, -gtf0Bzik.
const rookPools = "/d/-gtf0Bzik?var-pool=${__field.labels.name}&${__url_time_range}"

// ofCeph selects the series of the Ceph cluster that the sweep or benchmark uses. Where Rook configures the
// scraping, the label namespace has the namespace of the CephCluster. Series without this label match too.
func ofCeph(metric string, matchers ...string) string {
	return selector(metric, append([]string{metrics.LabelNamespace + `=~"$ceph_namespace|"`}, matchers...)...)
}

// ofPools returns a query for the rate of a pool counter, with one series for each pool name.
func ofPools(counter string) string {
	return fmt.Sprintf("sum by (name) (rate(%s[$__rate_interval]) * on (namespace, instance, pool_id) group_left (name) %s)",
		ofCeph(counter), ofCeph(cephPoolMetadata, `name=~"$pool"`))
}

// cephVariable is a hidden variable: the namespace of the Ceph cluster that the sweep or benchmark uses.
// The argument info is the metric with the cluster's name.
func cephVariable(info string) cog.Builder[dashboard.VariableModel] {
	return labelVariable("ceph_namespace", "Namespace of Ceph", one(info), metrics.LabelCluster).
		Description("The namespace of the CephCluster.").
		Regex("/^([^/]+)/").
		Hide(dashboard.VariableHideHideVariable)
}

// poolVariable is the variable with which users choose pools. Rook's dashboards have a variable with the
// same name, so links to them pass the chosen pools on.
func poolVariable() cog.Builder[dashboard.VariableModel] {
	return several(labelVariable("pool", "Pool", ofCeph(cephPoolMetadata), "name").
		Description("The pools whose traffic is drawn."))
}

// cephPanels returns the panels with Ceph's own metrics. Annotations shade the sweep's runs in these
// panels.
func cephPanels() []cog.Builder[dashboard.Panel] {
	toPool := []dashboard.DynamicConfigValue{property("links", []dataLink{{Title: "This pool in Rook's dashboard", URL: rookPools}})}
	return []cog.Builder[dashboard.Panel]{
		graph(about{
			title: "Throughput of pools",
			description: "What clients read from and write to each pool, by Ceph's own counters. It includes all clients, not only the benchmark's. Before a shaded run, cephtune may prefill " +
				"the pool; other traffic between the runs comes from other clients. Sessions of the design Interleaved are not shaded.",
			unit: bytesPerSecond, empty: noCeph, width: 12, height: 8,
		},
			line{id: "read", expression: ofPools(cephPoolReadBytes), legend: "{{name}} read", color: shades(orange)},
			line{id: "write", expression: ofPools(cephPoolWritten), legend: "{{name}} write", color: shades(blue)},
		).OverrideByRegexp(".+", toPool).Min(0),
		graph(about{
			title:       "Operations of pools",
			description: "Operations of clients on each pool, by Ceph's own counters.",
			unit:        perSecond, empty: noCeph, width: 12, height: 8,
		},
			line{id: "read", expression: ofPools(cephPoolRead), legend: "{{name}} read", color: shades(orange)},
			line{id: "write", expression: ofPools(cephPoolWrite), legend: "{{name}} write", color: shades(blue)},
		).OverrideByRegexp(".+", toPool).Min(0),
		timeline(about{
			title:       "Health",
			description: "Ceph's health. A sweep fails at HEALTH_ERR, and restores its settings. By default, a warning that it does not expect makes a run invalid.",
			empty:       noCeph, width: 12, height: 7,
		}, fmt.Sprintf("max(%s)", ofCeph(cephHealth)), "health", mappings(
			state{"0", "HEALTH_OK", blue},
			state{"1", "HEALTH_WARN", orange},
			state{"2", "HEALTH_ERR", vermillion},
		)),
		steps(about{
			title: "Unsettled",
			description: "Placement groups that are not clean, objects that are misplaced or degraded, and OSDs that are down or out. Runs wait until all of them are 0. With OSD_DOWN in " +
				"quiescence.allowedWarnings, they do not wait for OSDs that are out.",
			unit: count, empty: noCeph, width: 12, height: 7,
		},
			line{id: "unclean", expression: fmt.Sprintf("sum(%s) - sum(%s)", ofCeph(cephPGs), ofCeph(cephPGsClean)), legend: "PGs not clean", color: fixed(blue)},
			line{id: "misplaced", expression: fmt.Sprintf("sum(%s)", ofCeph(cephMisplaced)), legend: "objects misplaced", color: fixed(sky)},
			line{id: "degraded", expression: fmt.Sprintf("sum(%s)", ofCeph(cephDegraded)), legend: "objects degraded", color: fixed(orange)},
			line{id: "down", expression: fmt.Sprintf("count(%[1]s == 0) or 0 * count(%[1]s)", ofCeph(cephOSDUp)), legend: "OSDs down", color: fixed(vermillion)},
			line{id: "out", expression: fmt.Sprintf("count(%[1]s == 0) or 0 * count(%[1]s)", ofCeph(cephOSDIn)), legend: "OSDs out", color: fixed(purple)},
		).Min(0),
	}
}

// osdPanels returns the panels with a line for each OSD.
func osdPanels() []cog.Builder[dashboard.Panel] {
	few := fmt.Sprintf(" With more than %d OSDs, only those with the highest figures in this time range are drawn.", mostOSDs)
	eachOSD := func(width uint32, title, description, unit, empty string, lines ...line) *timeseries.PanelBuilder {
		return graph(about{
			title: title, description: description + few, unit: unit, empty: empty, width: width, height: 8,
		}, lines...).Min(0)
	}
	each := func(expression, color string) line {
		return line{id: "osd", expression: expression, legend: "{{" + labelDaemon + "}}", color: shades(color)}
	}
	operations := func(operation, counter, color string) *timeseries.PanelBuilder {
		return eachOSD(8, operation+" latency by OSD",
			"The mean time that "+strings.ToLower(operation)+"s of clients take in each OSD, including the time in its queue. A write includes the time of its replicas. The dashed line is the "+
				"mean over the operations of all OSDs.",
			seconds, noExporter,
			each(slowest(counter), color),
			line{id: "mean", expression: fmt.Sprintf("sum(%s) / (sum(%s) > 0)", rateOf(counter+"_sum"), rateOf(counter+"_count")), legend: "mean of all", color: fixed(grey), reference: true},
		)
	}
	return []cog.Builder[dashboard.Panel]{
		eachOSD(8, "Commit latency by OSD",
			"How long each OSD takes to commit, as \"ceph osd perf\" reports it. On BlueStore, the apply latency is the same. The dashed line is the mean over all OSDs. One OSD that is far "+
				"slower than the mean slows down every operation that waits for it.",
			milliseconds, noCeph,
			each(highest(byOSD(ofCeph(cephOSDCommit))), blue),
			line{id: "mean", expression: fmt.Sprintf("avg(%s)", ofCeph(cephOSDCommit)), legend: "mean of all", color: fixed(grey), reference: true},
		),
		operations("Read", cephOSDReadLatency, orange),
		operations("Write", cephOSDWriteLatency, blue),
		eachOSD(12, "Used space by OSD",
			"How full each OSD is. An OSD that is fuller than others usually also does more of the work.",
			fraction, noExporter,
			each(highest(func(window string) string {
				return byOSD(ofCeph(cephOSDUsed))(window) + " / " + byOSD(ofCeph(cephOSDSize))(window)
			}), blue),
		).Max(1),
		eachOSD(12, "Slow operations by OSD",
			"Operations that each OSD has not finished within osd_op_complaint_time, 30 s by default. Above 0, the cluster is in trouble, and figures of runs at that time mislead.",
			count, noCeph,
			each(highest(byOSD(ofCeph(cephDaemonHealth, `type="SLOW_OPS"`, labelDaemon+`=~"osd[.].+"`))), vermillion),
		),
	}
}

// rateOf returns a query for the rate of a counter of Ceph.
func rateOf(counter string) string { return fmt.Sprintf("rate(%s[$__rate_interval])", ofCeph(counter)) }

// byOSD returns a figure with one series for each OSD, independent of the mgr or exporter that reports it. A
// figure is a function that returns a query. Its argument window is a format: "%s" for the series itself,
// or a function of Prometheus over a range, such as "max_over_time(%s[1h])".
func byOSD(series string) func(window string) string {
	return func(window string) string { return latest(fmt.Sprintf(window, series), labelDaemon) }
}

// highest returns a query for the OSDs whose figure was the highest in the time range. The query chooses
// the OSDs once for the whole range, because a choice at each step would break lines into pieces.
func highest(figure func(window string) string) string {
	return top(figure, "%s", "max_over_time(%s[$__range] @ end())")
}

// slowest returns a query for the mean latency of the operations of each OSD. It chooses the OSDs with the
// highest mean in the time range. An OSD without operations has no latency.
func slowest(counter string) string {
	return top(func(window string) string {
		return latest(fmt.Sprintf(window+" / ("+window+" > 0)", ofCeph(counter+"_sum"), ofCeph(counter+"_count")), labelDaemon)
	}, "rate(%s[$__rate_interval])", "increase(%s[$__range] @ end())")
}

// top returns a query that draws figure(drawn) for at most mostOSDs OSDs: those with the highest
// figure(chosen).
func top(figure func(window string) string, drawn, chosen string) string {
	return fmt.Sprintf("%s and topk(%d, %s)", figure(drawn), mostOSDs, figure(chosen))
}
