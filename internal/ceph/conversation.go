package ceph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// unusedFor is how long a process may wait for a question before it is ended.
	unusedFor = 15 * time.Second
	// longestConversation limits the age of a process: the process is ended after the first answer that it
	// gives at a greater age. When Ceph's administrator changes a key or its caps, an open process continues
	// with the old key and the old caps.
	longestConversation = time.Minute
)

// conversations answers questions with `ceph` processes that stay open. Starting `ceph` takes a third of a
// second of CPU time: more than most answers take, and time that the measured load may need. A `ceph`
// without a command reads a command from each line of its standard input, and prints each answer as a JSON
// document. If a command fails, `ceph` prints an error but no exit status. So the process is killed at the
// first error, and the caller asks again with a separate process.
type conversations struct {
	processes *processes

	mu   sync.Mutex
	with map[counterpart]*conversation
}

// counterpart is a kind of daemon, and the connection through which it is asked. Monitors and the manager
// daemon have separate conversations, because a question to the manager daemon has to wait while that daemon
// is down.
type counterpart struct {
	connection Connection
	daemon     daemon
}

// conversation has at most one process at a time.
type conversation struct {
	// turn is a semaphore: it holds one item while a goroutine uses the conversation. Only that
	// goroutine may use the other fields.
	turn    chan struct{}
	process *interactive
	// wanted reports whether another process waits until this one ends.
	wanted func() bool
	idle   *time.Timer
}

// interactive is a `ceph` process that was started without a command.
type interactive struct {
	questions io.Writer
	printed   *io.LimitedReader
	answers   *json.Decoder
	began     time.Time
	// kill kills the process. end kills it, waits until it has ended, and releases its ceph.conf and
	// keyring.
	kill, end func()
}

// converse asks a daemon a question in a conversation, and starts a process if none runs. It returns false if the
// caller has to ask with a separate process. It uses at most two thirds of the caller's time. The separate
// process has the rest: if Ceph does not answer, the error of that process says what the process waited for.
func (c *CLI) converse(ctx context.Context, connection Connection, with daemon, question string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(ctx, timeFor(ctx)*2/3)
	defer cancel()
	talk := c.conversations.conversation(counterpart{connection, with})
	if isUrgent(ctx) {
		return nil, false // A change does not wait for other questions, and its process does not stay.
	}
	select {
	case talk.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-talk.turn; c.processes.rest(talk) }()
	end, err := c.processes.share(ctx, connection)
	if err != nil {
		return nil, false
	}
	defer end()
	answer, err := talk.ask(ctx, question, func() (*interactive, error) { return c.open(ctx, connection) })
	return answer, err == nil
}

func timeFor(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return time.Until(deadline)
	}
	return DefaultTimeout
}

func (c *conversations) conversation(key counterpart) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.with[key] == nil {
		c.with[key] = &conversation{turn: make(chan struct{}, 1), wanted: c.processes.wanted}
	}
	return c.with[key]
}

// removeUnused forgets conversations without a process, so that their keys leave memory.
func (c *conversations) removeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, talk := range c.with {
		select {
		case talk.turn <- struct{}{}:
			if talk.process == nil {
				delete(c.with, key)
				c.processes.forget(talk)
			}
			<-talk.turn
		default: // A question is being asked.
		}
	}
}

// endAll ends the processes of all conversations. It waits for questions that are being asked.
func (c *conversations) endAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, talk := range c.with {
		talk.turn <- struct{}{}
		talk.end()
		<-talk.turn
	}
}

// ask asks one question, and starts a process if none runs. If the process gives no valid answer in time,
// ask ends it, because its later output could be taken for the answer to the next question. ask also ends
// a process that is older than longestConversation, or that leaves no room for another one.
func (t *conversation) ask(ctx context.Context, question string, open func() (*interactive, error)) ([]byte, error) {
	if t.idle != nil {
		t.idle.Stop()
	}
	if t.process == nil {
		process, err := open()
		if err != nil {
			return nil, err
		}
		t.process = process
	}
	answer, err := t.process.ask(ctx, question)
	if err != nil || time.Since(t.process.began) > longestConversation || t.wanted() {
		t.end()
		return answer, err
	}
	t.idle = time.AfterFunc(unusedFor, func() { t.endUnused() })
	return answer, nil
}

// endUnused ends the process, and reports whether there was one. It does nothing while another goroutine uses the
// conversation. If that goroutine asks a question, it then sets a new timer, or ends the process.
func (t *conversation) endUnused() bool {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
		return t.end()
	default:
		return false
	}
}

func (t *conversation) end() bool {
	if t.process == nil {
		return false
	}
	t.process.end()
	t.process = nil
	return true
}

// ask asks one question. It kills the process if the context ends before the answer is complete.
func (p *interactive) ask(ctx context.Context, question string) ([]byte, error) {
	answered := context.AfterFunc(ctx, p.kill)
	p.printed.N = maxOutput
	if _, err := io.WriteString(p.questions, question+"\n"); err != nil {
		return nil, fmt.Errorf("ask a running ceph: %w", err)
	}
	var answer json.RawMessage
	if err := p.answers.Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the answer of a running ceph: %w", err)
	}
	if !answered() {
		return nil, ctx.Err()
	}
	rest, err := io.ReadAll(p.answers.Buffered())
	if err != nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.Join(errors.New("a running ceph printed more than an answer"), err)
	}
	return answer, nil
}

// open starts a process for questions. The process is killed at the first error that it prints.
func (c *CLI) open(ctx context.Context, connection Connection) (*interactive, error) {
	conf, keyring, forget, err := c.connections.use(connection)
	if err != nil {
		return nil, err
	}
	leave, err := c.processes.begin(ctx)
	if err != nil {
		forget()
		return nil, err
	}
	release := func() { forget(); leave() }
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	cmd := c.process(running, cephProgram, append(deadline(ctx, cephProgram), "--conf="+conf, "--id="+connection.User, "--keyring="+keyring, "--format=json"))
	cmd.Stderr = watchful(kill)
	questions, err := cmd.StdinPipe()
	printed, errOut := cmd.StdoutPipe()
	if err := cmp.Or(err, errOut, inTime(ctx, "without a command")); err != nil {
		kill()
		release()
		return nil, fmt.Errorf("prepare ceph: %w", err)
	}
	if err := cmd.Start(); err != nil {
		kill()
		release()
		return nil, fmt.Errorf("start ceph: %w", err)
	}
	limited := &io.LimitedReader{R: printed}
	return &interactive{
		questions: questions, printed: limited, answers: json.NewDecoder(limited), began: time.Now(), kill: kill,
		end: func() {
			kill()
			_ = cmd.Wait() // The error says only that the process was killed.
			release()
		},
	}, nil
}

// watchful calls kill when ceph prints an error. Other messages on standard error, such as "dumped all",
// come with valid answers.
type watchful func()

// Write implements io.Writer.
func (w watchful) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Error")) || bytes.Contains(p, []byte("error")) {
		w()
	}
	return len(p), nil
}
