// Package memory runs tests in a process that may take no more memory than a manager has
// left for one thing.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// ManagerLimit is the manager's limit in the chart and in config/manager, which a test
	// compares.
	ManagerLimit = 256 << 20
	// atRest is what a manager takes that does nothing.
	atRest = 64 << 20
	// Budget is what is left to all that it does.
	Budget = ManagerLimit - atRest
	// percent of its limit is what the manager's garbage collector keeps below, by
	// GOMEMLIMIT.
	percent = 90
)

// beforeTheEnd is how long before the deadline of all tests the process is ended. Work that needs
// more memory than there is takes for ever, and the process would go on after its parent.
const beforeTheEnd = 20 * time.Second

const isChild = "CEPHTUNE_TEST_MEMORY"

// Within carries out a test in a process of its own, and fails if that has ever taken more
// memory than [Budget]. Its collector works as that of a manager does whose rest is as large
// as at rest. The test must not be parallel.
func Within(t *testing.T, work func(*testing.T)) {
	t.Helper()
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
	end, has := t.Deadline()
	if !has {
		end = time.Now().Add(time.Hour)
	}
	ctx, stop := context.WithDeadline(t.Context(), end.Add(-beforeTheEnd))
	defer stop()
	child := exec.CommandContext(ctx, os.Args[0], "-test.v", "-test.count=1", "-test.run="+strings.Join(names, "/")) //nolint:gosec // This very program.
	child.Env = append(os.Environ(), isChild+"="+t.Name(), fmt.Sprintf("GOMEMLIMIT=%d", ManagerLimit*percent/100-atRest))
	out, err := child.CombinedOutput()
	if ctx.Err() != nil {
		t.Error("it did not end, as where the collector does nothing but look for memory")
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

// Peak is the largest memory that this process has had, in bytes.
func Peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("only Linux tells: %v", err)
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscanf(text, "%d kB", &kibibytes); err != nil {
		t.Fatalf("/proc/self/status has no VmHWM: %v", err)
	}
	return kibibytes << 10
}
