package runner

import (
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/cephtune/cephtune/internal/task"
)

// throttling has the CPU throttling counters of a container since its start.
type throttling struct {
	seconds          float64
	throttled, total int64 // number of scheduling periods
}

// readThrottling reads the throttling counters from a container's cgroup directory, for cgroup version 2 or
// 1. It returns nil if the counters are missing or unreadable.
func readThrottling(cgroup fs.FS) *throttling {
	for _, name := range []string{"cpu.stat", "cpu,cpuacct/cpu.stat", "cpu/cpu.stat"} {
		if data, err := fs.ReadFile(cgroup, name); err == nil {
			if t := parseThrottling(string(data)); t != nil {
				return t
			}
		}
	}
	return nil
}

// parseThrottling reads lines such as "nr_throttled 5".
func parseThrottling(text string) *throttling {
	values := map[string]int64{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			values[name] = n
		}
	}
	total, hasTotal := values["nr_periods"]
	throttled, hasThrottled := values["nr_throttled"]
	if !hasTotal || !hasThrottled {
		return nil
	}
	t := &throttling{throttled: throttled, total: total}
	if microseconds, ok := values["throttled_usec"]; ok { // version 2
		t.seconds = float64(microseconds) / 1e6
		return t
	}
	if nanoseconds, ok := values["throttled_time"]; ok { // version 1
		t.seconds = float64(nanoseconds) / 1e9
		return t
	}
	return nil
}

// usageOf returns the CPU time and the memory of an engine, from the kernel's account of the process.
func usageOf(rusage *syscall.Rusage) task.Usage {
	if rusage == nil {
		return task.Usage{}
	}
	// Maxrss is in KiB on Linux. It is at least the runner's own size, because the kernel counts the moment
	// between fork and exec too.
	return task.Usage{CPUSeconds: seconds(rusage.Utime) + seconds(rusage.Stime), MaxResidentBytes: rusage.Maxrss << 10}
}

func seconds(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
