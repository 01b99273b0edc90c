package parse

import (
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// Rate is how fast a tool says that it is, while it is at work. It is for people who
// watch, and never a result: what tools print meanwhile is rounded, and has the ramp
// in it.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
	// MeanLatencySeconds is 0 where the tool does not say.
	MeanLatencySeconds float64
	// Counted is what the tool has counted since the line before; nil where the rates are means over more,
	// or rounded.
	Counted *Counted
}

// Counted is what was done in a time, exactly.
type Counted struct {
	Seconds float64
	// Taken is when the time ended, by the clock of the machine; zero if that was when the line was printed.
	Taken time.Time
	result.Done
	Read, Write *result.Done // of a load that mixes both
}

// Live reads what one run of a tool prints to its standard output while it is at work.
type Live interface {
	// Line takes the next line, without its end, and reports whether that says how
	// fast the tool is. Whatever it does not understand says nothing.
	Line(line []byte) (Rate, bool)
}

// LiveFunc is a [Live] that remembers nothing of earlier lines.
type LiveFunc func(line []byte) (Rate, bool)

// Line implements [Live].
func (f LiveFunc) Line(line []byte) (Rate, bool) { return f(line) }
