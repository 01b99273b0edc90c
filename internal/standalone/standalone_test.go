package standalone

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// load measures with one command, whose argument may be long.
type load struct {
	engine.Load // panics: the tests call only the methods below

	argument string
}

func (load) Datasets(place.Place) []engine.Dataset { return nil }

func (l load) Task(_ place.Place, run engine.Run) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{Command: task.Command{Argv: []string{"measure", l.argument}}}}, nil
}

func (load) Tidy(place.Place, engine.Run) []task.Command { return nil }

func (load) Timing() engine.Timing { return engine.Timing{MeasuredSeconds: 30} }

// sessionOf returns a session of two runs with one phase, whose client starts with run 1.
func sessionOf(l engine.Load) Session {
	s := Session{From: 1, Script: &workload.Script{Places: make([]place.Place, 1), Phases: []workload.Phase{{Name: "p1", Load: l}}}}
	s.Spec.Repetitions, s.Spec.Template.Clients.Count = 2, 1
	s.Cleanup = []task.Command{{Argv: []string{"rbd", "rm"}}}
	return s
}

func TestSessionsThatNeedTheManager(t *testing.T) {
	for want, change := range map[string]func(*Session){
		"":                                 func(*Session) {},
		"the clients' reports each second": func(s *Session) { s.Script.Switched = true },
		"start several clients":            func(s *Session) { s.Spec.Template.Clients.Count = 2 },
		"stop the background load":         func(s *Session) { s.Script.Background = &workload.Background{} },
		"stop OSDs":                        func(s *Session) { s.Spec.Template.Outage = &v1alpha1.Outage{} },
		"drop the caches":                  func(s *Session) { s.Script.DropCaches = true },
		"a Secret has room for":            func(s *Session) { *s = sessionOf(load{argument: strings.Repeat("x", maxTasksBytes)}) },
	} {
		s := sessionOf(load{})
		change(&s)
		if err := s.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTasksBeginWithTheRunAndEndWithTheCleanup(t *testing.T) {
	s := sessionOf(load{})
	s.From = 2
	data, err := s.File()
	if err != nil {
		t.Fatal(err)
	}
	var tasks []task.Task
	if err := json.Unmarshal(data, &tasks); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, one := range tasks {
		ids = append(ids, one.ID)
	}
	if got := strings.Join(ids, " "); got != "r2-p1 "+leftovers.TaskID || !tasks[len(tasks)-1].Always {
		t.Errorf("tasks %s: want those of run 2, and then the cleanup in any case", got)
	}
	s.Cleanup = nil
	if tasks, err = s.Tasks(); err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, %v: want none for a cleanup without commands", len(tasks), err)
	}
}
