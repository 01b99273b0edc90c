package radosbench

import (
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// liveRows reads rows during a run; rados bench prints one each second. Each row has the bandwidth of its
// second. After a stall, that bandwidth is the mean over the stalled seconds and the row's own second.
// Operations and mean latency cover the time since the start, so two rows yield the values of one second.
type liveRows struct {
	last row
	// stalledSeconds is the length of the current stall, up to and including the last row.
	stalledSeconds float64
}

func newLive() parse.Live { return &liveRows{} }

// Line implements [parse.Live].
func (l *liveRows) Line(line []byte) (parse.Rate, bool) {
	next, bandwidth, ok := liveRow(withoutTimestamp(line))
	if !ok || next.second < l.last.second || next.finished < l.last.finished {
		return parse.Rate{}, false
	}
	before := l.last
	l.last = next
	seconds, operations := float64(next.second-before.second), float64(next.finished-before.finished)
	if seconds == 0 {
		return parse.Rate{}, false // Row 0, for example, covers no time.
	}
	rate := parse.Rate{BytesPerSecond: bandwidth * (1 << 20), OperationsPerSecond: operations / seconds}
	counted := &parse.Counted{Seconds: seconds, Done: result.Done{Operations: operations}}
	if operations == 0 {
		l.stalledSeconds += seconds
	} else {
		counted.Bytes = rate.BytesPerSecond * (l.stalledSeconds + seconds)
		l.stalledSeconds = 0
		counted.LatencySeconds = max(0, next.averageLatency*float64(next.finished)-before.averageLatency*float64(before.finished))
		rate.MeanLatencySeconds = counted.LatencySeconds / operations
	}
	rate.Counted = counted
	return rate, true
}

// liveRow reads "sec, Cur ops, started, finished, avg MB/s, cur MB/s, last lat(s), avg lat(s)". A stalled
// second has "cur MB/s" 0 and a dash as "last lat(s)".
func liveRow(line []byte) (r row, mibPerSecond float64, ok bool) {
	var fields [8][]byte
	for i := range fields {
		fields[i], line = parse.Field(line)
	}
	if rest, _ := parse.Field(line); rest != nil || fields[7] == nil {
		return row{}, 0, false
	}
	var numeric [4]bool
	r.second, numeric[0] = parse.Int(fields[0])
	r.finished, numeric[1] = parse.Int(fields[3])
	mibPerSecond, numeric[2] = parse.Float(fields[5])
	r.averageLatency, numeric[3] = parse.Float(fields[7])
	return r, mibPerSecond, numeric == [4]bool{true, true, true, true}
}
