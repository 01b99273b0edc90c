package figure

import (
	"errors"
	"math"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

const (
	// shortestPart is the shortest part of a course that rates are taken from: courses
	// have seconds.
	shortestPart = 1.0
	// missingTail is how many seconds at the end of a course its engine may leave out. A longer
	// gap was a stall.
	missingTail = 2.0
)

// ErrNoCourse says that a result has no course over time.
var ErrNoCourse = errors.New("the result has no course over time")

// During derives the figures of the part of one client's result between two moments, in
// seconds since it began to measure: Bandwidth, IOPS and, if the course has it, LatencyMean. It
// returns no figures if no I/O was done in that time, and [ErrNoCourse] if the result has no
// course.
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

// directionDuring returns nil if no I/O was done. Operations are those of the intervals; the
// intervals at both ends count by their shares. Time outside of all intervals had no operations,
// except at the very end.
func directionDuring(s *result.Series, from, to float64) *result.Direction {
	if end := s.EndSeconds[s.Len()-1]; end < to && end > from && to-end <= missingTail {
		to = end
	}
	var operations, bytes, latency float64
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

// CombinedIOPS is the rate of operations over all runs, as [Combine] has it; empty if one
// of them lacks it.
func CombinedIOPS(runs []Observation) (v1alpha1.Decimal, error) {
	if len(runs) == 0 {
		return "", nil
	}
	combined, err := Combine("", runs)
	if err != nil {
		return "", err
	}
	m, _ := findResult(combined, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
	return m.Value, nil
}
