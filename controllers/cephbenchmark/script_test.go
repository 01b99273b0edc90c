package cephbenchmark

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

// fakeLoad is a phase that reads a dataset, or writes something that has to be
// tidied up.
type fakeLoad struct {
	dataset string
	writes  bool
	there   bool // that an earlier run has prefilled the dataset
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

// pilotedLoad is done after two pilots.
type pilotedLoad struct{ fakeLoad }

func (pilotedLoad) NeedsPilot() bool { return true }

func (pilotedLoad) NextPilot(pilots []engine.Pilot) (int64, bool) {
	return int64(1000 * (len(pilots) + 1)), len(pilots) == 2
}

func (pilotedLoad) PilotTask(_ place.Place, run engine.Run, bytes int64) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{RequestedBytes: bytes}}, nil
}

func scriptOf(clients int, loads ...engine.Load) *script {
	s := &script{places: make([]place.Place, clients)}
	for i, l := range loads {
		s.phases = append(s.phases, phase{name: v1alpha1.PhaseName(fmt.Sprintf("p%d", i+1)), load: l})
	}
	return s
}

// play carries out moves on clients that always succeed, and returns them.
func play(t *testing.T, s *script, run int32, tasks clientTasks, m *memory, clock *time.Time) []string {
	t.Helper()
	var moves []string
	for range 100 {
		m.noteEnds(tasks, *clock)
		mv := s.next(run, tasks, nil, m, *clock)
		if mv.kind != moveWait {
			moves = append(moves, string(mv.kind)+" "+mv.id)
		}
		switch mv.kind {
		case moveAssign:
			for i := range tasks {
				tasks[i][mv.id] = task.Status{ID: mv.id, State: task.Done}
				if mv.tasks[i].Measure != nil {
					tasks[i][mv.id] = task.Status{ID: mv.id, State: task.Ready}
				}
			}
		case moveStart:
			m.startedAt[mv.id] = *clock
			for i := range tasks {
				tasks[i][mv.id] = task.Status{ID: mv.id, State: task.Done}
			}
		case moveRest:
			*clock = mv.until
		case moveDropCaches:
			m.cachesDropped[mv.id] = true
		case moveReadPilot:
			m.pilotSeconds[mv.id] = 1
		case moveEnd, moveFail:
			return moves
		case moveWait, moveCancel:
			t.Fatalf("nobody does anything any more after %v", moves)
		}
	}
	t.Fatalf("it does not end: %v", moves)
	return nil
}

func newTasks(clients int) clientTasks {
	tasks := make(clientTasks, clients)
	for i := range tasks {
		tasks[i] = map[string]task.Status{}
	}
	return tasks
}

func TestScriptFromBeginningToEnd(t *testing.T) {
	s := scriptOf(2, fakeLoad{writes: true}, fakeLoad{dataset: "d"}, fakeLoad{dataset: "d", writes: true})
	s.rest, s.dropCaches = 5*time.Second, true
	tasks, m, clock := newTasks(2), newMemory(time.Time{}), time.Unix(1000, 0)

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

	// The second run fills nothing again, and begins by removing what the last phase
	// of the first one has written: nobody had to wait for that.
	second := play(t, s, 2, tasks, m, &clock)
	if diff := cmp.Diff("Put tidy-r1-p3", second[0]); diff != "" {
		t.Errorf("second run begins with (-want +got):\n%s", diff)
	}
}

func TestScriptFindsSizes(t *testing.T) {
	s := scriptOf(1, pilotedLoad{fakeLoad{writes: true}})
	tasks, m, clock := newTasks(1), newMemory(time.Time{}), time.Unix(1000, 0)
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
	states := func(of ...task.State) clientTasks {
		tasks := newTasks(len(of))
		for i, state := range of {
			if state != "" {
				tasks[i]["r1-p1"] = task.Status{ID: "r1-p1", State: state, Failure: failureOf(state)}
			}
		}
		return tasks
	}
	cases := map[string]struct {
		tasks   clientTasks
		started bool
		run     int32
		want    moveKind
	}{
		"nobody has the task":                        {tasks: states("", ""), want: moveAssign},
		"one client has it: the answer was lost":     {tasks: states(task.Ready, ""), want: moveAssign},
		"one is still preparing":                     {tasks: states(task.Preparing, task.Ready), want: moveWait},
		"all are ready":                              {tasks: states(task.Ready, task.Ready), want: moveStart},
		"the signal was sent, and one has not said":  {tasks: states(task.Measuring, task.Ready), started: true, want: moveWait},
		"the signal reached one, and was forgotten":  {tasks: states(task.Measuring, task.Ready), want: moveCancel},
		"all measure":                                {tasks: states(task.Measuring, task.Measuring), want: moveWait},
		"all measure, and a new manager sees them":   {tasks: states(task.Measuring, task.Measuring), want: moveWait},
		"one is done":                                {tasks: states(task.Done, task.Measuring), started: true, want: moveWait},
		"one has failed, the others are stopped":     {tasks: states(task.Failed, task.Measuring), started: true, want: moveCancel},
		"one has failed, and the others are stopped": {tasks: states(task.Failed, task.Cancelled), started: true, want: moveFail},
		"all are done":                               {tasks: states(task.Done, task.Done), want: moveEnd},
		"an earlier run is still at work":            {tasks: states(task.Measuring, task.Done), started: true, run: 2, want: moveCancel},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMemory(time.Time{})
			if tc.started {
				m.startedAt["r1-p1"] = time.Unix(1, 0)
			}
			got := scriptOf(2, fakeLoad{}).next(max(tc.run, 1), tc.tasks, nil, m, time.Unix(1000, 0))
			if got.kind != tc.want {
				t.Errorf("got %s %s, want %s", got.kind, got.id, tc.want)
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

// The failure that is told is that of the client that failed, not of those that were
// stopped because of it.
func TestScriptTellsTheCause(t *testing.T) {
	tasks := newTasks(3)
	tasks[0]["r1-p1"] = task.Status{State: task.Cancelled}
	tasks[1]["r1-p1"] = task.Status{State: task.Failed, Failure: failureOf(task.Failed)}
	tasks[2]["r1-p1"] = task.Status{State: task.Cancelled}
	mv := scriptOf(3, fakeLoad{}).next(1, tasks, nil, newMemory(time.Time{}), time.Unix(1000, 0))
	if mv.kind != moveFail || mv.failure.client != 1 || mv.failure.failure.Reason != task.ToolFailed {
		t.Errorf("got %+v", mv)
	}
}

func TestClientsOfASessionTellEachSecond(t *testing.T) {
	s := scriptOf(1, fakeLoad{})
	if s.execution(0, 1, &memory{}).Switched {
		t.Error("an ordinary benchmark has a report each second")
	}
	if s.switched = true; !s.execution(0, 1, &memory{}).Switched {
		t.Error("that of a session has none")
	}
}
