package result

import "math"

// Latency is the distribution of one kind of latency.
type Latency struct {
	Moments Moments `json:"moments"`
	// Histogram has exact counts in bins; nil if the tool did not give one.
	Histogram *Histogram `json:"histogram,omitempty"`
	// Percentiles are what the tool itself printed. They are kept only where there
	// is no histogram, since they cannot be merged with those of another client.
	Percentiles []Percentile `json:"percentiles,omitempty"`
}

// Percentile is the latency that a share of the operations did not exceed.
type Percentile struct {
	// Percent is above 0 and at most 100.
	Percent float64 `json:"percent"`
	Seconds float64 `json:"seconds"`
	// AtLeast says that Seconds is only a lower bound: the operation is in the
	// last bin, which has no upper end.
	AtLeast bool `json:"atLeast,omitempty"`
}

// Percentile returns the percentile from the histogram or, without one, from
// what the tool printed. It does not interpolate: a percentile that the tool did
// not print is not known.
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

// LatencyKind says which stretch of an operation a latency covers.
type LatencyKind string

// The kinds of latency.
const (
	// TotalLatency is from before submission to completion.
	TotalLatency LatencyKind = "total"
	// CompletionLatency is from after submission to completion.
	CompletionLatency LatencyKind = "completion"
)

// Percentile returns a percentile of the total latency if that is known, else of the completion
// latency (fio has percentiles of the latter by default), and which of the two it is: they are
// not comparable.
func (d *Direction) Percentile(percent float64) (Percentile, LatencyKind, bool) {
	if d.Latency != nil {
		if p, ok := d.Latency.Percentile(percent); ok {
			return p, TotalLatency, true
		}
	}
	if d.CompletionLatency != nil {
		if p, ok := d.CompletionLatency.Percentile(percent); ok {
			return p, CompletionLatency, true
		}
	}
	return Percentile{}, "", false
}

// MeanLatencySeconds returns the mean total latency if that is known, else the
// mean completion latency, and which of the two it is.
func (d *Direction) MeanLatencySeconds() (float64, LatencyKind, bool) {
	switch {
	case d.Latency != nil:
		return d.Latency.Moments.MeanSeconds, TotalLatency, true
	case d.CompletionLatency != nil:
		return d.CompletionLatency.Moments.MeanSeconds, CompletionLatency, true
	}
	return 0, "", false
}

// Moments are mean and spread of a number of latencies, in a form that can be
// merged.
type Moments struct {
	Count       int64   `json:"count"`
	MeanSeconds float64 `json:"meanSeconds"`
	// M2SecondsSquared is the sum of (x - mean)² in square seconds; nil if the
	// tool did not give a spread (rados bench does not, for reads).
	M2SecondsSquared *float64 `json:"m2SecondsSquared,omitempty"`
	MinSeconds       *float64 `json:"minSeconds,omitempty"`
	MaxSeconds       *float64 `json:"maxSeconds,omitempty"`
}

// MomentsFromStddev makes moments from a sample standard deviation, the one with
// n-1 in its divisor, which is what rados bench and fio print.
func MomentsFromStddev(count int64, meanSeconds, stddevSeconds float64) Moments {
	m := Moments{Count: count, MeanSeconds: meanSeconds}
	if count > 0 {
		sum := stddevSeconds * stddevSeconds * float64(count-1)
		m.M2SecondsSquared = &sum
	}
	return m
}

// StddevSeconds is the sample standard deviation; false without one, as for a single value.
func (m Moments) StddevSeconds() (float64, bool) {
	if m.M2SecondsSquared == nil || m.Count < 2 {
		return 0, false
	}
	return math.Sqrt(*m.M2SecondsSquared / float64(m.Count-1)), true
}

// merge combines moments by the formula of Chan, Golub and LeVeque (1979), which
// does not lose digits as a difference of sums of squares does.
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
		// Weights that add up to one, rather than mean + delta·share: that form
		// depends on the order.
		MeanSeconds: m.MeanSeconds*(n/(n+on)) + o.MeanSeconds*(on/(n+on)),
		MinSeconds:  both(m.MinSeconds, o.MinSeconds, math.Min),
		MaxSeconds:  both(m.MaxSeconds, o.MaxSeconds, math.Max),
	}
	between := delta * delta * n * (on / (n + on))
	merged.M2SecondsSquared = both(m.M2SecondsSquared, o.M2SecondsSquared,
		func(a, b float64) float64 { return a + b + between })
	return merged
}

// both combines two values that are both known; otherwise the result is not.
func both(a, b *float64, combine func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	c := combine(*a, *b)
	return &c
}
