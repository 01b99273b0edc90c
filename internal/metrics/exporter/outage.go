package exporter

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/metrics"
)

// These are the outcomes of outages.
const (
	OutageMeasured = "Measured"
	OutageRefused  = "Refused" // no OSD was stopped
	OutageFailed   = "Failed"  // the run is invalid or failed
)

// outages holds the metrics of the costs of outages.
type outages struct {
	ended               *prometheus.CounterVec
	duration            *prometheus.HistogramVec
	degraded, recovered *prometheus.CounterVec
}

func newOutages(with prometheus.Registerer) outages {
	d := outages{
		ended: counter(metrics.Outages),
		// OSDs come up within seconds, but a backfill may take hours.
		duration:  prometheus.NewHistogramVec(histogram(metrics.OutageDuration, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14400), labelsOf(metrics.OutageDuration)),
		degraded:  counter(metrics.DegradedObjectSeconds),
		recovered: counter(metrics.RecoveredObjects),
	}
	with.MustRegister(d.ended, d.duration, d.degraded, d.recovered)
	// Counters start at 0 here, because Prometheus sees no increase if a counter first appears with its first
	// event.
	for _, outcome := range []string{OutageMeasured, OutageRefused, OutageFailed} {
		d.ended.WithLabelValues(outcome)
	}
	for _, part := range []string{"down", "up", "active", "clean"} {
		d.duration.WithLabelValues(part)
	}
	d.degraded.WithLabelValues()
	d.recovered.WithLabelValues()
	return d
}

// OutageEnded counts the outcome of an outage whose run has ended, unless the outcome is "". The cost may be
// nil, and counts only with OutageMeasured.
func (e *Events) OutageEnded(outcome string, cost *archive.Outage) {
	if e == nil || outcome == "" {
		return
	}
	e.outages.ended.WithLabelValues(outcome).Inc()
	if cost == nil || outcome != OutageMeasured {
		return
	}
	for part, value := range partsOf(cost) {
		e.outages.duration.WithLabelValues(part).Observe(value)
	}
	if degraded, err := strconv.ParseFloat(string(cost.DegradedObjectSeconds), 64); err == nil {
		e.outages.degraded.WithLabelValues().Add(degraded)
	}
	if cost.RecoveredObjects != nil {
		e.outages.recovered.WithLabelValues().Add(float64(*cost.RecoveredObjects))
	}
}

// partsOf returns the seconds that each part of an outage took. It leaves out unknown parts.
func partsOf(cost *archive.Outage) map[string]float64 {
	parts := map[string]float64{}
	for part, value := range map[string]v1alpha1.Decimal{"up": cost.SecondsToUp, "active": cost.SecondsToActive, "clean": cost.SecondsToClean} {
		if number, err := strconv.ParseFloat(string(value), 64); err == nil {
			parts[part] = number
		}
	}
	if cost.StopTime != nil && cost.NoupUnsetTime != nil {
		parts["down"] = cost.NoupUnsetTime.Sub(cost.StopTime.Time).Seconds()
	}
	return parts
}
