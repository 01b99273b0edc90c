// Package pipeline writes results in the forms that the tools of pipelines read: the Go benchmark format, and JUnit XML.
package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// Measurement has the figures of a phase that were measured together, all of one direction.
type Measurement struct {
	RunID v1alpha1.RunID
	// Environment is the JSON form of quiescence.Detail.
	Environment json.RawMessage
	Phase       v1alpha1.PhaseName
	Direction   v1alpha1.Direction
	Runs        int
	Values      map[v1alpha1.Metric]float64
}

// Benchstat writes measurements in the Go benchmark format (https://go.dev/design/14313-benchmark-format): a line for each,
// under the run ID and the version of Ceph. The direction ends the name, because benchstat would take the 16 of a phase
// depth-16 for GOMAXPROCS.
func Benchstat(w io.Writer, all []Measurement) error {
	if len(all) == 0 {
		return errors.New("there are no figures of valid runs")
	}
	var out bytes.Buffer
	for _, metric := range figure.Metrics() {
		if slices.ContainsFunc(all, func(m Measurement) bool { _, found := m.Values[metric]; return found }) {
			better := "higher"
			if metric.LowerIsBetter() {
				better = "lower"
			}
			fmt.Fprintf(&out, "Unit %s better=%s\n", unit(metric), better)
		}
	}
	last := ""
	for _, m := range all {
		if c := configuration(m); c != last {
			out.WriteString("\n" + c)
			last = c
		}
		fmt.Fprintf(&out, "BenchmarkPhase/phase=%s/direction=%s %d", m.Phase, m.Direction, m.Runs)
		for _, metric := range figure.Metrics() {
			if value, found := m.Values[metric]; found {
				fmt.Fprintf(&out, " %v %s", value, unit(metric))
			}
		}
		out.WriteString("\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

func configuration(m Measurement) string {
	version := "unknown"
	var detail quiescence.Detail
	if json.Unmarshal(m.Environment, &detail) == nil && len(detail.CephVersions) > 0 {
		version = strings.Join(detail.CephVersions, " and ")
	}
	return fmt.Sprintf("run-id: %s\nceph-version: %s\n", medium.Line(string(m.RunID)), medium.Line(version))
}

// unit returns the unit of a metric in the words of benchstat, which scales ops, B and sec.
func unit(metric v1alpha1.Metric) string {
	switch metric {
	case v1alpha1.MetricBandwidth:
		return "B/s"
	case v1alpha1.MetricIOPS:
		return "ops/s"
	case v1alpha1.MetricSustainableIOPS:
		return "sustainable-ops/s"
	case v1alpha1.MetricLatencyMean:
		return "sec/op"
	case v1alpha1.MetricTimeToClean:
		return "clean-sec"
	default:
		return strings.ToLower(strings.TrimPrefix(string(metric), "Latency")) + "-sec/op"
	}
}
