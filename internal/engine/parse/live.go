package parse

import (
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// Rate is the speed of an engine during a run. Rates are shown to people, but never become results: they
// may be rounded, or include the ramp. Results of switched settings come from Counted.
type Rate struct {
	BytesPerSecond, OperationsPerSecond float64
	// MeanLatencySeconds is 0 if unknown.
	MeanLatencySeconds float64
	// Counted holds the work since the previous counted line, and is more precise than the rates. It is nil
	// if unknown.
	Counted *Counted
}

// Counted holds the work that an engine did in an interval.
type Counted struct {
	// Seconds is the length of the interval; 0 if the interval began when the engine was started, and the engine does
	// not say when that was.
	Seconds float64 `json:"seconds"`
	// Taken is when the interval ended, by the machine's clock. It is zero if the interval ended when the
	// engine printed the line.
	Taken time.Time `json:"taken"`
	result.Done
	// Read and Write are nil unless the engine did both, and counts reads and writes separately.
	Read  *result.Done `json:"read,omitempty"`
	Write *result.Done `json:"write,omitempty"`
	// Lateness is that of [result.Second].
	Lateness *result.Histogram `json:"lateness,omitempty"`
}

// maxDelay is the longest plausible time between the end of an interval and the reading of its line. The generator of
// an open loop prints a line up to 30 s late, because it waits for the operations that were due in the interval.
const maxDelay = 40 * time.Second

// Delay returns the time from the end of the interval to now, when its line is read. It returns 0 if that
// time is unknown, negative (the clock was set back), or above maxDelay.
func (c *Counted) Delay(now time.Time) time.Duration {
	if d := now.Sub(c.Taken); !c.Taken.IsZero() && d > 0 && d <= maxDelay {
		return d
	}
	return 0
}

// Live reads the standard output of an engine during one run.
type Live interface {
	// Line takes the next line, without its line ending. It returns false if the line yields no rate.
	Line(line []byte) (Rate, bool)
}
