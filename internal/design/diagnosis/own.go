package diagnosis

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// This file compares what OSDs take for an operation by themselves: its time in their queue, in their own work, and in
// their store. The wait for other copies is left out, because a single slow OSD makes it longer for all.

// Interval has the counters of OSDs at its beginning and its end.
type Interval struct {
	Before, After []ceph.OSDCounters
	// OneCopy says that OSDs had no other copies to wait for.
	OneCopy bool
}

// Between returns the intervals between readings of counters.
func Between(readings [][]ceph.OSDCounters) (all []Interval) {
	for i := range len(readings) - 1 {
		all = append(all, Interval{Before: readings[i], After: readings[i+1]})
	}
	return all
}

// Intervals returns those of windows that were measured without a fault.
func Intervals(windows []Window) (all []Interval) {
	for _, w := range windows {
		if w.Fault == "" {
			all = append(all, w.Interval)
		}
	}
	return all
}

const (
	// leastCounted is the number of operations of an OSD without which an interval does not count for it.
	leastCounted = 20
	// leastOwnExcess is ours: as long as a round trip on a local network.
	leastOwnExcess = 0.0001
	// leastWaitExcess is twice as long, because an operation waits for a request and its answer.
	leastWaitExcess = 2 * leastOwnExcess
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
func (f Facts) between(writes bool, of func(Interval, stages) float64) []map[string][]timed {
	var samples []map[string][]timed
	for _, interval := range f.Intervals {
		byClass := map[string][]timed{}
		for class, osds := range f.classes() {
			for _, osd := range osds {
				s, enough := interval.counted(osd.ID, writes)
				if seconds := of(interval, s); enough && seconds > 0 {
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
	own := func(_ Interval, s stages) float64 { return s.own() }
	for _, kind := range []string{ofWrites, ofReads} {
		for _, c := range compared(f.between(kind == ofWrites, own)) {
			c.operation = kind
			all = append(all, c)
		}
	}
	return all
}

// waits returns the OSDs whose waits for other copies can be compared.
func (f Facts) waits() []comparison {
	return compared(f.between(true, func(i Interval, s stages) float64 {
		if i.OneCopy {
			return 0
		}
		return s.rest
	}))
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
		for _, one := range compared(f.between(c.operation == ofWrites, func(_ Interval, s stages) float64 { return stage.of(s) })) {
			if excess := one.seconds - one.others; one.osd == c.osd && excess > most {
				most, text = excess, fmt.Sprintf("; %s more %s", milliseconds(excess), stage.name)
			}
		}
	}
	return text
}

// slowReplication names OSDs whose writes wait longer for their other copies than those of others, although no OSD of
// the class is slow by itself. With three OSDs, all have the same peers, so what differs is the way to them. It is only
// possible: OSDs may serve pools with other numbers of copies.
func slowReplication(f Facts) *v1alpha1.Finding {
	var evidence []string
	var osds []int
	for _, s := range slower(f.waits(), leastWaitExcess) {
		osds = append(osds, s.osd)
		evidence = append(evidence, fmt.Sprintf("osd.%d: its writes wait %s for other copies, those of others %s; %.1f times (%.1f to %.1f)",
			s.osd, milliseconds(s.seconds), milliseconds(s.others), s.seconds/s.others, s.low, s.high))
	}
	if len(osds) == 0 || slowOSDs(f) != nil {
		return nil
	}
	return found(possible, "Look at the network of its node, above all at what it sends: speed and errors of the link (`ethtool`, `ip -s link`), its load, and MTU.", evidence,
		"Writes of %s wait longer for their other copies than those of other OSDs, and no OSD is slow by itself.", names(osds))
}

func (f Facts) knowWaits() bool { return len(f.waits()) > 0 }
