package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/task"
)

// These are the maximum sizes, in bytes, of the parts of a failure message. Together they fit into the
// message of a condition.
const (
	maxMessage = 300
	maxCommand = 150
	maxTail    = 450
)

// Describe returns a message that says which task failed, why, and what it printed last.
func Describe(f Failure) string {
	where := fmt.Sprintf("on client %d", f.client)
	if f.Background {
		where = "in the background"
	}
	text := fmt.Sprintf("Task %s failed %s, %s: %s", f.ID, where, f.Failure.Reason, ellipsis.Cut(f.Failure.Message, maxMessage))
	if len(f.Failure.Command) > 0 {
		text += fmt.Sprintf(" The command was %q.", ellipsis.Cut(strings.Join(f.Failure.Command, " "), maxCommand))
	}
	if tail := strings.TrimSpace(f.Failure.Tail); tail != "" {
		text += " Its last lines: " + ellipsis.CutFront(tail, maxTail)
	}
	return text
}

// SpoilsOneRun reports whether the failure makes only one run invalid, so that the next run may succeed. A
// task that was cancelled, ended early, or lost its report does not show that anything is broken.
func (f Failure) SpoilsOneRun() bool {
	return slices.Contains([]task.FailureReason{Cancelled, ReportLost, task.FailureReason(engine.EndedEarly)}, f.Failure.Reason)
}
