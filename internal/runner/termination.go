package runner

import (
	"encoding/json"
	"os"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/task"
)

// maxTerminationBytes is what the kubelet keeps of a termination message.
const maxTerminationBytes = 4096

// Termination is a runner's message in the status of its pod: enough to see what went wrong when
// the manager could not ask it.
type Termination struct {
	// Error is why the runner ended; empty after Finish.
	Error string `json:"error,omitempty"`
	// Omitted is how many of the first tasks are not listed.
	Omitted int `json:"omitted,omitempty"`
	// Tasks are what became of the last ones.
	Tasks []Ending `json:"tasks"`
}

// Ending is what became of a task.
type Ending struct {
	ID     string             `json:"id"`
	State  task.State         `json:"state"`
	Reason task.FailureReason `json:"reason,omitempty"`
}

// terminationMessage returns a [Termination] as JSON of at most 4096 bytes; the first
// tasks are left out where it would be longer.
func terminationMessage(err error, tasks []task.Status) ([]byte, error) {
	t := Termination{Tasks: []Ending{}}
	if err != nil {
		t.Error = ellipsis.Cut(clean([]byte(err.Error())), maxMessageBytes)
	}
	room := maxTerminationBytes - 128 - 6*len(t.Error) // JSON makes up to six bytes of one.
	first := len(tasks)
	for first > 0 && room >= 0 {
		data, err := json.Marshal(endingOf(tasks[first-1]))
		if err != nil {
			return nil, err
		}
		if room -= len(data) + len(","); room >= 0 {
			first--
		}
	}
	for _, status := range tasks[first:] {
		t.Tasks = append(t.Tasks, endingOf(status))
	}
	t.Omitted = first
	return json.Marshal(t)
}

func endingOf(status task.Status) Ending {
	ending := Ending{ID: status.ID, State: status.State}
	if status.Failure != nil {
		ending.Reason = status.Failure.Reason
	}
	return ending
}

// writeTermination leaves the message in the file that the kubelet made.
func writeTermination(path string, err error, tasks []task.Status) error {
	if path == "" {
		return nil
	}
	message, err := terminationMessage(err, tasks)
	if err != nil {
		return err
	}
	return os.WriteFile(path, message, 0o600)
}
