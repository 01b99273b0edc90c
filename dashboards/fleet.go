package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/cephtune/cephtune/internal/metrics"
)

// noManager is the text of an empty panel that should always have data.
const noManager = "No metrics of cephtune here: check that this Prometheus scrapes its manager"

// fleet is the dashboard of all sweeps, benchmarks and Ceph clusters that one Prometheus knows.
func fleet() page {
	return page{
		uid:         FleetUID,
		title:       "cephtune / Fleet",
		description: "All sweeps and benchmarks, the lock and the queue of each Ceph cluster, what failed, and what is still to be restored.",
		from:        "now-24h",
		variables: []cog.Builder[dashboard.VariableModel]{
			dataSourceVariable(),
			clusterVariable(),
			several(labelVariable("namespace", "Namespace", fmt.Sprintf(`{__name__=~"%s|%s"}`, metrics.SweepInfo, metrics.BenchmarkInfo), metrics.LabelNamespace).
				Description("Namespaces of sweeps and benchmarks.")),
			several(labelVariable("ceph_cluster", "Ceph cluster", metrics.LockHeld, metrics.LabelCluster).
				Description("Ceph clusters, as namespace/name of the CephCluster.")),
		},
		rows: []row{
			{panels: atAGlance()},
			{title: "Sweeps and benchmarks", panels: []cog.Builder[dashboard.Panel]{sweeps(), benchmarks(), findings()}},
			{title: "Ceph clusters", panels: clusters()},
			{title: "Failures and restores", panels: failures()},
			{title: "OSDs that benchmarks keep down", panels: outages()},
			{title: "Health of cephtune itself", panels: inside()},
		},
	}
}

// ofNamespaces selects the series of all sweeps or benchmarks in the chosen namespaces.
func ofNamespaces(metric string, matchers ...string) string {
	return selector(metric, append([]string{metrics.LabelNamespace + `=~"$namespace"`}, matchers...)...)
}

// ofClusters selects the series of the chosen Ceph clusters.
func ofClusters(metric string) string {
	return selector(metric, metrics.LabelCluster+`=~"$ceph_cluster"`)
}

// happened returns a query for the increase of a counter in the time range.
func happened(counter string) string {
	return fmt.Sprintf("sum(increase(%s[$__range]))", counter)
}

// These matchers select restores by their outcome.
const (
	restoreFailed = metrics.LabelOutcome + `="Failed"`
	restoreEnded  = metrics.LabelOutcome + `!="Failed"`
)

// zeroWhileReporting is a query for the value 0 while a manager reports metrics. Panels with a number show
// this value if their own query has no series. Without a manager, the result is empty, because the panel's
// number is then unknown.
const zeroWhileReporting = "0 * max(" + metrics.CollectionErrors + ")"

func atAGlance() []cog.Builder[dashboard.Panel] {
	number := func(title string, width uint32, description, expression string) cog.Builder[dashboard.Panel] {
		return figure(about{
			title: title, description: description,
			unit: count, empty: noManager, width: width, height: 3,
		}, expression, nil)
	}
	measuring := func(metric string) string {
		return fmt.Sprintf("count(%s) or "+zeroWhileReporting, latest(ofNamespaces(metric), metrics.LabelNamespace, metrics.LabelName))
	}
	return []cog.Builder[dashboard.Panel]{
		number("Sweeps measuring", 5, "Sweeps with a run that measures right now. It does not count sessions of the design Interleaved.", measuring(metrics.SweepRunning)),
		number("Benchmarks measuring", 5, "Benchmarks that measure right now, including those of sweeps.", measuring(metrics.BenchmarkRunning)),
		number("Waiting", 4, "Sweeps and benchmarks that wait for the lock of their Ceph cluster.",
			fmt.Sprintf("sum(%s)", latest(ofClusters(metrics.QueueLength), metrics.LabelCluster))),
		number("Stalled", 5, "Sweeps and benchmarks that have failed, or wait for a person: their own dashboards say why, and what to do.", stalled()+" or "+zeroWhileReporting),
		number("Not restored", 5, "Settings that sweeps have changed and not restored yet, according to open journals. This is normal while a sweep runs.",
			fmt.Sprintf("sum(%s)", latest(ofClusters(metrics.JournalOpen), metrics.LabelCluster))),
		number("Failed restores", 6, "Failed attempts in this time range to restore settings. They are repeated until one succeeds, or a person abandons the restore.",
			happened(selector(metrics.Restores, restoreFailed))+" or "+zeroWhileReporting),
		number("Invalid runs", 6, "Invalid runs and sessions in this time range, which are excluded from results.", happened(metrics.InvalidRuns)+" or "+zeroWhileReporting),
		number("Series left out", 6, "Series that the exporter leaves out to stay within its bound. Above 0, these dashboards lack some sweeps or benchmarks, or some figures of "+
			"benchmarks with several phases or directions.",
			fmt.Sprintf("max(%s)", metrics.DroppedSeries)),
		number("Not read", 6, "Locks, journals, CephClusters or lists that the exporter could not read at its latest scrape. Above 0, something is missing here; the manager's log says why.",
			fmt.Sprintf("max(%s)", metrics.CollectionErrors)),
	}
}

// stalled returns a query for the number of sweeps and benchmarks that have failed, or wait for a user.
func stalled() string {
	ofKind := func(kind, metric string) string {
		return fmt.Sprintf(`label_replace(%s, "kind", %q, "", "")`,
			latest(ofNamespaces(metric, metrics.LabelState+`="`+metrics.StateStalled+`"`), metrics.LabelNamespace, metrics.LabelName), kind)
	}
	return fmt.Sprintf("count(%s or %s)", ofKind("CephTuningSweep", metrics.SweepInfo), ofKind("CephBenchmark", metrics.BenchmarkInfo))
}

// linkTo returns a link to another dashboard of cephtune, for the namespace and the name in the row. The
// link refers to these columns by their titles.
func linkTo(title, uid string) *dataLink {
	return &dataLink{
		Title: title,
		URL:   fmt.Sprintf("/d/%s?var-datasource=${datasource}&var-namespace=${__data.fields.Namespace}&var-name=${__data.fields.Name}", uid),
	}
}

func sweeps() *table.PanelBuilder {
	labels := []string{metrics.LabelNamespace, metrics.LabelName}
	return rowsOf(about{
		title:       "Sweeps",
		description: "All sweeps. A click on a name leads to the sweep's dashboard.",
		empty:       "No sweep in these namespaces", width: 24, height: 8,
	}, []column{
		{field: valueOf("info"), hidden: true},
		{field: metrics.LabelNamespace, title: "Namespace", width: 140},
		{field: metrics.LabelName, title: "Name", link: linkTo("This sweep", SweepUID), width: 160},
		{field: metrics.LabelCluster, title: "Ceph cluster", width: 210},
		{field: metrics.LabelReason, title: "State", width: 130},
		{field: valueOf("progress"), title: "Progress", unit: fraction, width: 90},
		{field: valueOf("end"), title: "Expected to end", unit: fromNow, width: 140},
		{field: metrics.LabelBest, title: "Best configuration"},
		{field: metrics.LabelVerdict, title: "Verdict", values: sweepVerdicts(), width: 140},
		{field: valueOf("restored"), title: "Settings", values: mappings(
			state{"1", "Restored", blue},
			state{"0", "Changed", orange},
		)},
	},
		instant("info", latest(ofNamespaces(metrics.SweepInfo),
			append(labels, metrics.LabelCluster, metrics.LabelReason, metrics.LabelBest, metrics.LabelVerdict)...)),
		instant("progress", latest(ofNamespaces(metrics.SweepProgressRatio), labels...)),
		instant("end", "1000 * "+latest(ofNamespaces(metrics.SweepEstimatedCompletion), labels...)),
		instant("restored", latest(ofNamespaces(metrics.SweepRestored), labels...)),
	)
}

func benchmarks() *table.PanelBuilder {
	labels := []string{metrics.LabelNamespace, metrics.LabelName}
	return rowsOf(about{
		title:       "Benchmarks",
		description: "All benchmarks except those that sweeps create for their runs. A click on a name leads to the benchmark's dashboard.",
		empty:       "No benchmark in these namespaces", width: 24, height: 8,
	}, []column{
		{field: valueOf("info"), hidden: true},
		{field: metrics.LabelNamespace, title: "Namespace", width: 140},
		{field: metrics.LabelName, title: "Name", link: linkTo("This benchmark", BenchmarkUID), width: 160},
		{field: metrics.LabelCluster, title: "Ceph cluster", width: 210},
		{field: metrics.LabelReason, title: "State", width: 130},
		{field: valueOf("progress"), title: "Progress", unit: fraction, width: 90},
		{field: metrics.LabelRunID, title: "Run ID", width: 90},
		{field: valueOf("completed"), title: "Latest run ended", unit: fromNow, width: 140},
		{field: metrics.LabelVerdict, title: "Verdict", values: benchmarkVerdicts(), width: 140},
		{field: metrics.LabelSummary, title: "What it found"},
	},
		instant("info", latest(ofNamespaces(metrics.BenchmarkInfo, notOfSweeps),
			append(labels, metrics.LabelCluster, metrics.LabelReason, metrics.LabelRunID, metrics.LabelVerdict, metrics.LabelSummary)...)),
		instant("progress", latest(ofNamespaces(metrics.BenchmarkProgressRatio, notOfSweeps), labels...)),
		instant("completed", "1000 * "+latest(ofNamespaces(metrics.BenchmarkCompletion, notOfSweeps), labels...)),
	)
}

func findings() *table.PanelBuilder {
	labels := []string{metrics.LabelNamespace, metrics.LabelName, metrics.LabelCode, metrics.LabelConfidence}
	return rowsOf(about{
		title:       "Findings of diagnoses",
		description: "What the latest run of each diagnosis found to be slow. Its status and its report have evidence and remedies.",
		empty:       "No diagnosis in these namespaces found a cause", width: 24, height: 7,
	}, []column{
		{field: onlyValue, hidden: true},
		{field: metrics.LabelNamespace, title: "Namespace", width: 140},
		{field: metrics.LabelName, title: "Diagnosis", width: 160},
		{field: metrics.LabelConfidence, title: "Confidence", width: 110},
		{field: metrics.LabelCode, title: "Finding"},
	}, instant("findings", latest(ofNamespaces(metrics.BenchmarkFinding), labels...)))
}

func clusters() []cog.Builder[dashboard.Panel] {
	const none = "The operator config names no Ceph cluster that is ready, or the manager is not scraped"
	held := ofClusters(metrics.LockHeld)
	return []cog.Builder[dashboard.Panel]{
		rowsOf(about{
			title:       "Lock and queue now",
			description: "Who holds the lock of each Ceph cluster, since when, how many wait for it, how many settings are still to be restored, how many OSDs a benchmark or sweep keeps down, and until when.",
			empty:       none, width: 24, height: 6,
		}, []column{
			{field: metrics.LabelCluster, title: "Ceph cluster", width: 210},
			{field: metrics.LabelHolder, title: "Holder"},
			{field: valueOf("held"), title: "Lock", values: mappings(state{"1", "Held", blue}, state{"0", "Free", grey}), width: 70},
			{field: valueOf("since"), title: "Since", unit: fromNow, width: 140},
			{field: valueOf("queue"), title: "Waiting", unit: count, width: 80},
			{field: valueOf("journal"), title: "To be restored", unit: count, width: 115},
			{field: valueOf("osds"), title: "OSDs down", unit: count, width: 90},
			{field: valueOf("due"), title: "Up by", unit: fromNow, width: 120},
		},
			instant("held", latest(held, metrics.LabelCluster, metrics.LabelHolder)),
			instant("since", "1000 * "+latest(ofClusters(metrics.LockAcquired), metrics.LabelCluster)),
			instant("queue", latest(ofClusters(metrics.QueueLength), metrics.LabelCluster)),
			instant("journal", latest(ofClusters(metrics.JournalOpen), metrics.LabelCluster)),
			instant("osds", latest(ofClusters(metrics.OSDsKeptDown), metrics.LabelCluster)),
			instant("due", "1000 * "+latest(ofClusters(metrics.OSDsDueUp), metrics.LabelCluster)),
		),
		timeline(about{
			title:       "Lock holders over time",
			description: "The holders of the locks. A Ceph cluster has one at a time.",
			empty:       "No lock was held in this time range", width: 24, height: 6,
		}, latest(held+" == 1", metrics.LabelCluster, metrics.LabelHolder), "{{ceph_cluster}}: {{holder}}",
			mappings(state{"1", "held", blue})),
		steps(about{
			title:       "Waiting for the lock",
			description: "The length of the queue of each Ceph cluster.",
			unit:        count, empty: none, width: 12, height: 7,
		}, line{id: "queue", expression: latest(ofClusters(metrics.QueueLength), metrics.LabelCluster), legend: "{{ceph_cluster}}", color: shades(blue)}).
			Min(0),
		steps(about{
			title:       "Settings still to be restored",
			description: "Open entries of journals. They rise when a sweep changes something, and must be 0 again when no sweep runs.",
			unit:        count, empty: none, width: 12, height: 7,
		}, line{id: "journal", expression: latest(ofClusters(metrics.JournalOpen), metrics.LabelCluster), legend: "{{ceph_cluster}}", color: shades(orange)}).
			Min(0),
	}
}

func restores(matcher string) string {
	return fmt.Sprintf("sum by (outcome) (increase(%s[$__rate_interval]))", selector(metrics.Restores, matcher))
}

func failures() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		bars(about{
			title:       "Invalid runs by reason",
			description: "Invalid runs and sessions, by kind and reason: a setting was inert, the cluster was disturbed, an engine failed, and so on. A few are normal; many with one reason need a look.",
			unit:        count, empty: "No run was invalid since the manager was started", width: 12, height: 8,
		}, line{
			id:         "invalid",
			expression: fmt.Sprintf("sum by (kind, reason) (increase(%s[$__rate_interval]))", metrics.InvalidRuns),
			legend:     "{{kind}}: {{reason}}", color: shades(orange),
		}),
		bars(about{
			title: "Restores by outcome",
			description: "How often settings were restored, by outcome. LeftAlone: something else had changed a setting. OSDsNotRestarted: OSDs may use the sweep's values until they " +
				"restart. Abandoned: a person abandoned the restore, or the journal was removed. Failed attempts are repeated.",
			unit: count, empty: "Nothing was restored since the manager started", width: 12, height: 8,
		},
			line{id: "ended", expression: restores(restoreEnded), legend: "{{outcome}}", color: shades(blue)},
			line{id: "failed", expression: restores(restoreFailed), legend: "{{outcome}}", color: fixed(vermillion)},
		),
	}
}

// outages returns the panels about outages. Outages are rare, so quantiles cover six hours: over a shorter
// time, most quantiles would have no data.
func outages() []cog.Builder[dashboard.Panel] {
	const none = "No benchmark took OSDs down since the manager was started"
	cost := func(counter string) string { return fmt.Sprintf("sum(increase(%s[$__rate_interval]))", counter) }
	return []cog.Builder[dashboard.Panel]{
		bars(about{
			title:       "Outages by outcome",
			description: "Runs with an outage. Measured: the run is valid. Refused: no OSD was stopped. Failed: OSDs were stopped, but the run is invalid.",
			unit:        count, empty: none, width: 8, height: 7,
		}, line{
			id:         "outages",
			expression: fmt.Sprintf("sum by (outcome) (increase(%s[$__rate_interval]))", metrics.Outages),
			legend:     "{{outcome}}", color: shades(blue),
		}),
		steps(about{
			title: "How long outages and recoveries took",
			description: "Medians of the previous six hours: the length of the outage, and the time from its end until OSDs were up, until placement groups were active, and until all " +
				"placement groups were clean.",
			unit: seconds, empty: none, width: 8, height: 7,
		}, line{
			id: "parts", expression: quantile("0.5", metrics.OutageDuration, "increase(%s[6h])", metrics.LabelPart),
			legend: "{{part}}", color: shades(orange),
		}).Min(0),
		bars(about{
			title:       "What had to be recovered",
			description: "The number of recovered copies of objects in outages. Each missing copy adds one degraded object-second for each second.",
			unit:        count, empty: none, width: 8, height: 7,
		},
			line{id: "recovered", expression: cost(metrics.RecoveredObjects), legend: "copies recovered", color: fixed(blue)},
			line{id: "degraded", expression: cost(metrics.DegradedObjectSeconds), legend: "degraded object-seconds", color: fixed(orange)},
		),
	}
}

// inside returns the panels about the manager itself. Clusters rarely have to settle, so quantiles of the
// time to settle cover an hour: over a shorter time, most quantiles would have no data.
func inside() []cog.Builder[dashboard.Panel] {
	const hour = "increase(%s[1h])"
	const rate = "rate(%s[$__rate_interval])"
	return []cog.Builder[dashboard.Panel]{
		steps(about{
			title:       "Time to settle",
			description: "How long clusters took from a change until all placement groups were clean and the cluster was quiescent: median and 95th percentile of the previous hour.",
			unit:        seconds, empty: "No cluster had to settle in this time range", width: 12, height: 7,
		},
			line{id: "p50", expression: quantile("0.5", metrics.Settle, hour), legend: "median", color: fixed(blue)},
			line{id: "p95", expression: quantile("0.95", metrics.Settle, hour), legend: "p95", color: fixed(orange)},
		).Min(0),
		graph(about{
			title:       "Requests to the Ceph sidecar, p95",
			description: "How long the sidecar that talks to Ceph takes, by verb: the 95th percentile.",
			unit:        seconds, empty: "There were no requests to Ceph in this time range", width: 12, height: 7,
		}, line{
			id: "sidecar", expression: quantile("0.95", metrics.SidecarRequest, rate, metrics.LabelVerb),
			legend: "{{verb}}", color: shades(blue),
		}).Min(0),
		graph(about{
			title:       "Failed requests to the Ceph sidecar",
			description: "Requests to the sidecar that failed, by verb.",
			unit:        requests, empty: "No request failed since the manager was started", width: 12, height: 7,
		}, line{
			id:         "errors",
			expression: fmt.Sprintf("sum by (verb) (rate(%s[$__rate_interval]))", metrics.SidecarErrors),
			legend:     "{{verb}}", color: shades(vermillion),
		}).Min(0),
		graph(about{
			title:       "Requests to the Kubernetes API, p95",
			description: "How long the Kubernetes API takes to answer the manager, by verb: the 95th percentile.",
			unit:        seconds, empty: noManager, width: 12, height: 7,
		}, line{
			id: "api", expression: quantile("0.95", metrics.APIRequest, rate, metrics.LabelVerb),
			legend: "{{verb}}", color: shades(blue),
		}).Min(0),
	}
}
