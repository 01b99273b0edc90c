package exporter

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/metrics"
)

// Outcomes of disruptions.
const (
	DisruptionMeasured = "Measured"
	DisruptionRefused  = "Refused"
	DisruptionFailed   = "Failed"
)

// disruptions counts what OSDs cost that benchmarks have down.
type disruptions struct {
	ended               *prometheus.CounterVec
	duration            *prometheus.HistogramVec
	degraded, recovered *prometheus.CounterVec
}

func newDisruptions(with prometheus.Registerer) disruptions {
	d := disruptions{
		ended: counter(metrics.Disruptions),
		// OSDs come up within seconds, and a backfill may take hours.
		duration:  prometheus.NewHistogramVec(histogram(metrics.DisruptionDuration, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14400), labelsOf(metrics.DisruptionDuration)),
		degraded:  counter(metrics.DegradedObjectSeconds),
		recovered: counter(metrics.RecoveredObjects),
	}
	with.MustRegister(d.ended, d.duration, d.degraded, d.recovered)
	// A counter that begins with its first event has no increase then.
	for _, outcome := range []string{DisruptionMeasured, DisruptionRefused, DisruptionFailed} {
		d.ended.WithLabelValues(outcome)
	}
	for _, part := range []string{"outage", "up", "active", "clean"} {
		d.duration.WithLabelValues(part)
	}
	d.degraded.WithLabelValues()
	d.recovered.WithLabelValues()
	return d
}

// DisruptionEnded counts a disruption whose run has ended; it ignores an outcome of "". cost
// is nil if it was not measured.
func (e *Events) DisruptionEnded(outcome string, cost *archive.Disruption) {
	if e == nil || outcome == "" {
		return
	}
	e.disruptions.ended.WithLabelValues(outcome).Inc()
	if cost == nil || outcome != DisruptionMeasured {
		return
	}
	for part, value := range partsOf(cost) {
		e.disruptions.duration.WithLabelValues(part).Observe(value)
	}
	if degraded, err := strconv.ParseFloat(string(cost.DegradedObjectSeconds), 64); err == nil {
		e.disruptions.degraded.WithLabelValues().Add(degraded)
	}
	if cost.RecoveredObjects != nil {
		e.disruptions.recovered.WithLabelValues().Add(float64(*cost.RecoveredObjects))
	}
}

// partsOf are the seconds that each part of a disruption took, as far as they are known.
func partsOf(cost *archive.Disruption) map[string]float64 {
	parts := map[string]float64{}
	for part, value := range map[string]v1alpha1.Decimal{"up": cost.SecondsToUp, "active": cost.SecondsToActive, "clean": cost.SecondsToClean} {
		if number, err := strconv.ParseFloat(string(value), 64); err == nil {
			parts[part] = number
		}
	}
	if cost.StopTime != nil && cost.LetBackTime != nil {
		parts["outage"] = cost.LetBackTime.Sub(cost.StopTime.Time).Seconds()
	}
	return parts
}
