package workload

import (
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// NoteEnds records when each task was first seen to have ended on all clients.
func (m *Notes) NoteEnds(tasks Tasks, now time.Time) {
	if len(tasks) == 0 {
		return
	}
	for id := range tasks[0] {
		if _, known := m.EndedAt[id]; !known && tasks.All(id, task.State.Ended) {
			m.EndedAt[id] = now
		}
	}
}

// NoteTimes records the times of measurements from the clients' logs, by the clocks of their nodes.
// They do not show whether several clients started together.
func (m *Notes) NoteTimes(tasks Tasks) {
	if len(tasks) == 0 {
		return
	}
	for id := range tasks[0] {
		end := tasks.EndTime(id)
		if _, known := m.EndedAt[id]; !known && !end.IsZero() && tasks.All(id, task.State.Ended) {
			m.EndedAt[id] = end
		}
		if start := tasks.StartTime(id); len(tasks) == 1 && m.StartedAt[id].IsZero() && !start.IsZero() {
			m.StartedAt[id] = start
		}
	}
}

// Notes holds the manager's own observations of a session's tasks, apart from the runners'
// answers. They are lost when the manager ends, and with them the proof that clients started
// together.
type Notes struct {
	// StartedAt holds when the manager sent the signal to start a task, or the start in the log of a
	// single client. Spread holds an upper bound of the time between the clients' starts.
	StartedAt map[string]time.Time
	Spread    map[string]time.Duration
	// NotStarted holds why the signal to start a task did not reach all clients, by task.
	NotStarted map[string]string
	// EndedAt holds when each task ended on all clients: by the clients' logs if they were read, else
	// when the manager first saw it.
	EndedAt map[string]time.Time
	// CachesDropped holds the tasks before which caches were dropped.
	CachesDropped map[string]bool
	// PilotSeconds holds how long the slowest client took for each pilot, by task. A pilot is a short
	// measurement that determines how many bytes a phase has to move.
	PilotSeconds map[string]float64
}

// NewNotes returns notes of a session that has just begun.
func NewNotes() *Notes {
	return &Notes{
		StartedAt:     map[string]time.Time{},
		Spread:        map[string]time.Duration{},
		NotStarted:    map[string]string{},
		EndedAt:       map[string]time.Time{},
		CachesDropped: map[string]bool{},
		PilotSeconds:  map[string]float64{},
	}
}

// lastEnd returns when the last task ended; the zero time if none has.
func (m *Notes) lastEnd() time.Time {
	var last time.Time
	for _, t := range m.EndedAt {
		if t.After(last) {
			last = t
		}
	}
	return last
}
