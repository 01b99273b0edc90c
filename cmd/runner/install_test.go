package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallCopiesTheBinary(t *testing.T) {
	source := filepath.Join(t.TempDir(), "runner")
	want := bytes.Repeat([]byte("binary"), 1<<16)
	if err := os.WriteFile(source, want, 0o600); err != nil {
		t.Fatal(err)
	}
	generator := filepath.Join(filepath.Dir(source), "generator")
	if err := os.WriteFile(generator, []byte("generator"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "runner")

	if _, err := run(source, "install", target); err != nil {
		t.Fatal(err)
	}

	if beside, err := os.ReadFile(filepath.Join(filepath.Dir(target), "generator")); err != nil || string(beside) != "generator" {
		t.Errorf("the generator is %q (%v)", beside, err)
	}
	got, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the copy has %d bytes that differ from the source's %d", len(got), len(want))
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v, want 0755: any user must be able to execute it", info.Mode().Perm())
	}
}

func TestInstallReplacesAnOlderBinary(t *testing.T) {
	folder := t.TempDir()
	source, target := filepath.Join(folder, "new"), filepath.Join(folder, "runner")
	for path, content := range map[string]string{source: "new", filepath.Join(folder, "generator"): "", target: "old"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := run(source, "install", target); err != nil {
		t.Fatal(err)
	}

	if got, err := os.ReadFile(target); err != nil || string(got) != "new" {
		t.Errorf("the target holds %q (%v), want new", got, err)
	}
}

func TestInstallLeavesNothingWhenItFails(t *testing.T) {
	folder := t.TempDir()
	target := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(target, "by a folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "runner")
	if err := os.WriteFile(source, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := run(source, "install", target); err == nil {
		t.Error("a folder was replaced, want an error")
	}

	left, err := filepath.Glob(filepath.Join(folder, ".runner-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestInstallNamesAMissingSource(t *testing.T) {
	_, err := run(filepath.Join(t.TempDir(), "none"), "install", filepath.Join(t.TempDir(), "runner"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want os.ErrNotExist", err)
	}
}

func TestVersionNamesTheCompiler(t *testing.T) {
	out, err := run("", "version")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, " go1.") {
		t.Errorf("printed %q, want a version and the compiler's", out)
	}
}

// run executes the command line as if the binary's path were self.
func run(self string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := newCommand(func() (string, error) { return self, nil })
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}
