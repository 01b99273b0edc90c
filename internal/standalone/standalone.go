// Package standalone has the tasks of a standalone client. Its runner reads all tasks from a file, and
// reports through its log. A standalone client may replace a client that the manager cannot reach, if that
// client has done nothing yet.
package standalone

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// maxTasksBytes limits the file with the tasks. It is below the maximum size of a Secret, 1 MiB.
const maxTasksBytes = 900 << 10

// Session is the part of a session that a standalone client would carry out.
type Session struct {
	Spec   v1alpha1.CephBenchmarkSpec
	Script *workload.Script
	// Cleanup holds the commands with which the client removes its data.
	Cleanup []task.Command
	// From is the number of the run with which the client begins.
	From int32
}

// Check returns an error that says why the session needs the manager; nil if a standalone client
// suffices.
func (s Session) Check() error {
	switch {
	case s.Script.Switched:
		return errors.New("switching settings under load needs the clients' reports each second")
	case s.Spec.Template.Clients.Count != 1:
		return errors.New("only the manager can start several clients together")
	case s.Script.Background != nil:
		return errors.New("only the manager can stop the background load when the phases have ended")
	case s.Spec.Template.Outage != nil:
		return errors.New("only the manager can stop OSDs")
	case s.Script.DropCaches:
		return errors.New("only the manager can drop the caches of OSDs")
	}
	for _, p := range s.Script.Phases {
		if load, ok := p.Load.(engine.Piloted); ok && load.NeedsPilot() {
			return fmt.Errorf("phase %s is sized by pilots, which only the manager can evaluate", p.Name)
		}
	}
	_, err := s.File()
	return err
}

// Tasks returns all tasks of the client, including the removal of its data.
func (s Session) Tasks() ([]task.Task, error) {
	planned, err := s.Script.Plan(s.From, s.Spec.Repetitions)
	if err != nil {
		return nil, err
	}
	if len(s.Cleanup) > 0 {
		last := leftovers.Task(s.Cleanup)
		last.Always = true
		planned = append(planned, last)
	}
	return planned, nil
}

// File returns the content of the file from which the client reads its tasks. The file is in a
// Secret.
func (s Session) File() ([]byte, error) {
	planned, err := s.Tasks()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(planned)
	if err != nil {
		return nil, fmt.Errorf("write the tasks: %w", err)
	}
	if len(data) > maxTasksBytes {
		return nil, fmt.Errorf("its %d tasks take %d bytes, and a Secret has room for %d", len(planned), len(data), maxTasksBytes)
	}
	return data, nil
}

// TasksOf returns those tasks of a standalone client that have ended, or that belong to a run. The client
// may already have unfinished tasks of a later run, because it does not wait for the manager to conclude a
// run.
func TasksOf(script *workload.Script, run int32, all workload.Tasks) workload.Tasks {
	tasks := workload.Tasks{{}}
	for id, status := range all[0] {
		if status.State.Ended() || script.IsOf(run, id) {
			tasks[0][id] = status
		}
	}
	return tasks
}
