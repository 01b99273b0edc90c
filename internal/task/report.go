package task

import (
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// State is how far a task is.
type State string

// The states, in order. Done, Failed and Cancelled are final.
const (
	// Preparing: the steps are being run.
	Preparing State = "Preparing"
	// Ready: the measurement waits for the signal to start.
	Ready State = "Ready"
	// Measuring: the tool runs.
	Measuring State = "Measuring"
	// Done: everything succeeded, and if there was a measurement, its output was
	// read.
	Done State = "Done"
	// Failed: see Failure.
	Failed State = "Failed"
	// Cancelled: the manager asked for it, or the pod was terminated.
	Cancelled State = "Cancelled"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// FailureReason is why a task failed, as one word.
type FailureReason string

// The reasons. Those of a tool's output are the ones of package engine: Truncated,
// Killed, EndedEarly, NoIO, ToolError.
const (
	// StepFailed: a command before the measurement ended with an exit code that is
	// not accepted.
	StepFailed FailureReason = "StepFailed"
	// ToolFailed: the tool ended with a non-zero exit code.
	ToolFailed FailureReason = "ToolFailed"
	// ToolKilled: the tool was ended by a signal that the runner did not send.
	ToolKilled FailureReason = "ToolKilled"
	// DeadlineExceeded: the runner ended it, because its time was up.
	DeadlineExceeded FailureReason = "DeadlineExceeded"
	// NotStarted: the program could not be started.
	NotStarted FailureReason = "NotStarted"
	// BadOutput: what the tool printed is not what its parser knows.
	BadOutput FailureReason = "BadOutput"
)

// Failure says what went wrong in a task.
type Failure struct {
	Reason FailureReason `json:"reason"`
	// Message is one sentence for the user.
	Message string `json:"message"`
	// Command is the command that failed.
	Command []string `json:"command,omitempty"`
	// Tail is the last lines that it printed, of both streams, at most 2 KiB.
	Tail string `json:"tail,omitempty"`
}

// Status is how far a task is, in at most 4 KiB.
type Status struct {
	ID      string   `json:"id"`
	State   State    `json:"state"`
	Failure *Failure `json:"failure,omitempty"`
	// StartTime and EndTime are those of the measurement by the node's clock, which
	// is not that of other nodes.
	StartTime *time.Time `json:"startTime,omitempty"`
	EndTime   *time.Time `json:"endTime,omitempty"`
}

// Report is one client's report of a measurement. It is bounded: see MaxReportBytes.
type Report struct {
	Status
	// Client is the index of the client, from 0.
	Client int `json:"client"`
	// Result is what the tool measured; nil unless the state is Done.
	Result *result.Result `json:"result,omitempty"`
	// Usage is what the client used while it measured.
	Usage Usage `json:"usage"`
	// Output is what the tool printed, cut in the middle to MaxOutputBytes.
	Output string `json:"output,omitempty"`
}

// Bounds of a report.
const (
	MaxOutputBytes = 64 << 10
	MaxReportBytes = 4 << 20
)

// Usage is what a client used of its node during a measurement.
type Usage struct {
	// CPUSeconds is the time on CPUs of the tool.
	CPUSeconds float64 `json:"cpuSeconds"`
	// ThrottledSeconds is how long the container was kept from running by its CPU limit, and
	// ThrottledPeriods of Periods scheduling periods were affected. Nil if the kernel does not
	// report it.
	ThrottledSeconds *float64 `json:"throttledSeconds,omitempty"`
	ThrottledPeriods *int64   `json:"throttledPeriods,omitempty"`
	Periods          *int64   `json:"periods,omitempty"`
	// MaxResidentBytes is the largest memory of the tool.
	MaxResidentBytes int64 `json:"maxResidentBytes"`
}
