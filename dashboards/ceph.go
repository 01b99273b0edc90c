package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/cephtune/cephtune/internal/metrics"
)

// Ceph's own metrics, named as in the mgr's prometheus module. None of them is a performance
// counter of a daemon, because since Reef ceph-exporter has those, and not every cluster runs it.
const (
	cephHealth        = "ceph_health_status" // 0 OK, 1 warning, 2 error
	cephPoolMetadata  = "ceph_pool_metadata" // labels pool_id and name
	cephPoolRead      = "ceph_pool_rd"       // operations
	cephPoolReadBytes = "ceph_pool_rd_bytes"
	cephPoolWrite     = "ceph_pool_wr"
	cephPoolWritten   = "ceph_pool_wr_bytes"
	cephOSDCommit     = "ceph_osd_commit_latency_ms"
	cephOSDUp         = "ceph_osd_up"
	cephOSDIn         = "ceph_osd_in"
	cephPGs           = "ceph_pg_total"
	cephPGsClean      = "ceph_pg_clean"
	cephMisplaced     = "ceph_num_objects_misplaced"
	cephDegraded      = "ceph_num_objects_degraded"
)

// noCeph says why panels with Ceph's metrics are empty.
const noCeph = "No metrics of this Ceph cluster here: set spec.monitoring.enabled of its CephCluster, and let this Prometheus scrape its mgr"

// rookPools is the dashboard of pools that Rook ships. Rook chose its uid.
const rookPools = "/d/-gtf0Bzik?var-pool=${__field.labels.name}&${__url_time_range}"

// ofCeph selects the series of the sweep's Ceph cluster. Rook's scrape labels them with the
// cluster's namespace. Series without a namespace match too.
func ofCeph(metric string, matchers ...string) string {
	return selector(metric, append([]string{metrics.LabelNamespace + `=~"$ceph_namespace|"`}, matchers...)...)
}

// ofPools returns the rate of a pool counter, by the name of the pool.
func ofPools(counter string) string {
	return fmt.Sprintf("sum by (name) (rate(%s[$__rate_interval]) * on (namespace, instance, pool_id) group_left (name) %s)",
		ofCeph(counter), ofCeph(cephPoolMetadata, `name=~"$pool"`))
}

// cephVariables choose the cluster and the pools for Ceph's metrics. The variable of pools has the
// same name as in Rook's dashboards, so that links pass it on.
func cephVariables() []cog.Builder[dashboard.VariableModel] {
	return []cog.Builder[dashboard.VariableModel]{
		labelVariable("ceph_namespace", "Namespace of Ceph", one(metrics.SweepInfo), metrics.LabelCluster).
			Description("The namespace of the sweep's CephCluster.").
			Regex("/^([^/]+)/").
			Hide(dashboard.VariableHideHideVariable),
		labelVariable("pool", "Pool", ofCeph(cephPoolMetadata), "name").
			Description("The pools whose traffic is drawn.").
			Multi(true).
			IncludeAll(true).
			AllValue(".*").
			Current(all()),
	}
}

// all is the option that selects everything.
func all() dashboard.VariableOption {
	return dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
}

// cephPanels show Ceph's own metrics. The sweep's runs are shaded in them.
func cephPanels() []cog.Builder[dashboard.Panel] {
	toPool := []dashboard.DynamicConfigValue{property("links", []dataLink{{Title: "This pool in Rook's dashboard", URL: rookPools}})}
	return []cog.Builder[dashboard.Panel]{
		graph(about{
			title:       "Throughput of pools",
			description: "What clients read from and write to each pool, by Ceph's own counters. It is that of all clients, not only of the benchmark's: traffic between the shaded runs comes from other clients.",
			unit:        bytesPerSecond, empty: noCeph, width: 12, height: 8,
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
		graph(about{
			title:       "Commit latency of OSDs",
			description: "How long OSDs take to commit, as \"ceph osd perf\" reports it: the slowest OSD, and the mean of all. One OSD that is far slower than the mean limits all of them.",
			unit:        milliseconds, empty: noCeph, width: 8, height: 7,
		},
			line{id: "slowest", expression: fmt.Sprintf("max(%s)", ofCeph(cephOSDCommit)), legend: "slowest", color: fixed(vermillion)},
			line{id: "mean", expression: fmt.Sprintf("avg(%s)", ofCeph(cephOSDCommit)), legend: "mean", color: fixed(blue)},
		).Min(0),
		timeline(about{
			title:       "Health",
			description: "Ceph's health. A sweep stops, and restores, when the cluster reports what no step of it expects.",
			empty:       noCeph, width: 8, height: 7,
		}, fmt.Sprintf("max(%s)", ofCeph(cephHealth)), "health", mappings(
			state{"0", "HEALTH_OK", blue},
			state{"1", "HEALTH_WARN", orange},
			state{"2", "HEALTH_ERR", vermillion},
		)),
		steps(about{
			title:       "What is not settled",
			description: "Placement groups that are not clean, objects that are misplaced or degraded, and OSDs that are down or out. Runs begin when all of it is 0.",
			unit:        count, empty: noCeph, width: 8, height: 7,
		},
			line{id: "unclean", expression: fmt.Sprintf("sum(%s) - sum(%s)", ofCeph(cephPGs), ofCeph(cephPGsClean)), legend: "PGs not clean", color: fixed(blue)},
			line{id: "misplaced", expression: fmt.Sprintf("sum(%s)", ofCeph(cephMisplaced)), legend: "objects misplaced", color: fixed(sky)},
			line{id: "degraded", expression: fmt.Sprintf("sum(%s)", ofCeph(cephDegraded)), legend: "objects degraded", color: fixed(orange)},
			line{id: "down", expression: fmt.Sprintf("count(%[1]s == 0) or 0 * count(%[1]s)", ofCeph(cephOSDUp)), legend: "OSDs down", color: fixed(vermillion)},
			line{id: "out", expression: fmt.Sprintf("count(%[1]s == 0) or 0 * count(%[1]s)", ofCeph(cephOSDIn)), legend: "OSDs out", color: fixed(purple)},
		).Min(0),
	}
}
