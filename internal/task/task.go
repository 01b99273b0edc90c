// Package task describes the work of a benchmark's client: programs with their arguments. The manager
// creates tasks, and the runner in a client pod executes them.
package task

import (
	"net/netip"
	"slices"
)

// Command is a program and its arguments. No shell interprets them.
type Command struct {
	// Argv holds the program, as a name without a path, and its arguments. Options have the form
	// --name=value, so that a value cannot be taken for an option.
	Argv []string `json:"argv"`
	// Accept lists exit codes besides 0 that count as success. An example is 17 (EEXIST) of a
	// command that creates something and may be repeated.
	Accept []int `json:"accept,omitempty"`
}

// Same reports whether two commands have the same program and arguments.
func (c Command) Same(o Command) bool { return slices.Equal(c.Argv, o.Argv) }

// Task is the work of one client: first all steps, then the measurement. The first command that fails ends
// the task. A task without steps and measurement is Done at once: with a shared image, some clients have
// nothing to do in a task.
type Task struct {
	// ID is unique within the lifetime of a runner. It has at most 100 lower-case letters, digits
	// and dashes.
	ID string `json:"id"`
	// Steps are commands that run one after another, before the measurement and without a start signal.
	Steps []Command `json:"steps,omitempty"`
	// Measure is the engine whose output becomes the result. It waits for the start signal, which all
	// clients get from the manager at the same time. Measure is nil for tasks that only prepare or tear down.
	Measure *Measurement `json:"measure,omitempty"`
	// StepsTimeoutSeconds limits all steps together, and MeasureTimeoutSeconds limits the measurement. Each
	// is above 0 if the task has that part.
	StepsTimeoutSeconds   float64 `json:"stepsTimeoutSeconds,omitempty"`
	MeasureTimeoutSeconds float64 `json:"measureTimeoutSeconds,omitempty"`
}

// Measurement is one run of an engine, with the information for parsing its output.
type Measurement struct {
	Command
	// Format is the name of the output's format in package engine.
	Format string `json:"format"`
	// OutputFile is the file to which the engine writes its report, relative to the working
	// directory; empty if the report is its standard output.
	OutputFile string `json:"outputFile,omitempty"`
	// LogPrefix is the prefix of the names of fio's per-second logs, relative to the working
	// directory; empty without logs.
	LogPrefix string `json:"logPrefix,omitempty"`
	// Snapshots says that the engine prints a cumulative report to its standard output each second.
	// Only the last report is kept.
	Snapshots bool `json:"snapshots,omitempty"`
	// RequestedSeconds is the time for which the engine is asked to run, without fio's ramp. For rados
	// bench, it includes the ramp. It is 0 if bytes, a number of objects or a cancellation limit the
	// measurement.
	RequestedSeconds float64 `json:"requestedSeconds,omitempty"`
	// RequestedBytes is the number of bytes that the engine has to read or write; 0 if another bound limits
	// the measurement.
	RequestedBytes int64 `json:"requestedBytes,omitempty"`
	// MinimumSeconds is the shortest measured time that counts as a result. If the time is shorter, the
	// engine had too little work.
	MinimumSeconds float64 `json:"minimumSeconds,omitempty"`
	// UntilCancelled says that the engine runs until its task is cancelled. The task is then Done, with the
	// measurements up to that moment. If the engine ends by itself, the task fails.
	UntilCancelled bool `json:"untilCancelled,omitempty"`
	// OperationBytes is the size of an operation. It serves to compute bytes for rados bench, which does
	// not report its bytes if it is stopped. It is 0 for measurements that end by themselves.
	OperationBytes int64 `json:"operationBytes,omitempty"`
	// Peers are OSDs to which the runner times TCP connects meanwhile, at most MostPeers.
	Peers []Peer `json:"peers,omitempty"`
}

// MostPeers bounds the peers of a measurement, because each costs its OSD a connection every few seconds.
const MostPeers = 32

// Peer is an OSD with its address: an IP address and a port.
type Peer struct {
	OSD     int    `json:"osd"`
	Address string `json:"address"`
}

// Valid reports whether an OSD can have this address. Those of a link, of groups, and names are none.
func (p Peer) Valid() bool {
	a, err := netip.ParseAddrPort(p.Address)
	return err == nil && a.Port() > 0 && (a.Addr().IsGlobalUnicast() || a.Addr().IsLoopback())
}
