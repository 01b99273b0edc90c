package analyze

import (
	"fmt"
	"slices"
	"strings"

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

	// One of amount, latency and sync is set. amount is for rates: it returns the total of a run, and a
	// function that returns the rates of a time series. sync is for the latency of syncs, which belongs to no
	// direction.
	sync    func(*result.Latency) (seconds float64, ok bool)
	amount  func(*result.Direction) (total float64, series func(*result.Series) []float64)
	latency func(*result.Direction) (seconds float64, kind result.LatencyKind, ok bool)
}

func metrics() []metric {
	all := []result.Tool{result.ToolRadosBench, result.ToolRBDBench, result.ToolFIO}
	latencies := []result.Tool{result.ToolRadosBench, result.ToolFIO}
	milliseconds := unit{"seconds", "ms", 1e-3}
	out := []metric{
		{name: "bandwidth", unit: unit{"bytesPerSecond", "MiB/s", 1 << 20}, higherIsBetter: true, tools: all, amount: bytesMoved},
		{name: "iops", unit: unit{"operationsPerSecond", "IOPS", 1}, higherIsBetter: true, tools: all, amount: operationsDone},
		{name: "latencyMean", unit: milliseconds, tools: latencies, figure: loadfacts.Latency, latency: (*result.Direction).MeanLatencySeconds},
		{name: "latencyMax", unit: milliseconds, tools: latencies, figure: loadfacts.Latency, latency: maximumLatency},
	}
	fio := []result.Tool{result.ToolFIO}
	syncs := []metric{
		{name: "syncLatencyMean", sync: func(l *result.Latency) (float64, bool) { return l.Moments.MeanSeconds, true }},
		{name: "syncLatencyMax", sync: maximumOf},
	}
	for _, p := range percentiles() {
		out = append(out, metric{
			name: "latency" + p.name, unit: milliseconds, tools: fio, figure: loadfacts.Latency, percent: p.percent, latency: percentile(p.percent),
		})
		syncs = append(syncs, metric{name: "syncLatency" + p.name, percent: p.percent, sync: func(l *result.Latency) (float64, bool) {
			found, ok := l.Percentile(p.percent)
			return found.Seconds, ok && !found.AtLeast
		}})
	}
	for _, m := range syncs {
		m.unit, m.tools, m.figure = milliseconds, fio, loadfacts.SyncLatency
		out = append(out, m)
	}
	return out
}

// namedPercentile is a percentile in the names of metrics.
type namedPercentile struct {
	name    string
	percent float64
}

func percentiles() []namedPercentile {
	return []namedPercentile{{"P50", 50}, {"P90", 90}, {"P95", 95}, {"P99", 99}, {"P999", 99.9}}
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

func percentile(percent float64) func(*result.Direction) (float64, result.LatencyKind, bool) {
	return func(d *result.Direction) (float64, result.LatencyKind, bool) {
		p, kind, ok := d.Percentile(percent)
		// A lower bound is not a value: ratios of bounds mean nothing.
		return p.Seconds, kind, ok && !p.AtLeast
	}
}

func maximumLatency(d *result.Direction) (float64, result.LatencyKind, bool) {
	if seconds, ok := maximumOf(d.Latency); ok {
		return seconds, result.TotalLatency, true
	}
	seconds, ok := maximumOf(d.CompletionLatency)
	return seconds, result.CompletionLatency, ok
}

func maximumOf(l *result.Latency) (float64, bool) {
	if l == nil || l.Moments.MaxSeconds == nil {
		return 0, false
	}
	return *l.Moments.MaxSeconds, true
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
