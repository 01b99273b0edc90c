package workload

import (
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/task"
)

// maxNoted is the maximum number of tasks with a recorded end. It is as large as the number of tasks that a runner
// accepts. Manipulated clients could report new tasks all the time.
const maxNoted = 2048

// NoteEnds records when each task was first seen to have ended on all clients.
func (m *Notes) NoteEnds(tasks Tasks, now time.Time) {
	if len(tasks) == 0 {
		return
	}
	for id := range tasks[0] {
		if _, known := m.EndedAt[id]; !known && len(m.EndedAt) < maxNoted && tasks.All(id, task.State.Ended) {
			m.EndedAt[id] = now
		}
	}
}

// NoteTimes records the times in the clients' logs, by the clocks of their nodes. It records a start only for
// a single client: clocks of several nodes cannot show that the clients started together.
func (m *Notes) NoteTimes(tasks Tasks) {
	if len(tasks) == 0 {
		return
	}
	for id := range tasks[0] {
		end := tasks.EndTime(id)
		if _, known := m.EndedAt[id]; !known && len(m.EndedAt) < maxNoted && !end.IsZero() && tasks.All(id, task.State.Ended) {
			m.EndedAt[id] = end
		}
		if start := tasks.StartTime(id); len(tasks) == 1 && m.StartedAt[id].IsZero() && len(m.StartedAt) < maxNoted && !start.IsZero() {
			m.StartedAt[id] = start
		}
	}
}

// Notes holds the manager's own observations of an execution's tasks, and times and figures that it has read in
// the clients' logs and reports. When the manager ends, the notes are lost. The next manager does not know
// whether clients started together.
type Notes struct {
	// StartedAt holds, by task, when the manager sent the start signal, or the start in the log of a single
	// client. Spread holds, by task, an upper bound of the time between the clients' starts.
	StartedAt map[string]time.Time
	Spread    map[string]time.Duration
	// NotStarted holds, by task, why the start signal failed on a client.
	NotStarted map[string]string
	// EndedAt holds, by task, when all clients had ended the task. The time is from the clients' logs, or
	// else the time at which the manager first saw the end.
	EndedAt map[string]time.Time
	// CachesDropped holds the IDs of the tasks before which OSDs dropped their caches.
	CachesDropped map[string]bool
	// PilotSeconds holds, by task, how long the slowest client took for a pilot. A pilot is a short
	// measurement that determines how many bytes a phase has to move.
	PilotSeconds map[string]float64
	// Courses holds the curve of each phase that has one, by the task of its closed loop, as far as its steps have
	// been read.
	Courses map[string]curve.Course
	// Counters holds what OSDs had counted before each task, and by [EndID] after the last one.
	Counters map[string][]ceph.OSDCounters
}

// NewNotes returns notes of an execution that has just begun.
func NewNotes() *Notes {
	return &Notes{
		StartedAt:     map[string]time.Time{},
		Spread:        map[string]time.Duration{},
		NotStarted:    map[string]string{},
		EndedAt:       map[string]time.Time{},
		CachesDropped: map[string]bool{},
		PilotSeconds:  map[string]float64{},
		Courses:       map[string]curve.Course{},
		Counters:      map[string][]ceph.OSDCounters{},
	}
}

// lastEnd returns when the last task ended; the zero time if no task has ended.
func (m *Notes) lastEnd() time.Time {
	var last time.Time
	for _, t := range m.EndedAt {
		if t.After(last) {
			last = t
		}
	}
	return last
}
