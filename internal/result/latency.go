package result

import "math"

// Latency is the distribution of one kind of latency.
type Latency struct {
	Moments Moments `json:"moments"`
	// Histogram has exact counts in bins; nil if the tool did not report a histogram.
	Histogram *Histogram `json:"histogram,omitempty"`
	// Percentiles are those that the tool itself printed. They are kept only if the tool reported
	// no histogram. Unlike histograms, percentiles of several clients cannot be merged.
	Percentiles []Percentile `json:"percentiles,omitempty"`
}

// Percentile is a latency that a given share of the operations did not exceed.
type Percentile struct {
	// Percent is above 0 and at most 100.
	Percent float64 `json:"percent"`
	Seconds float64 `json:"seconds"`
	// AtLeast says that the latency may be far above Seconds: the percentile lies in the last bin,
	// which has no upper end.
	AtLeast bool `json:"atLeast,omitempty"`
}

// Percentile returns a percentile from the histogram or, without a histogram, from the tool's own
// percentiles. It does not interpolate: without a histogram, a percentile that the tool did not print is
// unknown.
func (l *Latency) Percentile(percent float64) (Percentile, bool) {
	if l.Histogram != nil {
		return l.Histogram.Percentile(percent)
	}
	for _, p := range l.Percentiles {
		if p.Percent == percent {
			return p, true
		}
	}
	return Percentile{}, false
}

// LatencyKind says which part of an operation a latency covers.
type LatencyKind string

// These are the kinds of latency.
const (
	// TotalLatency is the time from before submission to completion.
	TotalLatency LatencyKind = "total"
	// CompletionLatency is the time from after submission to completion.
	CompletionLatency LatencyKind = "completion"
)

// LatencyOf returns what a function finds in the total latency, and the kind of that latency. If it finds nothing there, as in
// fio's default output, it looks at the completion latency. The two kinds are not comparable.
func (d *Direction) LatencyOf(find func(*Latency) (Percentile, bool)) (Percentile, LatencyKind, bool) {
	if d.Latency != nil {
		if found, ok := find(d.Latency); ok {
			return found, TotalLatency, true
		}
	}
	if d.CompletionLatency != nil {
		if found, ok := find(d.CompletionLatency); ok {
			return found, CompletionLatency, true
		}
	}
	return Percentile{}, "", false
}

// Moments has the mean and the spread of a number of latencies, in a form that can be merged.
type Moments struct {
	Count       int64   `json:"count"`
	MeanSeconds float64 `json:"meanSeconds"`
	// M2SecondsSquared is the sum of (x - mean)² in square seconds; nil if unknown. For example, rados bench
	// does not report the spread of reads.
	M2SecondsSquared *float64 `json:"m2SecondsSquared,omitempty"`
	MinSeconds       *float64 `json:"minSeconds,omitempty"`
	MaxSeconds       *float64 `json:"maxSeconds,omitempty"`
}

// MomentsFromStddev returns moments from a sample standard deviation (with divisor n-1), as
// rados bench and fio print it.
func MomentsFromStddev(count int64, meanSeconds, stddevSeconds float64) Moments {
	m := Moments{Count: count, MeanSeconds: meanSeconds}
	if count > 0 {
		sum := stddevSeconds * stddevSeconds * float64(count-1)
		m.M2SecondsSquared = &sum
	}
	return m
}

// StddevSeconds returns the sample standard deviation, or false if it is unknown or if the moments
// count fewer than two latencies.
func (m Moments) StddevSeconds() (float64, bool) {
	if m.M2SecondsSquared == nil || m.Count < 2 {
		return 0, false
	}
	return math.Sqrt(*m.M2SecondsSquared / float64(m.Count-1)), true
}

// merge combines moments by the formula of Chan, Golub and LeVeque (1979). Unlike a difference of sums of
// squares, the formula does not lose digits.
func (m Moments) merge(o Moments) Moments {
	if m.Count == 0 {
		return o
	}
	if o.Count == 0 {
		return m
	}
	n, on := float64(m.Count), float64(o.Count)
	delta := o.MeanSeconds - m.MeanSeconds
	merged := Moments{
		Count: m.Count + o.Count,
		// This form does not depend on the order of the arguments, unlike mean + delta·share.
		MeanSeconds: m.MeanSeconds*(n/(n+on)) + o.MeanSeconds*(on/(n+on)),
		MinSeconds:  both(m.MinSeconds, o.MinSeconds, math.Min),
		MaxSeconds:  both(m.MaxSeconds, o.MaxSeconds, math.Max),
	}
	between := delta * delta * n * (on / (n + on))
	merged.M2SecondsSquared = both(m.M2SecondsSquared, o.M2SecondsSquared,
		func(a, b float64) float64 { return a + b + between })
	return merged
}

// both combines two values; the result is nil unless both are known.
func both(a, b *float64, combine func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	c := combine(*a, *b)
	return &c
}
