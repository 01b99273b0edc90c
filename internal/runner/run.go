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
)

// Options configure a runner.
type Options struct {
	// Key is the secret key of the execution, of [KeyBytes] bytes.
	Key []byte
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
	// CPUDir is the directory of the host's CPUs, usually /sys/devices/system/cpu.
	CPUDir string
	// IdleTimeout is the time without a request, and without a change of a task, after which a runner ends.
	// This time does not pass while the runner prepares a task, or executes a measurement that ends by
	// itself.
	IdleTimeout time.Duration
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
)

// Run runs a runner until it ends. It returns nil after Finish. Otherwise the error wraps [ErrIdle] or
// [ErrTerminated], or is another error that prevents its work. Before it returns, it cancels the running task and
// writes that task's report into the log. serveManager closes the listener, but an error from creating WorkDir leaves
// it open.
func Run(ctx context.Context, o Options, listener net.Listener) error {
	if err := os.MkdirAll(o.WorkDir, 0o700); err != nil {
		return fmt.Errorf("create the directory for working directories: %w", err)
	}
	s := newExecution(o.WorkDir)
	s.client, s.programs, s.notes = o.Client, o.Programs, notesWriter{o.Stderr}
	s.cgroup, s.proc, s.cpus = os.DirFS(o.CgroupDir), os.DirFS(o.ProcDir), os.DirFS(o.CPUDir)
	s.frames = newFrameWriter(o.Stdout)
	s.grace = cmp.Or(o.grace, killGrace)
	return s.serveManager(ctx, o, listener)
}

// serveManager serves the manager's requests until Finish, until the runner is idle or terminated, or until
// the server fails.
func (s *execution) serveManager(ctx context.Context, o Options, listener net.Listener) error {
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
func (s *execution) end() {
	s.finish()
	s.work.Wait()
}

// untilIdle returns a channel that is closed when the execution has been idle for the limit.
func (s *execution) untilIdle(ctx context.Context, limit time.Duration) <-chan struct{} {
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
