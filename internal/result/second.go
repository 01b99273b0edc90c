package result

import "fmt"

// Second is the work of one client in about a second. Times count from the start of the client's tool, by the
// client's clock.
type Second struct {
	FromNanoseconds int64 `json:"fromNanoseconds"`
	ToNanoseconds   int64 `json:"toNanoseconds"`
	// Done counts all operations. If a load mixes reads and writes, Read and Write count each kind
	// and have the histograms.
	Done
	Read  *Done `json:"read,omitempty"`
	Write *Done `json:"write,omitempty"`
	// Lateness is the histogram of how late the load generator issued the operations that were due, through no
	// fault of the storage; nil for a closed loop.
	Lateness *Histogram `json:"lateness,omitempty"`
	// Target is the number of the target on which the client worked, if it has several. Engine counts the starts of its
	// tool after the first one: each window of a target has its own.
	Target int32 `json:"target,omitempty"`
	Engine int32 `json:"engine,omitempty"`
}

// Done counts finished operations.
type Done struct {
	// Operations may be 0, which is a stall. Bytes is the number of bytes that the operations moved.
	// LatencySeconds is the sum of the operations' latencies; 0 if the tool reports no latencies.
	// Latencies and LatencySeconds belong to the operations that Timed counts.
	Operations     float64 `json:"operations"`
	Bytes          float64 `json:"bytes"`
	LatencySeconds float64 `json:"latencySeconds"`
	// Latencies is the histogram of the operations' latencies; nil if the tool reports no histogram, or if
	// there were too many histograms to keep.
	Latencies *Histogram `json:"latencies,omitempty"`
	// Due is the number of operations that were due in this second, if the load generator has a schedule. Their
	// latencies are those of this second, whenever they finished. It is nil for a closed loop, whose latencies
	// are those of the finished operations.
	Due *float64 `json:"due,omitempty"`
}

// Timed returns the number of operations to which the latencies belong.
func (d *Done) Timed() float64 {
	if d.Due != nil {
		return *d.Due
	}
	return d.Operations
}

// Parts returns reads and writes separately for a mixed load, and otherwise all operations
// together, under the name "".
func (s *Second) Parts() map[DirectionName]*Done {
	if s.Read == nil && s.Write == nil {
		return map[DirectionName]*Done{"": &s.Done}
	}
	parts := map[DirectionName]*Done{}
	if s.Read != nil {
		parts[Read] = s.Read
	}
	if s.Write != nil {
		parts[Write] = s.Write
	}
	return parts
}

// WithoutLatencies returns a copy without histograms.
func (s *Second) WithoutLatencies() Second {
	plain := *s
	plain.Latencies, plain.Lateness = nil, nil
	for _, d := range []**Done{&plain.Read, &plain.Write} {
		if *d != nil {
			less := **d
			less.Latencies = nil
			*d = &less
		}
	}
	return plain
}

// Validate returns an error for impossible values.
func (s *Second) Validate() error {
	if s.FromNanoseconds < 0 || s.ToNanoseconds <= s.FromNanoseconds {
		return fmt.Errorf("a second cannot last from %d to %d ns", s.FromNanoseconds, s.ToNanoseconds)
	}
	if s.Target < 0 || s.Engine < 0 {
		return fmt.Errorf("a second cannot have target %d and engine %d", s.Target, s.Engine)
	}
	for _, d := range []*Done{&s.Done, s.Read, s.Write} {
		if d == nil {
			continue
		}
		if !isQuantity(d.Operations) || !isQuantity(d.Bytes) || !isQuantity(d.LatencySeconds) {
			return fmt.Errorf("a second cannot have %v operations with %v bytes and %v s of latency", d.Operations, d.Bytes, d.LatencySeconds)
		}
		if d.Due != nil && !isQuantity(*d.Due) {
			return fmt.Errorf("in a second, %v operations cannot be due", *d.Due)
		}
		if d.Latencies != nil {
			if err := d.Latencies.validate(); err != nil {
				return err
			}
		}
	}
	if s.Lateness != nil {
		return s.Lateness.validate()
	}
	return nil
}
