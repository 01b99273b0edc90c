// Package runner is the part of cephtune inside a benchmark pod and the manager's
// way to talk to it.
//
// The manager hands each client one task at a time and pulls its report. Requests
// can be repeated: a lost answer never makes a task run twice. The runner keeps every report
// until the manager sends Finish, so that a restarted manager finds them again.
package runner

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// Port is where runners listen, on the pod's address.
const Port = 7480

// KeyBytes is the length of the secret key of a session. The token that a request
// carries and the key of the TLS certificate are both derived from it, so it is
// all that manager and runner share.
const KeyBytes = 32

// Snapshot is how far all tasks of one runner are.
type Snapshot struct {
	// Version rises with every change.
	Version int64 `json:"version"`
	// Tasks are in the order in which they arrived.
	Tasks []task.Status `json:"tasks"`
}

// Started says when a measurement began, by the manager's clock.
type Started struct {
	// NotBefore and NotAfter bound the moment: the request was sent, and the answer
	// that it runs, less the time that it had been running by then, was received.
	NotBefore, NotAfter time.Time
}

// Client talks to the runner of one pod. It is safe for concurrent use.
type Client interface {
	// Snapshot returns the state of all tasks: at once if its version is above
	// after, otherwise when it changes, or unchanged after wait.
	Snapshot(ctx context.Context, after int64, wait time.Duration) (Snapshot, error)
	// Put hands over a task. Repeating it for the same task does nothing. It is an error if a
	// different task has the same ID, or another task is running.
	Put(ctx context.Context, t task.Task) (task.Status, error)
	// Start signals a task that is Ready to measure. Starting a started task is an error, since
	// its start time is no longer known.
	Start(ctx context.Context, id string) (Started, error)
	// Cancel ends a task that has not ended.
	Cancel(ctx context.Context, id string) error
	// Course returns what the tool of a task has done from its beginning or, from a row on, since
	// then. It has no rows where the tool does not count by the second. It can be asked while
	// the tool runs, and afterwards.
	Course(ctx context.Context, id string, from int) (Course, error)
	// Report returns what a task that has ended measured.
	Report(ctx context.Context, id string) (*task.Report, error)
	// Finish makes the runner end, successfully.
	Finish(ctx context.Context) error
}
