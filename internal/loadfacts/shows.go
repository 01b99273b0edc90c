package loadfacts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/result"
)

// Figure is a kind of figure.
type Figure int

// These are the kinds of figures.
const (
	Throughput Figure = iota
	Latency
	SyncLatency
)

// reached is the share of a limit from which a throughput is that of the limit, and not of the storage.
const reached = 0.95

// thinking is the share of its time that a job may think. A longer pause hides more than the usual margin of
// equivalence.
const thinking = 0.05

// Doubt returns why a figure of a direction cannot show the storage, and what can; "" if it can, as far as the
// output tells.
func (l Load) Doubt(figure Figure, d result.NamedDirection) string {
	if l.tool != result.ToolFIO || figure == SyncLatency {
		return ""
	}
	if text := l.cached(figure, d.Name); text != "" {
		return text
	}
	switch figure {
	case Throughput:
		return l.limited(d)
	case Latency:
		return l.unsynced(d.Name)
	case SyncLatency:
	}
	return ""
}

// limited returns why a throughput is that of a limit.
func (l Load) limited(d result.NamedDirection) string {
	for _, name := range []string{"rate_iops", "rate"} {
		limit, ok := l.limit(name, d.Name)
		done := float64(d.Operations)
		if name == "rate" {
			done = float64(d.Bytes)
		}
		if ok && done/d.Seconds >= reached*limit {
			return fmt.Sprintf("option %s limits %ss, so the limit sets their number; compare a latency: --metric latencyP99", name, d.Name)
		}
	}
	for _, j := range l.jobs {
		pause := number(j.options, "thinktime", 0) / 1e6 / max(1, number(j.options, "thinktime_blocks", 1))
		if share := pause * float64(d.Operations) / float64(l.processes()) / d.Seconds; share > thinking {
			return fmt.Sprintf("jobs paused for %.0f%% of the time (thinktime), which no storage shortens; compare a latency: --metric latencyP99", min(100, 100*share))
		}
	}
	return ""
}

// limit adds up the limits of all processes in one direction. It returns false if a job has no limit.
func (l Load) limit(name string, direction result.DirectionName) (float64, bool) {
	sum := 0.0
	for _, j := range l.jobs {
		each := j.inDirection(name, direction)
		if each <= 0 {
			return 0, false
		}
		sum += each * float64(j.processes)
	}
	return sum, sum > 0
}

// inDirection returns the value of an option such as rate=1m,500k in one direction; 0 if it is absent. For mixed
// operations, it is the sum of the directions.
func (j job) inDirection(name string, direction result.DirectionName) float64 {
	parts := strings.Split(j.options[name].value, ",")
	used := directionsUsed(cmp.Or(j.options["rw"].value, "read"))
	sum, index := 0.0, 0
	for i, d := range []result.DirectionName{result.Read, result.Write, result.Trim} {
		if !used[i] {
			continue
		}
		value, err := strconv.ParseFloat(parts[min(index, len(parts)-1)], 64)
		if err == nil && (d == direction || direction == result.Mixed) {
			sum += value
		}
		index++
	}
	return sum
}

func (l Load) processes() int {
	n := 0
	for _, j := range l.jobs {
		n += j.processes
	}
	return max(1, n)
}

// cached returns why a figure is partly that of the client's page cache.
func (l Load) cached(figure Figure, direction result.DirectionName) string {
	if !slices.ContainsFunc(l.jobs, func(j job) bool { return j.buffered() }) {
		return ""
	}
	switch direction {
	case result.Read, result.Mixed:
		return "direct=0: reads may come from the client's page cache; measure with direct=1"
	case result.Write:
		flushed := !slices.ContainsFunc(l.jobs, func(j job) bool { return j.buffered() && !j.flushes() })
		through := !slices.ContainsFunc(l.jobs, func(j job) bool { return j.buffered() && !j.set("sync", "none") })
		switch {
		case through || figure == Throughput && flushed || figure == Latency && l.unsynced(direction) != "":
			return ""
		case figure == Throughput:
			return "direct=0: writes may end in the client's page cache; measure with direct=1, or with end_fsync=1"
		}
		return "direct=0: the latency of writes is that of the client's page cache; measure with direct=1, or compare --metric bandwidth"
	case result.Trim:
	}
	return ""
}

// buffered reports whether a job uses the page cache. An output that does not carry the options is not doubted.
func (j job) buffered() bool {
	engines := []string{
		"psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice", "solarisaio", "windowsaio",
	}
	engine := withDefault(j.options["ioengine"], j.options["ioengine"].value != "", "ioengine").value
	return !j.partial && slices.Contains(engines, engine) && (engine == "mmap" || !j.set("direct", "0"))
}

// set reports whether an option has another value than the one that means nothing.
func (j job) set(name, nothing string) bool {
	o, ok := j.options[name]
	return ok && o.value != nothing
}

// flushes reports whether the time of a job includes that in which its writes reach the storage.
func (j job) flushes() bool {
	return j.set("sync", "none") || slices.ContainsFunc(
		[]string{"fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close", "end_syncfs"},
		func(name string) bool { return j.set(name, "0") })
}

// unsynced returns why the latency of writes is not what an application waits for.
func (l Load) unsynced(direction result.DirectionName) string {
	for _, j := range l.jobs {
		for _, name := range []string{"fsync", "fdatasync", "sync_file_range"} {
			if direction != result.Write || !j.set(name, "0") {
				continue
			}
			text := name + ": the latency of writes leaves out the syncs; "
			if l.syncs {
				return text + "compare --metric syncLatencyP99"
			}
			return text + "this output lacks their latency, so compare --metric iops"
		}
	}
	if direction == result.Write && l.syncs && len(l.jobs) > 0 && l.jobs[0].partial {
		return "the job syncs: the latency of writes leaves out the syncs; compare --metric syncLatencyP99"
	}
	return ""
}
