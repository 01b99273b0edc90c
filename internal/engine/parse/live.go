package parse

import (
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// Rate is the speed that a running engine prints. Rates are for people who watch, and never a result:
// engines print rounded numbers during a run, and include the ramp. Only Counted is exact.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
	// MeanLatencySeconds is 0 if the engine does not print it.
	MeanLatencySeconds float64
	// Counted holds exact counts since the previous line; nil if the engine prints only rounded
	// rates, or means over a longer time.
	Counted *Counted
}

// Counted holds exact counts of the work in an interval.
type Counted struct {
	Seconds float64
	// Taken is when the interval ended, by the clock of the machine; zero if it ended when the
	// line was printed.
	Taken time.Time
	result.Done
	Read, Write *result.Done // set for a load that mixes reads and writes
}

// maxDelay is how long a report may take from the engine to its reader.
const maxDelay = 5 * time.Second

// Delay returns the age of a report that is read now. It returns 0 if the age is unknown, negative
// (the clock was set back), or above maxDelay.
func (c *Counted) Delay(now time.Time) time.Duration {
	if d := now.Sub(c.Taken); !c.Taken.IsZero() && d > 0 && d <= maxDelay {
		return d
	}
	return 0
}

// Live reads the standard output of one run of an engine while it runs.
type Live interface {
	// Line takes the next line, without its end, and reports whether it contains a rate. It
	// ignores lines that it does not understand.
	Line(line []byte) (Rate, bool)
}
