package main

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

// TestMain lets the test's binary also be the runner, if BE_THE_RUNNER is set, and rados, if that
// is its name. That rados does nothing, for a minute if its first argument is "sleep".
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "rados":
		if os.Args[1] == "sleep" {
			time.Sleep(time.Minute)
		}
	case os.Getenv("BE_THE_RUNNER") != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// runnerProcess returns a command that runs the runner with the fake rados in its PATH.
func runnerProcess(t *testing.T, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "rados")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, append([]string{"run", "--work-dir=" + t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin, "BE_THE_RUNNER=yes")
	out := &strings.Builder{}
	cmd.Stdout = out
	return cmd, out
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func exitOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

const key = "0123456789abcdef0123456789abcdef"

func TestExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(t *testing.T, address string, process *os.Process)
		want int
	}{
		"the manager finishes it": {func(t *testing.T, address string, _ *os.Process) {
			t.Helper()
			manager, err := runner.Dial(address, []byte(key), nil)
			if err == nil {
				_, err = manager.Put(t.Context(), task.Task{ID: "a", Steps: []task.Command{{Argv: []string{"rados", "x"}}}, StepsTimeoutSeconds: 5})
			}
			if err := errors.Join(err, manager.Finish(t.Context())); err != nil {
				t.Error(err)
			}
		}, 0},
		"no request comes": {func(*testing.T, string, *os.Process) {}, 1},
		"SIGTERM": {func(t *testing.T, _ string, process *os.Process) {
			t.Helper()
			if err := process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}, 143},
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			cmd, _ := runnerProcess(t, "--key-file="+file(t, key), "--listen="+address, "--idle-timeout=2s")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			log := bufio.NewReader(stderr)
			if _, err := log.ReadString('\n'); err != nil { // The runner says that it listens.
				t.Fatal(err)
			}
			c.act(t, address, cmd.Process)
			_, _ = io.Copy(io.Discard, log) // Read until the end, so that the runner never waits for the pipe.
			if got := exitOf(cmd.Wait()); got != c.want {
				t.Errorf("it ended with %d, want %d", got, c.want)
			}
		})
	}
}

// freeAddress returns an address of this host on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // Nothing was written.
	return listener.Addr().String()
}

// The manager cannot read a Secret, so the runner checks that it mounts the manager's.
func TestFilesOfAnotherSecretAreRefused(t *testing.T) {
	ours := map[string][]byte{"session.key": []byte(key), "keyring": []byte("key")}
	for name, c := range map[string]struct {
		change func(map[string][]byte)
		want   string
	}{
		"ours":             {func(map[string][]byte) {}, "no request reached this runner"},
		"another key":      {func(f map[string][]byte) { f["session.key"] = []byte(strings.Repeat("k", 32)) }, "another user"},
		"another keyring":  {func(f map[string][]byte) { f["keyring"] = []byte("kez") }, "another user"},
		"an added file":    {func(f map[string][]byte) { f["ceph.conf"] = nil }, "another user"},
		"divided anew":     {func(f map[string][]byte) { delete(f, "keyring"); f["keyrin"] = []byte("gkey") }, "another user"},
		"Kubernetes' link": {func(f map[string][]byte) { f["..data"] = nil }, "no request reached this runner"},
	} {
		t.Run(name, func(t *testing.T) {
			directory, files := t.TempDir(), maps.Clone(ours)
			c.change(files)
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := run("", "run", "--work-dir="+t.TempDir(), "--idle-timeout=50ms", "--listen=127.0.0.1:0",
				"--key-file="+filepath.Join(directory, "session.key"), "--files-digest="+runner.FilesDigest(ours))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	key := "--key-file=" + file(t, strings.Repeat("k", 32))
	cases := map[string]struct {
		index string
		args  []string
		want  string
	}{
		"nothing to go by":  {"", nil, "key-file"},
		"a short key":       {"", []string{"--key-file=" + file(t, "k")}, "has 1 bytes, want the 32"},
		"no key":            {"", []string{"--key-file=none"}, "no such file"},
		"never idle":        {"", []string{key, "--idle-timeout=0s"}, "--idle-timeout"},
		"an index":          {"x", []string{key}, "JOB_COMPLETION_INDEX"},
		"no address":        {"", []string{key, "--listen=nowhere"}, "nowhere"},
		"an argument":       {"", []string{key, "more"}, "more"},
		"a folder of nails": {"", []string{key, "--listen=127.0.0.1:0", "--work-dir=/dev/null/x"}, "working directories"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JOB_COMPLETION_INDEX", tc.index)
			args := append([]string{"run", "--work-dir=" + t.TempDir(), "--idle-timeout=1s"}, tc.args...)
			if _, err := run("", args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want one with %q", err, tc.want)
			}
		})
	}
}
