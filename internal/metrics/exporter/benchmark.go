package exporter

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics"
)

// BenchmarkSamples are the series of a benchmark, at most metrics.MaxBenchmarkSeries, and
// how many there was no room for. A benchmark of a sweep has series while it is at work
// alone: its figures are in the sweep.
func BenchmarkSamples(b *v1alpha1.CephBenchmark) (all []Sample, dropped int) {
	status := &b.Status
	if sweepOf(b) != nil && !atWork(status.Conditions) {
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
	figures := figureSamples(b)
	room := min(metrics.MaxBenchmarkSeries-len(all), len(figures))
	return append(all, figures[:room]...), len(figures) - room
}

// sweepOf is the sweep that a benchmark belongs to, or nil.
func sweepOf(b *v1alpha1.CephBenchmark) *metav1.OwnerReference {
	if owner := metav1.GetControllerOf(b); owner != nil && owner.Kind == "CephTuningSweep" {
		return owner
	}
	return nil
}

// measuredRun is the run that is under way.
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

// figureKind is a figure that phases may have, and the series that it is.
type figureKind struct {
	metric    v1alpha1.Metric
	direction v1alpha1.Direction
	name      string
	statistic string // of a latency
}

// figureKinds are in the order of their weight: where there is not room for all, the
// first ones are told, each of all phases.
func figureKinds() []figureKind {
	var all []figureKind
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

// figureSamples are all figures of all phases, the weightiest first.
func figureSamples(b *v1alpha1.CephBenchmark) []Sample {
	var all []Sample
	for _, kind := range figureKinds() {
		for _, phase := range b.Status.Phases {
			for _, result := range phase.Metrics {
				if result.Metric != kind.metric || directionOf(result) != kind.direction {
					continue
				}
				labels := []string{b.Namespace, b.Name, string(phase.Name), string(kind.direction)}
				if kind.statistic != "" {
					labels = append(labels, kind.statistic)
				}
				all = decimals(all, kind.name, result.Value, labels...)
			}
		}
	}
	return all
}

// directionOf is that of a figure. An object that was not read from an API server may lack
// the default.
func directionOf(r v1alpha1.MetricResult) v1alpha1.Direction {
	if r.Direction == "" {
		return v1alpha1.DirectionTotal
	}
	return r.Direction
}
