// Package runnertest has a fake runner without a pod, for tests of code that uses runners.
//
// The fake meets the contract of [runner.Client]: it executes one task at a time, and no task twice, and its
// reports can be read again. A [Script] defines how a task ends.
package runnertest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

// Script defines how a task proceeds, and its result. With the zero value, preparation and measurement take
// no time and succeed, unless the task runs until it is cancelled.
type Script struct {
	// Preparing and Measuring are the times that the task spends in these states. A task that runs until it
	// is cancelled fails after a positive Measuring; with 0 and without Failure, it does not end by itself.
	Preparing, Measuring time.Duration
	// StepsFailure makes the preparation fail. Failure makes the measurement fail; with the
	// reason NotStarted, it makes Start fail.
	StepsFailure, Failure *task.Failure
	// Result is the result of the measurement; nil for that of ResultOf. Without both, it is [DefaultResult].
	Result   *result.Result
	ResultOf func(task.Task) *result.Result
	// Course has the engine's work second by second. All rows are available as soon as the engine has
	// started.
	Course []result.Second
	// Usage and Output are copied into the report.
	Usage  task.Usage
	Output string
}

// WithoutDelay returns the script without the times of its states.
func (s Script) WithoutDelay() Script {
	s.Preparing, s.Measuring = 0, 0
	return s
}

// Runner is a fake [runner.Client]. It is safe for concurrent use.
type Runner struct {
	client int

	mu       sync.Mutex
	version  int64
	changed  chan struct{} // closed, and replaced, with every change
	entries  []*entry
	scripts  map[string]Script
	broken   error
	lost     int
	skew     time.Duration
	finished bool
}

type entry struct {
	task    task.Task
	status  task.Status
	script  Script
	started bool
	aims    []runner.Aim
	report  *task.Report
}

var _ runner.Client = (*Runner)(nil)

// New returns the runner of the client with this index, from 0. Without a Script, all its tasks succeed, but
// a task that runs until it is cancelled does not end by itself.
func New(client int) *Runner {
	return &Runner{client: client, changed: make(chan struct{}), scripts: map[string]Script{}}
}

// Script sets the script of future tasks whose ID begins with prefix. If several prefixes match, the longest
// prefix decides.
func (r *Runner) Script(prefix string, s Script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scripts[prefix] = s
}

// Break makes all requests fail with err, as if the pod did not exist. Break(nil) ends that.
func (r *Runner) Break(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	close(r.changed) // This wakes the callers of Snapshot, so that they fail too.
	r.changed = make(chan struct{})
}

// LoseAnswers makes the next n requests fail after they were executed.
func (r *Runner) LoseAnswers(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = n
}

// SetSkew sets the width of the interval between NotBefore and NotAfter of a start. The default is 0.
func (r *Runner) SetSkew(width time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skew = width
}

// Proceed ends the current state of the tasks whose ID begins with prefix as their scripts would end it, and lets these
// tasks and later ones with such scripts go on without a delay. A test that acts while a task is in a state holds the
// task there with a long delay, and then calls Proceed. A short delay could pass before the test acts.
func (r *Runner) Proceed(prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known, script := range r.scripts {
		if strings.HasPrefix(known, prefix) {
			r.scripts[known] = script.WithoutDelay()
		}
	}
	for _, e := range r.entries {
		if !strings.HasPrefix(e.task.ID, prefix) {
			continue
		}
		e.script = e.script.WithoutDelay()
		switch e.status.State {
		case task.Preparing:
			r.prepared(e)
		case task.Measuring:
			r.measured(e)
		case task.Ready, task.Done, task.Failed, task.Cancelled:
		}
	}
}

// Tasks returns the tasks in the order in which they were put.
func (r *Runner) Tasks() []task.Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks := make([]task.Task, len(r.entries))
	for i, e := range r.entries {
		tasks[i] = e.task
	}
	return tasks
}

// Finished reports whether a request Finish has reached the runner.
func (r *Runner) Finished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finished
}

// endlessSeconds is the duration, in seconds, in the [DefaultResult] of a task that runs until it is cancelled.
// The result has this duration no matter when the task is cancelled. The duration is longer than any test.
const endlessSeconds = 600

// DefaultResult returns a measurement of 4 KiB writes, 1000 per second. It lasts for the whole seconds that
// the task requests, or 10 s if the task requests less than a second or no time. For a task that runs until
// it is cancelled, it lasts endlessSeconds.
func DefaultResult(t task.Task) *result.Result {
	seconds := int64(10)
	if t.Measure != nil && t.Measure.RequestedSeconds >= 1 {
		seconds = int64(t.Measure.RequestedSeconds)
	}
	var course *result.Series
	if t.Measure != nil && t.Measure.UntilCancelled {
		seconds = endlessSeconds
		course = &result.Series{
			Boundaries: result.NominalBoundaries, StartSeconds: []float64{0}, EndSeconds: []float64{endlessSeconds},
			OperationsPerSecond: []float64{1000}, BytesPerSecond: []float64{4096 * 1000},
		}
	}
	return &result.Result{
		SchemaVersion: result.SchemaVersion,
		Clients:       1,
		Source:        result.Source{Tool: result.ToolRadosBench, Format: "rados-bench-text"},
		Write: &result.Direction{
			Operations: 1000 * seconds, Bytes: 4096 * 1000 * seconds,
			Seconds: float64(seconds), ShortestSeconds: float64(seconds),
			Series: course,
		},
	}
}

// Snapshot implements [runner.Client].
func (r *Runner) Snapshot(ctx context.Context, after int64, wait time.Duration) (runner.Snapshot, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		snapshot, changed, err := r.look()
		if err != nil || snapshot.Version > after {
			return snapshot, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return snapshot, nil
		case <-ctx.Done():
			return runner.Snapshot{}, ctx.Err()
		}
	}
}

func (r *Runner) look() (runner.Snapshot, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	snapshot := runner.Snapshot{Version: r.version, Tasks: make([]task.Status, len(r.entries))}
	for i, e := range r.entries {
		snapshot.Tasks[i] = e.status
	}
	return snapshot, r.changed, r.answer(nil)
}

// answer returns the error of a broken runner or of a lost answer. Otherwise it returns err, the outcome of
// the request. The caller holds the mutex.
func (r *Runner) answer(err error) error {
	switch {
	case r.broken != nil:
		return r.broken
	case r.lost > 0:
		r.lost--
		return fmt.Errorf("runnertest: the answer was lost")
	}
	return err
}

// Put implements [runner.Client].
func (r *Runner) Put(_ context.Context, t task.Task) (task.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return task.Status{}, r.broken
	}
	if e := r.find(t.ID); e != nil {
		if !reflect.DeepEqual(e.task, t) {
			return task.Status{}, r.answer(refuse(runner.Different, t.ID))
		}
		return e.status, r.answer(nil)
	}
	if r.finished {
		return task.Status{}, r.answer(refuse(runner.Finished, t.ID))
	}
	if n := len(r.entries); n > 0 && !r.entries[n-1].status.State.Ended() {
		return task.Status{}, r.answer(refuse(runner.Busy, t.ID))
	}
	e := &entry{task: t, script: r.scriptOf(t.ID), status: task.Status{ID: t.ID, State: task.Preparing}}
	r.entries = append(r.entries, e)
	r.change()
	r.after(e, e.script.Preparing, r.prepared)
	return e.status, r.answer(nil)
}

func refuse(code runner.Code, id string) *runner.Error {
	return &runner.Error{Code: code, Message: "task " + id}
}

func (r *Runner) find(id string) *entry {
	for _, e := range r.entries {
		if e.task.ID == id {
			return e
		}
	}
	return nil
}

func (r *Runner) scriptOf(id string) Script {
	longest, script := -1, Script{}
	for prefix, s := range r.scripts {
		if strings.HasPrefix(id, prefix) && len(prefix) > longest {
			longest, script = len(prefix), s
		}
	}
	return script
}

func (r *Runner) change() {
	r.version++
	close(r.changed)
	r.changed = make(chan struct{})
}

// after calls the function next after a delay, unless the task is in another state by then. The caller holds the mutex.
func (r *Runner) after(e *entry, delay time.Duration, next func(*entry)) {
	if delay <= 0 {
		next(e)
		return
	}
	state := e.status.State
	time.AfterFunc(delay, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if e.status.State == state {
			next(e)
		}
	})
}

func (r *Runner) prepared(e *entry) {
	switch {
	case e.script.StepsFailure != nil:
		r.end(e, task.Failed, e.script.StepsFailure)
	case e.task.Measure == nil:
		r.end(e, task.Done, nil)
	default:
		e.status.State = task.Ready
		r.change()
	}
}

func (r *Runner) measured(e *entry) {
	switch {
	case e.script.Failure != nil:
		r.end(e, task.Failed, e.script.Failure)
		return
	case e.endless():
		r.end(e, task.Failed, &task.Failure{Reason: "EndedEarly", Message: "it ended by itself"})
		return
	}
	r.end(e, task.Done, nil)
}

// end ends a task and makes its report.
func (r *Runner) end(e *entry, state task.State, failure *task.Failure) {
	e.status.State, e.status.Failure = state, failure
	if e.status.StartTime != nil {
		now := time.Now()
		e.status.EndTime = &now
	}
	e.report = &task.Report{Status: e.status, Client: r.client, Usage: e.script.Usage, Output: e.script.Output}
	if state == task.Done && e.task.Measure != nil {
		e.report.Result = e.script.resultOf(e.task)
	}
	r.change()
}

func (s Script) resultOf(t task.Task) *result.Result {
	switch {
	case s.Result != nil:
		return s.Result
	case s.ResultOf != nil:
		return s.ResultOf(t)
	}
	return DefaultResult(t)
}

// Start implements [runner.Client].
func (r *Runner) Start(_ context.Context, id string) (runner.Started, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return runner.Started{}, r.broken
	}
	e := r.find(id)
	switch {
	case e == nil:
		return runner.Started{}, r.answer(refuse(runner.NotFound, id))
	case e.started:
		return runner.Started{}, r.answer(refuse(runner.AlreadyStarted, id))
	case e.status.State != task.Ready:
		return runner.Started{}, r.answer(refuse(runner.NotReady, id))
	}
	e.started = true
	if f := e.script.Failure; f != nil && f.Reason == task.NotStarted {
		r.end(e, task.Failed, f)
		return runner.Started{}, r.answer(refuse(runner.NotStarted, id))
	}
	now := time.Now()
	e.status.State, e.status.StartTime = task.Measuring, &now
	r.change()
	if !e.endless() || e.script.Measuring > 0 || e.script.Failure != nil {
		r.after(e, e.script.Measuring, r.measured)
	}
	return runner.Started{NotBefore: now, NotAfter: now.Add(r.skew)}, r.answer(nil)
}

// Aim implements [runner.Client]. The rows of the task come from its [Script], whatever it is aimed at.
func (r *Runner) Aim(_ context.Context, id string, at runner.Aim) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	e := r.find(id)
	switch {
	case e == nil:
		return r.answer(refuse(runner.NotFound, id))
	case e.status.State != task.Measuring:
		return r.answer(refuse(runner.NotReady, id))
	}
	e.aims = append(e.aims, at)
	return r.answer(nil)
}

// Aims returns where a task was aimed, in order.
func (r *Runner) Aims(id string) []runner.Aim {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.find(id); e != nil {
		return slices.Clone(e.aims)
	}
	return nil
}

// Cancel implements [runner.Client].
func (r *Runner) Cancel(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	e := r.find(id)
	if e == nil {
		return r.answer(refuse(runner.NotFound, id))
	}
	r.cancel(e)
	return r.answer(nil)
}

// Fail ends an unfinished task now, as if its engine had died.
func (r *Runner) Fail(id string, f *task.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.find(id); e != nil && !e.status.State.Ended() {
		r.end(e, task.Failed, f)
	}
}

// cancel ends a task, unless the task has ended. If a task that measures until it is cancelled is measuring,
// it is then Done. Any other task is Cancelled.
func (r *Runner) cancel(e *entry) {
	switch {
	case e.status.State.Ended():
	case e.endless() && e.status.State == task.Measuring:
		r.end(e, task.Done, nil)
	default:
		r.end(e, task.Cancelled, nil)
	}
}

// endless reports whether the task runs until it is cancelled.
func (e *entry) endless() bool { return e.task.Measure != nil && e.task.Measure.UntilCancelled }

// Course implements [runner.Client].
func (r *Runner) Course(_ context.Context, id string, first int) (runner.Course, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.find(id)
	switch {
	case e == nil:
		return runner.Course{}, r.answer(refuse(runner.NotFound, id))
	case e.status.StartTime == nil:
		return runner.Course{}, r.answer(refuse(runner.NotReady, id))
	case first < 0 || first > len(e.script.Course):
		return runner.Course{}, r.answer(refuse(runner.Invalid, id))
	}
	began := *e.status.StartTime
	return runner.Course{Rows: e.script.Course[first:], Began: runner.Started{NotBefore: began, NotAfter: began}}, r.answer(nil)
}

// Report implements [runner.Client].
func (r *Runner) Report(_ context.Context, id string) (*task.Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.find(id)
	switch {
	case e == nil:
		return nil, r.answer(refuse(runner.NotFound, id))
	case e.report == nil:
		return nil, r.answer(refuse(runner.NotEnded, id))
	}
	if err := r.answer(nil); err != nil {
		return nil, err
	}
	report := *e.report
	return &report, nil
}

// Finish implements [runner.Client].
func (r *Runner) Finish(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	r.finished = true
	for _, e := range r.entries {
		r.cancel(e)
	}
	return r.answer(nil)
}
