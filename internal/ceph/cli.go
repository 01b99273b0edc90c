package ceph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// CLI is an Executor, and so a Client and a Tuner, that executes ceph, rbd and rados. It is safe for concurrent use.
type CLI struct {
	verbs

	rows          map[string]row
	connections   *connections
	fences        *fences
	conversations *conversations
	processes     *processes
	// programs is the folder that contains ceph, rbd and rados. Empty means to search PATH.
	programs string
	// permit is the function that Ask set. If it is nil, no permission is needed.
	permit Permit
	// started is true once all programs have started.
	started atomic.Bool
}

var (
	_ Client = (*CLI)(nil)
	_ Tuner  = (*CLI)(nil)
)

// NewCLI returns a CLI that keeps keys in files below folder. It removes the keys that an earlier process
// left there.
func NewCLI(folder string) (*CLI, error) {
	kept, err := newConnections(folder)
	if err != nil {
		return nil, err
	}
	all := newProcesses()
	c := &CLI{rows: rows(), connections: kept, fences: newFences(), processes: all, conversations: &conversations{processes: all, with: map[counterpart]*conversation{}}}
	c.verbs = verbs{c}
	return c, nil
}

// Ask makes the CLI call the function permit before it sets or unsets an option of OSDs or of a pool. Before it
// restores an option, the CLI does not call the function. Call Ask before the first command.
func (c *CLI) Ask(permit Permit) { c.permit = permit }

// RemoveIdle removes the files of keys that were not used for ten minutes. It also forgets conversations
// without a process, because they hold keys too. Call it periodically.
func (c *CLI) RemoveIdle() error {
	c.conversations.removeUnused()
	return c.connections.removeIdle()
}

// Close ends the `ceph` processes of all conversations. The CLI can still be used afterwards.
func (c *CLI) Close() { c.conversations.endAll() }

func (c *CLI) find(p program) string { return filepath.Join(c.programs, string(p)) }

// Execute implements Executor. If a command changes settings, at most one such command at a time is executed on each Ceph
// cluster, and none if the fence or the administrator forbids it.
func (c *CLI) Execute(ctx context.Context, conn Connection, command Command, fence *Fence) ([]byte, error) {
	entry, known := c.rows[command.Prefix]
	if !known {
		return nil, &InvalidError{fmt.Sprintf("the ceph sidecar does not know the command %q: check that manager and sidecar have the same version", command.Prefix)}
	}
	if err := entry.check(command.Args); err != nil {
		return nil, err
	}
	if entry.permission == mayChange {
		return c.change(ctx, conn, command, entry, fence)
	}
	if entry.urgent {
		ctx = urgent(ctx)
	}
	return c.perform(ctx, conn, command, entry)
}

// change executes a command that changes something, unless the administrator or the fence forbids it.
func (c *CLI) change(ctx context.Context, conn Connection, command Command, entry row, fence *Fence) ([]byte, error) {
	if fence == nil {
		return nil, &InvalidError{"a change needs a fence"}
	}
	if entry.setting != nil {
		setting, err := entry.setting(command.Args)
		if err != nil {
			return nil, err
		}
		if err := c.permitted(ctx, conn, *fence, setting); err != nil {
			return nil, err
		}
	}
	ctx, leave, err := c.fences.enter(ctx, *fence)
	if err != nil {
		return nil, err
	}
	defer leave()
	return c.perform(ctx, conn, command, entry)
}

// permitted refuses a setting that Fence.Tunable refuses, or that the administrator does not allow.
// Restoring an original from the journal does not need the administrator's permission.
func (c *CLI) permitted(ctx context.Context, conn Connection, fence Fence, setting Setting) error {
	if err := fence.Tunable(setting); err != nil || fence.Restores || c.permit == nil {
		return err
	}
	return c.permit(ctx, conn, setting)
}

// perform executes a command, if possible in a conversation. A conversation separates arguments by spaces, so no
// argument may need quotation marks.
func (c *CLI) perform(ctx context.Context, conn Connection, command Command, entry row) ([]byte, error) {
	if entry.perform != nil {
		return entry.perform(ctx, c, conn, command.Args)
	}
	line := entry.line
	if entry.daemon != noDaemon {
		if out, ok := c.converse(ctx, conn, entry.daemon, strings.Join(append([]string{command.Prefix}, command.Args...), " ")); ok {
			return out, nil
		}
		line = asJSON(command.Prefix)
	}
	if line == nil {
		line = followed(command.Prefix)
	}
	return c.run(ctx, conn, execution{prefix: command.Prefix, args: line(command.Args), stdin: command.Input})
}

// matching is a writer that collects lines that begin with prefix. Once it has as many lines as the field
// limit says, it calls the function enough.
type matching struct {
	prefix  string
	limit   int
	enough  context.CancelFunc
	names   []string
	partial []byte
}

// Write implements io.Writer.
func (m *matching) Write(p []byte) (int, error) {
	m.partial = append(m.partial, p...)
	for {
		line, rest, whole := bytes.Cut(m.partial, []byte("\n"))
		if !whole && len(line) > maxLine {
			return 0, errors.New("it printed a line that is not the name of an object")
		}
		if !whole {
			return len(p), nil
		}
		m.partial = rest
		if len(m.names) < m.limit && len(line) > 0 && bytes.HasPrefix(line, []byte(m.prefix)) {
			m.names = append(m.names, string(line))
		}
		if len(m.names) == m.limit {
			m.enough()
		}
	}
}
