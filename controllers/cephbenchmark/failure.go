package cephbenchmark

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/task"
)

// Parts of a failure, in bytes, so that all of them find room in a condition.
const (
	maxMessage = 300
	maxCommand = 150
	maxTail    = 450
)

// describeFailure says in one message which task failed, why, and what it printed
// last.
func describeFailure(f failedTask) string {
	where := fmt.Sprintf("on client %d", f.client)
	if f.background {
		where = "in the background"
	}
	text := fmt.Sprintf("Task %s failed %s, %s: %s", f.id, where, f.failure.Reason, ellipsis.Cut(f.failure.Message, maxMessage))
	if len(f.failure.Command) > 0 {
		text += fmt.Sprintf(" The command was %q.", ellipsis.Cut(strings.Join(f.failure.Command, " "), maxCommand))
	}
	if tail := strings.TrimSpace(f.failure.Tail); tail != "" {
		text += " Its last lines: " + ellipsis.CutFront(tail, maxTail)
	}
	return text
}

// spoilsOneRun reports whether the next run may do better. A run that was stopped, ran out of
// work too soon, or has lost its report is invalid, but not a defect.
func (f failedTask) spoilsOneRun() bool {
	return slices.Contains([]task.FailureReason{cancelledReason, reportLost, task.FailureReason(engine.EndedEarly)}, f.failure.Reason)
}
