package ceph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// CLI carries out the verbs by executing ceph, rbd and rados.
type CLI struct {
	connections   *connections
	fences        *fences
	conversations *conversations
	processes     *processes
	// programs is the folder that contains ceph, rbd and rados. Empty means to search PATH.
	programs string
	// permit is the function that Ask set. If it is nil, no permission is needed.
	permit Permit
}

var _ Client = (*CLI)(nil)

// NewCLI returns a CLI that keeps keys in files below folder. It removes the keys that an earlier process
// left there.
func NewCLI(folder string) (*CLI, error) {
	kept, err := newConnections(folder)
	if err != nil {
		return nil, err
	}
	all := newProcesses()
	return &CLI{connections: kept, fences: newFences(), processes: all, conversations: &conversations{processes: all, with: map[counterpart]*conversation{}}}, nil
}

// Ask makes the CLI call the function permit before it sets or unsets an option of OSDs or of a pool. Before it
// restores an option, the CLI does not call the function. Call Ask before the first verb.
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

// ask executes a ceph command, if possible in a conversation, and decodes its JSON output. A conversation
// separates arguments by spaces, so no argument may need quotation marks.
func ask[T any](ctx context.Context, c *CLI, at Connection, asked question, parse func([]byte) (T, error), args ...string) (T, error) {
	var none T
	if out, ok := c.converse(ctx, at, asked, args...); ok {
		if answer, err := parse(out); err == nil {
			return answer, nil
		}
	}
	out, err := c.ceph(ctx, at, asked.command, append(args, "--format=json")...)
	if err != nil {
		return none, err
	}
	answer, err := parse(out)
	if err != nil {
		return none, unreadable(asked.command, err)
	}
	return answer, nil
}

// Status implements Client.
func (c *CLI) Status(ctx context.Context, at Connection) (*Status, error) {
	return ask(ctx, c, at, statusVerb.question, parseStatus)
}

// OSDMap implements Client.
func (c *CLI) OSDMap(ctx context.Context, at Connection) (*OSDMap, error) {
	return ask(ctx, c, at, osdMapVerb.question, parseOSDMap)
}

// OSDs implements Client.
func (c *CLI) OSDs(ctx context.Context, at Connection) ([]OSD, error) {
	return ask(ctx, c, at, osdsVerb.question, parseOSDs)
}

// OSDTree implements Client.
func (c *CLI) OSDTree(ctx context.Context, at Connection) ([]OSDLocation, error) {
	return ask(ctx, c, at, osdTreeVerb.question, parseOSDTree)
}

// DF implements Client.
func (c *CLI) DF(ctx context.Context, at Connection) (*DF, error) {
	return ask(ctx, c, at, dfVerb.question, parseDF)
}

// OSDPerf implements Client.
func (c *CLI) OSDPerf(ctx context.Context, at Connection) ([]OSDLatency, error) {
	return ask(ctx, c, at, osdPerfVerb.question, parseOSDPerf)
}

// OSDIO implements Client.
func (c *CLI) OSDIO(ctx context.Context, at Connection) ([]OSDIO, error) {
	return ask(ctx, c, at, osdIOVerb.question, parseOSDIO)
}

// PGs implements Client.
func (c *CLI) PGs(ctx context.Context, at Connection) ([]PG, error) {
	return ask(ctx, c, at, pgsVerb.question, parsePGs)
}

// Strays implements Client.
func (c *CLI) Strays(ctx context.Context, at Connection) (*Strays, error) {
	return ask(ctx, c, at, straysVerb.question, parseStrays)
}

// PoolIO implements Client.
func (c *CLI) PoolIO(ctx context.Context, at Connection) ([]PoolIO, error) {
	return ask(ctx, c, at, poolIOVerb.question, parsePoolIO)
}

// Versions implements Client.
func (c *CLI) Versions(ctx context.Context, at Connection) (*Versions, error) {
	return ask(ctx, c, at, versionsVerb.question, parseVersions)
}

// ConfigDump implements Client.
func (c *CLI) ConfigDump(ctx context.Context, at Connection) ([]ConfigEntry, error) {
	return ask(ctx, c, at, configDumpVerb.question, parseConfigDump)
}

// ConfigShow implements Client.
func (c *CLI) ConfigShow(ctx context.Context, at Connection, osd int, option string) (string, error) {
	if err := named("an option", option, optionName); err != nil {
		return "", err
	}
	if osd < 0 {
		return "", &InvalidError{fmt.Sprintf("there is no OSD %d", osd)}
	}
	// Ceph prints the plain value, whatever format is requested.
	out, err := c.ceph(ctx, at, configShowVerb.command, fmt.Sprintf("osd.%d", osd), option)
	return strings.TrimSpace(string(out)), err
}

// DropOSDCaches implements Client.
func (c *CLI) DropOSDCaches(ctx context.Context, at Connection) error {
	_, err := c.run(ctx, at, command{program: cephProgram, verb: dropOSDCachesVerb.command, args: []string{"tell", "osd.*", "cache", "drop"}})
	return err
}

// GetKey implements Client.
func (c *CLI) GetKey(ctx context.Context, at Connection, key string) (string, bool, error) {
	if err := named("a key of the operator", key, keyName); err != nil {
		return "", false, err
	}
	// Without "-o -", ceph may print a newline after the value.
	out, err := c.ceph(urgent(ctx), at, getKeyVerb.command, key, "-o", "-")
	if errors.Is(err, syscall.ENOENT) {
		return "", false, nil
	}
	return string(out), err == nil, err
}

// SetKey implements Client.
func (c *CLI) SetKey(ctx context.Context, at Connection, key, value string) error {
	if err := named("a key of the operator", key, keyName); err != nil {
		return err
	}
	_, err := c.run(urgent(ctx), at, command{
		program: cephProgram, verb: setKeyVerb.command,
		args: append(strings.Fields(setKeyVerb.command), key, "-i", "-"), stdin: value,
	})
	return err
}

// RemoveKey implements Client.
func (c *CLI) RemoveKey(ctx context.Context, at Connection, key string) error {
	if err := named("a key of the operator", key, keyName); err != nil {
		return err
	}
	_, err := c.ceph(urgent(ctx), at, removeKeyVerb.command, key)
	return err
}

// Images implements Client.
func (c *CLI) Images(ctx context.Context, at Connection, pool, prefix string) ([]string, error) {
	if err := errors.Join(named("a pool", pool, poolName), ownImage(prefix)); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, at, command{program: rbdProgram, verb: imagesVerb.command, args: []string{"ls", "--pool=" + pool, "--format=json"}})
	if err != nil {
		return nil, err
	}
	all, err := parseImages(out)
	if err != nil {
		return nil, unreadable(imagesVerb.command, err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, prefix) }), nil
}

// RemoveImage implements Client. It fails with EBUSY while a client has the image open, and for up to 30
// seconds after a client died with the image open. It also removes the snapshots of the image, but fails with
// EBUSY if one of them is protected.
func (c *CLI) RemoveImage(ctx context.Context, at Connection, pool, image string) error {
	if err := OwnImage(pool, image); err != nil {
		return err
	}
	which := []string{"--no-progress", "--pool=" + pool, "--image=" + image}
	remove := command{program: rbdProgram, verb: "rbd rm", args: append([]string{"rm"}, which...)}
	_, err := c.run(ctx, at, remove)
	if errors.Is(err, syscall.ENOTEMPTY) {
		purge := command{program: rbdProgram, verb: "rbd snap purge", args: append([]string{"snap", "purge"}, which...)}
		if _, err = c.run(ctx, at, purge); err == nil {
			_, err = c.run(ctx, at, remove)
		}
	}
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}

// Objects implements Client. It ends rados once it has as many names as the argument limit says.
func (c *CLI) Objects(ctx context.Context, at Connection, pool, namespace, prefix string, limit int) ([]string, error) {
	if err := errors.Join(named("a pool", pool, poolName), ownObjects(namespace, prefix)); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxObjects {
		return nil, &InvalidError{fmt.Sprintf("the limit is %d, want 1 to %d objects", limit, maxObjects)}
	}
	listing, enough := context.WithCancel(ctx)
	defer enough()
	found := &matching{prefix: prefix, limit: limit, enough: enough}
	_, err := c.run(listing, at, command{
		program: radosProgram, verb: objectsVerb.command, stdout: found,
		args: []string{"--pool=" + pool, "--namespace=" + namespace, "ls"},
	})
	if err != nil && len(found.names) < limit {
		return nil, err
	}
	return found.names, nil
}

// RemoveObjects implements Client.
func (c *CLI) RemoveObjects(ctx context.Context, at Connection, pool, namespace string, objects []string) error {
	if err := OwnObjects(pool, namespace, objects); err != nil {
		return err
	}
	for batch := range slices.Chunk(objects, maxArguments) {
		if err := c.removeBatch(ctx, at, pool, namespace, batch); err != nil {
			return err
		}
	}
	return nil
}

// removeBatch removes objects in order. rados stops at the first missing object, so removeBatch executes it
// again for the objects after the missing one.
func (c *CLI) removeBatch(ctx context.Context, at Connection, pool, namespace string, batch []string) error {
	for len(batch) > 0 {
		_, err := c.run(ctx, at, command{
			program: radosProgram, verb: removeObjectsVerb.command,
			// Without --force-full, rados waits for space while an OSD is full. If these objects fill the
			// OSD, it waits forever.
			args: append([]string{"--pool=" + pool, "--namespace=" + namespace, "--force-full", "rm", "--"}, batch...),
		})
		answer, answered := errors.AsType[*Error](err)
		if !answered || answer.Errno != int(syscall.ENOENT) {
			return err
		}
		missing := slices.IndexFunc(batch, func(name string) bool { return isRemovalOf(answer.Message, name) })
		if missing < 0 {
			return err
		}
		batch = batch[missing+1:]
	}
	return nil
}

// isRemovalOf reports whether a message of rados is about the named object: "error removing
// POOL>NAMESPACE/NAME: (2) No such file or directory".
func isRemovalOf(message, name string) bool {
	before, _, found := strings.Cut(message, name+": (")
	return found && strings.HasPrefix(before, "error removing ") && (strings.HasSuffix(before, "/") || strings.HasSuffix(before, ">"))
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
