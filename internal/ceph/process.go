package ceph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxOutput limits the output of a command, in bytes. It exceeds the size of `osd dump` for ten thousand
	// OSDs.
	maxOutput = 64 << 20
	// maxMessage limits how many bytes of error output are kept, so that a command cannot fill memory.
	maxMessage = 16 << 10
	// killedFor is how long the pipes of a killed command may stay open.
	killedFor = 2 * time.Second
)

// program is the name of a command-line program of Ceph.
type program string

const (
	cephProgram  program = "ceph"
	rbdProgram   program = "rbd"
	radosProgram program = "rados"
)

// execution is one execution of the program of a command: rbd and rados for prefixes that begin with their names,
// otherwise ceph. Errors name the command by its prefix.
type execution struct {
	prefix string
	args   []string
	stdin  string
	// If stdout is set, it receives the output, which may be of any length. Otherwise run returns the
	// output.
	stdout io.Writer
}

// ceph executes a command of the program ceph.
func (c *CLI) ceph(ctx context.Context, conn Connection, prefix string, args ...string) ([]byte, error) {
	return c.run(ctx, conn, execution{prefix: prefix, args: append(strings.Fields(prefix), args...)})
}

// programOf returns the program of a command.
func programOf(prefix string) program {
	first, _, _ := strings.Cut(prefix, " ")
	if p := program(first); p == rbdProgram || p == radosProgram {
		return p
	}
	return cephProgram
}

// run executes a command as the user of a connection, and returns its output. It first waits until the cluster
// may have one more command, and until one more process may run. It kills the command when the context ends.
func (c *CLI) run(ctx context.Context, conn Connection, job execution) ([]byte, error) {
	conf, keyring, release, err := c.connections.use(conn)
	if err != nil {
		return nil, err
	}
	defer release()
	leave, err := c.processes.share(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer leave()
	end, err := c.processes.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()

	var stdout, stderr bytes.Buffer
	if job.stdout == nil {
		job.stdout = &limited{writer: &stdout, left: maxOutput, refuse: true}
	}
	args := append(deadline(ctx, programOf(job.prefix)), "--conf="+conf, "--id="+conn.User, "--keyring="+keyring)
	cmd := c.process(ctx, programOf(job.prefix), append(args, job.args...))
	cmd.Stdin = strings.NewReader(job.stdin)
	cmd.Stdout = job.stdout
	cmd.Stderr = &limited{writer: &stderr, left: maxMessage}

	if err := inTime(ctx, job.prefix); err != nil {
		return nil, err
	}
	if err := cmd.Run(); err != nil {
		if unreadable := c.unreadableKey(ctx, conn, stderr.String()); unreadable != nil {
			return nil, unreadable
		}
		return nil, failure(ctx, job.prefix, err, withoutKey(stderr.String(), conn.Key), stdout.Bytes())
	}
	return stdout.Bytes(), nil
}

// process returns a process that has not started. When the context ends, the process is killed together with
// its children.
func (c *CLI) process(ctx context.Context, p program, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.find(p), args...) //nolint:gosec // There is no shell, and the names were checked.
	cmd.Env = environment(os.Environ())
	killWithChildren(cmd)
	cmd.WaitDelay = killedFor
	return cmd
}

// commandLine returns a command as a user types it. Only the prefixes of rbd and rados begin with the program's name.
func commandLine(prefix string) string {
	if programOf(prefix) == cephProgram {
		return string(cephProgram) + " " + prefix
	}
	return prefix
}

// inTime returns an error if the deadline has passed. It reads the clock right before a command starts.
// The context is not enough: if the system has paused this process, the context ends only some time after the
// process continues.
func inTime(ctx context.Context, verb string) error {
	if deadline, bounded := ctx.Deadline(); bounded && !time.Now().Before(deadline) {
		return fmt.Errorf("%s did not start in time: %w", commandLine(verb), context.DeadlineExceeded)
	}
	return nil
}

// deadline returns options that make Ceph's libraries give up before the command is killed, if the deadline is
// at least a few seconds away. Only when the libraries give up do they report what they waited for. By default,
// they wait five minutes for monitors, and forever for an OSD, even for an OSD that refuses the key.
func deadline(ctx context.Context, p program) []string {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return nil
	}
	left := time.Until(deadline)
	wait := strconv.Itoa(max(1, int((left * 2 / 3).Seconds())))
	args := []string{"--client-mount-timeout=" + wait, "--rados-mon-op-timeout=" + wait, "--rados-osd-op-timeout=" + wait}
	if p == cephProgram {
		args = append(args, "--connect-timeout="+strconv.Itoa(max(2, int((left*3/4).Seconds()))))
	}
	return args
}

// environment drops variables that change Ceph's commands, such as CEPH_ARGS and CEPH_CONF. It sets
// PYTHONUNBUFFERED, because a `ceph` process that stays open for several questions would otherwise keep its
// answers in a buffer.
func environment(environ []string) []string {
	kept := []string{"LC_ALL=C.UTF-8", "PYTHONUNBUFFERED=1"}
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "CEPH_") && !strings.HasPrefix(entry, "LC_ALL=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// failure returns an *Error, unless the context has ended, the command could not be executed, or the command
// succeeded but its output could not be read.
func failure(ctx context.Context, verb string, err error, stderr string, stdout []byte) error {
	message := withoutLog(stderr)
	if message == "" {
		// `ceph` prints the error "timed out" on its standard output.
		message = strings.TrimSpace(string(stdout[:min(len(stdout), maxMessage)]))
	}
	if ctx.Err() != nil {
		if message != "" {
			message = ", after this output: " + message
		}
		return fmt.Errorf("%s did not end in time%s: %w", commandLine(verb), message, ctx.Err())
	}
	exit, ended := errors.AsType[*exec.ExitError](err)
	if !ended {
		return fmt.Errorf("%s: %w", commandLine(verb), err)
	}
	if message == "" {
		message = exit.Error()
	}
	return &Error{Verb: verb, Errno: errnoOf(exit.ExitCode(), message), Message: message}
}

// logLine matches a line that Ceph's libraries log although logging is off. Such a line begins with the
// time. Messages must not contain the line: they appear in conditions, which must not change with the time.
var logLine = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\S+ [0-9a-f]+ +-?\d+ .*(?:\n|$)`)

// withoutLog removes log lines, unless nothing else is left.
func withoutLog(stderr string) string {
	if rest := strings.TrimSpace(logLine.ReplaceAllString(stderr, "")); rest != "" {
		return rest
	}
	return strings.TrimSpace(stderr)
}

// messageErrno finds the number in "[errno 13] RADOS permission denied" and in
// "error opening pool nope: (2) No such file or directory".
var messageErrno = regexp.MustCompile(`\[errno (\d+)\]|: \((\d+)\) `)

// errnoOf returns the error number, or 0 if it is unknown. `ceph` and `rbd` exit with the number. `rados`
// always exits with 1, and so does `ceph` when it cannot connect. errnoOf then searches the message.
func errnoOf(status int, message string) int {
	if status > 1 && status < 128 {
		return status
	}
	found := messageErrno.FindStringSubmatch(message)
	switch {
	case found != nil:
		number, err := strconv.Atoi(found[1] + found[2])
		if err != nil {
			return 0
		}
		return number
	case strings.HasSuffix(message, "Operation not permitted"):
		return int(syscall.EPERM)
	case strings.HasSuffix(message, "timed out"):
		return int(syscall.ETIMEDOUT)
	}
	return 0
}

// limited is a writer that passes on bytes until the number in the field left is used up. Further bytes cause an
// error if refuse is set; otherwise limited drops them.
type limited struct {
	writer io.Writer
	left   int
	refuse bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left && l.refuse {
		return 0, errors.New("its output is too long")
	}
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	if _, err := l.writer.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}
