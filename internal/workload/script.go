// Package workload determines the tasks of a benchmark's clients and their order. A [Script] defines all
// tasks. [Script.Next] returns the next move, given the statuses of the clients' tasks. The package does no
// I/O: its caller carries out a move and then asks for the next. The clients keep the statuses, so a restarted
// manager continues where the previous manager stopped.
package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Script defines all tasks of an execution's clients, in order.
type Script struct {
	Phases []Phase
	Places []place.Place // of each client's data
	// Elsewhere has the places of each client's data in the targets from 1 on, by target and client. Data are prefilled in
	// all targets, but only [Script.Aim] and [Phase.Target] make clients load another one than target 0.
	Elsewhere [][]place.Place
	rest      time.Duration // before each phase
	// initialState is the requested state of the data at the start of each run.
	initialState v1alpha1.InitialState
	// DropCaches says that OSDs drop their caches before each phase. warm says that clients read the data of
	// each phase once before the phase.
	DropCaches, warm bool
	// Background is the background load, or nil.
	Background *Background
	// outagePhase is the phase in which OSDs go down; "" without an outage.
	outagePhase v1alpha1.PhaseName
	// Switched says that a sweep switches settings during the run, so the clients must report each second.
	Switched bool
	// Counts says that the manager reads what OSDs have counted before each phase, and after the last.
	Counts bool
	// Peers are the OSDs to which clients time connects during phases.
	Peers []task.Peer
}

// Phase is a phase of the template with its load.
type Phase struct {
	Name v1alpha1.PhaseName
	Spec v1alpha1.Phase
	Load engine.Load
	// Target is the number of the target that clients load.
	Target int
}

// New returns the script of a template. The places say where in Ceph or on a volume each client has its data;
// the background load has its own place.
func New(template v1alpha1.BenchmarkTemplate, places []place.Place, backgroundPlace place.Place) (*Script, error) {
	s := &Script{
		Places: places, initialState: template.InitialState,
		DropCaches: template.OSDCaches == v1alpha1.OSDCachesDropBeforePhase,
		warm:       template.OSDCaches == v1alpha1.OSDCachesWarmBeforePhase,
	}
	if template.Rest != nil {
		s.rest = template.Rest.Duration
	}
	if template.Outage != nil {
		s.outagePhase = template.Outage.Phase
	}
	var err error
	if s.Background, err = NewBackground(&template, backgroundPlace); err != nil {
		return nil, err
	}
	for _, p := range template.Measured() {
		load, err := engine.LoadOf(p)
		if err != nil {
			return nil, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		s.Phases = append(s.Phases, Phase{Name: p.Name, Spec: p, Load: load})
	}
	return s, nil
}

// Loads returns the loads of all phases, in order.
func (s *Script) Loads() []engine.Load {
	loads := make([]engine.Load, 0, len(s.Phases))
	for _, p := range s.Phases {
		loads = append(loads, p.Load)
	}
	return loads
}

// DatasetBytes returns how many bytes all clients and the background load prefill. A single client prefills
// all shared data.
func (s *Script) DatasetBytes() int64 {
	var bytes int64
	for client := range s.Places {
		for _, p := range s.PlacesOf(client) {
			bytes += engine.DatasetBytes(p, s.Loads())
		}
	}
	if s.Background != nil {
		bytes += engine.DatasetBytes(s.Background.Place, []engine.Load{s.Background.Load})
	}
	return bytes
}

// PlacesOf returns the places of a client's data in all targets.
func (s *Script) PlacesOf(client int) []place.Place {
	all := []place.Place{s.Places[client]}
	for _, places := range s.Elsewhere {
		all = append(all, places[client])
	}
	return all
}

// Limit sets how many bytes each client and the background load may write beyond the datasets. dataChunks is
// the number of data chunks of an erasure-coded pool; 0 for a replicated pool.
func (s *Script) Limit(bytes int64, dataChunks int) {
	for i := range s.Places {
		s.Places[i].RoomBytes, s.Places[i].DataChunks = bytes, dataChunks
	}
	for _, places := range s.Elsewhere {
		for i := range places {
			places[i].RoomBytes = bytes
		}
	}
	if s.Background != nil {
		s.Background.Place.RoomBytes, s.Background.Place.DataChunks = bytes, dataChunks
	}
}

// moveKind is a kind of move.
type moveKind string

// The kinds of moves.
const (
	MoveAssign     moveKind = "Put"        // hand over a task
	MoveStart      moveKind = "Start"      // give the signal to start
	MoveWait       moveKind = "Wait"       // wait until a runner reports
	MoveRest       moveKind = "Rest"       // wait until a time
	MoveDropCaches moveKind = "DropCaches" // drop the caches of the OSDs
	MoveReadPilot  moveKind = "ReadPilot"  // fetch the report of a pilot
	MoveCount      moveKind = "Count"      // read what OSDs have counted
	MoveReadStep   moveKind = "ReadStep"   // fetch the reports of a curve's step, or of the closed loop before it
	MoveCancel     moveKind = "Cancel"     // cancel a task
	MoveFail       moveKind = "Fail"       // end the run as invalid, or the execution as failed
	MoveEnd        moveKind = "End"        // all phases of the run are done
)

// Move is the next action with the clients.
type Move struct {
	Kind  moveKind
	ID    string      // of the task
	Tasks []task.Task // of each client, for MoveAssign
	Until time.Time   // for MoveRest
	Read  Reading     // for MoveReadStep
	// Step describes the current step, for the progress in status.
	Step string
	// Failure is the cause, for MoveFail.
	Failure *Failure
	// Background says that the move concerns the background load, not the clients.
	Background bool
	// Measured says that all phases of the run have ended, so their results count, although the move is not
	// MoveEnd.
	Measured bool
}

// Failure is a task that failed on a client.
type Failure struct {
	ID         string
	client     int
	Failure    task.Failure
	Background bool // of the background load
}

// Next returns the next move of a run, given the statuses of the clients and the background load. Runs are
// numbered from 1. Next is a pure function. Each step that it calls returns a move, or true if the step is
// done.
func (s *Script) Next(run int32, tasks, background Tasks, m *Notes, now time.Time) Move {
	if id, busy := tasks.Unfinished(); busy && !belongs(id, run) {
		return Move{Kind: MoveCancel, ID: id, Step: "ending an earlier task"}
	}
	if id, busy := background.Unfinished(); busy && strings.HasPrefix(id, "background-") && id != BackgroundID(run) {
		return Move{Kind: MoveCancel, ID: id, Step: "ending the background load of an earlier run", Background: true}
	}
	if mv, done := s.prefill(tasks); !done {
		return mv
	}
	if mv, done := s.prepareBackground(background); !done {
		return mv
	}
	if mv, done := s.sizePhases(tasks, m); !done {
		return mv
	}
	if mv, done := s.resetData(run, tasks); !done {
		return mv
	}
	if mv, done := s.beginBackground(run, tasks, background, m, now); !done {
		return mv
	}
	for i := range s.Phases {
		if mv, done := s.runPhase(i, run, tasks, m, now); !done {
			return mv
		}
	}
	if mv, done := s.endBackground(run, background); !done {
		return mv
	}
	if mv, done := s.countAtTheEnd(run, m, now); !done {
		return mv
	}
	return Move{Kind: MoveEnd}
}

// countAtTheEnd reads what OSDs have counted since the last phase began.
func (s *Script) countAtTheEnd(run int32, m *Notes, now time.Time) (Move, bool) {
	if !s.Counts {
		return Move{}, true
	}
	return s.beforePhase(EndID(run), "reading what OSDs counted", m, now)
}

func (s *Script) sizePhases(tasks Tasks, m *Notes) (Move, bool) {
	for i := range s.Phases {
		if mv, done := s.size(i, tasks, m); !done {
			return mv, false
		}
	}
	return Move{}, true
}

// prefill writes the datasets of all phases, once in an execution or in a block of a sweep.
func (s *Script) prefill(tasks Tasks) (Move, bool) {
	for _, d := range s.datasets() {
		if d.there {
			continue
		}
		id := "data-" + d.key
		todo := s.everywhere(func(c place.Place) task.Task { return prefillTask(id, d.load, c, d.key) })
		if mv, done := carryOut(id, "prefilling "+d.key, todo, tasks); !done {
			return mv, false
		}
	}
	return Move{}, true
}

// prefillTask returns the task that writes a client's part of a dataset. One client writes a whole shared
// image. The other clients get an empty task.
func prefillTask(id string, load engine.Load, c place.Place, key string) task.Task {
	for _, dataset := range load.Datasets(c) {
		if dataset.Key == key {
			return task.Task{ID: id, Steps: dataset.Commands, StepsTimeoutSeconds: prefillTimeout(dataset.Bytes).Seconds()}
		}
	}
	return task.Task{ID: id}
}

// size runs pilots to find how many bytes each client has to move in a phase, if the phase leaves that number
// open.
func (s *Script) size(i int, tasks Tasks, m *Notes) (Move, bool) {
	p := s.Phases[i]
	load, ok := p.Load.(engine.Piloted)
	if !ok || !load.NeedsPilot() {
		return Move{}, true
	}
	var pilots []engine.Pilot
	for {
		bytes, done := load.NextPilot(pilots)
		if done {
			return Move{}, true
		}
		id := pilotID(p.Name, len(pilots))
		step := fmt.Sprintf("finding the size of phase %s", p.Name)
		todo := s.forEach(func(c place.Place) (task.Task, error) { return load.PilotTask(c, engine.Run{ID: id}, bytes) })
		if mv, done := measure(id, step, todo, tasks, m); !done {
			return mv, false
		}
		if mv, done := s.tidyOne(id, p, engine.Run{ID: id}, tasks); !done {
			return mv, false
		}
		seconds, read := m.PilotSeconds[id]
		if !read {
			return Move{Kind: MoveReadPilot, ID: id, Step: step}, false
		}
		pilots = append(pilots, engine.Pilot{Bytes: bytes, Seconds: seconds})
	}
}

// ioTotal returns how many bytes each client has to move in a phase of any run, according to the phase's
// pilots; 0 if the phase does not need pilots.
func (s *Script) ioTotal(i int, m *Notes) int64 {
	p := s.Phases[i]
	load, ok := p.Load.(engine.Piloted)
	if !ok || !load.NeedsPilot() {
		return 0
	}
	var pilots []engine.Pilot
	for {
		bytes, done := load.NextPilot(pilots)
		seconds, read := m.PilotSeconds[pilotID(p.Name, len(pilots))]
		if done || !read {
			return bytes
		}
		pilots = append(pilots, engine.Pilot{Bytes: bytes, Seconds: seconds})
	}
}

func pilotID(name v1alpha1.PhaseName, attempt int) string {
	return fmt.Sprintf("pilot-%s-%d", name, attempt)
}

// runPhase removes the data of earlier phases, warms caches, rests, drops caches and measures. Teardown
// removes the data of the execution's last phase, so that the result does not wait for the removal.
func (s *Script) runPhase(i int, run int32, tasks Tasks, m *Notes, now time.Time) (Move, bool) {
	p := s.Phases[i]
	id := TaskID(run, p.Name)
	step := fmt.Sprintf("run %d, phase %s", run, p.Name)
	if !tasks.Has(id) {
		if mv, done := s.tidyUp(run, tasks, m); !done {
			return mv, false
		}
		if mv, done := s.warmCaches(p, id, tasks); !done {
			return mv, false
		}
		if mv, done := s.beforePhase(id, step, m, now); !done {
			return mv, false
		}
	}
	todo := s.forEachAt(p.Target, func(c place.Place) (task.Task, error) {
		t, err := p.Load.Task(c, s.runOf(i, run, m))
		if t.Measure != nil {
			t.Measure.Peers = s.Peers
		}
		return t, err
	})
	if mv, done := measure(id, step, todo, tasks, m); !done {
		return mv, false
	}
	return s.climb(i, run, tasks, m)
}

// Aim returns the command with which a client continues a phase of the first run as another phase of that name says, at
// another target and without its ramp. If all targets have the same data, there is only one place for them. The parameter
// again is how often that phase has begun again. Steps before the measurement are left out, because the same client has
// just closed its data.
func (s *Script) Aim(client, target int, phase v1alpha1.Phase, again int) (task.Command, error) {
	if client < 0 || client >= len(s.Places) {
		return task.Command{}, fmt.Errorf("there is no client %d", client)
	}
	places := s.PlacesOf(client)
	if len(places) == 1 {
		target = 0
	}
	if target < 0 || target >= len(places) {
		return task.Command{}, fmt.Errorf("there is no target %d", target)
	}
	phase = *phase.DeepCopy()
	if spec := engine.SpecOf(&phase); spec != nil {
		spec.SkipRamp()
	}
	load, err := engine.LoadOf(phase)
	if err != nil {
		return task.Command{}, err
	}
	made, err := load.Task(places[target], engine.Run{ID: TaskID(1, phase.Name), Switched: true, Again: again})
	if err != nil || made.Measure == nil {
		return task.Command{}, err
	}
	return made.Measure.Command, nil
}

func (s *Script) runOf(i int, run int32, m *Notes) engine.Run {
	p := s.Phases[i]
	return engine.Run{
		ID: TaskID(run, p.Name), IOTotalBytes: s.ioTotal(i, m), Windows: p.Name == s.outagePhase, Switched: s.Switched && p.CurveOf() == nil,
	}
}

// tidyUp removes the data of the phases that have ended in this execution.
func (s *Script) tidyUp(upTo int32, tasks Tasks, m *Notes) (Move, bool) {
	for run := int32(1); run <= upTo; run++ {
		for i, p := range s.Phases {
			id := TaskID(run, p.Name)
			if !tasks.Has(id) {
				continue
			}
			if mv, done := s.tidyOne(id, p, s.runOf(i, run, m), tasks); !done {
				return mv, false
			}
		}
	}
	return Move{}, true
}

// tidyOne removes the data of one task, if the task wrote any.
func (s *Script) tidyOne(id string, p Phase, run engine.Run, tasks Tasks) (Move, bool) {
	if len(p.Load.Tidy(s.Places[0], run)) == 0 {
		return Move{}, true
	}
	todo := s.forEach(func(c place.Place) (task.Task, error) {
		return task.Task{ID: tidyID(id), Steps: p.Load.Tidy(c, run), StepsTimeoutSeconds: tidyTimeout.Seconds()}, nil
	})
	return carryOut(tidyID(id), "tidying up after phase "+string(p.Name), todo, tasks)
}

// EndID returns the ID under which notes have what was read after the last phase of a run.
func EndID(run int32) string { return fmt.Sprintf("r%d--end", run) }

// belongs reports whether a task may be unfinished in the given run. It returns false only for the task of
// another run's phase.
func belongs(id string, run int32) bool {
	return !strings.HasPrefix(id, "r") || strings.HasPrefix(id, fmt.Sprintf("r%d-", run))
}

// beforePhase rests before a phase, and then makes OSDs drop their caches, or reads their counters.
func (s *Script) beforePhase(id, step string, m *Notes, now time.Time) (Move, bool) {
	if until := m.lastEnd().Add(s.rest); now.Before(until) {
		return Move{Kind: MoveRest, ID: id, Until: until, Step: step}, false
	}
	if s.DropCaches && !m.CachesDropped[id] {
		return Move{Kind: MoveDropCaches, ID: id, Step: step}, false
	}
	if _, counted := m.Counters[id]; s.Counts && !counted {
		return Move{Kind: MoveCount, ID: id, Step: step}, false
	}
	return Move{}, true
}

func (s *Script) forEach(newTask func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return s.forEachAt(0, newTask)
}

// forEachAt returns a function that makes a task for each client, with its place in the target with this number.
func (s *Script) forEachAt(target int, newTask func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made := make([]task.Task, 0, len(s.Places))
		for client := range s.Places {
			t, err := newTask(s.PlacesOf(client)[target])
			if err != nil {
				return nil, err
			}
			made = append(made, t)
		}
		return made, nil
	}
}

// everywhere returns a task for each client with the steps of its tasks at all targets.
func (s *Script) everywhere(newTask func(place.Place) task.Task) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made := make([]task.Task, len(s.Places))
		for client := range s.Places {
			for i, c := range s.PlacesOf(client) {
				t := newTask(c)
				if i == 0 {
					made[client] = t
					continue
				}
				made[client].Steps = append(made[client].Steps, t.Steps...)
				made[client].StepsTimeoutSeconds = min(made[client].StepsTimeoutSeconds+t.StepsTimeoutSeconds, longest.Seconds())
			}
		}
		return made, nil
	}
}

// measure returns the next move to complete a measurement on all clients.
func measure(id, step string, todo func() ([]task.Task, error), tasks Tasks, m *Notes) (Move, bool) {
	isReady := func(s task.State) bool { return s == task.Ready }
	switch {
	case !m.StartedAt[id].IsZero():
		// The signal was sent. Some runners may not have reported the start yet.
	case tasks.All(id, isReady):
		return Move{Kind: MoveStart, ID: id, Step: step}, false
	case tasks.Any(id, isReady) && tasks.Any(id, func(s task.State) bool { return s == task.Measuring || s.Ended() }):
		// Only some clients can start: the others already measure or have ended. For example, the previous
		// manager ended when it had signalled only some clients, or a client failed in its steps.
		return Move{Kind: MoveCancel, ID: id, Step: step}, false
	}
	return carryOut(id, step, todo, tasks)
}

// carryOut returns the next move to complete a task on all clients. It calls todo only if a client does not
// have the task yet.
func carryOut(id, step string, todo func() ([]task.Task, error), tasks Tasks) (Move, bool) {
	if failed := tasks.Failed(id); failed != nil {
		if tasks.Any(id, func(s task.State) bool { return !s.Ended() }) {
			return Move{Kind: MoveCancel, ID: id, Step: step}, false
		}
		return Move{Kind: MoveFail, ID: id, Step: step, Failure: failed}, false
	}
	switch {
	case tasks.All(id, func(s task.State) bool { return s == task.Done }):
		return Move{}, true
	case !tasks.hasAll(id):
		made, err := todo()
		if err != nil {
			return Move{Kind: MoveFail, ID: id, Step: step, Failure: &Failure{
				ID: id, Failure: task.Failure{Reason: task.NotStarted, Message: err.Error()},
			}}, false
		}
		return Move{Kind: MoveAssign, ID: id, Tasks: made, Step: step}, false
	}
	return Move{Kind: MoveWait, ID: id, Step: step}, false
}

// Cancelled is the failure reason of a cancelled task.
const Cancelled task.FailureReason = "Cancelled"

// TaskID returns the ID of the task of a phase in a run.
func TaskID(run int32, name v1alpha1.PhaseName) string { return fmt.Sprintf("r%d-%s", run, name) }

// tidyID returns the ID of the task that removes the data of another task. It does not begin with
// r, because IsOf takes each ID that begins with r for one from TaskID.
func tidyID(id string) string { return "tidy-" + id }

// tidyTimeout is how long a client may take to remove data.
const tidyTimeout = 30 * time.Minute

// longest is the longest deadline that a runner accepts.
const longest = 7 * 24 * time.Hour

// prefillTimeout returns how long a client may take to write or read a dataset: 5 min, plus a second for each
// 5 MiB, but at most the constant longest.
func prefillTimeout(bytes int64) time.Duration {
	return min(5*time.Minute+time.Duration(bytes/(5<<20))*time.Second, longest)
}

// prepareBackground writes the background load's dataset, once in an execution.
func (s *Script) prepareBackground(background Tasks) (Move, bool) {
	if s.Background == nil {
		return Move{}, true
	}
	for _, dataset := range s.Background.Load.Datasets(s.Background.Place) {
		id := "data-" + dataset.Key
		todo := s.Background.only(func(c place.Place) (task.Task, error) {
			return prefillTask(id, s.Background.Load, c, dataset.Key), nil
		})
		if mv, done := carryOut(id, "prefilling "+dataset.Key+" of the background load", todo, background); !done {
			return mv.aside(), false
		}
	}
	return Move{}, true
}

// beginBackground starts the background load before the first phase of a run, and waits for its ramp. Then it
// only checks that the load is still running. A load that was stopped is no failure if all phases are done. It
// is no failure either if a phase has failed, because the run then ends for that phase's reason.
func (s *Script) beginBackground(run int32, tasks, background Tasks, m *Notes, now time.Time) (Move, bool) {
	if s.Background == nil {
		return Move{}, true
	}
	id, step := BackgroundID(run), fmt.Sprintf("run %d, background", run)
	status, there := background[0][id]
	switch {
	case status.State == task.Done && (s.Done(run, tasks, m) || s.anyFailed(run, tasks)):
		return Move{}, true
	case there && status.State.Ended():
		return failBackground(id, step, status), false
	case tasks.Begun(run) && status.State != task.Measuring:
		// A new runner has replaced the runner with which the run began.
		return failBackground(id, step, task.Status{State: task.Failed, Failure: &task.Failure{
			Reason: ReportLost, Message: "the runner no longer knows the task, although the run has begun",
		}}), false
	case tasks.Begun(run):
		return Move{}, true
	case status.State == task.Measuring:
		since := cmp.Or(m.StartedAt[id], background.StartTime(id))
		if until := since.Add(s.Background.ramp); now.Before(until) {
			return Move{Kind: MoveRest, ID: id, Until: until, Step: step}, false
		}
		return Move{}, true
	case !there:
		if mv, done := s.tidyBackground(run, background); !done {
			return mv, false
		}
	}
	todo := s.Background.only(func(c place.Place) (task.Task, error) { return s.Background.Load.Task(c, engine.Run{ID: id}) })
	mv, _ := measure(id, step, todo, background, m)
	return mv.aside(), false
}

// tidyBackground removes the data that the background load has written in earlier runs of this execution.
func (s *Script) tidyBackground(run int32, background Tasks) (Move, bool) {
	for earlier := int32(1); earlier < run; earlier++ {
		id := BackgroundID(earlier)
		steps := s.Background.Load.Tidy(s.Background.Place, engine.Run{ID: id})
		if !background.Has(id) || len(steps) == 0 {
			continue
		}
		todo := s.Background.only(func(place.Place) (task.Task, error) {
			return task.Task{ID: tidyID(id), Steps: steps, StepsTimeoutSeconds: tidyTimeout.Seconds()}, nil
		})
		if mv, done := carryOut(tidyID(id), "tidying up after the background load", todo, background); !done {
			return mv.aside(), false
		}
	}
	return Move{}, true
}

// endBackground stops the background load when the last phase of a run has ended.
func (s *Script) endBackground(run int32, background Tasks) (Move, bool) {
	id := BackgroundID(run)
	if s.Background == nil || background[0][id].State.Ended() { // beginBackground has handled a load that has ended.
		return Move{}, true
	}
	return Move{Kind: MoveCancel, ID: id, Step: "stopping the background load", Background: true, Measured: true}, false
}

func (s *Script) anyFailed(run int32, tasks Tasks) bool {
	return slices.ContainsFunc(s.Phases, func(p Phase) bool { return tasks.Failed(TaskID(run, p.Name)) != nil })
}

// aside marks a move as one for the background load.
func (mv Move) aside() Move {
	mv.Background = true
	if mv.Failure != nil {
		mv.Failure.Background = true
	}
	return mv
}

// ReportLost is the failure reason of a task that its runner no longer knows.
const ReportLost task.FailureReason = "ReportLost"
