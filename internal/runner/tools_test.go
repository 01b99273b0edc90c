package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test's binary is also rados, rbd and fio. Under these names it carries out its arguments, one
// after another.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == "rados" || name == "rbd" || name == "fio" {
		for _, argument := range os.Args[1:] {
			act(argument)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(argument string) { //nolint:gocyclo // One case for each behaviour of a tool.
	verb, value, _ := strings.Cut(argument, "=")
	switch verb {
	case "print": // a file
		must(copyTo(os.Stdout, value))
	case "say":
		fmt.Println(value)
	case "complain":
		fmt.Fprintln(os.Stderr, value)
	case "write": // a file, below the working directory, with the content of another one
		name, from, _ := strings.Cut(value, ":")
		file, err := os.Create(name)
		must(err)
		must(copyTo(file, from))
		must(file.Close())
	case "show":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		dir, err := os.Getwd()
		must(err)
		fmt.Println("DIR=" + dir)
	case "flood": // bytes, in lines
		n, err := strconv.Atoi(value)
		must(err)
		line := []byte(strings.Repeat("x", 1<<10-1) + "\n")
		for ; n > 0; n -= len(line) {
			_, err := os.Stdout.Write(line)
			must(err)
		}
	case "sleep":
		d, err := time.ParseDuration(value)
		must(err)
		time.Sleep(d)
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
	case "term-exit": // as rbd bench does: a summary and success
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		must(os.WriteFile("said", nil, 0o600))
		<-c
		must(copyTo(os.Stdout, value))
		os.Exit(0)
	case "term-128": // as fio does
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		must(os.WriteFile("said", nil, 0o600))
		<-c
		os.Exit(128)
	case "child": // a process that outlives this one, with its pipes; its PID goes into a file
		cmd := exec.CommandContext(context.Background(), os.Args[0], "ignore-term", "sleep=1m")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		must(cmd.Start())
		must(os.WriteFile(value, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
	case "burn":
		d, err := time.ParseDuration(value)
		must(err)
		for end := time.Now().Add(d); time.Now().Before(end) || used() < d/2; { // A busy machine gives it little CPU time.
		}
	case "kill":
		n, err := strconv.Atoi(value)
		must(err)
		must(syscall.Kill(os.Getpid(), syscall.Signal(n)))
		time.Sleep(time.Minute)
	case "exit":
		n, err := strconv.Atoi(value)
		must(err)
		os.Exit(n)
	}
}

// used returns the CPU time in user mode that this process has used.
func used() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano())
}

func copyTo(w io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(data))
	return err
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

// installTools sets PATH to a folder with only the tools of this file.
func installTools(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"rados", "rbd", "fio"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

// captured returns the path of a real tool's captured output.
func captured(t testing.TB, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(filepath.Join("..", "engine", path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(absolute); err != nil {
		t.Fatal(err)
	}
	return absolute
}
