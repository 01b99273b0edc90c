package parse

// Rate is how fast a tool says that it is, while it is at work. It is for people who
// watch, and never a result: what tools print meanwhile is rounded, and has the ramp
// in it.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
	// MeanLatencySeconds is 0 where the tool does not say.
	MeanLatencySeconds float64
	// Seconds is how long it is the rate of, where it is that of all operations since the line
	// before, as the tool has counted them; 0 where it is a mean over more, or rounded.
	Seconds float64
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
