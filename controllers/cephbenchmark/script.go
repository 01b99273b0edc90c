package cephbenchmark

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/tuning"
)

// script has all tasks of a session's clients, in order. The next one follows from the runners'
// statuses, so a restarted manager continues where the last one stopped.
type script struct {
	phases []phase
	places []place.Place // of each client
	rest   time.Duration
	// initialState is how each run is to find the data that it writes over.
	initialState v1alpha1.InitialState
	// dropCaches says that OSDs forget what they have cached before each phase, warm that
	// the data of the phase are read once.
	dropCaches, warm bool
	// background is the background load, or nil.
	background *background
	// withOutage is the phase in which OSDs go down; "" for none.
	outagePhase v1alpha1.PhaseName
	// switched says that a sweep switches settings meanwhile, so clients report each second.
	switched bool
}

// phase is a phase of the template with the load that it stands for.
type phase struct {
	name v1alpha1.PhaseName
	spec v1alpha1.Phase
	load engine.Load
}

// newScript returns the script of a template for clients at these places, and for the
// background load at another one.
func newScript(template v1alpha1.BenchmarkTemplate, places []place.Place, backgroundPlace place.Place) (*script, error) {
	s := &script{
		places: places, initialState: template.InitialState,
		dropCaches: template.OSDCaches == v1alpha1.OSDCachesDropBeforePhase,
		warm:       template.OSDCaches == v1alpha1.OSDCachesWarmBeforePhase,
	}
	if template.Rest != nil {
		s.rest = template.Rest.Duration
	}
	if template.Outage != nil {
		s.outagePhase = template.Outage.Phase
	}
	var err error
	if s.background, err = newBackground(template.BackgroundLoad, backgroundPlace); err != nil {
		return nil, err
	}
	for _, p := range template.Phases {
		load, err := engine.LoadOf(p)
		if err != nil {
			return nil, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		s.phases = append(s.phases, phase{name: p.Name, spec: p, load: load})
	}
	return s, nil
}

func (s *script) loads() []engine.Load {
	loads := make([]engine.Load, 0, len(s.phases))
	for _, p := range s.phases {
		loads = append(loads, p.load)
	}
	return loads
}

// datasetBytes is what all clients and the background load prefill. One of them prefills all
// shared data.
func (s *script) datasetBytes() int64 {
	var bytes int64
	for _, p := range s.places {
		bytes += engine.DatasetBytes(p, s.loads())
	}
	if s.background != nil {
		bytes += engine.DatasetBytes(s.background.place, []engine.Load{s.background.load})
	}
	return bytes
}

// limit bounds the writes of each client and the background load beyond the datasets.
func (s *script) limit(bytes int64, dataChunks int) {
	for i := range s.places {
		s.places[i].RoomBytes, s.places[i].DataChunks = bytes, dataChunks
	}
	if s.background != nil {
		s.background.place.RoomBytes, s.background.place.DataChunks = bytes, dataChunks
	}
}

// clientTasks is how far each client is with each task.
type clientTasks []map[string]task.Status

// memory is the manager's own knowledge of a session, apart from the runners' answers. It is
// lost when the manager ends, and with it the evidence that clients started together: the
// current run is then invalid.
type memory struct {
	// endedAt is when each task was first seen to have ended on all clients.
	endedAt map[string]time.Time
	// cachesDropped has the tasks before which caches were dropped.
	cachesDropped map[string]bool
	// pilotSeconds is what the slowest client took for each pilot, by task.
	pilotSeconds map[string]float64
	// startedAt is when the signal of a task was sent, and spread bounds how far apart
	// clients began.
	startedAt map[string]time.Time
	spread    map[string]time.Duration
	// gathering has the clients' reports of the run that is being concluded; background is its
	// background load's report.
	gathering  gathering
	background *task.Report
	// evidence has the outcomes of this session's runs.
	evidence map[int32]runEvidence
	// notStarted is why the signal to start a task did not reach all clients, by task.
	notStarted map[string]string
	// waits is what the last pass could not do or was waiting for, and trouble what went
	// wrong with it last.
	waits   reconcile.Waiting
	trouble string
	// removal is the latest wait for PGs that OSDs remove.
	removal removalWait
	// fromBeginning: this process has followed the session from before its first object, and so
	// knows all of them.
	fromBeginning bool
	// lock is the grant of the cluster's lock, while this session has it; hadLock says that it
	// has, or had.
	lock     *lock.Grant
	lockedAt time.Time // when it was asked for last
	hadLock  bool
	// unrestoredInCeph is what a sweep has left in Ceph alone, and unrestoredInCephAt when it was
	// found.
	unrestoredInCeph   *tuning.Journal
	unrestoredInCephAt time.Time
	// osdMap was read when the scratch pool was found to be as specified.
	osdMap *ceph.OSDMap
	pgs    []ceph.PG
	// cleanSince is the time since which all PGs of the scratch pool have been clean, in their
	// final number; zero while they are not.
	cleanSince time.Time
	// chosen and osds are the OSDs that the scratch pool is confined to; placed has the
	// placements that were sent to Ceph, by placement group.
	chosen *placement.Chosen
	osds   []int
	placed map[string][]int
	// poolsRemade counts the scratch pools that were given up and made again.
	poolsRemade int
	// statusWrittenAt is when status was written last.
	statusWrittenAt time.Time
	// madeJob is the last Job that was made, or found; replacedJob is one that the operator
	// itself has deleted since; jobRemoved says that it has deleted the last one, after
	// everything else. secretMade says that the Job's Secret exists. usedBefore is what the
	// OSDs used before anything was made, in bytes.
	madeJob, replacedJob types.UID
	jobRemoved           bool
	secretMade           bool
	usedBefore           int64
	// backgroundJob is the Job of the background load; backgroundCleanupFailed says that it could not remove
	// its data.
	backgroundJob           types.UID
	backgroundCleanupFailed bool
	// reached says that a runner has answered.
	reached bool
	// standalone says that the client is standalone; planned are its tasks; logs are the logs read
	// so far, by pod.
	standalone bool
	planned    []task.Task
	logs       map[types.UID]*podLog
	// clientCleanupFailed says that the clients could not remove their data.
	clientCleanupFailed bool
	// outage is that of the current run.
	outage outageState
	// finished says that the clients were sent Finish, and when.
	finished   bool
	finishedAt time.Time
	// orphansSince is when the wait for pods of a deleted Job began.
	orphansSince time.Time
}

// moveKind is a kind of next thing to do with the clients.
type moveKind string

const (
	moveAssign     moveKind = "Put"        // hand over a task
	moveStart      moveKind = "Start"      // give the signal to start
	moveWait       moveKind = "Wait"       // until a runner reports
	moveRest       moveKind = "Rest"       // until a time
	moveDropCaches moveKind = "DropCaches" // of the OSDs
	moveReadPilot  moveKind = "ReadPilot"  // fetch the report of a pilot
	moveCancel     moveKind = "Cancel"     // a task that failed on another client
	moveFail       moveKind = "Fail"       // the session cannot go on
	moveEnd        moveKind = "End"        // all phases of the run are done
)

// move is the next thing to do with the clients.
type move struct {
	kind  moveKind
	id    string      // of the task
	tasks []task.Task // of each client, for moveAssign
	until time.Time   // for moveRest
	// step describes the current step, for progress.
	step string
	// failure is why, for moveFail and a run that failed.
	failure *failedTask
	// background: the move is about the background load, not about the clients.
	background bool
	// measured says that all phases of the run have ended, so that they count.
	measured bool
}

// failedTask is a task that failed on a client.
type failedTask struct {
	id         string
	client     int
	failure    task.Failure
	background bool // of the background load
}

// next names the next move of a run, counted from 1, given how far the clients and the
// background load are. It is pure.
func (s *script) next(run int32, tasks, background clientTasks, m *memory, now time.Time) move {
	if id, busy := tasks.unfinished(); busy && !s.isOf(run, id) {
		return move{kind: moveCancel, id: id, step: "ending an earlier task"}
	}
	if id, busy := background.unfinished(); busy && strings.HasPrefix(id, "background-") && id != backgroundID(run) {
		return move{kind: moveCancel, id: id, step: "ending an earlier background", background: true}
	}
	if mv, done := s.prefill(tasks); !done {
		return mv
	}
	if mv, done := s.prepareBackground(background); !done {
		return mv
	}
	for i := range s.phases {
		if mv, done := s.size(i, tasks, m); !done {
			return mv
		}
	}
	if mv, done := s.resetData(run, tasks); !done {
		return mv
	}
	if mv, done := s.beginBackground(run, tasks, background, m, now); !done {
		return mv
	}
	for i := range s.phases {
		if mv, done := s.runPhase(i, run, tasks, m, now); !done {
			return mv
		}
	}
	if mv, done := s.endBackground(run, background); !done {
		return mv
	}
	return move{kind: moveEnd}
}

// prefill writes the datasets of all phases, once in a session, or in a block of a sweep.
func (s *script) prefill(tasks clientTasks) (move, bool) {
	for _, d := range s.datasets() {
		if d.there {
			continue
		}
		id := "data-" + d.key
		todo := s.forEach(func(c place.Place) (task.Task, error) { return prefillTask(id, d.load, c, d.key), nil })
		if mv, done := carryOut(id, "prefilling "+d.key, todo, tasks); !done {
			return mv, false
		}
	}
	return move{}, true
}

// prefillTask writes the part of a dataset that is a client's. Of a shared image one
// client writes all, and the others have nothing to do.
func prefillTask(id string, load engine.Load, c place.Place, key string) task.Task {
	for _, dataset := range load.Datasets(c) {
		if dataset.Key == key {
			return task.Task{ID: id, Steps: dataset.Commands, StepsTimeoutSeconds: prefillTimeout(dataset.Bytes).Seconds()}
		}
	}
	return task.Task{ID: id}
}

// size runs pilots to find the bytes that a phase has to move, if bytes bound it.
func (s *script) size(i int, tasks clientTasks, m *memory) (move, bool) {
	p := s.phases[i]
	load, ok := p.load.(engine.Piloted)
	if !ok || !load.NeedsPilot() {
		return move{}, true
	}
	var pilots []engine.Pilot
	for {
		bytes, done := load.NextPilot(pilots)
		if done {
			return move{}, true
		}
		id := pilotID(p.name, len(pilots))
		step := fmt.Sprintf("finding the size of phase %s", p.name)
		todo := s.forEach(func(c place.Place) (task.Task, error) { return load.PilotTask(c, engine.Run{ID: id}, bytes) })
		if mv, done := measure(id, step, todo, tasks, m); !done {
			return mv, false
		}
		if mv, done := s.tidyOne(id, p, engine.Run{ID: id}, tasks); !done {
			return mv, false
		}
		seconds, read := m.pilotSeconds[id]
		if !read {
			return move{kind: moveReadPilot, id: id, step: step}, false
		}
		pilots = append(pilots, engine.Pilot{Bytes: bytes, Seconds: seconds})
	}
}

// ioTotal is what a phase has to move in each run, by its pilots; 0 where the phase
// itself says.
func (s *script) ioTotal(i int, m *memory) int64 {
	p := s.phases[i]
	load, ok := p.load.(engine.Piloted)
	if !ok || !load.NeedsPilot() {
		return 0
	}
	var pilots []engine.Pilot
	for {
		bytes, done := load.NextPilot(pilots)
		seconds, read := m.pilotSeconds[pilotID(p.name, len(pilots))]
		if done || !read {
			return bytes
		}
		pilots = append(pilots, engine.Pilot{Bytes: bytes, Seconds: seconds})
	}
}

func pilotID(name v1alpha1.PhaseName, attempt int) string {
	return fmt.Sprintf("pilot-%s-%d", name, attempt)
}

// runPhase tidies up after the phases before, warms caches, rests, drops caches and
// measures.
// The last phase's data is removed with everything else at the end, so that the result does not
// wait for it.
func (s *script) runPhase(i int, run int32, tasks clientTasks, m *memory, now time.Time) (move, bool) {
	p := s.phases[i]
	id := taskID(run, p.name)
	step := fmt.Sprintf("run %d, phase %s", run, p.name)
	if !tasks.has(id) {
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
	todo := s.forEach(func(c place.Place) (task.Task, error) { return p.load.Task(c, s.execution(i, run, m)) })
	return measure(id, step, todo, tasks, m)
}

func (s *script) execution(i int, run int32, m *memory) engine.Run {
	return engine.Run{
		ID: taskID(run, s.phases[i].name), IOTotalBytes: s.ioTotal(i, m), EveryOperation: s.phases[i].name == s.outagePhase, Switched: s.switched,
	}
}

// tidyUp removes the data of the phases that have ended in this session.
func (s *script) tidyUp(upTo int32, tasks clientTasks, m *memory) (move, bool) {
	for run := int32(1); run <= upTo; run++ {
		for i, p := range s.phases {
			id := taskID(run, p.name)
			if !tasks.has(id) {
				continue
			}
			if mv, done := s.tidyOne(id, p, s.execution(i, run, m), tasks); !done {
				return mv, false
			}
		}
	}
	return move{}, true
}

// tidyOne removes the data of one task, if it wrote any.
func (s *script) tidyOne(id string, p phase, execution engine.Run, tasks clientTasks) (move, bool) {
	if len(p.load.Tidy(s.places[0], execution)) == 0 {
		return move{}, true
	}
	todo := s.forEach(func(c place.Place) (task.Task, error) {
		return task.Task{ID: tidyID(id), Steps: p.load.Tidy(c, execution), StepsTimeoutSeconds: tidyTimeout.Seconds()}, nil
	})
	return carryOut(tidyID(id), "tidying up after phase "+string(p.name), todo, tasks)
}

// isOf reports whether a task may be at work in a run.
func (s *script) isOf(run int32, id string) bool {
	return !strings.HasPrefix(id, "r") || strings.HasPrefix(id, fmt.Sprintf("r%d-", run))
}

// beforePhase lets the cluster rest, and then forget what it has cached.
func (s *script) beforePhase(id, step string, m *memory, now time.Time) (move, bool) {
	if until := m.lastEnd().Add(s.rest); now.Before(until) {
		return move{kind: moveRest, id: id, until: until, step: step}, false
	}
	if s.dropCaches && !m.cachesDropped[id] {
		return move{kind: moveDropCaches, id: id, step: step}, false
	}
	return move{}, true
}

// lastEnd is when the last task ended; the zero time if none has.
func (m *memory) lastEnd() time.Time {
	var last time.Time
	for _, t := range m.endedAt {
		if t.After(last) {
			last = t
		}
	}
	return last
}

func (s *script) forEach(of func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made := make([]task.Task, 0, len(s.places))
		for _, c := range s.places {
			t, err := of(c)
			if err != nil {
				return nil, err
			}
			made = append(made, t)
		}
		return made, nil
	}
}

// measure brings a task with a measurement to its end on all clients.
func measure(id, step string, todo func() ([]task.Task, error), tasks clientTasks, m *memory) (move, bool) {
	isReady := func(s task.State) bool { return s == task.Ready }
	switch {
	case !m.startedAt[id].IsZero():
		// Not all runners may have said so yet.
	case tasks.all(id, isReady):
		return move{kind: moveStart, id: id, step: step}, false
	case tasks.any(id, isReady) && tasks.any(id, func(s task.State) bool { return s == task.Measuring || s.Ended() }):
		// The signal reached some clients only, and the manager ended.
		return move{kind: moveCancel, id: id, step: step}, false
	}
	return carryOut(id, step, todo, tasks)
}

// carryOut brings a task to its end on all clients. The task is only made if it
// has to be handed over.
func carryOut(id, step string, todo func() ([]task.Task, error), tasks clientTasks) (move, bool) {
	if failed := tasks.failed(id); failed != nil {
		if tasks.any(id, func(s task.State) bool { return !s.Ended() }) {
			return move{kind: moveCancel, id: id, step: step}, false
		}
		return move{kind: moveFail, id: id, step: step, failure: failed}, false
	}
	switch {
	case tasks.all(id, func(s task.State) bool { return s == task.Done }):
		return move{}, true
	case !tasks.hasAll(id):
		made, err := todo()
		if err != nil {
			return move{kind: moveFail, id: id, step: step, failure: &failedTask{
				id: id, failure: task.Failure{Reason: task.NotStarted, Message: err.Error()},
			}}, false
		}
		return move{kind: moveAssign, id: id, tasks: made, step: step}, false
	}
	return move{kind: moveWait, id: id, step: step}, false
}

// has reports whether any client has a task.
func (t clientTasks) has(id string) bool {
	return t.any(id, func(task.State) bool { return true })
}

// any reports whether a client has a task in such a state.
func (t clientTasks) any(id string, is func(task.State) bool) bool {
	return slices.ContainsFunc(t, func(of map[string]task.Status) bool {
		status, ok := of[id]
		return ok && is(status.State)
	})
}

func (t clientTasks) hasAll(id string) bool {
	return t.all(id, func(task.State) bool { return true })
}

// all reports whether every client has a task, in such a state.
func (t clientTasks) all(id string, is func(task.State) bool) bool {
	for _, of := range t {
		if status, ok := of[id]; !ok || !is(status.State) {
			return false
		}
	}
	return len(t) > 0
}

// unfinished returns a task that is at work on some client.
func (t clientTasks) unfinished() (string, bool) {
	for _, of := range t {
		for id, status := range of {
			if !status.State.Ended() {
				return id, true
			}
		}
	}
	return "", false
}

// failed returns the failure of a task on the first client that has one. A task
// that was cancelled has failed too, but the reason is elsewhere, if there is one.
func (t clientTasks) failed(id string) *failedTask {
	var found *failedTask
	for client, of := range t {
		status, ok := of[id]
		switch {
		case !ok:
		case status.State == task.Failed:
			f := &failedTask{id: id, client: client}
			if status.Failure != nil {
				f.failure = *status.Failure
			}
			return f
		case status.State == task.Cancelled && found == nil:
			found = &failedTask{id: id, client: client, failure: task.Failure{Reason: cancelledReason, Message: "it was cancelled"}}
		}
	}
	return found
}

// cancelledReason is that of a task which was cancelled.
const cancelledReason task.FailureReason = "Cancelled"

// taskID names the task of a phase in a run.
func taskID(run int32, name v1alpha1.PhaseName) string { return fmt.Sprintf("r%d-%s", run, name) }

// tidyID names the task that removes what another has written. Only tasks that
// measure begin with an r.
func tidyID(id string) string { return "tidy-" + id }

// tidyTimeout is how long a client may take to remove what a phase has written.
const tidyTimeout = 30 * time.Minute

// longest is the longest deadline that a runner takes.
const longest = 7 * 24 * time.Hour

// prefillTimeout allows for a cluster that writes 5 MiB a second for each client.
func prefillTimeout(bytes int64) time.Duration {
	return min(5*time.Minute+time.Duration(bytes/(5<<20))*time.Second, longest)
}
