package workload

import (
	"fmt"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// The node's clock gives the time of a measurement, unless the manager has observed it itself.
func TestTimesComeFromTheLog(t *testing.T) {
	start, end, known := time.Unix(100, 0), time.Unix(130, 0), time.Unix(99, 0)
	tasks := newTasks(1)
	for _, id := range []string{"r1-p1", "r1-p2"} {
		tasks[0][id] = task.Status{ID: id, State: task.Done, StartTime: &start, EndTime: &end}
	}
	m := NewNotes()
	m.StartedAt["r1-p2"] = known
	m.NoteTimes(tasks)
	m.NoteEnds(tasks, time.Unix(500, 0))
	if !m.StartedAt["r1-p1"].Equal(start) || !m.EndedAt["r1-p1"].Equal(end) || !m.StartedAt["r1-p2"].Equal(known) {
		t.Errorf("started %v, ended %v", m.StartedAt, m.EndedAt)
	}
	several := NewNotes()
	several.NoteTimes(Tasks{tasks[0], tasks[0]})
	if len(several.StartedAt) > 0 {
		t.Errorf("several clients started together by their own clocks: %v", several.StartedAt)
	}
}

// Manipulated clients report other tasks each time.
func TestNotesHaveABound(t *testing.T) {
	m := NewNotes()
	for i := range 3 * maxNoted {
		tasks := Tasks{{fmt.Sprint(i): {State: task.Done, StartTime: &time.Time{}, EndTime: &time.Time{}}}}
		m.NoteEnds(tasks, time.Unix(int64(i), 0))
	}
	if len(m.EndedAt) != maxNoted {
		t.Errorf("%d tasks are noted", len(m.EndedAt))
	}
}
