package runner

import (
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// meterEvery is the time between samples of a meter.
const meterEvery = time.Second

// meter counts what CPU time a client and its host had since the meter was made. It is safe for concurrent use.
type meter struct {
	cgroup, proc fs.FS // the container's cgroup directory, and /proc

	mu        sync.Mutex
	first     counters
	last      counters
	saturated float64 // seconds
}

// counters has the kernel's counters at one time. A part is nil if the kernel does not report it.
type counters struct {
	taken     time.Time
	throttled *throttling
	waited    *float64 // seconds
	host      *hostTimes
}

// hostTimes has the seconds of all CPUs of a host together, since the host was started.
type hostTimes struct{ total, busy, stolen float64 }

func newMeter(cgroup, proc fs.FS) *meter {
	m := &meter{cgroup: cgroup, proc: proc}
	m.first = m.read(time.Now())
	m.last = m.first
	return m
}

// run takes samples until the channel is closed.
func (m *meter) run(until <-chan struct{}) {
	next := time.NewTicker(meterEvery)
	defer next.Stop()
	for {
		select {
		case <-until:
			return
		case now := <-next.C:
			m.sample(now)
		}
	}
}

func (m *meter) read(now time.Time) counters {
	return counters{taken: now, throttled: readThrottling(m.cgroup), waited: readWaited(m.cgroup), host: readHostTimes(m.proc)}
}

// sample reads the counters. It adds the time since the previous sample to the saturated time if the host was
// saturated in it.
func (m *meter) sample(now time.Time) {
	read := m.read(now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if before := m.last.host; before != nil && read.host != nil && read.host.total > before.total &&
		read.host.busy-before.busy >= task.SaturatedShare*(read.host.total-before.total) {
		m.saturated += read.taken.Sub(m.last.taken).Seconds()
	}
	m.last = read
}

// addTo adds the figures until the latest sample to the usage of an engine. Without a meter, it adds nothing.
func (m *meter) addTo(usage *task.Usage) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	usage.Seconds = m.last.taken.Sub(m.first.taken).Seconds()
	if before, after := m.first.throttled, m.last.throttled; before != nil && after != nil {
		usage.ThrottledSeconds = new(max(0, after.seconds-before.seconds))
		usage.ThrottledPeriods, usage.Periods = new(max(0, after.throttled-before.throttled)), new(max(0, after.total-before.total))
	}
	if before, after := m.first.waited, m.last.waited; before != nil && after != nil {
		usage.WaitedSeconds = new(max(0, *after-*before))
	}
	if before, after := m.first.host, m.last.host; before != nil && after != nil {
		usage.HostCPUSeconds = max(0, after.total-before.total)
		usage.HostBusySeconds, usage.HostStolenSeconds = new(max(0, after.busy-before.busy)), new(max(0, after.stolen-before.stolen))
		usage.HostSaturatedSeconds = new(m.saturated)
	}
}

// readWaited reads how long a thread of the container has waited for a CPU: the line "some" of cpu.pressure,
// which only cgroup version 2 has. It returns nil if the file is missing or unreadable.
func readWaited(cgroup fs.FS) *float64 {
	data, err := fs.ReadFile(cgroup, "cpu.pressure")
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(data), "\n")
	_, total, found := strings.Cut(line, " total=")
	microseconds, err := strconv.ParseUint(total, 10, 64)
	if !found || err != nil || !strings.HasPrefix(line, "some ") {
		return nil
	}
	return new(float64(microseconds) / 1e6)
}

// readHostTimes reads the first line of /proc/stat, which describes the host also in a container: "cpu user
// nice system idle iowait irq softirq steal guest guest_nice". The times of guests are in user and nice, too. It
// returns nil if the file is missing or unreadable.
func readHostTimes(proc fs.FS) *hostTimes {
	const perSecond, idle, iowait, steal = 100, 3, 4, 7 // Linux has 100 ticks a second in all its files.
	data, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(data), "\n")
	words := strings.Fields(line)
	if len(words) < steal+2 || words[0] != "cpu" {
		return nil
	}
	var times hostTimes
	for i, word := range words[1 : steal+2] {
		ticks, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil
		}
		seconds := float64(ticks) / perSecond
		times.total += seconds
		if i != idle && i != iowait {
			times.busy += seconds
		}
		if i == steal {
			times.stolen = seconds
		}
	}
	return &times
}
