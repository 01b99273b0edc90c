package workload

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// Plan returns the tasks of a single client in several runs, if each task succeeds. The parameters from and
// to are the numbers of the first and the last of these runs. Plan simulates the successive moves of Next. A
// rest becomes the RestSeconds of the next task.
func (s *Script) Plan(from, to int32) ([]task.Task, error) {
	var planned []task.Task
	tasks, m, now, rest := Tasks{{}}, NewNotes(), time.Unix(0, 0), time.Duration(0)
	for run := from; run <= to; {
		m.NoteEnds(tasks, now)
		switch mv := s.Next(run, tasks, nil, m, now); mv.Kind {
		case MoveAssign: // Next never assigns the same task twice, so the loop ends.
			todo := mv.Tasks[0]
			todo.RestSeconds, rest = rest.Seconds(), 0
			planned = append(planned, todo)
			tasks[0][mv.ID] = task.Status{ID: mv.ID, State: task.Done}
		case MoveRest:
			rest, now = mv.Until.Sub(now), mv.Until
		case MoveEnd:
			run++
		case MoveFail:
			return nil, fmt.Errorf("task %s: %s", mv.ID, mv.Failure.Failure.Message)
		default:
			return nil, fmt.Errorf("task %s needs the manager, for move %s", mv.ID, mv.Kind)
		}
	}
	return planned, nil
}
