package workload

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// fakeLoad is a phase that reads a dataset, or writes data that has to be tidied up.
type fakeLoad struct {
	dataset string
	writes  bool
	there   bool // an earlier run has prefilled the dataset
}

func (l fakeLoad) Datasets(place.Place) []engine.Dataset {
	if l.dataset == "" {
		return nil
	}
	made := engine.Dataset{Key: l.dataset, Shared: l.there, There: l.there}
	for commands, word := range map[*[]task.Command]string{
		&made.Commands: "fill", &made.Remove: "remove", &made.Rollback: "rollback", &made.Warm: "warm",
	} {
		*commands = []task.Command{{Argv: []string{word}}}
	}
	return []engine.Dataset{made}
}

func (l fakeLoad) Task(_ place.Place, run engine.Run) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{Command: task.Command{Argv: []string{"measure"}}}}, nil
}

func (l fakeLoad) Tidy(place.Place, engine.Run) []task.Command {
	if !l.writes {
		return nil
	}
	return []task.Command{{Argv: []string{"tidy"}}}
}

func (l fakeLoad) Timing() engine.Timing           { return engine.Timing{MeasuredSeconds: 30} }
func (l fakeLoad) Namespaces(place.Place) []string { return nil }

// pilotedLoad has its size after two pilots.
type pilotedLoad struct{ fakeLoad }

func (pilotedLoad) NeedsPilot() bool { return true }

func (pilotedLoad) NextPilot(pilots []engine.Pilot) (int64, bool) {
	return int64(1000 * (len(pilots) + 1)), len(pilots) == 2
}

func (pilotedLoad) PilotTask(_ place.Place, run engine.Run, bytes int64) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{RequestedBytes: bytes}}, nil
}

func scriptOf(clients int, loads ...engine.Load) *Script {
	s := &Script{Places: make([]place.Place, clients)}
	for i, l := range loads {
		s.Phases = append(s.Phases, Phase{Name: v1alpha1.PhaseName(fmt.Sprintf("p%d", i+1)), Load: l})
	}
	return s
}

// play carries out moves on clients that always succeed, and returns the moves.
func play(t *testing.T, s *Script, run int32, tasks Tasks, m *Notes, clock *time.Time) []string {
	t.Helper()
	var moves []string
	for range 100 {
		m.NoteEnds(tasks, *clock)
		mv := s.Next(run, tasks, nil, m, *clock)
		if mv.Kind != MoveWait {
			moves = append(moves, string(mv.Kind)+" "+mv.ID)
		}
		switch mv.Kind {
		case MoveAssign:
			for i := range tasks {
				tasks[i][mv.ID] = task.Status{ID: mv.ID, State: task.Done}
				if mv.Tasks[i].Measure != nil {
					tasks[i][mv.ID] = task.Status{ID: mv.ID, State: task.Ready}
				}
			}
		case MoveStart:
			m.StartedAt[mv.ID] = *clock
			for i := range tasks {
				tasks[i][mv.ID] = task.Status{ID: mv.ID, State: task.Done}
			}
		case MoveRest:
			*clock = mv.Until
		case MoveDropCaches:
			m.CachesDropped[mv.ID] = true
		case MoveCount:
			t.Errorf("%s counts, and no script here does", mv.ID)
		case MoveReadPilot:
			m.PilotSeconds[mv.ID] = 1
		case MoveReadStep:
			readStep(s, m, mv)
		case MoveEnd, MoveFail:
			return moves
		case MoveWait, MoveCancel:
			t.Fatalf("nobody does anything any more after %v", moves)
		}
	}
	t.Fatalf("it does not end: %v", moves)
	return nil
}

func newTasks(clients int) Tasks {
	tasks := make(Tasks, clients)
	for i := range tasks {
		tasks[i] = map[string]task.Status{}
	}
	return tasks
}

func TestScriptFromBeginningToEnd(t *testing.T) {
	s := scriptOf(2, fakeLoad{writes: true}, fakeLoad{dataset: "d"}, fakeLoad{dataset: "d", writes: true})
	s.rest, s.DropCaches = 5*time.Second, true
	tasks, m, clock := newTasks(2), NewNotes(), time.Unix(1000, 0)

	first := play(t, s, 1, tasks, m, &clock)
	if diff := cmp.Diff([]string{
		"Put data-d",
		"Rest r1-p1", "DropCaches r1-p1", "Put r1-p1", "Start r1-p1",
		"Put tidy-r1-p1",
		"Rest r1-p2", "DropCaches r1-p2", "Put r1-p2", "Start r1-p2",
		"Rest r1-p3", "DropCaches r1-p3", "Put r1-p3", "Start r1-p3",
		"End ",
	}, first); diff != "" {
		t.Errorf("first run (-want +got):\n%s", diff)
	}

	// The second run prefills nothing again. It begins by removing the data that the last phase of
	// the first run has written, because nothing had to wait for that removal.
	second := play(t, s, 2, tasks, m, &clock)
	if diff := cmp.Diff("Put tidy-r1-p3", second[0]); diff != "" {
		t.Errorf("second run begins with (-want +got):\n%s", diff)
	}
}

func TestScriptFindsSizes(t *testing.T) {
	s := scriptOf(1, pilotedLoad{fakeLoad{writes: true}})
	tasks, m, clock := newTasks(1), NewNotes(), time.Unix(1000, 0)
	moves := play(t, s, 1, tasks, m, &clock)
	if diff := cmp.Diff([]string{
		"Put pilot-p1-0", "Start pilot-p1-0", "Put tidy-pilot-p1-0", "ReadPilot pilot-p1-0",
		"Put pilot-p1-1", "Start pilot-p1-1", "Put tidy-pilot-p1-1", "ReadPilot pilot-p1-1",
		"Put r1-p1", "Start r1-p1", "End ",
	}, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	if got := s.ioTotal(0, m); got != 3000 {
		t.Errorf("the phase is to move %d bytes, want those that the pilots led to", got)
	}
}

func TestScriptMoves(t *testing.T) {
	states := func(wanted ...task.State) Tasks {
		tasks := newTasks(len(wanted))
		for i, state := range wanted {
			if state != "" {
				tasks[i]["r1-p1"] = task.Status{ID: "r1-p1", State: state, Failure: failureOf(state)}
			}
		}
		return tasks
	}
	cases := map[string]struct {
		tasks   Tasks
		started bool
		run     int32
		want    moveKind
	}{
		"no client has the task":                     {tasks: states("", ""), want: MoveAssign},
		"one client has it: the answer was lost":     {tasks: states(task.Ready, ""), want: MoveAssign},
		"one is still preparing":                     {tasks: states(task.Preparing, task.Ready), want: MoveWait},
		"all are ready":                              {tasks: states(task.Ready, task.Ready), want: MoveStart},
		"the signal was sent, and one has not said":  {tasks: states(task.Measuring, task.Ready), started: true, want: MoveWait},
		"the signal reached one, and was forgotten":  {tasks: states(task.Measuring, task.Ready), want: MoveCancel},
		"all measure":                                {tasks: states(task.Measuring, task.Measuring), want: MoveWait},
		"all measure, and a new manager sees them":   {tasks: states(task.Measuring, task.Measuring), want: MoveWait},
		"one is done":                                {tasks: states(task.Done, task.Measuring), started: true, want: MoveWait},
		"one has failed, the others are stopped":     {tasks: states(task.Failed, task.Measuring), started: true, want: MoveCancel},
		"one has failed, and the others are stopped": {tasks: states(task.Failed, task.Cancelled), started: true, want: MoveFail},
		"all are done":                               {tasks: states(task.Done, task.Done), want: MoveEnd},
		"an earlier run is still at work":            {tasks: states(task.Measuring, task.Done), started: true, run: 2, want: MoveCancel},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := NewNotes()
			if tc.started {
				m.StartedAt["r1-p1"] = time.Unix(1, 0)
			}
			got := scriptOf(2, fakeLoad{}).Next(max(tc.run, 1), tc.tasks, nil, m, time.Unix(1000, 0))
			if got.Kind != tc.want {
				t.Errorf("got %s %s, want %s", got.Kind, got.ID, tc.want)
			}
		})
	}
}

func failureOf(s task.State) *task.Failure {
	if s != task.Failed {
		return nil
	}
	return &task.Failure{Reason: task.ToolFailed, Message: "exit code 1"}
}

// The reported failure is that of the client that failed first, not of clients that were stopped
// because of it.
func TestScriptNamesTheCause(t *testing.T) {
	tasks := newTasks(3)
	tasks[0]["r1-p1"] = task.Status{State: task.Cancelled}
	tasks[1]["r1-p1"] = task.Status{State: task.Failed, Failure: failureOf(task.Failed)}
	tasks[2]["r1-p1"] = task.Status{State: task.Cancelled}
	mv := scriptOf(3, fakeLoad{}).Next(1, tasks, nil, NewNotes(), time.Unix(1000, 0))
	if mv.Kind != MoveFail || mv.Failure.client != 1 || mv.Failure.Failure.Reason != task.ToolFailed {
		t.Errorf("got %+v", mv)
	}
}

func TestSessionClientsReportEachSecond(t *testing.T) {
	s := scriptOf(1, fakeLoad{})
	if s.runOf(0, 1, &Notes{}).Switched {
		t.Error("an ordinary benchmark has a report each second")
	}
	if s.Switched = true; !s.runOf(0, 1, &Notes{}).Switched {
		t.Error("that of a session has none")
	}
}
