package openloop

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// timeline draws all operations of a load in the order in which they are due. It depends only on the load.
type timeline []*stream // a heap

func newTimeline(l *Load) timeline {
	var t timeline
	for i := range l.Copies {
		for _, write := range l.Copies[i].directions() {
			source := rand.NewPCG(uint64(l.Copies[i].Seed), uint64(len(t)))
			s := &stream{copy: &l.Copies[i], target: i, write: write, source: source, random: rand.New(source)} //nolint:gosec // a load that can be replayed, not a secret
			s.begin()
			t = append(t, s)
		}
	}
	heap.Init(&t)
	return t
}

// due returns when the next operation is due.
func (t timeline) due() time.Duration { return t[0].due }

// take describes the next operation, and goes on to the one after it.
func (t timeline) take(op *Operation) {
	t[0].take(op)
	heap.Fix(&t, 0)
}

// clone returns a copy that draws the same operations.
func (t timeline) clone() timeline {
	c := make(timeline, len(t))
	for i, s := range t {
		copied, source := *s, *s.source
		copied.source, copied.random = &source, rand.New(&source) //nolint:gosec // as in newTimeline
		c[i] = &copied
	}
	return c
}

// Len implements heap.Interface.
func (t timeline) Len() int { return len(t) }

// Less implements heap.Interface.
func (t timeline) Less(i, j int) bool { return t[i].due < t[j].due }

// Swap implements heap.Interface.
func (t timeline) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *timeline) Push(x any) { *t = append(*t, x.(*stream)) } //nolint:errcheck,forcetypeassert // Only heap calls Push.

// Pop implements heap.Interface. A stream never ends, so nothing calls Pop.
func (t *timeline) Pop() any { return nil }

// stream is one direction of a copy.
type stream struct {
	copy   *Copy
	target int
	write  bool
	source *rand.PCG
	random *rand.Rand // draws from source

	due      time.Duration
	seconds  float64 // due, without rounding
	bytes    int64   // of the next operation
	position int64   // at which the next operation of a sequential stream begins
}

// begin sets when the first operation is due. Evenly spaced streams begin at random phases, because copies that
// begin together would submit all their operations in bursts.
func (s *stream) begin() {
	s.bytes = s.block()
	s.advance(s.gap() * s.phase())
}

func (s *stream) phase() float64 {
	if s.copy.Poisson {
		return 1 // Gaps between independent arrivals have no memory, so the first one is like all others.
	}
	return s.random.Float64()
}

// gap returns the time from one operation to the next, in seconds.
func (s *stream) gap() float64 {
	switch {
	case s.copy.Poisson:
		return s.random.ExpFloat64() / s.copy.rate(s.write)
	case s.copy.IOPS > 0:
		return 1 / s.copy.rate(s.write)
	}
	return float64(s.bytes) / s.copy.BytesPerSecond
}

func (s *stream) advance(gap float64) {
	s.seconds += gap
	s.due = seconds(s.seconds)
}

func (s *stream) take(op *Operation) {
	op.Target, op.Write, op.Due, op.Bytes = s.target, s.write, s.due, s.bytes
	op.Offset = s.copy.Offset + s.place()
	s.advance(s.gap())
	s.bytes = s.block()
}

// place returns the position of the next operation in the bytes of the copy. Random positions are multiples of
// the block's size, and an operation does not cross the end of an object.
func (s *stream) place() int64 {
	unit := s.copy.Size
	if s.copy.ObjectBytes > 0 {
		unit = s.copy.ObjectBytes
	}
	if s.copy.Random {
		units := s.copy.Size / unit
		return s.random.Int64N(units)*unit + s.random.Int64N(unit/s.bytes)*s.bytes
	}
	if s.position%unit+s.bytes > unit {
		s.position += unit - s.position%unit
	}
	if s.position+s.bytes > s.copy.Size {
		s.position = 0
	}
	position := s.position
	s.position += s.bytes
	return position
}

func (s *stream) block() int64 {
	blocks := s.copy.Blocks
	if len(blocks) == 1 {
		return blocks[0].Bytes
	}
	var total float64
	for _, b := range blocks {
		total += b.Weight
	}
	drawn := s.random.Float64() * total
	for _, b := range blocks {
		if drawn -= b.Weight; drawn < 0 {
			return b.Bytes
		}
	}
	return blocks[len(blocks)-1].Bytes
}
