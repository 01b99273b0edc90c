// Package exportertest reads the values of counters and histograms, for tests.
package exportertest

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Counted returns the value of a counter or the number of observations of a histogram, summed
// over the series whose labels have all given values.
func Counted(t testing.TB, gatherer prometheus.Gatherer, metric string, labels ...string) float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			if hasAll(m.GetLabel(), labels) {
				sum += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func hasAll(pairs []*dto.LabelPair, values []string) bool {
	return !slices.ContainsFunc(values, func(value string) bool {
		return !slices.ContainsFunc(pairs, func(p *dto.LabelPair) bool { return p.GetValue() == value })
	})
}
