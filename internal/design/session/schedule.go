package session

import (
	"slices"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
)

// latenessPercent is the percentile of the lateness that proves a window.
const latenessPercent = 99

// faults reports which windows are invalid: those of [switchback.Faults], those in which a client worked on another
// target, and those in which the load generator was itself late. A stall of the storage makes no operation late in this sense, so it never makes a window invalid.
func (e Evidence) faults(covered []bool) []bool {
	faults := switchback.Faults(e.lasting(), covered, e.Disturbed, e.Plan.Timing)
	e.markElsewhere(faults)
	limit := e.latenessLimit()
	for i := range min(len(faults), len(e.Latencies)) {
		if late := e.Latencies[i].Lateness; late != nil {
			if p, known := late.Percentile(latenessPercent); known && p.Seconds > limit {
				faults[i] = true
			}
		}
	}
	return faults
}

// lasting returns the switches with the latest time at which their windows may have ended. A window of a target, or a step of a
// curve, lasts until its engine has ended: until the next switch, or the end of the session so far.
func (e Evidence) lasting() []switchback.Switch {
	if !e.Plan.Targets && !e.Plan.Curves {
		return e.Record.Switches
	}
	all := slices.Clone(e.Record.Switches)
	for i := range all {
		all[i].Ended = max(all[i].Ended, e.Record.End)
		if i+1 < len(all) {
			all[i].Ended = all[i+1].Acknowledged
		}
	}
	return all
}

// latenessLimit returns the limit in seconds of the generator's own lateness. Like that of a benchmark's phase, it
// allows for a share of the latency. All windows have the same limit, from the latencies of the first block, in which
// each treatment has a window. So no window becomes invalid because of its own latencies.
func (e Evidence) latenessLimit() float64 {
	limit := result.LateLimitSeconds
	if len(e.Plan.Order) == 0 || len(e.Latencies) < len(e.Plan.Order[0]) {
		return limit
	}
	var sum *result.Histogram
	for _, l := range e.Latencies[:len(e.Plan.Order[0])] {
		h, err := l.histogram(switchback.Whole, "")
		if err == nil {
			err = addTo(&sum, h)
		}
		if err != nil {
			return limit
		}
	}
	if p, known := sum.Percentile(latenessPercent); known {
		limit = max(limit, result.LateLimitShare*p.Seconds)
	}
	return limit
}
