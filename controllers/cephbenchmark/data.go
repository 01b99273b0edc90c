package cephbenchmark

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Each run begins with data as initialState says, and with warm caches. Both are tasks of the
// clients, executed while no client measures, so that they have deadlines, end with their pod,
// and need only the clients' key. The rest before a phase begins when they have ended, and a run
// begins only when the cluster is quiet after them.

// dataset is one that the script prefills, with the load of the first phase that uses it.
type dataset struct {
	key  string
	load engine.Load
	// there says that an earlier run of the sweep has prefilled it.
	there bool
}

// datasets are those of all phases, each once.
func (s *script) datasets() []dataset {
	var all []dataset
	for _, p := range s.phases {
		for _, d := range p.load.Datasets(s.places[0]) {
			if !slices.ContainsFunc(all, func(known dataset) bool { return known.key == d.Key }) {
				all = append(all, dataset{key: d.Key, load: p.load, there: d.There})
			}
		}
	}
	return all
}

// resets reports whether runs do not begin with what the one before has left.
func (s *script) resets() bool {
	return s.initialState == v1alpha1.InitialStateFresh || s.initialState == v1alpha1.InitialStateRollback
}

// resetData brings the data back before the first phase of a run, if anything may have
// written over them since they were prefilled.
func (s *script) resetData(run int32, tasks clientTasks) (move, bool) {
	if !s.resets() || tasks.begun(run) || !tasks.usedBefore(run) {
		return move{}, true
	}
	for _, d := range s.datasets() {
		id := resetID(run, d.key)
		step := fmt.Sprintf("run %d, prefilling %s again", run, d.key)
		if s.initialState == v1alpha1.InitialStateRollback {
			step = fmt.Sprintf("run %d, rolling back %s", run, d.key)
		}
		if len(s.resetTask(id, d, s.places[0]).Steps) == 0 {
			continue // Data that is only read has not changed.
		}
		todo := s.forEach(func(c place.Place) (task.Task, error) { return s.resetTask(id, d, c), nil })
		if mv, done := carryOut(id, step, todo, tasks); !done {
			return mv, false
		}
	}
	return move{}, true
}

// resetTask brings the part of a dataset back that is a client's.
func (s *script) resetTask(id string, d dataset, c place.Place) task.Task {
	for _, own := range d.load.Datasets(c) {
		if own.Key != d.key {
			continue
		}
		steps := own.Rollback
		if s.initialState == v1alpha1.InitialStateFresh {
			steps = slices.Concat(own.Remove, own.Commands)
		}
		return task.Task{ID: id, Steps: steps, StepsTimeoutSeconds: min(tidyTimeout+prefillTimeout(own.Bytes), longest).Seconds()}
	}
	return task.Task{ID: id}
}

// resetID names the task that brings a dataset back before a run.
func resetID(run int32, key string) string { return fmt.Sprintf("initial-%d-%s", run, key) }

// found is what a run finds; "" where no phase works on data that are prefilled. No phase
// is handed over before resetData has done its part, and what is rolled back has been so
// since it was prefilled.
func (s *script) found(run int32, tasks clientTasks) v1alpha1.DataState {
	switch {
	case len(s.datasets()) == 0:
		return ""
	case s.initialState == v1alpha1.InitialStateRollback:
		return v1alpha1.DataRolledBack
	case slices.ContainsFunc(s.datasets(), func(d dataset) bool { return d.there }):
		return v1alpha1.DataUsed
	case s.initialState == v1alpha1.InitialStateFresh, !tasks.usedBefore(run):
		return v1alpha1.DataPrefilled
	}
	return v1alpha1.DataUsed
}

// usedBefore reports whether a phase of an earlier run, or a pilot, has worked on the
// data that these clients have prefilled.
func (t clientTasks) usedBefore(run int32) bool {
	return slices.ContainsFunc(t, func(of map[string]task.Status) bool {
		for id := range of {
			number, _, _ := strings.Cut(strings.TrimPrefix(id, "r"), "-")
			earlier, err := strconv.ParseInt(number, 10, 32)
			if err == nil && int32(earlier) < run || strings.HasPrefix(id, "pilot-") {
				return true
			}
		}
		return false
	})
}

// warmCaches has each client read once what a phase is about to work on.
func (s *script) warmCaches(p phase, id string, tasks clientTasks) (move, bool) {
	if !s.warms(p) {
		return move{}, true
	}
	id = "warm-" + id
	todo := s.forEach(func(c place.Place) (task.Task, error) {
		warming, within := task.Task{ID: id}, time.Duration(0)
		for _, d := range p.load.Datasets(c) {
			warming.Steps = append(warming.Steps, d.Warm...)
			within += prefillTimeout(d.Bytes)
		}
		warming.StepsTimeoutSeconds = min(within, longest).Seconds()
		return warming, nil
	})
	return carryOut(id, fmt.Sprintf("warming the caches for phase %s", p.name), todo, tasks)
}

// warms reports whether the data of a phase are read once before it.
func (s *script) warms(p phase) bool {
	return s.warm && slices.ContainsFunc(p.load.Datasets(s.places[0]), func(d engine.Dataset) bool { return len(d.Warm) > 0 })
}
