// Package runner is the part of cephtune that runs inside a benchmark pod, and the manager's client
// for it.
//
// The manager sends each runner one task at a time and fetches its report. Requests can be
// repeated: a lost answer never makes a task run twice. The runner keeps every report until the
// manager sends Finish, so that a restarted manager finds the reports again.
package runner

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// Port is the TCP port on which runners listen, on the pod's address.
const Port = 7480

// KeyBytes is the length of the secret key of a session. The request token and the key of the TLS
// certificate are both derived from it, so manager and runner share nothing else.
const KeyBytes = 32

// Snapshot has the state of all tasks of one runner.
type Snapshot struct {
	// Version increases with every change.
	Version int64 `json:"version"`
	// Tasks has the tasks in the order of their arrival.
	Tasks []task.Status `json:"tasks"`
}

// Started says when a measurement began, by the manager's clock.
type Started struct {
	// NotBefore and NotAfter bound the time. The manager computes them from the times of a request
	// and of its answer, and from the engine's running time in the answer.
	NotBefore, NotAfter time.Time
}

// Client talks to the runner of one pod. It is safe for concurrent use.
type Client interface {
	// Snapshot returns the state of all tasks: at once if its version is greater than after,
	// otherwise at the next change, or unchanged when wait has passed. It waits for 30 s at most.
	Snapshot(ctx context.Context, after int64, wait time.Duration) (Snapshot, error)
	// Put sends a task. Repeating it for the same task does nothing. It is an error if a
	// different task has the same ID, or another task is running.
	Put(ctx context.Context, t task.Task) (task.Status, error)
	// Start sends the start signal to a task in state Ready. A second start is an error, since the
	// first one's time can no longer be bounded.
	Start(ctx context.Context, id string) (Started, error)
	// Cancel ends a task, unless it has already ended.
	Cancel(ctx context.Context, id string) error
	// Course returns the rows of a task from a given row on; 0 is the first. It has no rows if
	// the engine does not count by the second. Course works during the run and afterwards.
	Course(ctx context.Context, id string, from int) (Course, error)
	// Report returns the report of a task that has ended.
	Report(ctx context.Context, id string) (*task.Report, error)
	// Finish ends the runner with exit code 0.
	Finish(ctx context.Context) error
}
