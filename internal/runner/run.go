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

// Options are what a runner is started with.
type Options struct {
	// Key is the secret of the session, of [KeyBytes]. It is not needed where Tasks
	// are given.
	Key []byte
	// Tasks are carried out one after another without a manager, for networks that
	// do not let it in. All of their reports are in the log.
	Tasks []task.Task
	// Client is the index of this client, from 0.
	Client int
	// Programs are the ones that tasks may run.
	Programs []string
	// WorkDir is the folder for the working directories of tasks.
	WorkDir string
	// CgroupDir is where the container sees its cgroup, usually /sys/fs/cgroup.
	CgroupDir string
	// IdleTimeout ends a runner that has no task and gets no request.
	IdleTimeout time.Duration
	// TerminationMessage is the file for the [Termination]; empty for none.
	TerminationMessage string
	// Stdout gets the reports as frames, see [ReadFrames], and nothing else.
	Stdout io.Writer
	// Stderr gets a line for a human now and then.
	Stderr io.Writer

	grace time.Duration // between SIGTERM and SIGKILL; for tests
}

// The errors of a runner that ends without Finish.
var (
	// ErrIdle: no request came within IdleTimeout.
	ErrIdle = errors.New("no request reached this runner for too long; is the manager gone, or does a NetworkPolicy keep it out?")
	// ErrTerminated: the context was done, because the pod is terminating.
	ErrTerminated = errors.New("the pod was told to end")
	// ErrTasksFailed: not all tasks without a manager are Done.
	ErrTasksFailed = errors.New("not all tasks are done")
)

// Run is the life of a runner. It returns nil after Finish, or when all Tasks are Done; else
// [ErrIdle], [ErrTerminated], [ErrTasksFailed], or why it cannot work. Before it returns, it
// cancels the running task and writes its report into the log. With Tasks the listener is not
// used, and may be nil; otherwise Run closes it.
func Run(ctx context.Context, o Options, listener net.Listener) error {
	if err := os.MkdirAll(o.WorkDir, 0o700); err != nil {
		return fmt.Errorf("make the folder for working directories: %w", err)
	}
	s := newSession(o.WorkDir)
	s.client, s.programs, s.notes = o.Client, o.Programs, notesWriter{o.Stderr}
	s.cgroup = os.DirFS(o.CgroupDir)
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

// serveManager serves the manager's requests until Finish, or until it gives up.
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
	s.end() // While the manager can still see it.
	stop()
	return errors.Join(err, <-failed)
}

// end cancels the running task and waits until its report is in the log. The bounds of a
// process's wait bound this one.
func (s *session) end() {
	s.finish()
	s.work.Wait()
}

// untilIdle returns what is closed when the session has been idle for so long.
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

// workStandalone carries tasks out one after another. A measurement that fails does not
// keep the next ones from being tried. Preparation that fails does: what were measured
// after it would be something else. Tasks for always are carried out in any case.
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

// carryOutStandalone gives a task the signal to start as soon as it is ready, and returns
// when it has ended: its deadlines bound that.
func (s *session) carryOutStandalone(ctx context.Context, t task.Task) (task.State, error) {
	if _, err := s.put(t); err != nil { //nolint:contextcheck // What ends the runner ends the task through the session.
		return task.Failed, err
	}
	patient := context.WithoutCancel(ctx) // The task's end has to be seen in any case.
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
			s.work.Wait() // Its report is in the log before anything of the next one.
			return status.State, nil
		case status.State == task.Ready:
			// A tool that does not start has failed, and the next snapshot says so.
			_, _ = s.begin(patient, t.ID)
		}
	}
}
