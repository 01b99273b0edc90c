package task

import (
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// State is the state of a task.
type State string

// The states, in order. Done, Failed and Cancelled are final.
const (
	// Preparing: the client waits before the first command, or runs the steps.
	Preparing State = "Preparing"
	// Ready: the measurement waits for the start signal.
	Ready State = "Ready"
	// Measuring: the engine runs.
	Measuring State = "Measuring"
	// Done: all commands succeeded, and the output of the measurement, if the task has one, was read. For a
	// measurement with UntilCancelled, cancellation of the engine counts as success.
	Done State = "Done"
	// Failed: the field Failure says why.
	Failed State = "Failed"
	// Cancelled: the manager requested it, or the runner ended.
	Cancelled State = "Cancelled"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// FailureReason is the reason for the failure of a task, as one word.
type FailureReason string

// The reasons that this package defines. Package engine/parse has the reasons that an engine's output shows:
// Truncated, Killed, EndedEarly, NoIO, ToolError. An engine that must run until it is cancelled, but ends by
// itself, also has the reason EndedEarly.
const (
	// StepFailed: a step ended with an exit code that is not accepted.
	StepFailed FailureReason = "StepFailed"
	// ToolFailed: the engine ended with an exit code that is not accepted.
	ToolFailed FailureReason = "ToolFailed"
	// ToolKilled: a signal that the runner did not send ended the engine or a step.
	ToolKilled FailureReason = "ToolKilled"
	// DeadlineExceeded: the runner ended the task at its deadline.
	DeadlineExceeded FailureReason = "DeadlineExceeded"
	// NotStarted: the program could not be started, or the working directory or the file for the program's
	// output could not be created.
	NotStarted FailureReason = "NotStarted"
	// BadOutput: the engine's output or result is too long, or could not be stored, read, parsed or encoded.
	BadOutput FailureReason = "BadOutput"
)

// Failure describes the failure of a task.
type Failure struct {
	Reason FailureReason `json:"reason"`
	// Message is one sentence for the user.
	Message string `json:"message"`
	// Command is the command that failed, if a command did. An ellipsis replaces the last arguments of a long
	// command.
	Command []string `json:"command,omitempty"`
	// Tail holds the last lines of the command's standard output and standard error, at most 2 KiB.
	Tail string `json:"tail,omitempty"`
}

// Status is the state of a task with its details, in at most 4 KiB.
type Status struct {
	ID      string   `json:"id"`
	State   State    `json:"state"`
	Failure *Failure `json:"failure,omitempty"`
	// StartTime and EndTime are the times of the measurement. In a report they are by the clock of the client's node,
	// which may differ from others. What the manager hears from a runner is by the manager's clock.
	StartTime *time.Time `json:"startTime,omitempty"`
	EndTime   *time.Time `json:"endTime,omitempty"`
}

// Report is one client's report of a task. Its size is at most MaxReportBytes.
type Report struct {
	Status
	// Client is the index of the client, from 0.
	Client int `json:"client"`
	// Result holds the engine's measurements; nil unless the state is Done.
	Result *result.Result `json:"result,omitempty"`
	// Usage holds the resources that the client used during the measurement.
	Usage Usage `json:"usage"`
	// Output is the output of the engine, or of the step that failed or was cancelled. It has at most
	// MaxOutputBytes: the middle of a long output is cut out. Output is empty if the report would otherwise
	// exceed MaxReportBytes.
	Output string `json:"output,omitempty"`
}

// These are the bounds of a report.
const (
	MaxOutputBytes = 64 << 10
	MaxReportBytes = 4 << 20
)

// Usage holds the resources that a client used during a measurement.
type Usage struct {
	// CPUSeconds is the CPU time of the engine.
	CPUSeconds float64 `json:"cpuSeconds"`
	// ThrottledSeconds is the time for which the CPU limit stopped the container. ThrottledPeriods is the
	// number of scheduling periods in which the limit stopped it, out of Periods. All three are nil if the
	// kernel does not report them.
	ThrottledSeconds *float64 `json:"throttledSeconds,omitempty"`
	ThrottledPeriods *int64   `json:"throttledPeriods,omitempty"`
	Periods          *int64   `json:"periods,omitempty"`
	// MaxResidentBytes is the largest resident memory of the engine. It is at least the runner's own size.
	MaxResidentBytes int64 `json:"maxResidentBytes"`
	// Seconds is the time for which the figures of throttling and the following ones were counted; 0 in
	// reports of versions that did not count them. A figure is nil if the kernel does not report it.
	Seconds float64 `json:"seconds,omitempty"`
	// WaitedSeconds is the time in which a thread of the container was ready, but had no CPU.
	WaitedSeconds *float64 `json:"waitedSeconds,omitempty"`
	// HostCPUSeconds is the time of all CPUs of the client's host together. In HostBusySeconds of it they
	// neither were idle nor waited for I/O. This includes HostStolenSeconds, in which the hypervisor had them.
	HostCPUSeconds    float64  `json:"hostCPUSeconds,omitempty"`
	HostBusySeconds   *float64 `json:"hostBusySeconds,omitempty"`
	HostStolenSeconds *float64 `json:"hostStolenSeconds,omitempty"`
	// HostSaturatedSeconds is the time, in parts of about a second, in which the CPUs of the client's host
	// together were busy for SaturatedShare or more.
	HostSaturatedSeconds *float64 `json:"hostSaturatedSeconds,omitempty"`
	// HostPower says how the CPUs of the host save energy; nil if the kernel does not say.
	HostPower *HostPower `json:"hostPower,omitempty"`
	// RoundTrips has an entry for each peer of the measurement.
	RoundTrips []RoundTrip `json:"roundTrips,omitempty"`
}

// RoundTrip says how the runner's TCP connects to a peer went.
type RoundTrip struct {
	OSD int `json:"osd"`
	// Connects counts the connects that ended. Lost is the number of those whose first packet the kernel repeated, because
	// it had no answer within a second, and Failed of those that failed otherwise, such as refused ones.
	Connects int `json:"connects"`
	Lost     int `json:"lost,omitempty"`
	Failed   int `json:"failed,omitempty"`
	// MedianSeconds is the median time between the first packet and its answer, by the kernel's clock; 0 if none was answered.
	MedianSeconds float64 `json:"medianSeconds,omitempty"`
	// SegmentBytes and PathMTUBytes are the kernel's bounds for packets of the latest connection: TCP_INFO's snd_mss and pmtu.
	SegmentBytes uint32 `json:"segmentBytes,omitempty"`
	PathMTUBytes uint32 `json:"pathMTUBytes,omitempty"`
}

// HostPower says how the CPUs of a host save energy.
type HostPower struct {
	// Governors are those of cpufreq, each with its driver after a slash, such as powersave/intel_pstate; empty if unknown.
	Governors []string `json:"governors,omitempty"`
	// IdleState is the enabled idle state that takes a CPU the longest time to leave: IdleExitSeconds.
	IdleState       string  `json:"idleState,omitempty"`
	IdleExitSeconds float64 `json:"idleExitSeconds,omitempty"`
}

// SaturatedShare is the share of the CPU time of a host from which on the host counts as saturated. A thread
// that becomes ready then nearly always waits for a CPU.
const SaturatedShare = 0.95

// Plus returns the usage of two measurements of a client together. A figure that one of them lacks is nil.
func (u Usage) Plus(other Usage) Usage {
	u.CPUSeconds, u.Seconds, u.HostCPUSeconds = u.CPUSeconds+other.CPUSeconds, u.Seconds+other.Seconds, u.HostCPUSeconds+other.HostCPUSeconds
	u.MaxResidentBytes = max(u.MaxResidentBytes, other.MaxResidentBytes)
	u.ThrottledSeconds, u.ThrottledPeriods, u.Periods = plus(u.ThrottledSeconds, other.ThrottledSeconds), plus(u.ThrottledPeriods, other.ThrottledPeriods), plus(u.Periods, other.Periods)
	u.WaitedSeconds, u.HostBusySeconds = plus(u.WaitedSeconds, other.WaitedSeconds), plus(u.HostBusySeconds, other.HostBusySeconds)
	u.HostStolenSeconds, u.HostSaturatedSeconds = plus(u.HostStolenSeconds, other.HostStolenSeconds), plus(u.HostSaturatedSeconds, other.HostSaturatedSeconds)
	return u
}

func plus[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}
