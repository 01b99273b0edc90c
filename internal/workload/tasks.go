package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// StartTime returns the earliest start of a task on any client; zero if unknown.
func (t Tasks) StartTime(id string) time.Time {
	var first time.Time
	for _, statuses := range t {
		if start := statuses[id].StartTime; start != nil && (first.IsZero() || start.Before(first)) {
			first = *start
		}
	}
	return first
}

// usedBefore reports whether a phase of an earlier run, or a pilot, may have used the data that these clients
// have prefilled.
func (t Tasks) usedBefore(run int32) bool {
	return slices.ContainsFunc(t, func(statuses map[string]task.Status) bool {
		for id := range statuses {
			number, _, _ := strings.Cut(strings.TrimPrefix(id, "r"), "-")
			earlier, err := strconv.ParseInt(number, 10, 32)
			if err == nil && int32(earlier) < run || strings.HasPrefix(id, "pilot-") {
				return true
			}
		}
		return false
	})
}

// EndTime returns the latest end of a task on any client; zero if unknown.
func (t Tasks) EndTime(id string) time.Time {
	var last time.Time
	for _, statuses := range t {
		if end := statuses[id].EndTime; end != nil && end.After(last) {
			last = *end
		}
	}
	return last
}

// Measuring reports whether any client is measuring.
func (t Tasks) Measuring() bool {
	return slices.ContainsFunc(t, func(statuses map[string]task.Status) bool {
		for _, status := range statuses {
			if status.State == task.Measuring {
				return true
			}
		}
		return false
	})
}

// Begun reports whether any client has the task of a phase in this run.
func (t Tasks) Begun(run int32) bool {
	prefix := fmt.Sprintf("r%d-", run)
	return slices.ContainsFunc(t, func(statuses map[string]task.Status) bool {
		for id := range statuses {
			if strings.HasPrefix(id, prefix) {
				return true
			}
		}
		return false
	})
}

// Tasks holds the statuses of each client's tasks, by task ID.
type Tasks []map[string]task.Status

// Has reports whether any client has the task.
func (t Tasks) Has(id string) bool {
	return t.Any(id, func(task.State) bool { return true })
}

// Any reports whether at least one client has the task in a state that the given function accepts.
func (t Tasks) Any(id string, accepts func(task.State) bool) bool {
	return slices.ContainsFunc(t, func(statuses map[string]task.Status) bool {
		status, ok := statuses[id]
		return ok && accepts(status.State)
	})
}

func (t Tasks) hasAll(id string) bool {
	return t.All(id, func(task.State) bool { return true })
}

// All reports whether every client has the task in a state that the given function accepts; false without
// clients.
func (t Tasks) All(id string, accepts func(task.State) bool) bool {
	for _, statuses := range t {
		if status, ok := statuses[id]; !ok || !accepts(status.State) {
			return false
		}
	}
	return len(t) > 0
}

// Unfinished returns the ID of a task that some client has not ended; false if all tasks have ended.
func (t Tasks) Unfinished() (string, bool) {
	for _, statuses := range t {
		for id, status := range statuses {
			if !status.State.Ended() {
				return id, true
			}
		}
	}
	return "", false
}

// Failed returns the failure of a task on the first client, by index, on which it failed; nil if it failed
// nowhere. A task that was cancelled on a client counts as failed there only if no client reports a real
// failure. Otherwise, that real failure is the reason why the task was cancelled on the other clients.
func (t Tasks) Failed(id string) *Failure {
	var found *Failure
	for client, statuses := range t {
		status, ok := statuses[id]
		switch {
		case !ok:
		case status.State == task.Failed:
			f := &Failure{ID: id, client: client}
			if status.Failure != nil {
				f.Failure = *status.Failure
			}
			return f
		case status.State == task.Cancelled && found == nil:
			found = &Failure{ID: id, client: client, Failure: task.Failure{Reason: Cancelled, Message: "it was cancelled"}}
		}
	}
	return found
}
