package workload

import (
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
