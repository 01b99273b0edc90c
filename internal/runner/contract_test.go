package runner_test

import (
	"crypto/rand"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// The fake for other tests must pass the same tests as the real runner.
func TestRunnerKeepsTheContract(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "rados")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	key := make([]byte, runner.KeyBytes)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- runner.Run(t.Context(), runner.Options{
			Key: key, Programs: []string{"rados"}, WorkDir: t.TempDir(), CgroupDir: "/sys/fs/cgroup",
			IdleTimeout: time.Minute, Stdout: io.Discard, Stderr: io.Discard,
		}, listener)
	}()
	client, err := runner.Dial(listener.Addr().String(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	output, err := filepath.Abs("../engine/radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	if err != nil {
		t.Fatal(err)
	}
	rados := func(argv ...string) task.Command { return task.Command{Argv: append([]string{"rados"}, argv...)} }
	measurement := func(id string, argv ...string) task.Task {
		return task.Task{ID: id, MeasureTimeoutSeconds: 60, Measure: &task.Measurement{Command: rados(argv...), Format: "rados-bench-text", RequestedSeconds: 12}}
	}
	endless := measurement("endless", "print="+output, "sleep=1m")
	endless.Measure.UntilCancelled, endless.Measure.RequestedSeconds, endless.Measure.OperationBytes = true, 0, 4<<20
	bad := measurement("bad-steps")
	bad.Steps, bad.StepsTimeoutSeconds = []task.Command{rados("exit=1")}, 10

	runnertest.TestContract(t, client, runnertest.Cases{
		Steps:    task.Task{ID: "steps", Steps: []task.Command{rados("say=hello")}, StepsTimeoutSeconds: 10},
		BadSteps: bad,
		Good:     measurement("good", "sleep=100ms", "print="+output),
		Bad:      measurement("bad", "exit=1"),
		Long:     measurement("long", "sleep=1m"),
		Endless:  endless,
	})

	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
