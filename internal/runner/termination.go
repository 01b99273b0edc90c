package runner

import (
	"encoding/json"
	"os"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/task"
)

// maxTerminationBytes is the kubelet's limit for a termination message.
const maxTerminationBytes = 4096

// Termination is a runner's message in the status of its pod. It says what went wrong, in case the manager
// cannot ask the runner.
type Termination struct {
	// Error is the error with which the runner ended. It is empty if the runner ended without error, after
	// Finish.
	Error string `json:"error,omitempty"`
	// Omitted is the number of tasks that came before those in Tasks.
	Omitted int `json:"omitted,omitempty"`
	// Tasks has the endings of the last tasks, in order.
	Tasks []Ending `json:"tasks"`
}

// Ending is the final state of a task, with the reason of a failure.
type Ending struct {
	ID     string             `json:"id"`
	State  task.State         `json:"state"`
	Reason task.FailureReason `json:"reason,omitempty"`
}

// terminationMessage returns a [Termination] as JSON of at most 4096 bytes. If the message might be longer,
// terminationMessage omits the first tasks.
func terminationMessage(err error, tasks []task.Status) ([]byte, error) {
	t := Termination{Tasks: []Ending{}}
	if err != nil {
		t.Error = ellipsis.Cut(clean([]byte(err.Error())), maxMessageBytes)
	}
	room := maxTerminationBytes - 128 - 6*len(t.Error) // JSON encodes one byte with up to six.
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

// writeTermination writes the message into the file that the kubelet has created.
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
