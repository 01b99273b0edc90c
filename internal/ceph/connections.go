package ceph

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// idleFor is how long the files of a connection are kept after their last use.
const idleFor = 10 * time.Minute

// connections keeps a ceph.conf and a keyring for each connection, until the connection is unused for idleFor.
// Only the Unix user that runs this process may read their folder. The folder should be in memory, because
// keyrings hold keys.
type connections struct {
	folder string

	mu   sync.Mutex
	used map[string]*usage // by the name of a subfolder of folder
}

type usage struct {
	users int
	last  time.Time
}

// newConnections creates the folder "connections" in an existing folder. It first removes the keys that an
// earlier process left in "connections".
func newConnections(within string) (*connections, error) {
	folder := filepath.Join(within, "connections")
	if err := os.RemoveAll(folder); err != nil {
		return nil, fmt.Errorf("remove files of an earlier process: %w", err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create a directory for keys: %w", err)
	}
	return &connections{folder: folder, used: map[string]*usage{}}, nil
}

// use returns the paths of a connection's ceph.conf and keyring, and writes the two files if necessary. The
// files are kept at least until release is called.
func (c *connections) use(conn Connection) (conf, keyring string, release func(), err error) {
	if err := conn.valid(); err != nil {
		return "", "", nil, err
	}
	sum := sha256.Sum256([]byte(conn.MonHost + "\n" + conn.User + "\n" + conn.Key))
	name := hex.EncodeToString(sum[:])
	conf, keyring = filepath.Join(c.folder, name, "ceph.conf"), filepath.Join(c.folder, name, "keyring")

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[name] == nil {
		if err := write(conn, conf, keyring); err != nil {
			return "", "", nil, errors.Join(err, os.RemoveAll(filepath.Dir(conf)))
		}
		c.used[name] = &usage{}
	}
	c.used[name].users++
	return conf, keyring, func() { c.release(name) }, nil
}

func (c *connections) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[name].users--
	c.used[name].last = time.Now()
}

// removeIdle removes the files of connections that were not used for idleFor.
func (c *connections) removeIdle() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for name, u := range c.used {
		if u.users > 0 || time.Since(u.last) < idleFor {
			continue
		}
		delete(c.used, name)
		errs = append(errs, os.RemoveAll(filepath.Join(c.folder, name)))
	}
	return errors.Join(errs...)
}

// write creates a ceph.conf and a keyring. librados refuses a ceph.conf without a newline at its end. The
// empty values keep commands from trying to create log files and an admin socket below /var.
func write(conn Connection, conf, keyring string) error {
	content := fmt.Sprintf(`[global]
mon_host = %s
keyring = %s
log_file =
log_to_stderr = false
err_to_stderr = false
[client]
admin_socket =
`, conn.MonHost, keyring)
	if err := os.MkdirAll(filepath.Dir(conf), 0o700); err != nil {
		return fmt.Errorf("create a directory for a connection: %w", err)
	}
	if err := os.WriteFile(keyring, fmt.Appendf(nil, "[client.%s]\nkey = %s\n", conn.User, conn.Key), 0o600); err != nil {
		return fmt.Errorf("write a keyring: %w", err)
	}
	if err := os.WriteFile(conf, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write a ceph.conf: %w", err)
	}
	return nil
}
