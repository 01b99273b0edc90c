package outage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
)

// Evidence holds the data from which the cost of an outage is computed.
type Evidence struct {
	Progress Progress
	// Samples holds the samples of the cluster, in chronological order.
	Samples []quiescence.Sample
	// Before and After are Ceph's counts of recovered objects at the stop and at the end of the recovery;
	// nil if Ceph did not report them.
	Before, After *ceph.Recovered
	// Ramp is how long the phase runs before it is measured. Total is the result of all clients of the
	// phase; nil if unknown.
	Ramp  time.Duration
	Total *result.Direction
}

// Measure returns the cost of an outage, as far as the outage has progressed; nil before the stop
// begins.
func Measure(e Evidence) *archive.Outage {
	progress := e.Progress
	if progress.Stop.IsZero() {
		return nil
	}
	r := &archive.Outage{
		StopTime: moment(progress.Stop), NoupUnsetTime: moment(progress.NoupUnset),
		SecondsToOut: after(progress.Stop, progress.Out), SecondsToBackfilled: after(progress.Out, progress.Backfilled),
		SecondsToUp: after(progress.NoupUnset, progress.Up), SecondsToActive: after(progress.NoupUnset, activeFrom(e.Samples, progress)),
		SecondsToClean: after(progress.NoupUnset, progress.Clean),
		Windows:        windows(e),
	}
	if progress.Clean.IsZero() {
		return r
	}
	r.DegradedObjectSeconds = figure.Decimal(degradedSeconds(e.Samples, progress))
	if e.Before == nil || e.After == nil || e.After.Objects < e.Before.Objects {
		return r // Ceph did not report the recovered objects, or a pool was removed meanwhile.
	}
	recovered := e.After.Objects - e.Before.Objects
	r.RecoveredObjects = &recovered
	if seconds := progress.Clean.Sub(progress.NoupUnset).Seconds(); seconds > 0 {
		r.RecoveredObjectsPerSecond = figure.Decimal(float64(recovered) / seconds)
	}
	return r
}

// Figures returns the figures that a phase has only with an outage; nil unless the cluster has recovered.
func Figures(progress Progress, cost *archive.Outage) []figure.Figure {
	seconds := progress.Clean.Sub(progress.NoupUnset).Seconds()
	if progress.Clean.IsZero() || progress.NoupUnset.IsZero() || seconds <= 0 {
		return nil
	}
	all := []figure.Figure{{Metric: v1alpha1.MetricTimeToClean, Direction: v1alpha1.DirectionTotal, Value: seconds}}
	if cost == nil {
		return all
	}
	for _, w := range cost.Windows {
		p50, p99 := windowMetrics(w.Name)
		for _, quantile := range []struct {
			metric  v1alpha1.Metric
			latency v1alpha1.Decimal
		}{{p50, w.LatencyP50}, {p99, w.LatencyP99}} {
			if value, err := figure.ParseDecimal(quantile.latency); err == nil && value > 0 { // "" if unknown
				all = append(all, figure.Figure{Metric: quantile.metric, Direction: v1alpha1.DirectionTotal, Value: value, LatencyKind: result.TotalLatency})
			}
		}
	}
	return all
}

// windowMetrics returns the metrics for the latencies of a window.
func windowMetrics(name archive.WindowName) (p50, p99 v1alpha1.Metric) {
	switch name {
	case archive.WindowBefore:
		return v1alpha1.MetricP50Before, v1alpha1.MetricP99Before
	case archive.WindowOutage:
		return v1alpha1.MetricP50Outage, v1alpha1.MetricP99Outage
	case archive.WindowRecovery:
		return v1alpha1.MetricP50Recovery, v1alpha1.MetricP99Recovery
	default:
		return v1alpha1.MetricP50After, v1alpha1.MetricP99After
	}
}

// Expected describes the outage for package quiescence, so that effects of the outage do not count as
// disturbances. The parameter before is the status from right before the stop: it has the numbers of OSDs
// that were up and in. Expected returns nil without that status, and before the stop begins.
func (p Plan) Expected(progress Progress, before *ceph.Status) *quiescence.Outage {
	if progress.Stop.IsZero() || before == nil {
		return nil
	}
	return &quiescence.Outage{
		OSDs: len(p.OSDs), UpOSDs: before.UpOSDs, InOSDs: before.InOSDs,
		Begin: progress.Begin, Stop: progress.Stop, NoupUnset: progress.NoupUnset, Up: progress.Up, Clean: progress.Clean, Out: p.Backfill,
	}
}

func moment(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	stamp := metav1.NewTime(t)
	return &stamp
}

// after returns the seconds from one time to a later one, at least 0; "" if one of the times is zero.
func after(from, to time.Time) v1alpha1.Decimal {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return figure.Decimal(max(0, to.Sub(from).Seconds()))
}

// activeFrom returns when all placement groups became active again after noup was unset. It returns zero
// while OSDs are down or placement groups are inactive. The result is the time of the first sample after the
// last one with inactive placement groups. If the OSDs came up later than that, or if no sample has inactive
// placement groups, the result is the time at which the OSDs came up.
func activeFrom(samples []quiescence.Sample, progress Progress) time.Time {
	if progress.Up.IsZero() {
		return time.Time{}
	}
	start, inactive := progress.Up, false
	for _, s := range samples {
		if s.Time.Before(progress.NoupUnset) || !progress.Clean.IsZero() && s.Time.After(progress.Clean) {
			continue
		}
		now := s.Status.CountPGs(ceph.PGState.IsInactive) > 0
		if inactive && !now && s.Time.After(start) {
			start = s.Time
		}
		inactive = now
	}
	if inactive {
		return time.Time{} // The last sample still had inactive placement groups.
	}
	return start
}

// degradedSeconds returns the integral of the number of missing copies, over the time from the
// stop until all placement groups were clean. It interpolates linearly between samples.
func degradedSeconds(samples []quiescence.Sample, progress Progress) float64 {
	sum, last, missing := 0.0, progress.Stop, 0.0
	for _, s := range samples {
		if s.Time.Before(progress.Stop) || s.Time.After(progress.Clean) {
			continue
		}
		now := float64(s.Status.DegradedObjects)
		sum += (missing + now) / 2 * s.Time.Sub(last).Seconds()
		last, missing = s.Time, now
	}
	return sum
}

// clockLag is how much later than planned a client's time series may begin, because an engine connects
// before it measures. Each boundary between two windows is placed this much earlier. So the first second
// of an outage, which is the worst, never counts for the preceding window.
const clockLag = 2 * time.Second

// windows divides the clients' time series at the moments of the outage.
func windows(e Evidence) []archive.OutageWindow {
	progress := e.Progress
	if e.Total == nil || e.Total.Series == nil {
		return nil
	}
	seconds := e.Total.Series.PerSecond()
	if seconds == nil {
		return nil
	}
	sinceRamp := func(t time.Time) float64 { return t.Add(-clockLag).Sub(progress.Start.Add(e.Ramp)).Seconds() }
	end := seconds.EndSeconds[seconds.Len()-1]
	var all []archive.OutageWindow
	from := 0.0
	for _, window := range []struct {
		name archive.WindowName
		end  time.Time
	}{
		{archive.WindowBefore, progress.Stop},
		{archive.WindowOutage, progress.NoupUnset},
		{archive.WindowRecovery, progress.Clean},
		{archive.WindowAfter, time.Time{}},
	} {
		to := end
		if !window.end.IsZero() {
			to = sinceRamp(window.end)
		}
		if w, covered := cut(seconds, from, to); covered {
			w.Name = window.name
			w.LatencyP50, w.LatencyP99 = latencies(e.Total, from, to)
			all = append(all, w)
		}
		if from = to; window.end.IsZero() {
			break // The outage has not progressed further, or this is the window After.
		}
	}
	return all
}

// cut returns the clients' figures in the whole seconds of a part of the time series; false if the
// part has no whole second.
func cut(s *result.Series, from, to float64) (archive.OutageWindow, bool) {
	var w archive.OutageWindow
	var operations, bytes float64
	for i := range s.Len() {
		if s.StartSeconds[i] < from || s.EndSeconds[i] > to {
			continue
		}
		w.Seconds++
		if s.Stalled(i) {
			w.StalledSeconds++
		}
		if s.OperationsPerSecond != nil {
			operations += s.OperationsPerSecond[i]
		}
		if s.BytesPerSecond != nil {
			bytes += s.BytesPerSecond[i]
		}
	}
	if w.Seconds == 0 {
		return w, false
	}
	n := float64(w.Seconds)
	if s.BytesPerSecond != nil {
		w.Bandwidth = figure.Decimal(bytes / n)
	}
	if s.OperationsPerSecond != nil {
		w.IOPS = figure.Decimal(operations / n)
	}
	return w, true
}

// latencies returns the median and the 99th percentile of a part of the time series; "" if unknown.
// It returns no mean, because a second without completions has no mean, and an outage has such
// seconds.
func latencies(d *result.Direction, from, to float64) (p50, p99 v1alpha1.Decimal) {
	h, err := d.LatencyWithin(from, to)
	if err != nil || h == nil {
		return "", ""
	}
	return percentile(h, 50), percentile(h, 99)
}

func percentile(h *result.Histogram, percent float64) v1alpha1.Decimal {
	p, known := h.Percentile(percent)
	if !known || p.AtLeast {
		return ""
	}
	return figure.Decimal(p.Seconds)
}
