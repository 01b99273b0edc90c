package figure

import (
	"errors"
	"math"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

const (
	// shortestPart is the shortest part of a time series, in seconds, from which rates are
	// computed. The intervals of a time series are about a second long.
	shortestPart = 1.0
	// missingTail is how many seconds an engine may leave out at the end of a time series. A longer gap
	// counts as a stall.
	missingTail = 2.0
)

// ErrNoCourse says that a result has no time series.
var ErrNoCourse = errors.New("the result has no values over time")

// During computes the figures of one client between two moments: Bandwidth, IOPS and, if the time series has
// latencies, LatencyMean. The moments are in seconds since the client began to measure. If they are less than
// a second apart, During uses the second that begins at the first moment. It returns no figures if no
// operation completed between the moments, and [ErrNoCourse] if a direction lacks the time series of
// operations or that of bytes.
func During(res *result.Result, from, to float64) ([]Figure, error) {
	to = max(to, from+shortestPart)
	part := &result.Result{SchemaVersion: result.SchemaVersion, Source: res.Source, Clients: res.Clients}
	for _, d := range res.Directions() {
		if d.Series == nil || d.Series.OperationsPerSecond == nil || d.Series.BytesPerSecond == nil {
			return nil, ErrNoCourse
		}
		part.SetDirection(d.Name, directionDuring(d.Series, from, to))
	}
	if len(part.Directions()) == 0 {
		return nil, nil
	}
	return Figures(part)
}

// directionDuring returns the sums of a time series between two moments; nil if no operation completed. An
// interval that contains one of the moments counts in proportion. Time without an interval counts as a stall,
// except for up to missingTail seconds at the end of the series.
func directionDuring(s *result.Series, from, to float64) *result.Direction {
	if end := s.EndSeconds[s.Len()-1]; end < to && end > from && to-end <= missingTail {
		to = end
	}
	operations, bytes, latency := sums(s, from, to)
	count := int64(math.Round(operations))
	if count == 0 {
		return nil
	}
	part := &result.Direction{Operations: count, Bytes: int64(math.Round(bytes)), Seconds: to - from, ShortestSeconds: to - from}
	if latency > 0 {
		part.Latency = &result.Latency{Moments: result.Moments{Count: count, MeanSeconds: latency / operations}}
	}
	return part
}

// sums adds up the operations, the bytes and, if the series has latencies, the seconds of all operations between two
// moments. An interval that contains one of the moments counts in proportion.
func sums(s *result.Series, from, to float64) (operations, bytes, latency float64) {
	for i := range s.Len() {
		share := min(s.EndSeconds[i], to) - max(s.StartSeconds[i], from)
		if share <= 0 {
			continue
		}
		operations += share * s.OperationsPerSecond[i]
		bytes += share * s.BytesPerSecond[i]
		if s.MeanLatencySeconds != nil {
			latency += share * s.OperationsPerSecond[i] * s.MeanLatencySeconds[i]
		}
	}
	return operations, bytes, latency
}

// CombinedIOPS returns the operations per second over all runs, computed as in [Combine]; "" without runs, or
// if a run lacks this figure.
func CombinedIOPS(runs []Observation) (v1alpha1.Decimal, error) {
	if len(runs) == 0 {
		return "", nil
	}
	combined, err := Combine("", runs)
	if err != nil {
		return "", err
	}
	m, _ := FindResult(combined, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
	return m.Value, nil
}
