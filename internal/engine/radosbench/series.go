package radosbench

import (
	"github.com/cephtune/cephtune/internal/result"
)

// series turns the rows into intervals. Operations after the last row form one more interval, so that the
// intervals add up to the totals.
func (b *bench) series() *result.Series {
	if len(b.rows) == 0 || b.tooLong {
		return nil
	}
	times, boundaries := b.rowTimes()
	s := &result.Series{Boundaries: boundaries}
	add := func(start, end float64, operations int64) {
		rate := float64(operations) / (end - start)
		s.Append(start, end, rate, rate*float64(*b.operationBytes))
	}
	var last row
	lastTime := 0.0
	for i, r := range b.rows {
		if times[i] > lastTime {
			add(lastTime, times[i], r.finished-last.finished)
		}
		last, lastTime = r, times[i]
	}
	// If less than a millisecond remains, it is a rounding error, not an interval.
	if rest := *b.operations - last.finished; rest >= 0 && *b.seconds > lastTime+0.001 {
		add(lastTime, *b.seconds, rest)
	}
	if s.Len() == 0 {
		return nil
	}
	b.setLatencies(s)
	return s
}

// sufficient is the largest relative error that rounding may cause in the latency of an
// interval.
const sufficient = 0.02

// setLatencies computes the latency of each interval from the running means in the rows. If their digits do
// not suffice for one interval, several intervals share one mean, so that the total stays correct. An
// interval without operations has latency 0. Without usable running means, the series has no latencies.
func (b *bench) setLatencies(s *result.Series) {
	first := 0 // Row 0 may precede the first operation; it is no interval then.
	for first < len(b.rows) && b.rows[first].finished == 0 && b.rows[first].second == 0 {
		first++
	}
	rows := b.rows[first:]
	if b.latencyMean == nil || s.Len() < len(rows) || s.Len() > len(rows)+1 {
		return
	}
	if s.Len() > len(rows) {
		rows = append(rows, row{finished: *b.operations, averageLatency: *b.latencyMean})
	}
	latencies := make([]float64, len(rows))
	// The loop runs backwards. An interval without enough digits is merged with earlier ones, and the
	// running mean always has enough digits for the first operations.
	end := len(rows)
	for i := end - 1; i >= 0; i-- {
		var before row
		if i > 0 {
			before = rows[i-1]
		}
		mean, ok := b.latencyBetween(before, rows[end-1])
		if !ok {
			continue
		}
		for ; end > i; end-- {
			if s.OperationsPerSecond[end-1] > 0 {
				latencies[end-1] = mean
			}
		}
	}
	if end == 0 || rows[end-1].finished == 0 {
		s.MeanLatencySeconds = latencies
	}
}

// latencyBetween returns the mean latency of the operations that completed between two rows. It returns
// false if no operation completed, if a running mean is unknown, or if the digits of the running means do not
// suffice.
func (b *bench) latencyBetween(from, to row) (float64, bool) {
	before, behind := float64(from.finished), float64(to.finished)
	sum := to.averageLatency*behind - from.averageLatency*before
	// lost is the largest error of sum that rounding of the printed means can cause.
	lost := 5e-6 * (to.averageLatency*behind + from.averageLatency*before)
	if b.decimals {
		lost = 0.5e-6 * (behind + before)
	}
	known := to.averageLatency > 0 && (from.averageLatency > 0 || from.finished == 0) && to.finished > from.finished
	if !known || lost > sufficient*sum {
		return 0, false
	}
	return sum / (behind - before), true
}

// rowTimes returns when each row was printed, in seconds since the start.
//
// The first column counts rows. rados bench prints each row a fraction of a second after that number of
// seconds. The running mean is bytes divided by time, so it yields the exact time. Without a running mean,
// the time of a row is its number. If any computed time is implausible, the times of all rows are their
// numbers.
func (b *bench) rowTimes() ([]float64, result.Boundaries) {
	times := make([]float64, len(b.rows))
	measured := true
	previous := 0.0
	for i, r := range b.rows {
		t := float64(r.second)
		if r.finished > 0 && r.averageMiBPerSecond > 0 {
			t = float64(r.finished) * float64(*b.operationBytes) / mebibyte / r.averageMiBPerSecond
		}
		// A row is never early, and slightly late because of rados bench's loop. A delay of more than a
		// second, plus 1 % of the time since the start, shows that the mean has too few digits, or that the
		// machine was suspended.
		late := t - float64(r.second)
		if t < previous || late < -0.01 || late > 1+0.01*float64(r.second) {
			measured = false
		}
		times[i], previous = t, t
	}
	if measured {
		return times, result.MeasuredBoundaries
	}
	for i, r := range b.rows {
		times[i] = float64(r.second)
	}
	return times, result.NominalBoundaries
}
