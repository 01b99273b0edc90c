package runnertest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

// Cases has tasks that end in different ways, for [TestContract].
type Cases struct {
	// Steps has no measurement and ends Done.
	Steps task.Task
	// BadSteps has a measurement, but fails in its steps.
	BadSteps task.Task
	// Good ends Done, a moment after its start signal.
	Good task.Task
	// Bad fails after its start signal.
	Bad task.Task
	// Long has a measurement that takes a minute.
	Long task.Task
	// Endless has a measurement that runs until it is cancelled.
	Endless task.Task
}

// TestContract tests the contract of [runner.Client] on a fresh runner. Both the fake and the real runner
// must pass it.
func TestContract(t *testing.T, client runner.Client, cases Cases) {
	c := &contract{T: t, client: client}
	c.prepares(cases)
	c.measures(cases)
	c.aims(cases)
	c.cancels(cases)
	if err := client.Finish(t.Context()); err != nil {
		t.Errorf("Finish: %v", err)
	}
}

type contract struct {
	*testing.T
	client  runner.Client
	version int64
}

func (c *contract) prepares(cases Cases) {
	c.Helper()
	c.put(cases.Steps)
	if status := c.until(cases.Steps.ID, task.State.Ended); status.State != task.Done {
		c.Errorf("%s: %+v, want Done", cases.Steps.ID, status)
	}
	if report := c.report(cases.Steps.ID); report.Result != nil {
		c.Errorf("steps have a result: %+v", report)
	}
	c.put(cases.BadSteps)
	status := c.until(cases.BadSteps.ID, task.State.Ended)
	if status.State != task.Failed || status.Failure == nil {
		c.Errorf("%s: %+v, want Failed", cases.BadSteps.ID, status)
	}
	_, err := c.client.Start(c.Context(), cases.BadSteps.ID)
	c.refused("a start after a failure", err, runner.NotReady)
}

func (c *contract) measures(cases Cases) {
	c.Helper()
	for _, tc := range []struct {
		task task.Task
		want task.State
	}{{cases.Good, task.Done}, {cases.Bad, task.Failed}} {
		id := tc.task.ID
		c.put(tc.task)
		c.put(tc.task)
		c.until(id, func(s task.State) bool { return s == task.Ready })
		_, err := c.client.Report(c.Context(), id)
		c.refused("a report before the end", err, runner.NotEnded)
		_, err = c.client.Put(c.Context(), cases.Long)
		c.refused("a second task", err, runner.Busy)
		before := time.Now()
		started, err := c.client.Start(c.Context(), id)
		if err != nil || started.NotBefore.Before(before) || started.NotAfter.Before(started.NotBefore) {
			c.Errorf("Start: %v, %v", started, err)
		}
		_, err = c.client.Start(c.Context(), id)
		c.refused("a second start", err, runner.AlreadyStarted)
		if status := c.until(id, task.State.Ended); status.State != tc.want || status.StartTime == nil || status.EndTime == nil {
			c.Errorf("%s: %+v, want %s and both times", id, status, tc.want)
		}
		report := c.report(id)
		if (report.Result != nil) != (tc.want == task.Done) || report.State != tc.want {
			c.Errorf("%s: the report is %+v", id, report)
		}
		if diff := cmp.Diff(report, c.report(id)); diff != "" {
			c.Errorf("%s: read again (-once +again):\n%s", id, diff)
		}
	}
	other := cases.Good
	other.MeasureTimeoutSeconds++
	_, err := c.client.Put(c.Context(), other)
	c.refused("another task of the same ID", err, runner.Different)
}

func (c *contract) aims(cases Cases) {
	c.Helper()
	id, aim := cases.Endless.ID, runner.Aim{Target: 1, Command: cases.Endless.Measure.Command}
	c.refused("aiming an unknown task", c.client.Aim(c.Context(), id, aim), runner.NotFound)
	c.put(cases.Endless)
	c.until(id, func(s task.State) bool { return s == task.Ready })
	c.refused("aiming a task that was not started", c.client.Aim(c.Context(), id, aim), runner.NotReady)
	if _, err := c.client.Start(c.Context(), id); err != nil {
		c.Errorf("Start: %v", err)
	}
	before := c.until(id, func(s task.State) bool { return s == task.Measuring })
	for range 2 {
		if err := c.client.Aim(c.Context(), id, aim); err != nil {
			c.Errorf("Aim: %v", err)
		}
		status := c.until(id, func(s task.State) bool { return s == task.Measuring })
		if !cmp.Equal(status, before, cmpopts.EquateApproxTime(10*time.Second)) { // Times are late by the time that an answer takes.
			c.Errorf("%s: %+v, want %+v as before", id, status, before)
		}
	}
	if err := c.client.Cancel(c.Context(), id); err != nil {
		c.Errorf("Cancel: %v", err)
	}
	c.until(id, task.State.Ended) // Done, unless the engine had no time for its output.
	c.refused("aiming a task that has ended", c.client.Aim(c.Context(), id, aim), runner.NotReady)
}

func (c *contract) cancels(cases Cases) {
	c.Helper()
	id := cases.Long.ID
	c.refused("cancelling an unknown task", c.client.Cancel(c.Context(), id), runner.NotFound)
	c.put(cases.Long)
	c.until(id, func(s task.State) bool { return s == task.Ready })
	if _, err := c.client.Start(c.Context(), id); err != nil {
		c.Errorf("Start: %v", err)
	}
	for range 2 {
		if err := c.client.Cancel(c.Context(), id); err != nil {
			c.Errorf("Cancel: %v", err)
		}
		if status := c.until(id, task.State.Ended); status.State != task.Cancelled {
			c.Errorf("%s: %+v, want Cancelled", id, status)
		}
	}
}

func (c *contract) put(t task.Task) {
	c.Helper()
	if status, err := c.client.Put(c.Context(), t); err != nil || status.ID != t.ID {
		c.Fatalf("Put: %v, %v", status, err)
	}
}

func (c *contract) report(id string) *task.Report {
	c.Helper()
	report, err := c.client.Report(c.Context(), id)
	if err != nil || report.ID != id {
		c.Fatalf("Report: %v, %v", report, err)
	}
	return report
}

func (c *contract) refused(action string, err error, code runner.Code) {
	c.Helper()
	if !runner.HasCode(err, code) {
		c.Errorf("%s: %v, want %s", action, err, code)
	}
}

// until waits until a task reaches a state, and checks that versions never decrease.
func (c *contract) until(id string, reached func(task.State) bool) task.Status {
	c.Helper()
	after := int64(-1)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		snapshot, err := c.client.Snapshot(c.Context(), after, 5*time.Second)
		if err != nil {
			c.Fatalf("Snapshot: %v", err)
		}
		if snapshot.Version < c.version {
			c.Errorf("the version %d came after %d", snapshot.Version, c.version)
		}
		after, c.version = snapshot.Version, snapshot.Version
		for _, status := range snapshot.Tasks {
			if status.ID == id && reached(status.State) {
				return status
			}
		}
	}
	c.Fatalf("%s did not reach the state", id)
	return task.Status{}
}
