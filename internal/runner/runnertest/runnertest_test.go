package runnertest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

func measurement(id string) task.Task {
	return task.Task{ID: id, Measure: &task.Measurement{RequestedSeconds: 30}, MeasureTimeoutSeconds: 60}
}

func TestTheFakeKeepsTheContract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(0)
		r.Script("", Script{Preparing: time.Second, Measuring: time.Second})
		r.Script("bad-", Script{Failure: &task.Failure{Reason: task.ToolFailed}})
		r.Script("bad-steps", Script{StepsFailure: &task.Failure{Reason: task.StepFailed}})
		r.Script("long", Script{Measuring: time.Minute})
		endless := measurement("endless")
		endless.Measure.UntilCancelled = true
		r.Script("endless", Script{})
		TestContract(t, r, Cases{
			Endless: endless,
			Steps:   task.Task{ID: "steps"}, BadSteps: measurement("bad-steps"),
			Good: measurement("good"), Bad: measurement("bad-one"), Long: measurement("long"),
		})
		if !r.Finished() || len(r.Tasks()) != 6 {
			t.Errorf("finished: %v, tasks: %v", r.Finished(), r.Tasks())
		}
		if aims := r.Aims("endless"); len(aims) != 2 || aims[1].Target != 1 {
			t.Errorf("aimed %+v", aims)
		}
		time.Sleep(2 * time.Minute) // A cancelled task stays cancelled.
		if report, err := r.Report(t.Context(), "long"); err != nil || report.State != task.Cancelled {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

func TestScripts(t *testing.T) {
	r := New(2)
	mine := DefaultResult(task.Task{})
	mine.Write.Operations = 7
	r.Script("run-", Script{Result: mine, Usage: task.Usage{CPUSeconds: 1}, Output: "text"})
	r.Script("run-2", Script{Failure: &task.Failure{Reason: task.NotStarted}})
	r.SetSkew(time.Second)
	for id, check := range map[string]func(report *task.Report, started runner.Started, err error) bool{
		"run-1": func(report *task.Report, started runner.Started, err error) bool {
			return err == nil && report.Client == 2 && report.Result.Write.Operations == 7 && report.Usage.CPUSeconds == 1 && report.Output == "text" &&
				started.NotAfter.Sub(started.NotBefore) == time.Second
		},
		"run-2": func(report *task.Report, _ runner.Started, err error) bool {
			return runner.HasCode(err, runner.NotStarted) && report.State == task.Failed && report.Result == nil
		},
		"other": func(report *task.Report, _ runner.Started, err error) bool {
			return err == nil && report.Result.Write.Seconds == 30 && report.Result.Validate() == nil
		},
	} {
		if _, err := r.Put(t.Context(), measurement(id)); err != nil {
			t.Fatal(err)
		}
		started, startErr := r.Start(t.Context(), id)
		report, err := r.Report(t.Context(), id)
		if err != nil || !check(report, started, startErr) {
			t.Errorf("%s: %+v, %v, %v, %v", id, report, started, startErr, err)
		}
	}
}

func TestRequestsThatFail(t *testing.T) {
	r := New(0)
	gone := errors.New("no route to host")
	r.Break(gone)
	if _, err := r.Put(t.Context(), measurement("a")); !errors.Is(err, gone) || len(r.Tasks()) != 0 {
		t.Errorf("got %v, tasks %v", err, r.Tasks())
	}
	r.Break(nil)
	r.LoseAnswers(1)
	if _, err := r.Put(t.Context(), measurement("a")); err == nil || len(r.Tasks()) != 1 {
		t.Errorf("got %v, tasks %v: want it done, and an error", err, r.Tasks())
	}
	if status, err := r.Put(t.Context(), measurement("a")); err != nil || status.State != task.Ready {
		t.Errorf("once more gives %v, %v", status, err)
	}
}
