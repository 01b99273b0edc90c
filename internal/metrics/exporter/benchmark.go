package exporter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/metrics"
)

// BenchmarkSamples returns the series of a benchmark, at most metrics.MaxBenchmarkSeries, and the number of
// series that did not fit. A sweep's benchmark has series only while it is in progress. After that, if its run
// is valid, the series of the sweep have the run's value of the objective, until the next valid run of the same
// configuration. With the design Interleaved, they do not have it.
func BenchmarkSamples(b *v1alpha1.CephBenchmark) (all []Sample, dropped int) {
	status := &b.Status
	if b.Status.Trial != nil && !atWork(status.Conditions) {
		return nil, 0
	}
	all = append(all, sample(metrics.BenchmarkInfo, 1, b.Namespace, b.Name, clusterName(b.Spec.ClusterRef),
		string(status.ObservedRunID), stateOf(status.Conditions), reasonOf(status.Conditions), string(status.Verdict),
		summaryOf(status.Summary, status.Conditions), digestOf(status.Environment)))
	all = progress(all, metrics.BenchmarkProgressRatio, status.Progress, b.Namespace, b.Name)
	if run, measures := measuredRun(b); measures {
		all = append(all, sample(metrics.BenchmarkRunning, 1, b.Namespace, b.Name, strconv.Itoa(int(run))))
	}
	if status.CompletionTime != nil {
		all = append(all, sample(metrics.BenchmarkCompletion, seconds(*status.CompletionTime), b.Namespace, b.Name))
	}
	all = truth(all, metrics.BenchmarkRegressed, meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRegressed), b.Namespace, b.Name)
	if found := status.Diagnosis; found != nil {
		for _, f := range found.Findings { // The API keeps at most 16.
			all = append(all, sample(metrics.BenchmarkFinding, 1, b.Namespace, b.Name, f.Code, string(f.Confidence)))
		}
	}
	all = append(all, expectationSamples(b)...)
	for _, group := range figureSamples(b) {
		if dropped > 0 || len(all)+len(group) > metrics.MaxBenchmarkSeries {
			dropped += len(group)
			continue
		}
		all = append(all, group...)
	}
	return all, dropped
}

// expectationSamples returns the number of expectations by outcome.
func expectationSamples(b *v1alpha1.CephBenchmark) []Sample {
	counts := map[v1alpha1.ExpectationOutcome]int{}
	for _, result := range b.Status.Expectations {
		counts[result.Outcome]++
	}
	var all []Sample
	for _, outcome := range []v1alpha1.ExpectationOutcome{v1alpha1.ExpectationMet, v1alpha1.ExpectationMissed, v1alpha1.ExpectationUnknown} {
		if counts[outcome] > 0 {
			all = append(all, sample(metrics.BenchmarkExpectations, float64(counts[outcome]), b.Namespace, b.Name, string(outcome)))
		}
	}
	return all
}

// measuredRun returns the number of the run that is being measured; false without such a run.
func measuredRun(b *v1alpha1.CephBenchmark) (int32, bool) {
	if !atWork(b.Status.Conditions) || reasonOf(b.Status.Conditions) != v1alpha1.ReasonRunning {
		return 0, false
	}
	for _, run := range b.Status.Runs {
		if run.State == v1alpha1.RunRunning {
			return run.Number, true
		}
	}
	return 0, false
}

// figureKind is a kind of figure, with the name of the series that exports it.
type figureKind struct {
	metric    v1alpha1.Metric
	direction v1alpha1.Direction
	name      string
	statistic string // of a latency, such as p99; "" for other figures
}

// figureKinds returns the kinds, the most important first. Each kind is exported for all phases before the
// next kind, until no more series fit.
func figureKinds() []figureKind {
	var all []figureKind
	all = append(all,
		figureKind{v1alpha1.MetricTimeToClean, v1alpha1.DirectionTotal, metrics.BenchmarkTimeToClean, ""},
		figureKind{v1alpha1.MetricSustainableIOPS, v1alpha1.DirectionTotal, metrics.BenchmarkSustainable, ""})
	for _, direction := range []v1alpha1.Direction{v1alpha1.DirectionTotal, v1alpha1.DirectionRead, v1alpha1.DirectionWrite} {
		all = append(all,
			figureKind{v1alpha1.MetricBandwidth, direction, metrics.BenchmarkBandwidth, ""},
			figureKind{v1alpha1.MetricIOPS, direction, metrics.BenchmarkIOPS, ""},
			figureKind{v1alpha1.MetricLatencyP99, direction, metrics.BenchmarkLatency, "p99"},
			figureKind{v1alpha1.MetricLatencyMean, direction, metrics.BenchmarkLatency, "mean"},
			figureKind{v1alpha1.MetricLatencyP50, direction, metrics.BenchmarkLatency, "p50"},
			figureKind{v1alpha1.MetricLatencyP95, direction, metrics.BenchmarkLatency, "p95"},
			figureKind{v1alpha1.MetricLatencyP999, direction, metrics.BenchmarkLatency, "p99.9"},
			figureKind{v1alpha1.MetricLatencyMax, direction, metrics.BenchmarkLatency, "max"},
		)
	}
	return all
}

// figureSamples returns the figures of all phases and the evidence behind them (see evidenceAfter), the most
// important first. Samples that would mislead alone, such as one end of an interval, form one group.
func figureSamples(b *v1alpha1.CephBenchmark) [][]Sample {
	var all [][]Sample
	for i, kind := range figureKinds() {
		if i == evidenceAfter {
			all = append(all, slices.Concat(evidenceSamples(b), limitSamples(b))...)
		}
		for _, phase := range b.Status.Phases {
			for _, result := range phase.Metrics {
				if result.Metric != kind.metric || cmp.Or(result.Direction, v1alpha1.DirectionTotal) != kind.direction {
					continue
				}
				labels := []string{b.Namespace, b.Name, string(phase.Name), string(kind.direction)}
				if kind.statistic != "" {
					labels = append(labels, kind.statistic)
				}
				if samples := decimals(nil, kind.name, result.Value, labels...); len(samples) > 0 {
					all = append(all, samples)
				}
			}
		}
	}
	return all
}

// evidenceAfter is the number of kinds of figures that are more important than the evidence. The evidence is
// the number of valid runs, the marks, and the intervals. The limits follow it.
const evidenceAfter = 5

// evidenceSamples returns the number of valid runs of each phase, with its marks as a label, and then the
// intervals of each phase's total bandwidth and sustainable rate.
func evidenceSamples(b *v1alpha1.CephBenchmark) [][]Sample {
	var all [][]Sample
	for _, phase := range b.Status.Phases {
		all = append(all, []Sample{sample(metrics.BenchmarkValidRuns, float64(phase.ValidRuns), b.Namespace, b.Name, string(phase.Name), marksOf(phase))})
	}
	for _, phase := range b.Status.Phases {
		for _, result := range phase.Metrics {
			low, high := endsOf(result.Metric)
			if low == "" || cmp.Or(result.Direction, v1alpha1.DirectionTotal) != v1alpha1.DirectionTotal {
				continue
			}
			ends := decimals(nil, low, result.Low, b.Namespace, b.Name, string(phase.Name))
			if ends = decimals(ends, high, result.High, b.Namespace, b.Name, string(phase.Name)); len(ends) == 2 {
				all = append(all, ends)
			}
		}
	}
	return all
}

// endsOf returns the series of the ends of a figure's interval; "" if they are not exported.
func endsOf(metric v1alpha1.Metric) (low, high string) {
	switch metric { //nolint:exhaustive // Other intervals are in status.
	case v1alpha1.MetricBandwidth:
		return metrics.BenchmarkBandwidthLow, metrics.BenchmarkBandwidthHigh
	case v1alpha1.MetricSustainableIOPS:
		return metrics.BenchmarkSustainableLow, metrics.BenchmarkSustainableHigh
	}
	return "", ""
}

// limitSamples returns the limits of the expectations.
func limitSamples(b *v1alpha1.CephBenchmark) [][]Sample {
	var all [][]Sample
	seen := map[v1alpha1.MetricReference]bool{}
	for _, e := range b.Spec.Expectations {
		limit, err := figure.ParseThreshold(e.Metric, v1alpha1.Threshold(cmp.Or(string(e.AtMost), string(e.AtLeast))))
		if err != nil || seen[e.MetricReference] { // It has a reference instead of a limit, or a second limit.
			continue
		}
		seen[e.MetricReference] = true
		direction := cmp.Or(string(e.Direction), string(v1alpha1.DirectionTotal))
		all = append(all, []Sample{sample(metrics.BenchmarkLimit, limit, b.Namespace, b.Name, string(e.Phase), direction, string(e.Metric))})
	}
	return all
}

// marksOf returns the marks of a phase in a fixed order, because another order would be another series.
func marksOf(phase v1alpha1.PhaseResult) string {
	return strings.ReplaceAll(figure.JoinMarks(slices.Sorted(slices.Values(phase.Marks))), " ", ", ")
}
