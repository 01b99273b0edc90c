// Package memory runs tests in a process that may use only as much memory as a manager has for its work.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// ManagerLimit is the memory limit of the manager's container in bytes. A test compares it with the
	// chart and with config/manager.
	ManagerLimit = 256 << 20
	// atRest is the memory of an idle manager in bytes.
	atRest = 64 << 20
	// Budget is the memory that a manager has for all its work, in bytes.
	Budget = ManagerLimit - atRest
	// ForClients is the memory that a manager has for what the clients of all benchmarks report, in bytes.
	ForClients = ManagerLimit / 2
	// percent is the percentage of its memory limit that the manager sets as Go's memory limit.
	percent = 90
)

// beforeTheEnd is the time between the deadline of the child process and the deadline of all tests. Without a
// deadline of its own, a child with too little memory would never end, and would outlive its parent.
const beforeTheEnd = 20 * time.Second

const isChild = "CEPHTUNE_TEST_MEMORY"

// Within runs a test in a child process, and fails if that process ever used more memory than [Budget]. The
// memory limit of its garbage collector is that of a manager, minus the memory of an idle manager. The test
// must not be parallel.
//
// Go's race detector takes several times the memory. With it, the work runs without a limit, in the same
// process.
func Within(t *testing.T, work func(*testing.T)) {
	t.Helper()
	if detectsRaces() {
		t.Log("the race detector is on: the memory is not checked")
		work(t)
		return
	}
	if os.Getenv(isChild) == t.Name() {
		work(t)
		peak := Peak(t)
		t.Logf("peak %d MiB of %d", peak>>20, Budget>>20)
		if peak > Budget {
			t.Errorf("it took %d MiB, and a manager has %d left", peak>>20, Budget>>20)
		}
		return
	}
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	end, ok := t.Deadline()
	if !ok {
		end = time.Now().Add(time.Hour)
	}
	ctx, stop := context.WithDeadline(t.Context(), end.Add(-beforeTheEnd))
	defer stop()
	child := exec.CommandContext(ctx, os.Args[0], "-test.v", "-test.count=1", "-test.run="+strings.Join(names, "/")) //nolint:gosec // It runs this test program itself.
	child.Env = append(os.Environ(), isChild+"="+t.Name(), fmt.Sprintf("GOMEMLIMIT=%d", ManagerLimit*percent/100-atRest))
	out, err := child.CombinedOutput()
	if ctx.Err() != nil {
		t.Error("it did not end: probably the garbage collector ran all the time")
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("peak ")) {
			t.Logf("%s", bytes.TrimSpace(line))
		}
	}
}

// detectsRaces reports whether this program was built with the race detector.
func detectsRaces() bool {
	build, known := debug.ReadBuildInfo()
	return known && slices.ContainsFunc(build.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// Peak returns the largest memory that this process has used, in bytes. It skips the test on systems other
// than Linux.
func Peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("only Linux reports the memory: %v", err)
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscanf(text, "%d kB", &kibibytes); err != nil {
		t.Fatalf("/proc/self/status has no VmHWM: %v", err)
	}
	return kibibytes << 10
}
