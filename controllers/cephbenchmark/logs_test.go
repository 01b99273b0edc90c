package cephbenchmark

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
)

// logOf returns a log with the reports of tasks. A "!" before an ID marks a failed task.
func logOf(ids ...string) *clientview.Log {
	log := &clientview.Log{Reports: map[string]*task.Report{}}
	for _, id := range ids {
		name, failed := strings.CutPrefix(id, "!")
		status := task.Status{ID: name, State: task.Done}
		if failed {
			status = task.Status{ID: name, State: task.Failed, Failure: &task.Failure{Reason: task.ToolFailed, Message: "exit code 1"}}
		}
		log.Reports[name] = &task.Report{Status: status}
	}
	return log
}

func firstRunEnded(f *facts) {
	f.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunInvalid}}
}

// Several clients of an execution have left reports in their logs when their pods ended.
func TestDecideAboutPodsThatEnded(t *testing.T) {
	left := func(final bool, ids ...string) func(*facts) {
		return func(f *facts) {
			f.pods[0].Status.Phase = corev1.PodFailed
			log := logOf(ids...)
			log.Final = final
			f.logs, f.tasks, f.runners = map[int]*clientview.Log{0: log}, newTasks(), map[int]clientview.View{}
			for id, report := range log.Reports {
				f.tasks[0][id] = report.Status
			}
		}
	}
	cases := map[string]struct {
		change     []func(*facts)
		want       step
		wantReason string
	}{
		"the run was done":              {[]func(*facts){left(true, "r1-p1")}, stepConcludeRun, ""},
		"it was not":                    {[]func(*facts){left(true)}, reconcile.StepFail, v1alpha1.ReasonClientsLost},
		"its phase failed":              {[]func(*facts){left(true, "!r1-p1")}, reconcile.StepFail, v1alpha1.ReasonClientsLost},
		"the one before was":            {[]func(*facts){left(true, "r1-p1"), firstRunEnded}, reconcile.StepFail, v1alpha1.ReasonClientsLost},
		"the last one was":              {[]func(*facts){left(true, "r1-p1", "r2-p1"), firstRunEnded}, stepConcludeRun, ""},
		"the log cannot be read yet":    {[]func(*facts){left(false)}, reconcile.StepWait, v1alpha1.ReasonRunning},
		"another client has not spoken": {[]func(*facts){left(true, "r1-p1"), func(f *facts) { f.tasks, f.runners[1] = nil, clientview.View{} }}, reconcile.StepWait, v1alpha1.ReasonRunning},
		"another client does not answer": {
			[]func(*facts){left(true, "r1-p1"), func(f *facts) { f.tasks, f.runners[1] = nil, clientview.View{Err: errors.New("x")} }},
			reconcile.StepFail,
			v1alpha1.ReasonClientsLost,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := decide(atWork(tc.change...)); got.Step != tc.want || got.Outcome.Reason != tc.wantReason {
				t.Errorf("decided %s (%s: %s), want %s (%s)", got.Step, got.Outcome.Reason, got.Outcome.Message, tc.want, tc.wantReason)
			}
		})
	}
}
