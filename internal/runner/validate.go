package runner

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/task"
)

// The limits of the tasks that a runner accepts.
const (
	// maxTasks is more than any execution needs: 20 runs of 16 phases, with up to four tasks for each phase.
	maxTasks          = 2048
	maxSteps          = 1024
	maxTimeoutSeconds = 7 * 24 * 3600
)

func isID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	return id != "" && len(id) <= 100 && strings.Trim(id, letters) == ""
}

// validate returns an error for a task that the runner cannot or must not execute. Only the listed programs
// may run. A measurement's output file and logs must be below the working directory.
func validate(t *task.Task, programs []string) *Error {
	switch {
	case !isID(t.ID):
		return refuse(Invalid, "the ID %q of the task must have 1 to 100 lower-case letters, digits and dashes", t.ID)
	case len(t.Steps) > maxSteps:
		return refuse(Invalid, "task %s has %d steps, more than %d", t.ID, len(t.Steps), maxSteps)
	case len(t.Steps) > 0 && !isTimeout(t.StepsTimeoutSeconds):
		return refuse(Invalid, "task %s has a deadline for its steps of %v s, want one above 0 and at most a week", t.ID, t.StepsTimeoutSeconds)
	case t.Measure != nil && !isTimeout(t.MeasureTimeoutSeconds):
		return refuse(Invalid, "task %s has a deadline for its measurement of %v s, want one above 0 and at most a week", t.ID, t.MeasureTimeoutSeconds)
	}
	for _, step := range t.Steps {
		if err := validateCommand(step, programs); err != nil {
			return err
		}
	}
	if t.Measure != nil {
		return validateMeasurement(t.Measure, programs)
	}
	return nil
}

func isTimeout(seconds float64) bool { return seconds > 0 && seconds <= maxTimeoutSeconds }

func validateCommand(c task.Command, programs []string) *Error {
	if len(c.Argv) == 0 || !slices.Contains(programs, c.Argv[0]) {
		return refuse(Invalid, "the command %q does not begin with one of %s", c.Argv, strings.Join(programs, ", "))
	}
	if slices.ContainsFunc(c.Argv, func(argument string) bool { return strings.ContainsRune(argument, 0) }) {
		return refuse(Invalid, "the command %q has a NUL", c.Argv)
	}
	return nil
}

func validateMeasurement(m *task.Measurement, programs []string) *Error {
	if err := validateCommand(m.Command, programs); err != nil {
		return err
	}
	if _, ok := engine.Lookup(m.Format); !ok {
		return refuse(Invalid, "there is no format %q; the formats are those of package engine", m.Format)
	}
	for _, file := range []string{m.OutputFile, m.LogPrefix} {
		if file != "" && !filepath.IsLocal(file) {
			return refuse(Invalid, "the file %q is not below the working directory", file)
		}
	}
	if len(m.Peers) > task.MostPeers {
		return refuse(Invalid, "the measurement has %d peers, more than %d", len(m.Peers), task.MostPeers)
	}
	for _, peer := range m.Peers {
		if !peer.Valid() {
			return refuse(Invalid, "osd.%d has the address %q, want an IP address and a port", peer.OSD, peer.Address)
		}
	}
	for _, seconds := range []float64{m.RequestedSeconds, m.MinimumSeconds} {
		if seconds < 0 || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
			return refuse(Invalid, "%v is not a number of seconds", seconds)
		}
	}
	for _, bytes := range []int64{m.RequestedBytes, m.OperationBytes} {
		if bytes < 0 {
			return refuse(Invalid, "%d is not a number of bytes", bytes)
		}
	}
	return nil
}
