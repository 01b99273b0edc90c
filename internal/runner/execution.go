package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// execution is the state of a runner during the execution of a benchmark. Its entries are the tasks, oldest
// first. Its methods are safe for concurrent use, except those for which the caller must hold the mutex.
type execution struct {
	// client is the index of this client.
	client int
	// programs lists the programs that tasks may run.
	programs []string
	// folder contains the tasks' working directories.
	folder string
	// cgroup is the container's cgroup directory.
	cgroup fs.FS
	// proc is /proc, which describes the whole host.
	proc fs.FS
	// cpus is /sys/devices/system/cpu.
	cpus   fs.FS
	grace  time.Duration
	frames *frameWriter
	// notes receives lines for humans.
	notes io.Writer
	// progressLines counts the progress lines in the log. It needs no mutex: only the goroutine that copies
	// an engine's output uses it, and one engine runs at a time.
	progressLines int

	mu      sync.Mutex
	version int64
	changed chan struct{} // closed, and replaced, with every change
	entries []*entry
	// kept is the size of all reports in bytes.
	kept     int
	finished bool
	done     chan struct{} // closed by finish
	// requests is the number of requests being answered. touched is the time of the last answer or of the
	// last change of a task, whichever came later.
	requests int
	touched  time.Time
	work     sync.WaitGroup
}

// entry is one task. The execution's mutex guards status and the fields below it.
type entry struct {
	task   task.Task
	start  chan struct{} // closed by the start signal
	began  chan struct{} // closed when the engine runs, or when the task has ended without the engine
	cancel context.CancelCauseFunc

	status    task.Status
	signalled bool
	since     time.Time // when the engine began; zero until then
	cpu       *meter    // of the engine; nil until it began
	// engineSince is when the current engine began, target and engine are those of its rows, and stopEngine stops it.
	// aiming is the request that has it stopped; nil without one.
	engineSince time.Time
	target      int32
	engine      int32
	stopEngine  context.CancelCauseFunc
	aiming      *aiming
	report      []byte // compressed; nil until the end
	course      []result.Second
	bins        int // number of histogram bins in course
	plain       int // number of leading rows of course whose histograms were dropped
}

// maxKeptBytes limits the memory for compressed reports. It is enough for thousands of typical reports.
const maxKeptBytes = 64 << 20

// The causes for which the runner ends a command. Messages append their texts to "was stopped: " and the like.
var (
	errCancelled = errors.New("the task was cancelled")
	errDeadline  = errors.New("its deadline had passed")
)

func newExecution(folder string) *execution {
	return &execution{folder: folder, grace: killGrace, notes: io.Discard, changed: make(chan struct{}), done: make(chan struct{}), touched: time.Now()}
}

// note writes a line for humans.
func (s *execution) note(format string, args ...any) {
	_, _ = fmt.Fprintf(s.notes, format+"\n", args...) // A failure cannot be reported anywhere else.
}

// change increases the version and wakes waiting snapshots. The caller holds the mutex.
func (s *execution) change() {
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// find returns a task. The caller holds the mutex.
func (s *execution) find(id string) (*entry, *Error) {
	// The search begins at the end, because nearly all requests are about the last task.
	for _, e := range slices.Backward(s.entries) {
		if e.status.ID == id {
			return e, nil
		}
	}
	return nil, refuse(NotFound, "there is no task %q", id)
}

// put adds a task and begins its preparation, unless the execution has the task already.
func (s *execution) put(t task.Task) (task.Status, *Error) {
	if err := validate(&t, s.programs); err != nil {
		return task.Status{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, err := s.find(t.ID); err == nil {
		if !reflect.DeepEqual(e.task, t) {
			return task.Status{}, refuse(Different, "another task has the ID %s already", t.ID)
		}
		return e.status, nil
	}
	if err := s.hasRoom(); err != nil {
		return task.Status{}, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &entry{
		task: t, start: make(chan struct{}), began: make(chan struct{}), cancel: cancel,
		status: task.Status{ID: t.ID, State: task.Preparing},
	}
	s.entries = append(s.entries, e)
	s.change()
	s.work.Go(func() {
		defer cancel(nil)
		s.carryOut(ctx, e)
	})
	return e.status, nil
}

// hasRoom returns an error if the execution cannot accept a new task. The caller holds the mutex.
func (s *execution) hasRoom() *Error {
	switch {
	case s.finished:
		return refuse(Finished, "the runner is ending, so it accepts no further task")
	case len(s.entries) >= maxTasks:
		return refuse(Full, "the runner accepts no more than %d tasks", maxTasks)
	case s.kept >= maxKeptBytes:
		return refuse(Full, "the runner is full, with %d MiB of reports; finish it, and continue with another one", s.kept>>20)
	}
	if n := len(s.entries); n > 0 && !s.entries[n-1].status.State.Ended() {
		return refuse(Busy, "task %s is still running", s.entries[n-1].status.ID)
	}
	return nil
}

// begin sends the start signal, waits until the engine runs, and returns the running time of the engine.
func (s *execution) begin(ctx context.Context, id string) (time.Duration, *Error) {
	e, err := s.signal(id)
	if err != nil {
		return 0, err
	}
	select {
	case <-e.began:
	case <-ctx.Done():
		return 0, refuse(Internal, "the request ended before the engine of task %s began", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.since.IsZero() {
		return 0, refuse(NotStarted, "the engine of task %s could not be started", id)
	}
	return time.Since(e.since), nil
}

func (s *execution) signal(id string) (*entry, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	switch {
	case err != nil:
		return nil, err
	case e.signalled:
		return nil, refuse(AlreadyStarted, "task %s already got the signal to start", id)
	case e.status.State != task.Ready:
		return nil, refuse(NotReady, "task %s is %s, not Ready", id, e.status.State)
	}
	e.signalled = true
	close(e.start)
	return e, nil
}

// stop cancels a task unless it has ended.
func (s *execution) stop(id string) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	if err != nil {
		return err
	}
	e.cancel(errCancelled)
	return nil
}

// report returns the compressed report of a task that has ended.
func (s *execution) report(id string) ([]byte, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	switch {
	case err != nil:
		return nil, err
	case e.report == nil:
		return nil, refuse(NotEnded, "task %s is %s, and has no report yet", id, e.status.State)
	}
	return e.report, nil
}

// snapshot returns the current state. It first waits until the version is greater than the parameter after.
// It stops waiting after the duration that the parameter wait gives, or when ctx is done.
func (s *execution) snapshot(ctx context.Context, after int64, wait time.Duration) Snapshot {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		snapshot, changed := s.look(after)
		if changed == nil {
			return snapshot
		}
		select {
		case <-changed:
		case <-timer.C:
			return snapshot
		case <-ctx.Done():
			return snapshot
		}
	}
}

// look returns the current state. If the version is not greater than the parameter after, look also returns a
// channel that the next change closes.
func (s *execution) look(after int64) (Snapshot, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := Snapshot{Version: s.version, Tasks: make([]task.Status, len(s.entries)), Now: time.Now()}
	for i, e := range s.entries {
		snapshot.Tasks[i] = byClockOf(e.status, snapshot.Now)
	}
	if s.version > after {
		return snapshot, nil
	}
	return snapshot, s.changed
}

// finish refuses further tasks, and cancels the running one.
func (s *execution) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.finished = true
	close(s.done)
	for _, e := range s.entries {
		e.cancel(errCancelled)
	}
	s.change()
}

// request counts a request from the manager. The returned function marks the end of the request.
func (s *execution) request() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
		s.touched = time.Now()
	}
}

// idle returns the time since the last answer or the last change of a task, or 0 while a request is answered
// or a task works. A task that waits for its start signal, or measures until it is cancelled, does not count
// as work, because it waits for the manager.
func (s *execution) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.entries); s.requests > 0 || (n > 0 && s.entries[n-1].isWorking()) {
		return 0
	}
	return time.Since(s.touched)
}

// isWorking reports whether the task is preparing, or is measuring and will end without the manager. The
// caller holds the execution's mutex.
func (e *entry) isWorking() bool {
	endless := e.task.Measure != nil && e.task.Measure.UntilCancelled
	return e.status.State == task.Preparing || e.status.State == task.Measuring && !endless
}
