package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Each run begins with data in the state that initialState requests. With WarmBeforePhase, each phase also
// begins with warm caches. Tasks of the clients prepare both while no phase is measured. Such tasks have
// deadlines, end with their pod, and need only the clients' key for Ceph. The pause before a phase (rest)
// begins when the preparation of the phase has ended. After the preparation of a run, the run waits for a
// quiescent cluster, and for PGs that OSDs remove.

// Dataset is a dataset that phases of the script use. The field load is the load of the first such phase.
type Dataset struct {
	key  string
	load engine.Load
	// If the field there is set, an earlier run of the sweep has prefilled the dataset, so the script does
	// not.
	there bool
}

// datasets returns the datasets of all phases, without duplicates.
func (s *Script) datasets() []Dataset {
	var all []Dataset
	for _, p := range s.Phases {
		for _, d := range p.Load.Datasets(s.Places[0]) {
			if !slices.ContainsFunc(all, func(known Dataset) bool { return known.key == d.Key }) {
				all = append(all, Dataset{key: d.Key, load: p.Load, there: d.There})
			}
		}
	}
	return all
}

// resets reports whether the data is reset between runs, by prefilling it again or by rollback.
func (s *Script) resets() bool {
	return s.initialState == v1alpha1.InitialStateFresh || s.initialState == v1alpha1.InitialStateRollback
}

// resetData resets the datasets before the first phase of a run, if earlier runs or pilots may have
// overwritten them. It prefills the datasets again or rolls them back.
func (s *Script) resetData(run int32, tasks Tasks) (Move, bool) {
	if !s.resets() || tasks.Begun(run) || !tasks.usedBefore(run) {
		return Move{}, true
	}
	for _, d := range s.datasets() {
		id := resetID(run, d.key)
		step := fmt.Sprintf("run %d, prefilling %s again", run, d.key)
		if s.initialState == v1alpha1.InitialStateRollback {
			step = fmt.Sprintf("run %d, rolling back %s", run, d.key)
		}
		if len(s.resetTask(id, d, s.Places[0]).Steps) == 0 {
			continue // Data that no phase overwrites needs no rollback.
		}
		todo := s.forEach(func(c place.Place) (task.Task, error) { return s.resetTask(id, d, c), nil })
		if mv, done := carryOut(id, step, todo, tasks); !done {
			return mv, false
		}
	}
	return Move{}, true
}

// resetTask returns the task that resets a client's part of a dataset.
func (s *Script) resetTask(id string, d Dataset, c place.Place) task.Task {
	for _, dataset := range d.load.Datasets(c) {
		if dataset.Key != d.key {
			continue
		}
		steps := dataset.Rollback
		if s.initialState == v1alpha1.InitialStateFresh {
			steps = slices.Concat(dataset.Remove, dataset.Commands)
		}
		return task.Task{ID: id, Steps: steps, StepsTimeoutSeconds: min(tidyTimeout+prefillTimeout(dataset.Bytes), longest).Seconds()}
	}
	return task.Task{ID: id}
}

// resetID returns the ID of the task that resets a dataset before a run.
func resetID(run int32, key string) string { return fmt.Sprintf("initial-%d-%s", run, key) }

// Found returns the state of the data that a run finds; "" if no phase uses prefilled data. Each phase waits
// for resetData, so with Fresh or Rollback a run finds the data reset. With rollback, prefilling ends with a
// rollback too, so the first run also finds DataRolledBack.
func (s *Script) Found(run int32, tasks Tasks) v1alpha1.DataState {
	switch {
	case len(s.datasets()) == 0:
		return ""
	case s.initialState == v1alpha1.InitialStateRollback:
		return v1alpha1.DataRolledBack
	case slices.ContainsFunc(s.datasets(), func(d Dataset) bool { return d.there }):
		return v1alpha1.DataUsed
	case s.initialState == v1alpha1.InitialStateFresh, !tasks.usedBefore(run):
		return v1alpha1.DataPrefilled
	}
	return v1alpha1.DataUsed
}

// warmCaches makes each client read the data of the coming phase once.
func (s *Script) warmCaches(p Phase, id string, tasks Tasks) (Move, bool) {
	if !s.Warms(p) {
		return Move{}, true
	}
	id = "warm-" + id
	todo := s.everywhere(func(c place.Place) task.Task {
		warming, within := task.Task{ID: id}, time.Duration(0)
		for _, d := range p.Load.Datasets(c) {
			warming.Steps = append(warming.Steps, d.Warm...)
			within += prefillTimeout(d.Bytes)
		}
		warming.StepsTimeoutSeconds = min(within, longest).Seconds()
		return warming
	})
	return carryOut(id, fmt.Sprintf("warming the caches for phase %s", p.Name), todo, tasks)
}

// Warms reports whether clients read the data of a phase once before the phase.
func (s *Script) Warms(p Phase) bool {
	return s.warm && slices.ContainsFunc(p.Load.Datasets(s.Places[0]), func(d engine.Dataset) bool { return len(d.Warm) > 0 })
}
