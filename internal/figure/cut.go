package figure

import (
	"fmt"
	"math"
	"slices"

	"github.com/cephtune/cephtune/internal/result"
)

// afterRamp returns one client's result without its ramp, for an engine whose figures include the ramp. The
// returned time series begins at the end of the ramp.
//
// Operations, bytes and the mean latency come from the intervals after the ramp. The interval in which the
// ramp ends counts in proportion. If the series has no latencies, the mean latency still includes the ramp.
// The minimum and the maximum latency stay those of the phase with its ramp, because the engine does not
// report when they occurred. The true extremes lie between them. The standard deviation, histograms and
// percentiles cannot be cut, so they are dropped.
func afterRamp(res *result.Result, ramp float64) (*result.Result, error) {
	cut := *res
	for _, d := range res.Directions() {
		part, latencyKnown, err := directionAfter(d.Direction, ramp)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		cut.SetDirection(d.Name, part)
		if !latencyKnown && part.Latency != nil {
			cut.Warnings = append(slices.Clip(cut.Warnings), result.Warning{
				Code:    result.WarnRampIncluded,
				Message: string(d.Name) + ": the mean latency includes the ramp",
			})
		}
	}
	return &cut, nil
}

func directionAfter(d *result.Direction, ramp float64) (part *result.Direction, latencyKnown bool, err error) {
	if d.Seconds <= ramp {
		return nil, false, fmt.Errorf("it ended after %.1f s, within its ramp of %v s", d.Seconds, ramp)
	}
	s := d.Series
	if s == nil || s.OperationsPerSecond == nil || s.BytesPerSecond == nil {
		return nil, false, fmt.Errorf("the output has no values over time, so the ramp of %v s cannot be cut", ramp)
	}
	course := seriesAfter(s, ramp)
	operations, bytes, latency := sums(course, ramp, math.Inf(1))
	count := int64(math.Round(operations))
	if count == 0 {
		return nil, false, fmt.Errorf("nothing completed after the ramp of %v s", ramp)
	}
	part = &result.Direction{
		Operations: count, Bytes: int64(math.Round(bytes)),
		Seconds: d.Seconds - ramp, ShortestSeconds: d.Seconds - ramp,
		Series: course,
	}
	if d.Latency != nil {
		whole := d.Latency.Moments
		part.Latency = &result.Latency{Moments: result.Moments{
			Count: count, MeanSeconds: whole.MeanSeconds, MinSeconds: whole.MinSeconds, MaxSeconds: whole.MaxSeconds,
		}}
		if latency > 0 {
			part.Latency.Moments.MeanSeconds = latency / operations
		}
	}
	return part, latency > 0, nil
}

// seriesAfter drops the intervals before a moment, and cuts the interval that contains it.
func seriesAfter(s *result.Series, seconds float64) *result.Series {
	first := 0
	for first < s.Len() && s.EndSeconds[first] <= seconds {
		first++
	}
	column := func(values []float64) []float64 {
		if values == nil {
			return nil
		}
		return values[first:]
	}
	part := &result.Series{
		Boundaries: s.Boundaries,
		// This is a copy, because its first value changes.
		StartSeconds:        append([]float64(nil), s.StartSeconds[first:]...),
		EndSeconds:          s.EndSeconds[first:],
		OperationsPerSecond: column(s.OperationsPerSecond),
		BytesPerSecond:      column(s.BytesPerSecond),
		MeanLatencySeconds:  column(s.MeanLatencySeconds),
	}
	if part.Len() > 0 {
		part.StartSeconds[0] = math.Max(part.StartSeconds[0], seconds)
	}
	return part
}
