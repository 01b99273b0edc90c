package result

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Validate returns an error for impossible values in a result, such as a number that is negative, infinite or
// NaN. A direction without operations is an error too: it has to be nil.
func (r *Result) Validate() error {
	switch {
	case r.SchemaVersion != SchemaVersion:
		return fmt.Errorf("result: it has schema version %d, and only version %d can be read", r.SchemaVersion, SchemaVersion)
	case r.Clients < 1:
		return fmt.Errorf("result: it has %d clients, want at least 1", r.Clients)
	case r.Source.Tool == "" || r.Source.Format == "":
		return errors.New("result: its source has no tool or no format")
	case len(r.Directions()) == 0:
		return errors.New("result: it has no direction")
	}
	if err := r.validateText(); err != nil {
		return err
	}
	if r.Arrivals != nil {
		if err := r.Arrivals.validate(); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	for _, d := range r.Directions() {
		if err := d.validate(); err != nil {
			return fmt.Errorf("result: %s: %w", d.Name, err)
		}
	}
	return nil
}

// validateText returns an error for text that is not UTF-8, because JSON would change it.
func (r *Result) validateText() error {
	texts := []string{string(r.Source.Tool), r.Source.ToolVersion, r.Source.Format}
	for name, value := range r.Source.Settings {
		texts = append(texts, name, value)
	}
	for _, w := range r.Warnings {
		texts = append(texts, string(w.Code), w.Message)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("result: the text %q is not UTF-8", text)
		}
	}
	return nil
}

func (d *Direction) validate() error {
	switch {
	case d.Operations < 1 || d.Bytes < 0:
		return fmt.Errorf("%d operations of %d bytes", d.Operations, d.Bytes)
	case !isQuantity(d.Seconds) || d.Seconds == 0:
		return fmt.Errorf("it took %v seconds", d.Seconds)
	case !isQuantity(d.BytesPerSecond()) || !isQuantity(d.OperationsPerSecond()):
		return fmt.Errorf("%v seconds are too short for a rate", d.Seconds)
	case !isQuantity(d.ShortestSeconds) || d.ShortestSeconds == 0 || d.ShortestSeconds > d.Seconds:
		return fmt.Errorf("the shortest client took %v of %v seconds", d.ShortestSeconds, d.Seconds)
	}
	for _, l := range []*Latency{d.Latency, d.SubmissionLatency, d.CompletionLatency} {
		if l == nil {
			continue
		}
		if err := l.validate(); err != nil {
			return err
		}
	}
	if d.Series != nil {
		if err := d.Series.validate(); err != nil {
			return err
		}
	}
	return validateWindows(d.LatencyWindows)
}

func (l *Latency) validate() error {
	m := l.Moments
	if m.Count < 1 || !isLatency(m.MeanSeconds) {
		return fmt.Errorf("latency: a mean of %v s over %d operations", m.MeanSeconds, m.Count)
	}
	if m.M2SecondsSquared != nil && !isQuantity(*m.M2SecondsSquared) {
		return fmt.Errorf("latency: the sum of squares is %v", *m.M2SecondsSquared)
	}
	for _, v := range []*float64{m.MinSeconds, m.MaxSeconds} {
		if v != nil && !isLatency(*v) {
			return fmt.Errorf("latency: the shortest or the longest is %v s", *v)
		}
	}
	for i, p := range l.Percentiles {
		if !(p.Percent > 0 && p.Percent <= 100) || !isLatency(p.Seconds) {
			return fmt.Errorf("latency: percentile %v is %v s", p.Percent, p.Seconds)
		}
		if i > 0 && p.Percent <= l.Percentiles[i-1].Percent {
			return fmt.Errorf("latency: percentile %v is out of order or repeated", p.Percent)
		}
	}
	if l.Histogram != nil {
		return l.Histogram.validate()
	}
	return nil
}

// isQuantity reports whether v is finite and not negative.
func isQuantity(v float64) bool { return v >= 0 && v <= math.MaxFloat64 }

// longestLatency is a year. Tools print 2^64-1 ns, 585 years, for a latency that they believe not to be negative.
const longestLatency = 365 * 24 * 3600

func isLatency(seconds float64) bool { return seconds >= 0 && seconds <= longestLatency }
