package analyze

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/loadfacts"
	"github.com/cephtune/cephtune/internal/result"
)

// unit is a unit of measurement, with a name for JSON and a symbol for people.
type unit struct {
	name   string // in JSON
	symbol string
	scale  float64 // how many JSON units make one unit for people
}

// metric describes a figure of a run, and how to read it from the output of an engine.
type metric struct {
	name           string
	unit           unit
	higherIsBetter bool
	tools          []result.Tool // the engines that report the metric
	figure         loadfacts.Figure
	percent        float64 // of a percentile; 0 for another metric

	// One of amount and latency is set. amount is for rates: it returns the total of a run, and a function that returns
	// the rates of a time series. The latency of syncs belongs to no direction.
	amount  func(*result.Direction) (total float64, series func(*result.Series) []float64)
	latency func(*result.Latency) (result.Percentile, bool)
}

func metrics() []metric {
	tools, fio := []result.Tool{result.ToolRadosBench, result.ToolRBDBench, result.ToolFIO}, []result.Tool{result.ToolFIO}
	out := []metric{
		{name: "bandwidth", unit: unit{"bytesPerSecond", "MiB/s", 1 << 20}, higherIsBetter: true, tools: tools, amount: bytesMoved},
		{name: "iops", unit: unit{"operationsPerSecond", "IOPS", 1}, higherIsBetter: true, tools: tools, amount: operationsDone},
	}
	var syncs []metric
	add := func(name string, percent float64, tools []result.Tool, of func(*result.Latency) (result.Percentile, bool)) {
		m := metric{name: "latency" + name, unit: unit{"seconds", "ms", 1e-3}, tools: tools, figure: loadfacts.Latency, percent: percent, latency: of}
		out = append(out, m)
		m.name, m.tools, m.figure = "syncLatency"+name, fio, loadfacts.SyncLatency
		syncs = append(syncs, m)
	}
	add("Mean", 0, []result.Tool{result.ToolRadosBench, result.ToolFIO}, func(l *result.Latency) (result.Percentile, bool) {
		return result.Percentile{Seconds: l.Moments.MeanSeconds}, true
	})
	add("Max", 0, []result.Tool{result.ToolRadosBench, result.ToolFIO}, func(l *result.Latency) (result.Percentile, bool) {
		return result.Percentile{Seconds: ptr.Deref(l.Moments.MaxSeconds, 0)}, l.Moments.MaxSeconds != nil
	})
	for _, p := range []struct {
		name    string
		percent float64
	}{{"P50", 50}, {"P90", 90}, {"P95", 95}, {"P99", 99}, {"P999", 99.9}} {
		add(p.name, p.percent, fio, func(l *result.Latency) (result.Percentile, bool) { return l.Percentile(p.percent) })
	}
	return append(out, syncs...)
}

func metricNames() []string {
	var names []string
	for _, m := range metrics() {
		names = append(names, m.name)
	}
	return names
}

// lookupMetric finds a metric by its name. It ignores case, because the API's enum has
// LatencyP99 instead of latencyP99. It also accepts short names such as p99.
func lookupMetric(name string) (metric, error) {
	all, wanted := metrics(), name
	if short, known := words.Metric(name); known {
		wanted = string(short)
	} else if strings.EqualFold(name, "p90") {
		wanted = "latencyP90"
	}
	i := slices.IndexFunc(all, func(m metric) bool { return strings.EqualFold(m.name, wanted) })
	if i < 0 {
		return metric{}, exit.UsageErrorf("--metric %q: want one of %s", name, strings.Join(metricNames(), ", "))
	}
	return all[i], nil
}

func bytesMoved(d *result.Direction) (float64, func(*result.Series) []float64) {
	return float64(d.Bytes), func(s *result.Series) []float64 { return s.BytesPerSecond }
}

func operationsDone(d *result.Direction) (float64, func(*result.Series) []float64) {
	return float64(d.Operations), func(s *result.Series) []float64 { return s.OperationsPerSecond }
}

// missing returns an error that says why an output lacks the metric, and how to get it.
func (m metric) missing(tool result.Tool) error {
	if !slices.Contains(m.tools, tool) {
		return fmt.Errorf("%s does not report %s; %s can", tool, m.name, joinTools(m.tools))
	}
	if m.figure == loadfacts.SyncLatency {
		return fmt.Errorf("this output of %s lacks %s: it has no fsync, fdatasync or sync_file_range", tool, m.name)
	}
	return fmt.Errorf("this output of %s lacks %s; run fio with --output-format=json+, and with latencies and percentiles on", tool, m.name)
}

func joinTools(tools []result.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = string(t)
	}
	return strings.Join(names, " and ")
}
