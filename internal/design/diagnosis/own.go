package diagnosis

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
)

// This file compares what OSDs take for an operation by themselves: its time in their queue, in their own work, and in
// their store. The wait for other copies is left out, because a single slow OSD makes it longer for all.

// Interval has the counters of OSDs at its beginning and its end.
type Interval struct {
	Before, After []ceph.OSDCounters
}

// Between returns the intervals between readings of counters.
func Between(readings [][]ceph.OSDCounters) (all []Interval) {
	for i := range len(readings) - 1 {
		all = append(all, Interval{Before: readings[i], After: readings[i+1]})
	}
	return all
}

// With returns the facts with what was measured in windows on a pool with this number of copies.
func (f Facts) With(copies int, windows []Window) Facts {
	f.Layers = Layers(copies, windows)
	f.Intervals = slices.Clip(f.Intervals)
	for _, w := range windows {
		if w.Fault == "" {
			f.Intervals = append(f.Intervals, w.Interval)
		}
	}
	return f
}

const (
	// leastCounted is the number of operations of an OSD without which an interval does not count for it.
	leastCounted = 10
	// leastOwnExcess is ours: as long as a round trip on a local network.
	leastOwnExcess = 0.0001
)

// The operations of comparisons.
const (
	ofWrites = "write"
	ofReads  = "read"
)

// counted returns what an OSD counted in an interval, as the stages of a window, and whether it did enough.
func (i Interval) counted(osd int, writes bool) (stages, bool) {
	sum, err := Counted(i.Before, i.After, []int{osd})
	done := sum.Read.Count
	if writes {
		done = min(sum.Write.Count, sum.WriteProcessing.Count, sum.WritePreparing.Count, sum.Commit.Count)
	}
	return Window{Writes: writes, Counted: sum}.stages(), err == nil && done >= leastCounted
}

func (s stages) own() float64 { return s.queue + s.processing + s.store }

// between returns what OSDs took in each interval, by device class.
func (f Facts) between(writes bool, of func(stages) float64) []map[string][]timed {
	var samples []map[string][]timed
	for _, interval := range f.Intervals {
		byClass := map[string][]timed{}
		for class, osds := range f.classes() {
			for _, osd := range osds {
				s, enough := interval.counted(osd.ID, writes)
				if seconds := of(s); enough && seconds > 0 {
					byClass[class] = append(byClass[class], timed{osd.ID, seconds})
				}
			}
		}
		samples = append(samples, byClass)
	}
	return samples
}

// owns returns the OSDs whose own times can be compared, for writes and for reads.
func (f Facts) owns() (all []comparison) {
	for _, kind := range []string{ofWrites, ofReads} {
		for _, c := range compared(f.between(kind == ofWrites, stages.own)) {
			c.operation = kind
			all = append(all, c)
		}
	}
	return all
}

// stageOf names the stage in which an OSD loses most against the others of its class.
func (f Facts) stageOf(c comparison) string {
	most, text := 0.0, ""
	for _, stage := range []struct {
		name string
		of   func(stages) float64
	}{
		{"in its queue", func(s stages) float64 { return s.queue }},
		{"in its own work", func(s stages) float64 { return s.processing }},
		{"in its store", func(s stages) float64 { return s.store }},
	} {
		for _, one := range compared(f.between(c.operation == ofWrites, stage.of)) {
			if excess := one.seconds - one.others; one.osd == c.osd && excess > most {
				most, text = excess, fmt.Sprintf("; %s more %s", milliseconds(excess), stage.name)
			}
		}
	}
	return text
}
