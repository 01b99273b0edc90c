package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// process is a running command, the leader of a process group of its own.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // Closed when the leader has ended.
	since  time.Time     // Just after it had begun.
	pipes  []*os.File
	copies sync.WaitGroup
}

// exit is how a command ended.
type exit struct {
	// Code is the exit code, or -1 if it was ended by Signal.
	code   int
	signal syscall.Signal
	// Stopped is why the runner itself ended it, the cause of its context; nil if
	// it did not.
	stopped error
	// Abandoned: it did not even end when it was killed, as if it waited for a disk
	// that is gone.
	abandoned bool
	at        time.Time
	usage     *syscall.Rusage // of the leader and all that it waited for; nil if abandoned
}

// Bounds of the waits for a process.
const (
	// killGrace is between SIGTERM and SIGKILL.
	killGrace = 10 * time.Second
	// abandonAfter is between SIGKILL and giving up.
	abandonAfter = 10 * time.Second
	// drainAfter is how long after the end of a group its output may take.
	drainAfter = time.Second
)

// startProcess runs a command without a shell. Its output goes to the writers through pipes, so
// that their bounds hold: a file would grow without bound. If both writers are the same, one
// pipe keeps the order.
func startProcess(c task.Command, dir string, stdout, stderr io.Writer) (_ *process, err error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	var ends []*os.File
	defer func() {
		closeAll(ends) // The command has its own.
		if err != nil {
			closeAll(p.pipes)
		}
	}()
	writers := slices.Compact([]io.Writer{stdout, stderr})
	for range writers {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.pipes, ends = append(p.pipes, read), append(ends, write)
	}
	p.cmd = &exec.Cmd{
		Path: path, Args: c.Argv, Dir: dir, Env: environment(), Stdout: ends[0], Stderr: ends[len(ends)-1],
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.since = time.Now()
	for i, to := range writers {
		p.copies.Go(func() { _, _ = io.Copy(to, p.pipes[i]) }) // The writers do not fail, and a broken pipe is its end.
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // How it ended is in its state.
	}()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // An end of a pipe: nothing is lost.
	}
}

// environment is what a tool gets of the runner's.
func environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "LC_ALL=C"}
	if conf, ok := os.LookupEnv("CEPH_CONF"); ok {
		env = append(env, "CEPH_CONF="+conf)
	}
	return env
}

// wait returns when the command has ended, and all of its group with it. When ctx is done, wait
// terminates the command, and kills it after the grace.
func (p *process) wait(ctx context.Context, grace time.Duration) exit {
	e := exit{}
	select {
	case <-p.exited:
	case <-ctx.Done():
		e.stopped = context.Cause(ctx)
		p.signal(syscall.SIGTERM)
		if !waitFor(p.exited, grace) {
			p.signal(syscall.SIGKILL)
			e.abandoned = !waitFor(p.exited, abandonAfter)
		}
	}
	e.at = time.Now()
	// Processes that outlive the leader must not disturb the next measurement.
	p.signal(syscall.SIGKILL)
	p.drain()
	if e.abandoned {
		e.code = -1
		return e
	}
	p.reap()
	e.code = p.cmd.ProcessState.ExitCode()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal()
	}
	e.usage, _ = p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return e
}

func waitFor(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// signal sends a signal to the whole group; one that has ended does not mind.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// drain reads what is left in the pipes. A process that left the group can hold
// them open for ever, and is not waited for.
func (p *process) drain() {
	for _, pipe := range p.pipes {
		_ = pipe.SetReadDeadline(time.Now().Add(drainAfter)) // Pipes can have one.
	}
	p.copies.Wait()
	closeAll(p.pipes)
}

// reap removes the killed group's zombies from the table of processes. The runner is the first
// process of its container, and gets all orphans; anywhere else it gets no orphans, and reap
// does nothing.
func (p *process) reap() {
	for range 100 {
		pid, err := syscall.Wait4(-p.cmd.Process.Pid, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), pid > 0:
		case err != nil: // ECHILD: none is left.
			return
		default: // They were killed, and are about to be gone.
			time.Sleep(time.Millisecond)
		}
	}
}

// accepted reports whether the command ended by itself, as it should.
func (e exit) accepted(c task.Command) bool {
	return e.stopped == nil && e.signal == 0 && (e.code == 0 || slices.Contains(c.Accept, e.code))
}

// String says how it ended, as the end of a sentence.
func (e exit) String() string {
	switch {
	case e.abandoned:
		return "did not end, not even when it was killed; is the node's storage stuck?"
	case e.stopped != nil:
		return "was stopped: " + e.stopped.Error()
	case e.signal == syscall.SIGKILL:
		return "was killed (SIGKILL), most often because of the container's memory limit"
	case e.signal != 0:
		return fmt.Sprintf("was ended by signal %d (%s)", int(e.signal), e.signal)
	default:
		return fmt.Sprintf("ended with exit code %d", e.code)
	}
}
