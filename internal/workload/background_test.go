package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// withBackground returns a script of one client and two phases, with a background load.
func withBackground(load engine.Load) *Script {
	s := scriptOf(1, fakeLoad{}, fakeLoad{})
	s.Background = &Background{Load: load, ramp: 10 * time.Second, Place: place.Place{Clients: 1}}
	return s
}

// playBackground does the same as play with a background load, which runs until it is stopped.
// Moves of the background load are marked with a plus.
func playBackground(t *testing.T, s *Script, run int32, tasks, background Tasks, m *Notes, clock *time.Time) []string {
	t.Helper()
	var moves []string
	for range 100 {
		m.NoteEnds(tasks, *clock)
		m.NoteEnds(background, *clock)
		mv := s.Next(run, tasks, background, m, *clock)
		whose, mark := tasks, ""
		if mv.Background {
			whose, mark = background, "+"
		}
		moves = append(moves, mark+string(mv.Kind)+" "+mv.ID)
		switch mv.Kind {
		case MoveAssign:
			state := task.Done
			if mv.Tasks[0].Measure != nil {
				state = task.Ready
			}
			whose[0][mv.ID] = task.Status{ID: mv.ID, State: state}
		case MoveStart:
			m.StartedAt[mv.ID] = *clock
			state := task.Done
			if mv.Background {
				state = task.Measuring
			}
			whose[0][mv.ID] = task.Status{ID: mv.ID, State: state}
		case MoveCancel:
			whose[0][mv.ID] = task.Status{ID: mv.ID, State: task.Done}
		case MoveRest:
			*clock = mv.Until
		case MoveEnd, MoveFail:
			return moves
		default:
			t.Fatalf("nobody does anything any more after %v", moves)
		}
	}
	t.Fatalf("it does not end: %v", moves)
	return nil
}

func TestTheBackgroundIsAroundThePhases(t *testing.T) {
	s := withBackground(fakeLoad{dataset: "b", writes: true})
	tasks, background, m, clock := newTasks(1), newTasks(1), NewNotes(), time.Unix(1000, 0)
	first := playBackground(t, s, 1, tasks, background, m, &clock)
	if diff := cmp.Diff([]string{
		"+Put data-b",
		"+Put background-r1", "+Start background-r1", "Rest background-r1",
		"Put r1-p1", "Start r1-p1", "Put r1-p2", "Start r1-p2",
		"+Cancel background-r1", "End ",
	}, first); diff != "" {
		t.Errorf("first run (-want +got):\n%s", diff)
	}
	second := playBackground(t, s, 2, tasks, background, m, &clock)
	if diff := cmp.Diff([]string{
		"+Put tidy-background-r1", "+Put background-r2", "+Start background-r2", "Rest background-r2",
		"Put r2-p1", "Start r2-p1", "Put r2-p2", "Start r2-p2",
		"+Cancel background-r2", "End ",
	}, second); diff != "" {
		t.Errorf("second run (-want +got):\n%s", diff)
	}
}

// The next move depends on the states of phases and background load. These cases are in the second
// of two phases.
func TestScriptMovesOfTheBackground(t *testing.T) {
	failed := task.Status{State: task.Failed, Failure: &task.Failure{Reason: task.ToolKilled, Message: "by a signal"}}
	cases := map[string]struct {
		second         task.State
		background     task.Status
		run            int32
		want           moveKind
		wantBackground bool
		wantReason     string // of the run
	}{
		"both are at work":               {second: task.Measuring, background: task.Status{State: task.Measuring}, want: MoveWait},
		"the background load has failed": {second: task.Measuring, background: failed, want: MoveFail, wantBackground: true, wantReason: "BackgroundLoadFailed: "},
		"the background load did nothing": {
			second: task.Measuring, background: task.Status{State: task.Failed, Failure: &task.Failure{Reason: "NoIO"}}, want: MoveFail,
			wantBackground: true, wantReason: "BackgroundLoadNoIO: ",
		},
		"the background load has ended by itself": {
			second: task.Measuring, background: task.Status{State: task.Failed, Failure: &task.Failure{Reason: "EndedEarly"}}, want: MoveFail,
			wantBackground: true, wantReason: "BackgroundLoadEndedEarly: ",
		},
		"another client stopped the background load": {second: task.Measuring, background: task.Status{State: task.Done}, want: MoveFail, wantBackground: true, wantReason: "BackgroundLoadEndedEarly: "},
		"its runner has never heard of it":           {second: task.Measuring, want: MoveFail, wantBackground: true, wantReason: "BackgroundLoadEndedEarly: "},
		"the phases are done":                        {second: task.Done, background: task.Status{State: task.Measuring}, want: MoveCancel, wantBackground: true},
		"all is done":                                {second: task.Done, background: task.Status{State: task.Done}, want: MoveEnd},
		"it fails when it is stopped":                {second: task.Done, background: failed, want: MoveFail, wantBackground: true, wantReason: "BackgroundLoadFailed: "},
		"a phase has failed, and both were stopped":  {second: task.Failed, background: task.Status{State: task.Done}, want: MoveFail},
		"that of an earlier run is still at work":    {second: task.Done, background: task.Status{State: task.Measuring}, run: 2, want: MoveCancel, wantBackground: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tasks, background, m := newTasks(1), newTasks(1), NewNotes()
			tasks[0]["r1-p1"] = task.Status{ID: "r1-p1", State: task.Done}
			tasks[0]["r1-p2"] = task.Status{ID: "r1-p2", State: tc.second, Failure: failureOf(tc.second)}
			if tc.background.State != "" {
				tc.background.ID = "background-r1"
				background[0]["background-r1"] = tc.background
			}
			got := withBackground(fakeLoad{}).Next(max(tc.run, 1), tasks, background, m, time.Unix(1000, 0))
			if got.Kind != tc.want || got.Background != tc.wantBackground {
				t.Fatalf("got %s %s, beside %v: want %s, %v", got.Kind, got.ID, got.Background, tc.want, tc.wantBackground)
			}
			if tc.wantReason == "" {
				return
			}
			wrong := SpoiltBy(*got.Failure)
			if !strings.HasPrefix(wrong, tc.wantReason) || BackgroundReason(wrong) != strings.TrimSuffix(tc.wantReason, ": ") {
				t.Errorf("the run is spoilt by %q, want %q", wrong, tc.wantReason)
			}
		})
	}
}

// After a restart, the manager does not know when the background load began, but its runner does.
func TestRampCountsFromTheRunnersStart(t *testing.T) {
	began := time.Unix(1000, 0)
	background := newTasks(1)
	background[0]["background-r1"] = task.Status{ID: "background-r1", State: task.Measuring, StartTime: &began}
	got := withBackground(fakeLoad{}).Next(1, newTasks(1), background, NewNotes(), began.Add(4*time.Second))
	if got.Kind != MoveRest || !got.Until.Equal(began.Add(10*time.Second)) {
		t.Errorf("got %s until %v", got.Kind, got.Until)
	}
}

// Names of the background load's data must differ from those of clients. All of them begin with the
// execution's name, by which the manager finds them.
func TestThePlaceOfTheBackground(t *testing.T) {
	const name = "cephtune-0123456789"
	clients := []place.Place{{Owner: name, Namespace: name, Client: 0, Clients: 2, Pool: "p", CephUser: "io", DatasetBytes: 1, Image: place.Image{Shared: true}}}
	p := PlaceOfBackground(name+"-bg", clients)
	if err := p.Validate(); err != nil || p.Image.Shared || p.Clients != 1 {
		t.Errorf("%v: %+v", err, p)
	}
	for _, made := range []string{p.Name("x"), p.ObjectNamespace("x")} {
		if !strings.HasPrefix(made, name) || made == clients[0].Name("x") {
			t.Errorf("name %s", made)
		}
	}
}
