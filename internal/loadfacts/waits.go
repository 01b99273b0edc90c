package loadfacts

import (
	"math"

	"github.com/cephtune/cephtune/internal/result"
)

// Waits describes a run at a fixed rate that was held up. fio starts each latency when it issues the operation.
// While it waits for an operation in flight, it issues none, so the waits of the operations that were due
// meanwhile are in no latency. The tails are from a histogram, or only the longest latency.
type Waits struct {
	// Rate is the number of operations that were due in a second.
	Rate float64
	// InFlight is the mean number of operations in flight, at least one for each process.
	InFlight float64
	// Longest is the longest latency.
	Longest float64
	// Hidden is the number of operations whose wait is hidden.
	Hidden float64
	// Behind is how many seconds the run was behind its schedule at the end; 0 if it kept its rate.
	Behind float64

	operations float64
	stalls     []level
	above      []level // rising latencies, and how many operations exceed each
}

// level is a latency or a stall, and a number of operations or stalls.
type level struct{ seconds, count float64 }

// missed is the share of operations that are missing from which a run did not keep its rate.
const missed = 0.01

// HiddenWaits returns the hidden waits of a direction. It returns false if the job has no rate, if no latency is
// known, or if no operation was due during the longest latency other than those in flight.
func (l Load) HiddenWaits(d result.NamedDirection) (Waits, bool) {
	latency := d.Latency
	if latency == nil {
		latency = d.CompletionLatency
	}
	rate := l.rate(d)
	if rate == 0 || latency == nil || latency.Moments.MaxSeconds == nil || d.Seconds == 0 {
		return Waits{}, false
	}
	w := Waits{Rate: rate, Longest: *latency.Moments.MaxSeconds, operations: float64(d.Operations)}
	depth := 0.0
	for _, j := range l.jobs {
		depth += float64(j.processes) * max(1, number(j.options, "iodepth", 1))
	}
	w.InFlight = max(float64(l.processes()), min(depth, rate*latency.Moments.MeanSeconds))
	due := rate * d.Seconds
	if short := due - w.operations; short > max(missed*due, 3*math.Sqrt(due)) {
		w.Behind = d.Seconds - w.operations/rate
	}
	w.findStalls(d.Direction, d.Seconds)
	return w, w.Hidden >= 1 || w.Behind > 0
}

// ClosedLoop reports whether no rate of a direction is known: the next operation waits for an earlier one.
func (l Load) ClosedLoop(d result.NamedDirection) bool {
	return l.tool == result.ToolFIO && l.rate(d) == 0
}

// rate returns how many operations of a direction are due in a second; 0 without a limit.
func (l Load) rate(d result.NamedDirection) float64 {
	if l.tool != result.ToolFIO || d.Operations == 0 {
		return 0
	}
	if rate, ok := l.limit("rate_iops", d.Name); ok {
		return rate
	}
	rate, _ := l.limit("rate", d.Name)
	return rate * float64(d.Operations) / float64(d.Bytes)
}

// findStalls counts the latencies during which more operations were due than were in flight. Operations that
// were in flight together share a stall. Without a histogram, the longest latency is the only known stall.
func (w *Waits) findStalls(d *result.Direction, seconds float64) {
	latency := d.Latency
	if latency == nil || latency.Histogram == nil && latency.Percentiles == nil && d.CompletionLatency != nil {
		latency = d.CompletionLatency // It has the percentiles, unless lat_percentiles is set.
	}
	w.stalls = []level{{w.Longest, 1}}
	if latency.Histogram != nil {
		left := float64(latency.Histogram.Count())
		for _, b := range latency.Histogram.Bins {
			seconds := float64(b.Nanoseconds) / 1e9
			left -= float64(b.Count)
			w.above = append(w.above, level{seconds, max(left, 1)})
			w.stalls = append(w.stalls, level{seconds, float64(b.Count) / w.InFlight})
		}
		w.stalls[0].count = max(0, 1-1/w.InFlight) // The bins have the rest of the longest stall.
	}
	for _, p := range latency.Percentiles {
		w.above = append(w.above, level{p.Seconds, max((1-p.Percent/100)*w.operations, 1)})
	}
	w.above = append(w.above, level{w.Longest, 1})
	held := 0.0
	for i, s := range w.stalls {
		if w.Rate*s.seconds <= w.InFlight {
			w.stalls[i].count = 0
		}
		held += w.stalls[i].count * s.seconds
	}
	for i := range w.stalls {
		w.stalls[i].count *= min(1, seconds/max(held, seconds))
		w.Hidden += w.stalls[i].count * max(0, w.Rate*w.stalls[i].seconds-w.InFlight)
	}
	w.Hidden = min(w.Hidden, w.operations)
}

// Share returns the share of all operations whose wait is hidden.
func (w Waits) Share() float64 { return w.Hidden / w.operations }

// Percentile returns what a percentile may be, counted from when each operation was due: the operations that are
// due during a stall of m seconds wait for up to m, all times equally often. They come on top of the operations
// that the output itself shows. Stalls whose queues meet make it higher.
func (w Waits) Percentile(percent, reported float64) float64 {
	tail := (1 - percent/100) * w.operations
	low, high := reported, max(reported, w.Longest)
	known := level{reported, tail}
	for range 60 {
		middle := (low + high) / 2
		if w.waiting(middle)+w.shown(known, middle) > tail {
			low = middle
		} else {
			high = middle
		}
	}
	return max(high, percent/100*w.Behind)
}

// shown returns how many operations the output itself shows above a latency. It interpolates between the levels
// that are known.
func (w Waits) shown(known level, seconds float64) float64 {
	for _, next := range w.above {
		if next.seconds > seconds {
			return known.count * math.Pow(next.count/known.count, (seconds-known.seconds)/(next.seconds-known.seconds))
		}
		if next.seconds > known.seconds {
			known = next
		}
	}
	return 0
}

// waiting returns how many operations wait longer than the given time because of a stall.
func (w Waits) waiting(seconds float64) float64 {
	n := 0.0
	for _, s := range w.stalls {
		n += s.count * w.Rate * max(0, s.seconds-seconds)
	}
	return n
}

// Mean returns the mean with the hidden waits.
func (w Waits) Mean(reported float64) float64 {
	sum := 0.0
	for _, s := range w.stalls {
		sum += s.count * max(0, w.Rate*s.seconds-w.InFlight) * s.seconds / 2
	}
	return max(reported+sum/w.operations, w.Behind/2)
}

// margin is how much hidden waits may move a latency before the reported one decides nothing: the usual margin of
// equivalence.
const margin = 0.05

// Spoils reports whether a bound is too far above the reported latency.
func Spoils(bound, reported float64) bool { return bound > (1+margin)*reported }
