package main

import (
	"encoding/json"
	"errors"
	"maps"
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

func TestExitCodes(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef"
	cases := map[string]struct {
		args []string
		want int
	}{
		"all done":         {[]string{"--tasks=" + file(t, `[{"id":"a","steps":[{"argv":["rados","x"]}],"stepsTimeoutSeconds":5}]`)}, 0},
		"one fails":        {[]string{"--tasks=" + file(t, `[{"id":"a","steps":[{"argv":["rbd","x"]}],"stepsTimeoutSeconds":5}]`)}, 1},
		"no request comes": {[]string{"--key-file=" + file(t, key), "--listen=127.0.0.1:0", "--idle-timeout=100ms"}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			message := file(t, "")
			cmd, _ := runnerProcess(t, append(tc.args, "--termination-message="+message)...)
			if got := exitOf(cmd.Run()); got != tc.want {
				t.Errorf("it ended with %d, want %d", got, tc.want)
			}
			data, err := os.ReadFile(message)
			if err != nil {
				t.Fatal(err)
			}
			var end runner.Termination
			if err := json.Unmarshal(data, &end); err != nil || (end.Error == "") != (tc.want == 0) {
				t.Errorf("the termination message is %s, %v", data, err)
			}
		})
	}
}

func TestSIGTERMEndsWith143(t *testing.T) {
	cmd, out := runnerProcess(t, "--tasks="+file(t, `[{"id":"a","measure":{"argv":["rados","sleep"],"format":"rados-bench-text"},"measureTimeoutSeconds":60}]`))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Read(make([]byte, 1)); err != nil { // The runner logs what it runs.
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	go func() { // Read until the end, so that the runner never waits for the pipe.
		for b := make([]byte, 1024); err == nil; {
			_, err = stderr.Read(b)
		}
	}()
	state, waitErr := cmd.Process.Wait()
	if waitErr != nil || state.ExitCode() != 143 {
		t.Errorf("it ended with %v, %v, want 143", state, waitErr)
	}
	_ = cmd.Wait() // This only waits for the output.
	if reports, err := runner.ReadFrames(strings.NewReader(out.String()), nil); err != nil || len(reports) != 1 || reports[0].State != task.Cancelled {
		t.Errorf("the log has %+v, %v", reports, err)
	}
}

// The manager cannot read a Secret, so the runner checks that it mounts the manager's.
func TestFilesOfAnotherSecretAreRefused(t *testing.T) {
	ours := map[string][]byte{"tasks.json": []byte(`[{"id":"a","steps":[{"argv":["rados","x"]}],"stepsTimeoutSeconds":5}]`), "keyring": []byte("key")}
	for name, c := range map[string]struct {
		change func(map[string][]byte)
		want   int
	}{
		"ours":             {func(map[string][]byte) {}, 0},
		"other tasks":      {func(f map[string][]byte) { f["tasks.json"] = append(f["tasks.json"], '\n') }, 1},
		"another keyring":  {func(f map[string][]byte) { f["keyring"] = []byte("kez") }, 1},
		"an added file":    {func(f map[string][]byte) { f["ceph.conf"] = nil }, 1},
		"divided anew":     {func(f map[string][]byte) { delete(f, "keyring"); f["keyrin"] = []byte("gkey") }, 1},
		"Kubernetes' link": {func(f map[string][]byte) { f["..data"] = nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			directory, files := t.TempDir(), maps.Clone(ours)
			c.change(files)
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd, _ := runnerProcess(t, "--tasks="+filepath.Join(directory, "tasks.json"), "--files-digest="+runner.FilesDigest(ours))
			if got := exitOf(cmd.Run()); got != c.want {
				t.Errorf("it ended with %d, want %d", got, c.want)
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
		"both":              {"", []string{key, "--tasks=x"}, "tasks"},
		"a short key":       {"", []string{"--key-file=" + file(t, "k")}, "has 1 bytes, want the 32"},
		"no key":            {"", []string{"--key-file=none"}, "no such file"},
		"never idle":        {"", []string{key, "--idle-timeout=0s"}, "--idle-timeout"},
		"an index":          {"x", []string{key}, "JOB_COMPLETION_INDEX"},
		"no address":        {"", []string{key, "--listen=nowhere"}, "nowhere"},
		"no tasks":          {"", []string{"--tasks=" + file(t, "[]")}, "no task"},
		"an unknown field":  {"", []string{"--tasks=" + file(t, `[{"id":"a","shell":true}]`)}, "shell"},
		"another program":   {"", []string{"--tasks=" + file(t, `[{"id":"a","steps":[{"argv":["sh"]}],"stepsTimeoutSeconds":1}]`)}, "rados, rbd, fio"},
		"an argument":       {"", []string{key, "more"}, "more"},
		"a folder of nails": {"", []string{"--tasks=" + file(t, `[{"id":"a"}]`), "--work-dir=/dev/null/x"}, "working directories"},
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
