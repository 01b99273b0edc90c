package dashboards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/cephtune/cephtune/internal/metrics"
)

// These matchers select the baseline, which is the configuration named baseline, and all other
// configurations.
const (
	isBaseline  = metrics.LabelConfiguration + `="baseline"`
	notBaseline = metrics.LabelConfiguration + `!="baseline"`
)

// noSweep says why a panel about a sweep is empty.
const noSweep = "No such sweep in this time range: choose a namespace and a name above"

// noRatio says why a panel with the intervals of ratios is empty.
const noRatio = "No interval yet: it needs several blocks, or a session"

func sweep() page {
	return page{
		uid:         SweepUID,
		title:       "cephtune / Sweep",
		description: "One CephTuningSweep: its result, how certain that is, and what Ceph did meanwhile.",
		from:        "now-3h",
		variables: []cog.Builder[dashboard.VariableModel]{
			dataSourceVariable(),
			clusterVariable(),
			labelVariable("namespace", "Namespace", metrics.SweepInfo, metrics.LabelNamespace).
				Description("The namespace of the CephTuningSweep."),
			labelVariable("name", "Sweep", selector(metrics.SweepInfo, ofNamespace), metrics.LabelName).
				Description("The CephTuningSweep."),
			cephVariable(metrics.SweepInfo),
			poolVariable(),
			hostVariable(),
		},
		annotations: []annotation{
			mark("Runs of the baseline", grey,
				latest(one(metrics.SweepRunning, isBaseline), metrics.LabelConfiguration, metrics.LabelRun),
				"{{configuration}}", "run {{run}}"),
			mark("Runs of configurations, and sessions", sky,
				latest(one(metrics.SweepRunning, notBaseline), metrics.LabelConfiguration, metrics.LabelRun),
				"{{configuration}}", "run {{run}}"),
		},
		rows: []row{
			{panels: append(slices.Concat(sweepOutcome(), sweepState(), sweepEvidence()),
				commands("cephtuningsweep", metrics.SweepInfo, "Settings", noSweep))},
			{title: "Configurations", panels: []cog.Builder[dashboard.Panel]{intervals(), convergence(), configurations()}},
			{title: "Runs", panels: []cog.Builder[dashboard.Panel]{runs(), runTimeline(), drift()}},
			{title: "Ceph meanwhile", panels: cephPanels()},
			{title: "OSDs meanwhile", panels: osdPanels()},
			{title: "Hosts meanwhile", panels: hostPanels()},
		},
	}
}

// sweepInfo returns a query for the labels that describe the sweep's state.
func sweepInfo() string {
	return latest(one(metrics.SweepInfo), metrics.LabelCluster, metrics.LabelReason, metrics.LabelVerdict,
		metrics.LabelSummary, metrics.LabelBest, metrics.LabelMetric)
}

func sweepOutcome() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		words(about{
			title: "Verdict",
			description: "The verdict on the best configuration. Superior: better than the baseline by more than minimumEffect. Better: better, but by less. Equivalent: the same within the " +
				"margin. Inferior: worse. Inconclusive: the runs do not decide. Invalid: the runs do not count.",
			empty: "No verdict yet: there is one when the sweep ends", width: 5, height: 4,
		}, sweepInfo(), metrics.LabelVerdict, 30, sweepVerdicts()),
		words(about{
			title:       "What it found",
			description: "The outcome in a few sentences, or what a person has to do.",
			empty:       "Nothing yet: the outcome appears when the sweep ends", width: 13, height: 4,
		}, sweepInfo(), metrics.LabelSummary, 18, nil),
		words(about{
			title:       "Best configuration",
			description: "The best configuration so far. Until there is a verdict, it may change.",
			empty:       "None yet: no configuration has a ratio", width: 6, height: 4,
		}, sweepInfo(), metrics.LabelBest, 20, nil),
	}
}

func sweepState() []cog.Builder[dashboard.Panel] {
	return []cog.Builder[dashboard.Panel]{
		words(about{
			title:       "State",
			description: "The state of the sweep: the reason of its condition Ready.",
			empty:       noSweep, width: 4, height: 3,
		}, sweepInfo(), metrics.LabelReason, 22, nil),
		figure(about{
			title:       "Progress",
			description: "The share of the planned runs or sessions that have ended. It jumps if a configuration drops out early, and falls if runs are repeated.",
			unit:        fraction, empty: "None: no run of the sweep has ended yet, or it does not exist", width: 3, height: 3,
		}, fmt.Sprintf("max(%s)", one(metrics.SweepProgressRatio)), nil),
		figure(about{
			title:       "Expected to end",
			description: "The expected end of the sweep with its restore, from the duration of its runs so far, or of its planned sessions. None if it has ended, is suspended, or no run has ended yet.",
			unit:        fromNow, empty: "It has ended, or no run of it has", width: 4, height: 3,
		}, fmt.Sprintf("1000 * max(%s)", one(metrics.SweepEstimatedCompletion)), nil),
		words(about{
			title:       "Measuring now",
			description: "The configuration that is being measured, and the number of the run. The design Interleaved switches every few seconds.",
			empty:       "No run is being measured", width: 5, height: 3,
		}, fmt.Sprintf(`label_join(%s, "measuring", " · run ", %q, %q)`,
			latest(one(metrics.SweepRunning), metrics.LabelConfiguration, metrics.LabelRun),
			metrics.LabelConfiguration, metrics.LabelRun), "measuring", 20, nil),
		figure(about{
			title: "Ceph's settings",
			description: "Whether everything that the sweep changed is restored. If the sweep has ended and this is not Restored, the restore was abandoned, or OSDs may use the sweep's " +
				"values until they restart: see the condition Restored.",
			unit: count, empty: "Nothing was changed yet", width: 4, height: 3,
		}, fmt.Sprintf("min(%s)", one(metrics.SweepRestored)), mappings(
			state{"1", "Restored", blue},
			state{"0", "Changed by the sweep", orange},
		)),
		saturatedHosts(4),
	}
}

// sweepEvidence shows the facts that explain the verdict.
func sweepEvidence() []cog.Builder[dashboard.Panel] {
	const afterwards = "Unknown until the sweep has ended; the design Interleaved does not report it"
	return []cog.Builder[dashboard.Panel]{
		words(about{
			title:       "Objective",
			description: "The compared figure, and whether higher or lower is better.",
			empty:       noSweep, width: 7, height: 3,
		}, fmt.Sprintf(`label_replace(label_join(%s, "objective", ", ", %q, %q), "objective", "$1 is better", "objective", "(.+)")`,
			latest(one(metrics.SweepInfo), metrics.LabelMetric, metrics.LabelBetter), metrics.LabelMetric, metrics.LabelBetter), "objective", 18, nil),
		words(about{
			title: "Constraints",
			description: "The outcome of the constraints, for the best configuration: Broken if one is broken, Unknown if an interval contains a limit or is missing, Kept if all are kept. A " +
				"configuration can win only if this is Kept.",
			empty: "None: the sweep has no constraints or no verdict yet, or the baseline is the best", width: 5, height: 3,
		}, latest(one(metrics.SweepInfo, metrics.LabelConstraints+`!=""`), metrics.LabelConstraints), metrics.LabelConstraints, 22, mappings(
			state{"Kept", "✓ Kept", blue},
			state{"Broken", "✕ Broken", vermillion},
			state{"Unknown", "? Unknown", orange},
		)),
		figure(about{
			title:       "Noise floor",
			description: "How much runs of the same configuration scatter: their coefficient of variation. Proving a smaller difference between configurations takes many runs.",
			unit:        fraction, empty: afterwards, width: 6, height: 3,
		}, fmt.Sprintf("max(%s)", one(metrics.SweepNoiseFloor)), nil),
		figure(about{
			title:       "Smallest provable effect",
			description: "The smallest improvement that the sweep could prove at its noise, four times out of five. Inconclusive does not mean that there is no effect: the effect may be smaller than this.",
			unit:        fraction, empty: afterwards, width: 6, height: 3,
		}, fmt.Sprintf("max(%s)", one(metrics.SweepSmallestEffect)), nil),
	}
}

// intervals draws each configuration's interval as a bar, relative to the baseline at zero. Grafana stacks
// bars from zero, so a hidden bar fills the part between zero and the interval. Bars below zero form a
// separate stack.
func intervals() *barchart.PanelBuilder {
	low, ratio, high := ratioSeries(metrics.SweepConfigurationRatioLow), ratioSeries(metrics.SweepConfigurationRatio), ratioSeries(metrics.SweepConfigurationRatioHigh)
	above := func(series string) string { return fmt.Sprintf("clamp_min(%s - 1, 0)", series) }
	below := func(series string) string { return fmt.Sprintf("clamp_max(%s - 1, 0)", series) }
	from := func(end, begin string) string { return end + " - " + begin }

	return categories(about{
		title: "Difference to the baseline, with its interval",
		description: "A bar is the interval of a configuration's ratio to the baseline, minus 1. Right of zero, the configuration's figure is higher than the baseline's; left of zero, it " +
			"is lower. The objective says which is better. The estimate is where the shades meet. If a bar contains zero, there may be no difference at all.",
		unit: fraction, empty: noRatio, width: 12, height: 10,
	}, metrics.LabelConfiguration,
		bar{id: "gap", title: "up to the interval", expression: above(low), color: none, hidden: true},
		bar{id: "lower", title: "low end to estimate", expression: from(above(ratio), above(low)), color: sky},
		bar{id: "upper", title: "estimate to high end", expression: from(above(high), above(ratio)), color: blue},
		bar{id: "gap_below", title: "down to the interval", expression: below(high), color: none, hidden: true},
		bar{id: "upper_below", title: "estimate to high end, below the baseline", expression: from(below(ratio), below(high)), color: blue, unnamed: true},
		bar{id: "lower_below", title: "low end to estimate, below the baseline", expression: from(below(low), below(ratio)), color: sky, unnamed: true},
	).Orientation(common.VizOrientationHorizontal).Stacking(common.StackingModeNormal).
		AxisSoftMin(-0.05).AxisSoftMax(0.05) // Without data, the axis would reach to thousands.
}

// convergence draws the ratios over time, between lines at the minimum effect. The ends of the intervals are thin.
func convergence() *timeseries.PanelBuilder {
	over := func(id, metric, legend string, color dashboard.FieldColor) line {
		return line{id: id, expression: ratioSeries(metric) + " - 1", legend: "{{configuration}}" + legend, color: color}
	}
	limit := func(id, sign, legend string) line {
		return line{id: id, expression: fmt.Sprintf("%smax(%s)", sign, one(metrics.SweepMinimumEffect)), legend: legend, color: fixed(vermillion), reference: true}
	}
	thin := []dashboard.DynamicConfigValue{property("custom.lineWidth", 1), property("custom.showPoints", "never")}
	return steps(about{
		title: "Difference to the baseline, and the minimum effect",
		description: "The estimate of each configuration as it came, with both ends of its interval. A configuration is Superior if its whole interval is beyond the dashed line on the better " +
			"side: above for bandwidth and IOPS, below for latencies. An interval that narrows shows that more measurements help.",
		unit: fraction, empty: noRatio, width: 12, height: 10,
	},
		over("low", metrics.SweepConfigurationRatioLow, " low", shades(sky)),
		over("high", metrics.SweepConfigurationRatioHigh, " high", shades(sky)),
		over("ratio", metrics.SweepConfigurationRatio, "", shades(blue)),
		limit("above", "", "minimum effect"),
		limit("below", "-", "minimum effect, as a loss"),
	).OverrideByQuery("low", thin).OverrideByQuery("high", thin)
}

// ratioSeries selects a metric of ratios for all configurations except the baseline.
func ratioSeries(metric string) string {
	return latest(one(metric, notBaseline), metrics.LabelConfiguration)
}

func configurations() *table.PanelBuilder {
	columns := []column{
		{field: metrics.LabelConfiguration, title: "Configuration"},
		{field: valueOf("ratio"), title: "Ratio", unit: noUnit, decimals: 3, width: 80},
		{field: valueOf("low"), title: "Low", unit: noUnit, decimals: 3, width: 80},
		{field: valueOf("high"), title: "High", unit: noUnit, decimals: 3, width: 80},
		{field: metrics.LabelVerdict, title: "Verdict", values: sweepVerdicts(), width: 140},
		{field: valueOf("typical"), title: "Typical figure", unitFrom: "unit", width: 130},
	}
	return rowsOf(about{
		title: "Configurations",
		description: "The ratio of each configuration to the baseline, with its interval and its verdict, and its typical figure: the mean of the valid runs or, for a percentile, the " +
			"median run. A ratio of 1 means no difference. It compares neighbours in time, so it may differ from the quotient of two figures.",
		empty: "No figures yet: no run or session has ended", width: 24, height: 8,
		rows: one(metrics.SweepConfigurationTypical) + " or " + one(metrics.SweepConfigurationRatio), // A saturated configuration has only a ratio.
	}, columns,
		instant("typical", latest(one(metrics.SweepConfigurationTypical), metrics.LabelConfiguration)),
		instant("ratio", latest(one(metrics.SweepConfigurationRatio), metrics.LabelConfiguration, metrics.LabelVerdict)),
		instant("low", latest(one(metrics.SweepConfigurationRatioLow), metrics.LabelConfiguration)),
		instant("high", latest(one(metrics.SweepConfigurationRatioHigh), metrics.LabelConfiguration)),
		instant("unit", objectiveUnit()),
	).SortBy([]cog.Builder[common.TableSortByFieldState]{
		common.NewTableSortByFieldStateBuilder().DisplayName("Ratio").Desc(true),
	})
}

// objective is a kind of metric that a sweep can compare, with a matcher for these metrics and with their
// unit. In graphs, each kind has its own query, because the unit of a line is fixed.
type objective struct {
	id, metric, unit string
}

func objectives() []objective {
	return []objective{
		{"bandwidth", metrics.LabelMetric + `="Bandwidth"`, bytesPerSecond},
		{"iops", metrics.LabelMetric + `="IOPS"`, perSecond},
		// Latencies, including those before, during and after an outage, and the time until the cluster is
		// clean.
		{"time", metrics.LabelMetric + `!~"Bandwidth|IOPS"`, seconds},
	}
}

// objectiveUnit returns a query whose result has the unit of the sweep's objective in the label unitLabel.
func objectiveUnit() string {
	var kinds []string
	for _, target := range objectives() {
		kinds = append(kinds, fmt.Sprintf(`label_replace(%s, %q, %q, "", "")`, one(metrics.SweepInfo, target.metric), unitLabel, target.unit))
	}
	return latest(strings.Join(kinds, " or "), unitLabel)
}

// latestRun returns a query for the figure of the latest valid run of each configuration that matches. The
// result is empty if the metric of the sweep's objective is of another kind.
func latestRun(matcher string, target objective) string {
	return latest(fmt.Sprintf("%s and on (namespace, name) %s",
		one(metrics.SweepConfigurationLatest, matcher), one(metrics.SweepInfo, target.metric)), metrics.LabelConfiguration)
}

// runs draws every valid run. Colours cannot distinguish dozens of configurations. So only the baseline and
// the best configuration stand out.
func runs() *timeseries.PanelBuilder {
	best := fmt.Sprintf(`label_replace(%s @ end(), "configuration", "$1", "best", "(.+)")`, one(metrics.SweepInfo, metrics.LabelBest+`!=""`))
	var lines []line
	for _, target := range objectives() {
		others := latestRun(notBaseline, target)
		lines = append(lines,
			line{id: target.id + "_others", expression: others + " unless on (configuration) " + best, legend: "{{configuration}}", color: shades(sky), unit: target.unit},
			line{id: target.id + "_best", expression: others + " and on (configuration) " + best, legend: "{{configuration}} (best)", color: fixed(vermillion), unit: target.unit},
			line{id: target.id + "_baseline", expression: latestRun(isBaseline, target), legend: "{{configuration}}", color: fixed(grey), unit: target.unit, reference: true},
		)
	}
	return steps(about{
		title: "Every run's figure",
		description: "The objective in each valid run, from the end of the run to the end of the next one of the same configuration. The baseline is dashed; the best configuration is " +
			"vermillion; others are shades of blue. Runs are shaded: those of the baseline grey, others blue.",
		unit: noUnit, empty: "No figures of runs in this time range: none has ended, or the design is Interleaved", width: 24, height: 9,
	}, lines...)
}

// runTimeline shows when each configuration was measured. After the first valid run of a configuration, the
// query also has a value for the times without a measurement, because a gap would look like the value before
// the gap.
func runTimeline() cog.Builder[dashboard.Panel] {
	expression := fmt.Sprintf("%s or 0 * %s",
		latest(one(metrics.SweepRunning), metrics.LabelConfiguration),
		latest(one(metrics.SweepConfigurationLatest), metrics.LabelConfiguration))
	return timeline(about{
		title: "Measurements over time",
		description: "The runs of each configuration. A block runs the baseline and each configuration that is still in the race, in random order, or in ascending or descending order if " +
			"the values are hard to change.",
		empty: "No run was measured in this time range, or the design is Interleaved", width: 14, height: 8,
	}, expression, "{{configuration}}", mappings(
		state{"1", "measured", blue},
		state{"0", "not measured", none},
	)).ShowValue(common.VisibilityModeNever)
}

func drift() *timeseries.PanelBuilder {
	series := one(metrics.SweepConfigurationLatest, isBaseline)
	return steps(about{
		title: "Drift: the baseline against its own mean",
		description: "The difference of each valid run of the baseline, including controls, to the mean of these runs over the time range. The weight of a run in the mean is the time " +
			"until the next run ended. The configuration is the same every time, so changes come from the cluster.",
		unit: fraction, empty: "No run of the baseline has ended in this time range, or the design is Interleaved", width: 10, height: 8,
	}, line{
		id: "drift",
		// Each pod of the manager has its own series, so the mean is the sum of all values divided by their
		// number.
		expression: fmt.Sprintf("%s / (sum by (%[2]s) (sum_over_time(%[3]s[$__range] @ end())) / sum by (%[2]s) (count_over_time(%[3]s[$__range] @ end()))) - 1",
			latest(series, metrics.LabelConfiguration), metrics.LabelConfiguration, series),
		legend: "{{configuration}}",
		color:  fixed(grey),
	}).AxisSoftMin(-0.05).AxisSoftMax(0.05) // Without these limits, the axis of a flat line would reach to thousands.
}
