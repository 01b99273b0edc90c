package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// Options configure a runner.
type Options struct {
	// Key is the secret key of the session, of [KeyBytes] bytes. With Tasks, the runner needs no key.
	Key []byte
	// Tasks are executed one after another without a manager, for networks that block the manager's
	// connection. All reports go to the log. Tasks is nil if a manager sends them.
	Tasks []task.Task
	// Client is the index of this client, from 0.
	Client int
	// Programs lists the programs that tasks may run.
	Programs []string
	// WorkDir is the folder for the tasks' working directories.
	WorkDir string
	// CgroupDir is the container's cgroup directory, usually /sys/fs/cgroup.
	CgroupDir string
	// ProcDir is the directory of the kernel's figures of the host, usually /proc.
	ProcDir string
	// IdleTimeout is the time without a request, and without a change of a task, after which a runner ends.
	// This time does not pass while the runner prepares a task, or executes a measurement that ends by
	// itself. With Tasks, IdleTimeout has no effect.
	IdleTimeout time.Duration
	// TerminationMessage is the file for the [Termination]; empty for none.
	TerminationMessage string
	// Stdout gets the reports as frames, see [ReadFrames], and nothing else.
	Stdout io.Writer
	// Stderr gets progress lines, and other lines for humans.
	Stderr io.Writer

	grace time.Duration // between SIGTERM and SIGKILL; for tests
}

// The errors of a runner that ends without Finish.
var (
	// ErrIdle: no request came within IdleTimeout.
	ErrIdle = errors.New("no request reached this runner for too long; is the manager gone, or does a NetworkPolicy keep it out?")
	// ErrTerminated: the context was done, because the pod is terminating.
	ErrTerminated = errors.New("the pod is terminating")
	// ErrTasksFailed: not all of Options.Tasks ended as Done.
	ErrTasksFailed = errors.New("not all tasks are done")
)

// Run runs a runner until it ends. It returns nil after Finish, or when all Tasks are Done before ctx is
// cancelled. Otherwise the error wraps [ErrIdle], [ErrTerminated] or [ErrTasksFailed], or is another error
// that prevents its work. Before it returns, it cancels the running task and writes that task's report into
// the log. With Tasks, Run does not use the listener, which may be nil. Otherwise serveManager closes the
// listener, but an error from creating WorkDir leaves it open.
func Run(ctx context.Context, o Options, listener net.Listener) error {
	if err := os.MkdirAll(o.WorkDir, 0o700); err != nil {
		return fmt.Errorf("create the directory for working directories: %w", err)
	}
	s := newSession(o.WorkDir)
	s.client, s.programs, s.notes = o.Client, o.Programs, notesWriter{o.Stderr}
	s.cgroup, s.proc = os.DirFS(o.CgroupDir), os.DirFS(o.ProcDir)
	s.frames = newFrameWriter(o.Stdout)
	s.grace = cmp.Or(o.grace, killGrace)
	live := func() error { return s.serveManager(ctx, o, listener) }
	if o.Tasks != nil {
		live = func() error { return s.workStandalone(ctx, o.Tasks) }
	}
	err := live()
	if err := writeTermination(o.TerminationMessage, err, s.statuses()); err != nil {
		s.note("the termination message cannot be written: %v", err)
	}
	return err
}

// serveManager serves the manager's requests until Finish, until the runner is idle or terminated, or until
// the server fails.
func (s *session) serveManager(ctx context.Context, o Options, listener net.Listener) error {
	server, err := newHTTPServer(s, o.Key)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- serve(serving, server, listener) }()
	idle := s.untilIdle(serving, o.IdleTimeout)
	s.note("listening on %s", listener.Addr())

	select {
	case <-s.done:
	case <-ctx.Done():
		err = ErrTerminated
	case <-idle:
		err = fmt.Errorf("%w (%v)", ErrIdle, o.IdleTimeout)
	case err := <-failed:
		s.end()
		return err
	}
	s.end() // The server still runs, so the manager can see how the running task ends.
	stop()
	return errors.Join(err, <-failed)
}

// end cancels the running task and waits until its report is in the log. The grace, abandonAfter and
// drainAfter limit this wait.
func (s *session) end() {
	s.finish()
	s.work.Wait()
}

// untilIdle returns a channel that is closed when the session has been idle for the limit.
func (s *session) untilIdle(ctx context.Context, limit time.Duration) <-chan struct{} {
	idle := make(chan struct{})
	go func() {
		for left := limit; left > 0; left = limit - s.idle() {
			timer := time.NewTimer(left)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
		close(idle)
	}()
	return idle
}

// workStandalone executes tasks one after another. If a task with a measurement fails, even in its steps,
// workStandalone continues with the next task. If a task without a measurement fails, it skips the following
// tasks, because their data would not be as expected. It also skips them when ctx is done. It does not skip
// tasks marked Always. If a task is invalid, it executes no task.
func (s *session) workStandalone(ctx context.Context, tasks []task.Task) error {
	for _, t := range tasks {
		if err := validate(&t, s.programs); err != nil {
			return err
		}
	}
	s.alone = true
	failed, unprepared := 0, false
	for _, t := range tasks {
		if (unprepared || ctx.Err() != nil) && !t.Always {
			failed++
			continue
		}
		state, err := s.carryOutStandalone(ctx, t)
		if err != nil {
			s.note("task %s: %v", t.ID, err)
		}
		if state != task.Done {
			failed++
			unprepared = unprepared || t.Measure == nil
		}
	}
	s.end()
	switch {
	case ctx.Err() != nil:
		return ErrTerminated
	case failed > 0:
		return fmt.Errorf("%w: %d of %d failed, or were not tried", ErrTasksFailed, failed, len(tasks))
	}
	return nil
}

// carryOutStandalone executes a task. It sends the start signal as soon as the task is ready, and returns
// when the task has ended. The task's RestSeconds and deadlines limit how long that takes.
func (s *session) carryOutStandalone(ctx context.Context, t task.Task) (task.State, error) {
	if _, err := s.put(t); err != nil { //nolint:contextcheck // The end of the runner ends the task through the session.
		return task.Failed, err
	}
	patient := context.WithoutCancel(ctx) // This wait must not end before the task does.
	if !t.Always {
		stop := context.AfterFunc(ctx, func() { _ = s.stop(t.ID) }) // stop fails only for an unknown task.
		defer stop()
	}
	for version := int64(-1); ; {
		snapshot := s.snapshot(patient, version, maxWait)
		version = snapshot.Version
		status := snapshot.Tasks[len(snapshot.Tasks)-1]
		switch {
		case status.State.Ended():
			s.work.Wait() // The report must be in the log before any output of the next task.
			return status.State, nil
		case status.State == task.Ready:
			// If the engine does not start, the next snapshot reports the failure.
			_, _ = s.begin(patient, t.ID)
		}
	}
}
