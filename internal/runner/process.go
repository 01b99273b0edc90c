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

// process is a running command, the leader of its own process group.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // Closed when the leader has ended.
	since  time.Time     // Just after the process began.
	pipes  []*os.File
	copies sync.WaitGroup
}

// exit describes how a command ended.
type exit struct {
	// code is the exit code, or -1 if a signal ended the command or the command was abandoned.
	code   int
	signal syscall.Signal
	// stopped is the reason why the runner tried to end the command; nil if the command ended before the
	// runner tried.
	stopped error
	// abandoned reports that the command did not end even after SIGKILL, for example because it
	// waits for a lost disk.
	abandoned bool
	ended     time.Time
	usage     *syscall.Rusage // of the leader and the children that it waited for; nil if abandoned
}

// The limits of the waits for a process.
const (
	// killGrace is the time between SIGTERM and SIGKILL.
	killGrace = 10 * time.Second
	// abandonAfter is the time between SIGKILL and giving up.
	abandonAfter = 10 * time.Second
	// drainAfter is how long the runner continues to read output after the end of the leader, or after it has
	// given up.
	drainAfter = time.Second
)

// startProcess starts a command without a shell. The command writes into pipes, and the runner copies their
// contents to the writers. A file in place of a pipe would grow without limit, but a writer can discard
// output. If both writers are the same, both outputs share one pipe, so that their lines stay in order.
func startProcess(c task.Command, dir string, stdout, stderr io.Writer) (_ *process, err error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	var ends []*os.File
	defer func() {
		closeAll(ends) // The command has its own copies.
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
	for i, writer := range writers {
		p.copies.Go(func() { _, _ = io.Copy(writer, p.pipes[i]) }) // The writers do not fail. If reading the pipe fails, the copy ends.
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState has the result.
	}()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // A failed close of a pipe loses no data.
	}
}

// environment returns the environment of commands: PATH and CEPH_CONF as in the runner's environment, and
// fixed values of HOME and LC_ALL.
func environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "LC_ALL=C"}
	if conf, ok := os.LookupEnv("CEPH_CONF"); ok {
		env = append(env, "CEPH_CONF="+conf)
	}
	return env
}

// wait waits for the end of the command, and then kills the rest of its process group. When ctx is done, wait
// sends SIGTERM, and after the grace SIGKILL. If the command has not ended after a further abandonAfter, wait
// gives up.
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
	e.ended = time.Now()
	// Processes of the group that outlive the leader must not disturb the next measurement.
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

// signal sends a signal to the whole group. If the group has ended, signal does nothing.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// drain reads the rest of the pipes, for at most drainAfter: a process that left the group could keep the
// pipes open for ever.
func (p *process) drain() {
	for _, pipe := range p.pipes {
		_ = pipe.SetReadDeadline(time.Now().Add(drainAfter)) // Pipes support deadlines.
	}
	p.copies.Wait()
	closeAll(p.pipes)
}

// reap waits for the killed group's zombies, so that they leave the process table. The runner inherits
// orphaned processes if it is the first process of its container. Otherwise it inherits no processes, and
// reap does nothing.
func (p *process) reap() {
	for range 100 {
		pid, err := syscall.Wait4(-p.cmd.Process.Pid, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), pid > 0:
		case err != nil: // ECHILD: no children are left.
			return
		default: // The remaining processes were killed and are about to end.
			time.Sleep(time.Millisecond)
		}
	}
}

// accepted reports whether the command ended by itself with an accepted exit code.
func (e exit) accepted(c task.Command) bool {
	return e.stopped == nil && e.signal == 0 && (e.code == 0 || slices.Contains(c.Accept, e.code))
}

// String returns the rest of a sentence that begins with the command, such as "ended with exit code 1".
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
