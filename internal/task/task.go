// Package task describes the work of a benchmark's client: programs with their arguments. The
// manager creates tasks, the runner in a benchmark pod executes them.
package task

import "slices"

// Command is a program and its arguments. No shell ever sees them.
type Command struct {
	// Argv is the program, by its name alone, and its arguments. Options are given
	// as --name=value, so that a value cannot be taken for an option.
	Argv []string `json:"argv"`
	// Accept lists exit codes besides 0 that are fine, such as 17 (EEXIST) of a
	// creation that may be a repetition.
	Accept []int `json:"accept,omitempty"`
}

// Same reports whether another command does the same.
func (c Command) Same(o Command) bool { return slices.Equal(c.Argv, o.Argv) }

// Task is carried out by one client as a whole: all steps, then the measurement. The first
// command that fails ends it. One without either is done at once: a client may have no part in
// a task for all, as with a shared image.
type Task struct {
	// ID is unique within the life of a runner: lower-case letters, digits and
	// dashes, at most 100 of them.
	ID string `json:"id"`
	// RestSeconds is how long the client waits before the first command: the pause between
	// phases, if the manager does not keep it. At most an hour.
	RestSeconds float64 `json:"restSeconds,omitempty"`
	// Always has a standalone client execute the task even if an earlier one has failed or the
	// pod is terminated, as teardown must be. With a manager it has no meaning.
	Always bool `json:"always,omitempty"`
	// Steps are run one after another as soon as the task arrives. They are not
	// measured.
	Steps []Command `json:"steps,omitempty"`
	// Measure is the tool whose output is the result. It waits for the signal to
	// start, which all clients are given together. Nil for tasks that only prepare
	// or clean up.
	Measure *Measurement `json:"measure,omitempty"`
	// StepsTimeoutSeconds and MeasureTimeoutSeconds are the deadlines of the two
	// parts, above 0 where there is that part.
	StepsTimeoutSeconds   float64 `json:"stepsTimeoutSeconds,omitempty"`
	MeasureTimeoutSeconds float64 `json:"measureTimeoutSeconds,omitempty"`
}

// Measurement is a run of a benchmark tool and how to read what it prints.
type Measurement struct {
	Command
	// Format is the name of the output's format, as package engine has it.
	Format string `json:"format"`
	// OutputFile is the file, relative to the working directory, that the tool
	// writes its report to; empty if that is its standard output.
	OutputFile string `json:"outputFile,omitempty"`
	// LogPrefix is how the names of fio's per-second logs begin, relative to the
	// working directory; empty without logs.
	LogPrefix string `json:"logPrefix,omitempty"`
	// Snapshots says that the engine prints a cumulative report to its standard output each
	// second. Only the last one is kept.
	Snapshots bool `json:"snapshots,omitempty"`
	// RequestedSeconds is the measured time that was asked for, without fio's ramp,
	// or 0 for a tool that is bounded by bytes.
	RequestedSeconds float64 `json:"requestedSeconds,omitempty"`
	// RequestedBytes is what the tool was asked to move, or 0 if it is bounded by
	// time.
	RequestedBytes int64 `json:"requestedBytes,omitempty"`
	// MinimumSeconds is the shortest measured time that is a result at all; a tool
	// that was done earlier has run out of work.
	MinimumSeconds float64 `json:"minimumSeconds,omitempty"`
	// UntilCancelled says that the tool is to run until its task is cancelled. That is
	// its good end: the task is then Done, with what was measured by then. A tool that
	// ends by itself has failed.
	UntilCancelled bool `json:"untilCancelled,omitempty"`
	// OperationBytes is the size of an operation, for a tool that reports bytes only at its
	// end and not when it is stopped; 0 for others.
	OperationBytes int64 `json:"operationBytes,omitempty"`
}
