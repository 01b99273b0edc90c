package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/cephtune/cephtune/internal/metrics"
)

// noBenchmark says why a panel about a benchmark is empty.
const noBenchmark = "No such benchmark in this time range: choose a namespace and a name above"

// noResult says why a panel with results is empty.
const noResult = "No result in this time range: figures appear when all repetitions have ended"

// noOutage says why a panel about outages is empty.
const noOutage = "No outage was measured in this time range: template.outage takes OSDs down in mid-phase"

func benchmark() page {
	return page{
		uid:         BenchmarkUID,
		title:       "cephtune / Benchmark",
		description: "One CephBenchmark: its latest figures, how they compare with those of its earlier runs, and what Ceph did meanwhile.",
		from:        "now-30d",
		variables: []cog.Builder[dashboard.VariableModel]{
			dataSourceVariable(),
			clusterVariable(),
			labelVariable("namespace", "Namespace", selector(metrics.BenchmarkInfo, notOfSweeps), metrics.LabelNamespace).
				Description("The namespace of the CephBenchmark."),
			labelVariable("name", "Benchmark", selector(metrics.BenchmarkInfo, ofNamespace, notOfSweeps), metrics.LabelName).
				Description("The CephBenchmark."),
			cephVariable(metrics.BenchmarkInfo),
			hostVariable(),
		},
		annotations: []annotation{
			mark("Repetitions", grey, latest(one(metrics.BenchmarkRunning), metrics.LabelRun), "Repetition {{run}}", "is measured"),
			mark("New run", sky, appeared(metrics.LabelRunID), "Run {{run_id}}", "run ID {{run_id}}"),
			mark("Regressed", purple, becameTrue(one(metrics.BenchmarkRegressed)), "Regressed",
				"{{name}} has got worse: the condition Regressed says which figure, since when, and by how much"),
			mark("Change of the environment", vermillion, appeared(metrics.LabelEnvironment),
				"Environment {{environment}}", "Compare figures before and after this only if this digest was the same before"),
		},
		rows: []row{
			{panels: append(benchmarkState(), commands("cephbenchmark", metrics.BenchmarkInfo, "OSDs", noBenchmark))},
			{title: "Latest result", panels: []cog.Builder[dashboard.Panel]{phases(), percentiles(), expectations()}},
			{title: "Run after run", panels: history()},
			{title: "How much it can take", panels: sustainable()},
			{title: "After failing OSDs", panels: recoveries()},
			{title: "Repetitions and environment", panels: circumstances()},
			{title: "OSDs meanwhile", panels: osdPanels()},
			{title: "Hosts meanwhile", panels: hostPanels()},
		},
	}
}

// appeared selects each new value of a label of the benchmark, for ten minutes after the value appears.
// Queries with steps of up to ten minutes then find it. A value is new if it did not exist in the hour
// before it appeared.
func appeared(label string) string {
	info := one(metrics.BenchmarkInfo, label+`!=""`)
	return fmt.Sprintf("%s unless %s", latest(info, label), latest(fmt.Sprintf("last_over_time(%s[1h] offset 10m)", info), label))
}

// becameTrue selects a series that is 1, for ten minutes after it became 1. As with appeared, it was not 1 in the hour before.
func becameTrue(series string) string {
	earlier := fmt.Sprintf("max_over_time(%s[1h] offset 10m)", series)
	return fmt.Sprintf("%s == 1 unless %s == 1", latest(series, metrics.LabelName), latest(earlier, metrics.LabelName))
}

func benchmarkState() []cog.Builder[dashboard.Panel] {
	info := latest(one(metrics.BenchmarkInfo), metrics.LabelCluster, metrics.LabelReason, metrics.LabelVerdict,
		metrics.LabelSummary, metrics.LabelEnvironment, metrics.LabelRunID)
	return []cog.Builder[dashboard.Panel]{
		words(about{
			title:       "Verdict",
			description: "Whether the benchmark's expectations were met.",
			empty:       "None: the benchmark has no expectations, or its repetitions have not ended", width: 5, height: 4,
		}, info, metrics.LabelVerdict, 30, benchmarkVerdicts()),
		words(about{
			title:       "What it found",
			description: "The outcome in a few sentences, or what a person has to do.",
			empty:       "Nothing yet: the outcome appears when all repetitions have ended", width: 13, height: 4,
		}, info, metrics.LabelSummary, 18, nil),
		words(about{
			title:       "State",
			description: "The state of the benchmark: the reason of its condition Ready.",
			empty:       noBenchmark, width: 6, height: 4,
		}, info, metrics.LabelReason, 22, nil),
		figure(about{
			title:       "Progress",
			description: "The share of the repetitions of the current run ID that have ended.",
			unit:        fraction, empty: "None: the benchmark is stalled or suspended, or does not exist", width: 5, height: 3,
		}, fmt.Sprintf("max(%s)", one(metrics.BenchmarkProgressRatio)), nil),
		words(about{
			title:       "Run ID",
			description: "The run ID of these figures. A change of spec.runID requests all repetitions again.",
			empty:       noBenchmark, width: 5, height: 3,
		}, info, metrics.LabelRunID, 22, nil),
		figure(about{
			title:       "Latest run ended",
			description: "When the repetitions of the latest run ID had ended.",
			unit:        fromNow, empty: "The repetitions have not ended", width: 5, height: 3,
		}, fmt.Sprintf("1000 * max(%s)", one(metrics.BenchmarkCompletion)), nil),
		words(about{
			title:       "Environment",
			description: "A fingerprint of everything that results depend on, such as the version of Ceph. Figures of different environments are not comparable.",
			empty:       "Unknown until all repetitions have ended", width: 5, height: 3,
		}, info, metrics.LabelEnvironment, 22, nil),
		saturatedHosts(4),
	}
}

// figureOf returns a query for a figure of each phase and direction.
func figureOf(metric string, matchers ...string) string {
	return latest(one(metric, matchers...), metrics.LabelPhase, metrics.LabelDirection)
}

// statistic returns the label matcher for one statistic of latencies, such as p99.
func statistic(name string) string {
	return fmt.Sprintf("%s=%q", metrics.LabelStatistic, name)
}

// ofTotal returns a query for a figure that exists only for whole phases. It adds the direction Total, so
// that a table shows the figure in the row of that direction.
func ofTotal(metric string) string {
	return fmt.Sprintf(`label_replace(%s, %q, "Total", "", "")`, latest(one(metric), metrics.LabelPhase), metrics.LabelDirection)
}

// evidence returns a query with a row for each phase and direction. A row has the number of valid runs, and
// the marks of the phase, such as ClosedLoop.
func evidence() string {
	return fmt.Sprintf("0 * %s + on (phase) group_left (marks) %s",
		figureOf(metrics.BenchmarkBandwidth), latest(one(metrics.BenchmarkValidRuns), metrics.LabelPhase, metrics.LabelMarks))
}

// expectations shows how many expectations are met, missed or unknown.
func expectations() *table.PanelBuilder {
	return rowsOf(about{
		title: "Expectations",
		description: "The number of expectations by outcome. Unknown means that the interval of a figure contains the limit, or that the figure or its interval is missing. " +
			"status.expectations lists all expectations.",
		empty: "None: the benchmark has no expectations, or its repetitions have not ended", width: 7, height: 9,
	}, []column{
		{field: metrics.LabelOutcome, title: "Outcome", values: mappings(
			state{"Met", "✓ Met", blue},
			state{"Missed", "✕ Missed", vermillion},
			state{"Unknown", "? Unknown", orange},
		)},
		{field: onlyValue, title: "Expectations", unit: count, width: 120},
	}, instant("expectations", latest(one(metrics.BenchmarkExpectations), metrics.LabelOutcome)))
}

// latencies returns the statistics of latencies, as the metrics name them. Each has an id for its query,
// and a colour.
func latencies() []struct{ id, name, color string } {
	return []struct{ id, name, color string }{
		{"mean", "mean", grey},
		{"p50", "p50", sky},
		{"p95", "p95", blue},
		{"p99", "p99", orange},
		{"p99_9", "p99.9", vermillion},
		{"max", "max", purple},
	}
}

func phases() *table.PanelBuilder {
	columns := []column{
		{field: metrics.LabelPhase, title: "Phase", width: 160},
		{field: metrics.LabelDirection, title: "Direction", width: 90},
		{field: valueOf("bandwidth"), title: "Bandwidth", unit: bytesPerSecond},
		{field: valueOf("low"), title: "Low", unit: bytesPerSecond},
		{field: valueOf("high"), title: "High", unit: bytesPerSecond},
		{field: valueOf("iops"), title: "IOPS", unit: perSecond},
	}
	queries := []*prometheus.DataqueryBuilder{
		instant("bandwidth", figureOf(metrics.BenchmarkBandwidth)),
		instant("low", ofTotal(metrics.BenchmarkBandwidthLow)),
		instant("high", ofTotal(metrics.BenchmarkBandwidthHigh)),
		instant("iops", figureOf(metrics.BenchmarkIOPS)),
	}
	for _, latency := range latencies() {
		columns = append(columns, column{field: valueOf(latency.id), title: latency.name, unit: seconds})
		queries = append(queries, instant(latency.id, figureOf(metrics.BenchmarkLatency, statistic(latency.name))))
	}
	columns = append(columns,
		column{field: valueOf("runs"), title: "Valid runs", unit: count, width: 90},
		column{field: metrics.LabelMarks, title: "Notes", width: 220})
	queries = append(queries, instant("runs", evidence()))
	return rowsOf(about{
		title: "Phases",
		description: "The figures of each phase over all valid repetitions of the run ID. Low and High are the ends of the 95 % interval of the bandwidth, which needs three valid " +
			"repetitions. The note ClosedLoop means that latencies were measured without an offered rate: bandwidth, IOPS and mean latency are then one observation in three units. Cached " +
			"means that the phase reads data that, if they are in Ceph, are less than twice as large as the caches of the OSDs, or that the size of the caches is unknown. The documentation " +
			"of status.phases explains the other notes.",
		empty: noResult, width: 24, height: 8,
	}, columns, queries...)
}

func percentiles() *barchart.PanelBuilder {
	bars := make([]bar, 0, len(latencies()))
	for _, latency := range latencies() {
		if latency.name == "max" {
			continue // The maximum would dwarf all percentiles.
		}
		bars = append(bars, bar{
			id:    latency.id,
			title: latency.name,
			expression: fmt.Sprintf(`label_join(%s, "of", " ", "phase", "direction")`,
				figureOf(metrics.BenchmarkLatency, statistic(latency.name))),
			color: latency.color,
		})
	}
	return categories(about{
		title: "Latency percentiles",
		description: "The mean and the percentiles of the latencies of each phase. The percentiles cover all operations of all valid repetitions of the run ID; the mean is the geometric " +
			"mean of the repetitions' means.",
		unit: seconds, empty: "No percentiles: only fio reports them, and they appear when all repetitions have ended", width: 17, height: 9,
	}, "of", bars...)
}

// limitOf returns the limits of the expectations on a metric.
func limitOf(metric string) line {
	return line{
		id: "limit", expression: latest(one(metrics.BenchmarkLimit, metrics.LabelMetric+`=~"`+metric+`"`), metrics.LabelPhase, metrics.LabelDirection, metrics.LabelMetric),
		legend: "{{phase}} {{metric}}, limit", color: fixed(vermillion), reference: true,
	}
}

// history shows how figures change from one run ID to the next.
func history() []cog.Builder[dashboard.Panel] {
	const legend = "{{phase}} {{direction}}"
	over := func(title, quantity, unit string, lines ...line) *timeseries.PanelBuilder {
		return steps(about{
			title: title,
			description: quantity + " of each phase. Each value is drawn from the end of its run ID until the next one begins. " +
				"Dashed lines are limits of expectations. Marks show new run IDs, and changes of the environment.",
			unit: unit, empty: noResult, width: 8, height: 8,
		}, lines...).Min(0)
	}
	return []cog.Builder[dashboard.Panel]{
		timeline(about{
			title:       "Regressed",
			description: "Whether a figure is worse since a certain run ID. The condition Regressed says which figure, since when, and by how much.",
			empty:       "Not judged yet: it takes at least 12 run IDs of the same workload", width: 24, height: 3,
		}, latest(one(metrics.BenchmarkRegressed), metrics.LabelName), "{{name}}", mappings(state{"0", "no known change for the worse", blue}, state{"1", "worse", vermillion})),
		over("Bandwidth, run after run", "The bandwidth", bytesPerSecond,
			line{id: "bandwidth", expression: figureOf(metrics.BenchmarkBandwidth), legend: legend, color: shades(blue)},
			limitOf("Bandwidth")),
		over("IOPS, run after run", "The operations per second", perSecond,
			line{id: "iops", expression: figureOf(metrics.BenchmarkIOPS), legend: legend, color: shades(blue)},
			limitOf("IOPS")),
		over("Latency, run after run", "The mean and the 99th percentile of the latencies", seconds,
			line{id: "mean", expression: figureOf(metrics.BenchmarkLatency, statistic("mean")), legend: legend + " mean", color: shades(blue)},
			line{id: "p99", expression: figureOf(metrics.BenchmarkLatency, statistic("p99")), legend: legend + " p99", color: shades(orange)},
			limitOf("Latency.*")),
		comparison("Bandwidth against earlier runs", "bandwidth", bytesPerSecond, noResult, metrics.BenchmarkBandwidth),
		comparison("Mean latency against earlier runs", "mean latency", seconds, noResult, metrics.BenchmarkLatency, statistic("mean")),
	}
}

// noCurve says why a panel about curves is empty.
const noCurve = "No rate was found in this time range: fio.curve of a phase looks for the highest rate that keeps a limit of latency"

// sustainable shows the highest rate that keeps a limit of latency.
func sustainable() []cog.Builder[dashboard.Panel] {
	rates := steps(about{
		title: "Sustainable rate, run after run",
		description: "The highest rate that keeps the limit of a curve, with its 95 % interval. Each value is drawn from the end of its run ID until the next one begins. The report of the " +
			"benchmark has the steps.",
		unit: perSecond, empty: noCurve, width: 12, height: 7,
	}, line{id: "rate", expression: figureOf(metrics.BenchmarkSustainable), legend: "{{phase}}", color: shades(blue)},
		line{id: "low", expression: ofTotal(metrics.BenchmarkSustainableLow), legend: "{{phase}}, low", color: shades(grey)},
		line{id: "high", expression: ofTotal(metrics.BenchmarkSustainableHigh), legend: "{{phase}}, high", color: shades(grey)}).Min(0)
	against := comparison("Sustainable rate against earlier runs", "sustainable rate", perSecond, noCurve, metrics.BenchmarkSustainable)
	return []cog.Builder[dashboard.Panel]{rates, against}
}

// recoveries shows how long a cluster takes to recover completely after an outage.
func recoveries() []cog.Builder[dashboard.Panel] {
	whole := steps(about{
		title: "Time to clean, run after run",
		description: "The time from when noup of the OSDs was unset until all placement groups were clean again. Each value is drawn from the end of its run ID until the next one begins. " +
			"The report of the benchmark has the clients' performance during the outage and the recovery.",
		unit: seconds, empty: noOutage, width: 12, height: 7,
	}, line{id: "clean", expression: figureOf(metrics.BenchmarkTimeToClean), legend: "{{phase}}", color: shades(blue)}).Min(0)
	against := comparison("Time to clean against earlier runs", "time to clean", seconds, noOutage, metrics.BenchmarkTimeToClean)
	return []cog.Builder[dashboard.Panel]{whole, against}
}

// comparison compares the latest figure of each phase with the mean and the range of the figures in the
// time range.
func comparison(title, quantity, unit, empty, metric string, matchers ...string) *table.PanelBuilder {
	// Each pod of the manager has its own series. A time range may contain several pods, so the query
	// combines their series.
	in := func(over, function string) string {
		return fmt.Sprintf("%s by (%s,%s) (%s(%s[$__range]))", over, metrics.LabelPhase, metrics.LabelDirection, function, one(metric, matchers...))
	}
	mean := fmt.Sprintf("%s / %s", in("sum", "sum_over_time"), in("sum", "count_over_time"))
	return rowsOf(about{
		title: title,
		description: "The latest " + quantity + " of each phase, and its ratio to the mean over the time range. The weight of a run ID in the mean is the time from its end until the next one " +
			"began. The comparison is valid only without a change of the environment.",
		empty: empty, width: 12, height: 7,
	}, []column{
		{field: metrics.LabelPhase, title: "Phase"},
		{field: metrics.LabelDirection, title: "Direction", width: 90},
		{field: valueOf("latest"), title: "Latest", unit: unit},
		{field: valueOf("against"), title: "Against the mean", unit: fraction, width: 140},
		{field: valueOf("mean"), title: "Mean", unit: unit},
		{field: valueOf("lowest"), title: "Lowest", unit: unit},
		{field: valueOf("highest"), title: "Highest", unit: unit},
	},
		instant("latest", figureOf(metric, matchers...)),
		instant("against", fmt.Sprintf("%s / (%s)", figureOf(metric, matchers...), mean)),
		instant("mean", mean),
		instant("lowest", in("min", "min_over_time")),
		instant("highest", in("max", "max_over_time")),
	)
}

func circumstances() []cog.Builder[dashboard.Panel] {
	present := mappings(state{"1", "in force", blue})
	return []cog.Builder[dashboard.Panel]{
		graph(about{
			title:       "Progress of repetitions",
			description: "The share of the repetitions of the run ID that have ended. It rises only when a repetition ends.",
			unit:        fraction, empty: "None: the benchmark is stalled or suspended, or does not exist", width: 8, height: 7,
		}, line{
			id: "progress", expression: fmt.Sprintf("max(%s)", one(metrics.BenchmarkProgressRatio)),
			legend: "progress", color: fixed(blue),
		}).Min(0).Max(1).FillOpacity(15),
		timeline(about{
			title:       "Repetitions",
			description: "When each repetition measured. Repetitions are numbered within a run ID.",
			empty:       "Nothing was measured in this time range", width: 8, height: 7,
		}, latest(one(metrics.BenchmarkRunning), metrics.LabelRun), "repetition {{run}}",
			mappings(state{"1", "measured", blue})).AlignValue(common.TimelineValueAlignmentCenter),
		timeline(about{
			title:       "Environments",
			description: "The environment over time. A second line means that something that results depend on has changed: see status.environment of the CephBenchmark.",
			empty:       "Unknown until all repetitions have ended", width: 8, height: 7,
		}, latest(one(metrics.BenchmarkInfo, metrics.LabelEnvironment+`!=""`), metrics.LabelEnvironment), "{{environment}}", present),
	}
}
