// Package runner is the part of cephtune that runs inside a benchmark pod, and the manager's API client for
// it.
//
// The manager sends each runner one task at a time and fetches the task's report. All requests but Start can be
// repeated: a lost answer never makes a task run twice. The runner keeps every report until the runner ends,
// usually after the request Finish, so that a restarted manager finds the reports again. It also writes
// the reports of measurements and failures into its log, for a manager that comes back after the pod has ended.
package runner

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// Port is the TCP port on which runners listen, on the pod's address.
const Port = 7480

// KeyBytes is the length of the secret key of an execution. The manager and the runner share only this key. Each
// derives the request token and the key of the TLS certificate from it.
const KeyBytes = 32

// Snapshot has the state of all tasks of one runner.
type Snapshot struct {
	// Version increases with every change.
	Version int64 `json:"version"`
	// Tasks has the tasks in the order of their arrival.
	Tasks []task.Status `json:"tasks"`
	// Now is the time of the answer by the runner's clock; zero in answers of versions that did not give it.
	Now time.Time `json:"now,omitzero"`
}

// Started is the interval in which a measurement began, by the manager's clock.
type Started struct {
	// The measurement began between NotBefore and NotAfter. The manager computes both from the times of a
	// request and its answer, and from the engine's running time in the answer.
	NotBefore, NotAfter time.Time
}

// Client talks to the runner of one pod. It is safe for concurrent use.
type Client interface {
	// Snapshot returns the state of all tasks when its version is greater than the parameter after. If the
	// version does not become greater within the duration that the parameter wait gives, Snapshot returns the
	// state as it is. It waits for 30 s at most.
	Snapshot(ctx context.Context, after int64, wait time.Duration) (Snapshot, error)
	// Put sends a task. Sending the same task again does nothing. It is an error if a different task has the
	// same ID, or another task has not ended yet.
	Put(ctx context.Context, t task.Task) (task.Status, error)
	// Start sends the start signal to a task in state Ready. A second Start is an error: the engine may have
	// begun before that request, so the time of the request cannot be NotBefore.
	Start(ctx context.Context, id string) (Started, error)
	// Aim makes a measurement continue with another command: it stops the engine, starts the command, and returns
	// when that runs. The task's rows and its times continue, and its result is that of the last engine. If the
	// engine has to be killed, or the command cannot be started, the task fails. Aiming twice starts it twice.
	Aim(ctx context.Context, id string, at Aim) error
	// Cancel cancels a task, unless the task has already ended.
	Cancel(ctx context.Context, id string) error
	// Course returns the rows of a task: what its engine did, second by second. The parameter first is the
	// number of the first row to return; numbers count from 0. If the engine does not report counts for each
	// second, Course returns no rows. It works while the engine runs and afterwards. The caller releases
	// Course.Held.
	Course(ctx context.Context, id string, first int) (Course, error)
	// Report returns the report of a task that has ended.
	Report(ctx context.Context, id string) (*task.Report, error)
	// Finish cancels the running task, and ends the runner with exit code 0.
	Finish(ctx context.Context) error
}
