// Package fitness judges whether a trial was fit for a verdict. A trial is a run of the design Blocks, or a
// session of the design Interleaved. Its instrument are the clients and their hosts. If they lacked CPU, figures
// may show the lack instead of the storage. The package sees one figure for a whole trial, and neither settings
// nor results, so it cannot select trials by their outcome.
package fitness

import (
	"fmt"
	"math"
	"strings"

	"github.com/cephtune/cephtune/internal/task"
)

// The limits on shares of a whole trial. A trial with a larger share is starved.
const (
	// HostBusyLimit limits the CPU time that the host spent on work, out of the time of all its CPUs. Queues
	// for a CPU grow without bound as this share approaches 1. Below 0.9, a thread of two CPUs waits about as
	// long for a CPU as it then uses it, or less. Waiting for disks is not work.
	HostBusyLimit = 0.90
	// SaturatedLimit limits the time in which the CPUs of the host were saturated (task.SaturatedShare). It
	// finds other work that comes and goes, for which the mean of the trial is too coarse.
	SaturatedLimit = 0.25
	// StolenLimit limits the CPU time that the hypervisor took from the host, out of the time of all its CPUs.
	StolenLimit = 0.05
	// WaitedLimit limits the time in which a thread of the client was ready, but had no CPU. A load generator
	// is late by such waits, whatever the storage does.
	WaitedLimit = 0.25
	// ThrottledLimit limits the time for which the CPU limit stopped the client. Above 1 %, the lost work
	// exceeds the differences between runs of a quiet cluster.
	ThrottledLimit = 0.01
)

// Shares has the state of an instrument: shares of the whole trial. A share is nil if the kernel does not
// report it. Threads are throttled on several CPUs at once, so Throttled may exceed 1.
type Shares struct {
	HostBusy  *float64 `json:"hostBusy,omitempty"`
	Saturated *float64 `json:"saturated,omitempty"`
	Stolen    *float64 `json:"stolen,omitempty"`
	Waited    *float64 `json:"waited,omitempty"`
	Throttled *float64 `json:"throttled,omitempty"`
}

// Of returns the largest shares of several clients. Clients on one host report the same shares of the host.
func Of(clients []task.Usage) Shares {
	var worst Shares
	for _, u := range clients {
		worst = worst.Worst(Shares{
			HostBusy: share(u.HostBusySeconds, u.HostCPUSeconds), Saturated: share(u.HostSaturatedSeconds, u.Seconds), Stolen: share(u.HostStolenSeconds, u.HostCPUSeconds),
			Waited: share(u.WaitedSeconds, u.Seconds), Throttled: share(u.ThrottledSeconds, u.Seconds),
		})
	}
	return worst
}

// maxShare limits shares. A client can report any numbers, and JSON has no infinite share.
const maxShare = 1e6

func share(part *float64, whole float64) *float64 {
	if part == nil || !(*part >= 0) || !(whole > 0) {
		return nil
	}
	return new(min(*part/whole, maxShare))
}

// Worst returns the larger of each two shares.
func (s Shares) Worst(other Shares) Shares {
	return Shares{
		HostBusy: larger(s.HostBusy, other.HostBusy), Saturated: larger(s.Saturated, other.Saturated), Stolen: larger(s.Stolen, other.Stolen),
		Waited: larger(s.Waited, other.Waited), Throttled: larger(s.Throttled, other.Throttled),
	}
}

func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Mark qualifies a trial that counts; "" is a trial without a mark.
type Mark string

// The marks. A trial has at most one: a client that lacks CPU may miss its rate for that reason alone, so only
// other trials get BelowRate.
const (
	// Starved means that a client or its host lacked CPU. Such a trial alone proves no gain.
	Starved Mark = "Starved"
	// Throttled is like Starved, but the cause is the CPU limit of the client.
	Throttled Mark = "Throttled"
	// BelowRate means that the baseline missed the offered rate. That is an outcome, and no fault of the
	// instrument.
	BelowRate Mark = "BelowRate"
)

// Starves reports whether a trial with the mark alone proves no gain.
func (m Mark) Starves() bool { return m == Starved || m == Throttled }

// Mark returns the mark of a trial with these shares.
func (s Shares) Mark() Mark {
	for _, k := range kinds() {
		if k.exceeded(s) {
			return k.mark
		}
	}
	return ""
}

// Lack says what the instrument lacked, with the limits, as the clause of a sentence; "" if it lacked nothing.
func (s Shares) Lack() string {
	var clauses []string
	for _, k := range kinds() {
		if k.exceeded(s) {
			clauses = append(clauses, fmt.Sprintf(k.clause+" (limit %d %%)", roundedUp(*k.share(s)), roundedUp(k.limit)))
		}
	}
	return strings.Join(clauses, ", ")
}

// roundedUp returns a share as a percentage. Limits are whole percentages, so a larger share differs from its
// limit in the text, too.
func roundedUp(share float64) int { return int(math.Ceil(100*min(share, 9.99) - 1e-9)) }

// kind is one thing that an instrument can lack.
type kind struct {
	mark   Mark
	limit  float64
	clause string // with a verb for a percentage
	share  func(Shares) *float64
}

func (k kind) exceeded(s Shares) bool {
	x := k.share(s)
	return x != nil && *x > k.limit
}

// kinds lists what an instrument can lack. The CPU limit comes first, because a throttled client waits for a
// CPU, too.
func kinds() []kind {
	return []kind{
		{Throttled, ThrottledLimit, "the CPU limit stopped a client for %d %% of the time", func(s Shares) *float64 { return s.Throttled }},
		{Starved, HostBusyLimit, "the CPUs of a client's host were busy for %d %% of the time", func(s Shares) *float64 { return s.HostBusy }},
		{Starved, SaturatedLimit, "the CPUs of a client's host were saturated for %d %% of the time", func(s Shares) *float64 { return s.Saturated }},
		{Starved, StolenLimit, "the hypervisor took %d %% of a host's CPU time", func(s Shares) *float64 { return s.Stolen }},
		{Starved, WaitedLimit, "a client waited for a CPU for %d %% of the time", func(s Shares) *float64 { return s.Waited }},
	}
}
