package ceph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// keyTypeAES is the type of the keys that every Ceph release can read. The first two bytes of a key hold its
// type. Newer releases, such as 20.2.4, also create keys of type AES256K.
const keyTypeAES = 1

// UnreadableKeyError reports a key that the ceph commands of the sidecar are too old to read. No
// request reached the cluster.
type UnreadableKeyError struct {
	// User is the user of the key, without "client.".
	User string `json:"user"`
	// Version is the Ceph version of the commands, such as 18.2.7; empty if unknown.
	Version string `json:"version,omitempty"`
	// Image is the Ceph image that the cluster runs. Its commands can read the key. It is empty if unknown.
	Image string `json:"image,omitempty"`
}

// Error implements error.
func (e *UnreadableKeyError) Error() string {
	return fmt.Sprintf("the tools image has %s, which cannot read the newer type of key of client.%s; use a tools image built from %s, in the manager's Deployment and in the operator config",
		"Ceph "+cmp.Or(e.Version, "of an older version"), e.User, cmp.Or(e.Image, "the image of the CephCluster"))
}

// NewerKey reports whether a key is of a type that only newer releases, such as 20.2.4, can read.
func NewerKey(key string) bool {
	// An error needs no report here: [Connection.valid] or Ceph's commands refuse malformed keys.
	raw, err := base64.StdEncoding.DecodeString(key)
	return err == nil && len(raw) >= 2 && binary.LittleEndian.Uint16(raw) > keyTypeAES
}

// malformedKey is part of the error that a command prints if it does not know the type of the key in its
// keyring.
const malformedKey = "error setting modifier for ["

// unreadableKey returns an *UnreadableKeyError if a command failed because it cannot read the key of its
// connection. Otherwise it returns nil.
func (c *CLI) unreadableKey(ctx context.Context, conn Connection, stderr string) error {
	if !NewerKey(conn.Key) || !strings.Contains(stderr, malformedKey) {
		return nil
	}
	return &UnreadableKeyError{User: conn.User, Version: c.version(ctx), Image: conn.Image}
}

var versionLine = regexp.MustCompile(`^ceph version (\d+\.\d+\.\d+)`)

// version returns the version of the ceph command, such as 18.2.7, or "" if it is unknown.
func (c *CLI) version(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, c.find(cephProgram), "--version") //nolint:gosec // The program's name is a constant.
	cmd.Env = environment(os.Environ())
	var stdout bytes.Buffer
	cmd.Stdout = &limited{writer: &stdout, left: maxMessage}
	cmd.WaitDelay = killedFor
	if err := cmd.Run(); err != nil {
		return ""
	}
	found := versionLine.FindStringSubmatch(stdout.String())
	if found == nil {
		return ""
	}
	return found[1]
}

// withoutKey removes a key from a command's output: Ceph's libraries print a key that they
// cannot read.
func withoutKey(message, key string) string { return strings.ReplaceAll(message, key, "…") }
