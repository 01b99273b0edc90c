package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/task"
)

// This file has the checks of the CPUs of the node where the client of a layered diagnosis ran. Nobody reads those of other
// nodes. The limits of shares are those of package fitness, which has the reasons.

// Host is a node with a client, and what that has counted there in all windows together.
type Host struct {
	Node  string
	Usage task.Usage
	// RoundTrips has those of each window.
	RoundTrips [][]task.RoundTrip
}

// HostOf returns what a client has counted on a node; nil if it has counted nothing.
func HostOf(node string, windows []Window) *Host {
	h := &Host{Node: node}
	for _, w := range windows {
		u := w.Usage
		if u == nil || !(u.Seconds > 0) {
			continue
		}
		if u.RoundTrips != nil {
			h.RoundTrips = append(h.RoundTrips, u.RoundTrips)
		}
		h.Usage.Seconds, h.Usage.HostCPUSeconds = h.Usage.Seconds+u.Seconds, h.Usage.HostCPUSeconds+u.HostCPUSeconds
		for _, total := range []struct {
			sum  **float64
			more *float64
		}{
			{&h.Usage.ThrottledSeconds, u.ThrottledSeconds},
			{&h.Usage.WaitedSeconds, u.WaitedSeconds},
			{&h.Usage.HostBusySeconds, u.HostBusySeconds},
			{&h.Usage.HostStolenSeconds, u.HostStolenSeconds},
			{&h.Usage.HostSaturatedSeconds, u.HostSaturatedSeconds},
		} {
			if total.more != nil && *total.sum == nil {
				*total.sum = new(0.0)
			}
			if total.more != nil {
				**total.sum += *total.more
			}
		}
		if u.HostPower != nil {
			h.Usage.HostPower = u.HostPower
		}
	}
	if h.Usage.Seconds == 0 {
		return nil
	}
	return h
}

func (f Facts) shares() fitness.Shares {
	if f.Host == nil {
		return fitness.Shares{}
	}
	return fitness.Of([]task.Usage{f.Host.Usage})
}

func (f Facts) power() task.HostPower {
	if f.Host == nil || f.Host.Usage.HostPower == nil {
		return task.HostPower{}
	}
	return *f.Host.Usage.HostPower
}

func (f Facts) knowBusy() bool      { return f.shares().HostBusy != nil }
func (f Facts) knowStolen() bool    { return f.shares().Stolen != nil }
func (f Facts) knowThrottled() bool { return f.shares().Throttled != nil }
func (f Facts) knowGovernor() bool  { return len(f.power().Governors) > 0 }

// lack returns a finding with what a client or its host lacked; nil if it lacked nothing.
func (f Facts) lack(s fitness.Shares, message, remedy string) *v1alpha1.Finding {
	lack := s.Lack()
	if lack == "" {
		return nil
	}
	return found(likely, remedy, []string{fmt.Sprintf("node %s, during the layers: %s", f.Host.Node, lack)}, "%s", message)
}

func hostCPUSaturated(f Facts) *v1alpha1.Finding {
	s := f.shares()
	s.Stolen = nil
	if s.Throttled != nil && *s.Throttled > fitness.ThrottledLimit {
		s.Waited = nil // A throttled client waits, too.
	}
	s.Throttled = nil
	return f.lack(s, "The CPUs of the client's node are busy, so client and OSDs on it wait for a CPU.",
		"Find what uses them (`kubectl top pods -A`), and move it, or reserve CPUs for OSDs by their requests.")
}

func cpuSteal(f Facts) *v1alpha1.Finding {
	return f.lack(fitness.Shares{Stolen: f.shares().Stolen}, "The hypervisor gives CPU time of the client's node to others.",
		"Ask whoever runs the hypervisor for reserved CPUs, or for a machine that is less shared.")
}

func clientThrottled(f Facts) *v1alpha1.Finding {
	return f.lack(fitness.Shares{Throttled: f.shares().Throttled}, "A CPU limit stopped the client of the diagnosis, so the layer Client contains pauses.",
		"Look for a limit on its pods beside the diagnosis's own of one CPU, such as a LimitRange. Applications with a limit may wait likewise.")
}

// wakeShare is ours: leaving an idle state delays an operation by that share of its time or more.
const wakeShare = 0.05

// cpuGovernor finds CPUs that save energy between operations. Source: tuned's profile latency-performance has the governor
// performance, and limits idle states by their latency. By the kernel's documentation of cpufreq, powersave means the lowest
// frequency, except with intel_pstate and amd-pstate-epp, where it is like ondemand.
func cpuGovernor(f Facts) *v1alpha1.Finding {
	sure := possible
	var evidence []string
	for _, text := range f.power().Governors {
		governor, driver, _ := strings.Cut(text, "/")
		if governor == "performance" || !isWord(governor) || !isWord(driver) {
			continue
		}
		evidence = append(evidence, fmt.Sprintf("node %s: scaling_governor %s, driver %s", f.Host.Node, governor, driver))
		if governor == "powersave" && !slices.Contains([]string{"", "intel_pstate", "amd-pstate-epp"}, driver) {
			sure = likely
		}
	}
	if t := f.fastest(); t > 0 && f.power().IdleExitSeconds >= wakeShare*t && isWord(f.power().IdleState) {
		evidence = append(evidence, fmt.Sprintf("node %s: idle state %s takes up to %s to leave; the fastest operation took %s",
			f.Host.Node, f.power().IdleState, milliseconds(f.power().IdleExitSeconds), milliseconds(t)))
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(sure, "`tuned-adm profile latency-performance` on the nodes, or `cpupower frequency-set -g performance` and `cpupower idle-set`. It takes more energy.",
		evidence, "CPUs of the client's node save energy between operations, and take time to be fast again.")
}

// isWord reports whether a text of a client may be shown: users of the namespace could have changed it.
func isWord(text string) bool { return regexp.MustCompile(`^[A-Za-z0-9_ -]{0,32}$`).MatchString(text) }

// fastest returns the time of the operation that took the shortest in the mean; 0 if unknown.
func (f Facts) fastest() float64 {
	shortest := 0.0
	for _, t := range f.Layers {
		if s := number(t.Seconds); s > 0 && (shortest == 0 || s < shortest) {
			shortest = s
		}
	}
	return shortest
}

// uncheckedCPUs says of which nodes the CPUs are unknown.
func uncheckedCPUs(f Facts) string {
	if f.Host == nil {
		text := "CPUs of the nodes: limits that throttle, steal time, frequency and C-states."
		if !f.LayersAsked {
			text += " diagnosis.layers reads those of its client's node."
		}
		return text
	}
	var others []string
	for _, d := range f.Devices {
		if d.Host != "" && d.Host != f.Host.Node && !slices.Contains(others, d.Host) {
			others = append(others, d.Host)
		}
	}
	slices.Sort(others)
	text := fmt.Sprintf("CPUs of other nodes than %s, where the client ran", f.Host.Node)
	if len(others) > 0 {
		const most = 3
		text += ": " + strings.Join(others[:min(len(others), most)], ", ")
		if more := len(others) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	if !f.knowGovernor() {
		text += ". Nor its frequency governor, which its kernel does not show"
	}
	return text + "."
}
