package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// fakeLoad measures for half a minute. It needs no data and leaves none.
type fakeLoad struct{}

func (fakeLoad) Datasets(place.Place) []engine.Dataset { return nil }

func (fakeLoad) Task(_ place.Place, run engine.Run) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{Command: task.Command{Argv: []string{"measure"}}}}, nil
}

func (fakeLoad) Tidy(place.Place, engine.Run) []task.Command { return nil }

func (fakeLoad) Timing() engine.Timing { return engine.Timing{MeasuredSeconds: 30} }

func (fakeLoad) Namespaces(place.Place) []string { return nil }

// scriptOf returns a script of one client with a phase for each load: p1, p2 and so on.
func scriptOf(loads ...engine.Load) *workload.Script {
	s := &workload.Script{Places: make([]place.Place, 1)}
	for i, l := range loads {
		s.Phases = append(s.Phases, workload.Phase{Name: v1alpha1.PhaseName(fmt.Sprintf("p%d", i+1)), Load: l})
	}
	return s
}

// withBackground returns a script of one client and two phases, with a background load.
func withBackground(load engine.Load) *workload.Script {
	s := scriptOf(fakeLoad{}, fakeLoad{})
	s.Background = &workload.Background{Load: load, Place: place.Place{Clients: 1}}
	return s
}

// newTasks returns the tasks of one client that has none yet.
func newTasks() workload.Tasks { return workload.Tasks{map[string]task.Status{}} }
