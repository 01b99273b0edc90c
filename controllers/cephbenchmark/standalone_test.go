package cephbenchmark

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/task"
)

func unreachable(f *facts) {
	f.tasks = nil
	f.runners = map[int]clientview.View{0: {Err: errors.New("timeout"), Since: today().Add(-31 * time.Second)}}
}

// alone makes the session's client standalone. The client's log has reports of these tasks.
func alone(phase corev1.PodPhase, done ...string) func(*facts) {
	return func(f *facts) {
		f.job.Annotations = map[string]string{clientjob.AnnotationStandalone: "1"}
		f.pods[0].Status.Phase = phase
		log := logOf(done...)
		log.Final = clientview.PodEnded(&f.pods[0])
		f.logs, f.tasks = map[int]*clientview.Log{0: log}, nil
		if len(done) == 0 && log.Final {
			return
		}
		planned, err := f.asStandalone(1).Tasks()
		if err != nil {
			panic(err)
		}
		f.tasks = newTasks()
		for _, status := range clientview.StandaloneStatuses(planned, log) {
			f.tasks[0][status.ID] = status
		}
	}
}

// logOf returns a log with the reports of tasks. A "!" before an ID marks a failed task.
func logOf(ids ...string) *clientview.Log {
	log := &clientview.Log{Reports: map[string]*task.Report{}, Problems: map[string]string{}}
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

func TestDecideAboutAClientOutOfReach(t *testing.T) {
	cases := map[string]struct {
		change      []func(*facts)
		want        step
		wantReason  string
		wantMessage string
	}{
		"it is standalone": {
			[]func(*facts){unreachable}, stepReplace, v1alpha1.ReasonClientsUnreachable, "through its log",
		},
		"not before it had its time": {
			[]func(*facts){unreachable, func(f *facts) { f.now = today().Add(-2 * time.Second) }},
			stepWait, v1alpha1.ReasonClientsUnreachable, "7480",
		},
		"not if it has answered": {
			[]func(*facts){unreachable, func(f *facts) { f.memory.reached = true }},
			stepWait, v1alpha1.ReasonClientsUnreachable, "7480",
		},
		"not if it has answered a manager before": {
			[]func(*facts){unreachable, func(f *facts) {
				f.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunRunning, StartTime: &metav1.Time{Time: today()}}}
			}},
			stepWait, v1alpha1.ReasonClientsUnreachable, "7480",
		},
		"what was before a pause does not count": {
			[]func(*facts){unreachable, func(f *facts) {
				f.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunRunning, StartTime: &metav1.Time{Time: today().Add(-time.Hour)}}}
			}},
			stepReplace, v1alpha1.ReasonClientsUnreachable, "",
		},
		"not under a sweep that switches settings": {
			[]func(*facts){unreachable, func(f *facts) { f.script.Switched = true }},
			stepWait, v1alpha1.ReasonClientsUnreachable, "because switching settings under load",
		},
		"not one of several": {
			[]func(*facts){unreachable, func(f *facts) {
				f.spec.Template.Clients.Count = 2
				f.pods = append(f.pods, f.pods[0])
				f.pods[1].Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: "1"}
				f.pods[1].Status.PodIP = "10.0.0.2"
			}},
			stepWait, v1alpha1.ReasonClientsUnreachable, "only the manager can start several clients",
		},
		"not with caches to drop": {
			[]func(*facts){unreachable, func(f *facts) { f.script.DropCaches = true }},
			stepWait, v1alpha1.ReasonClientsUnreachable, "caches",
		},
		"not with pilots": {
			[]func(*facts){unreachable, func(f *facts) { f.script = scriptOf(pilotedLoad{}) }},
			stepWait, v1alpha1.ReasonClientsUnreachable, "pilots",
		},
		"a manager that was restarted goes on": {
			[]func(*facts){unreachable, func(f *facts) {
				f.job.Annotations = map[string]string{clientjob.AnnotationUnreachable: "true"}
				f.job.DeletionTimestamp = &metav1.Time{Time: today()}
			}},
			stepReplace, v1alpha1.ReasonClientsUnreachable, "",
		},
		"a foreign mark on clients that need the manager": {
			[]func(*facts){unreachable, func(f *facts) {
				f.script.DropCaches = true
				f.job.Annotations = map[string]string{clientjob.AnnotationUnreachable: "true"}
			}},
			stepWait, v1alpha1.ReasonClientsUnreachable, "caches",
		},
		"it has reported nothing yet": {
			[]func(*facts){alone(corev1.PodRunning), func(f *facts) { f.tasks = nil }},
			stepWait, v1alpha1.ReasonRunning, "no disturbance aborts a run",
		},
		"it is at the first phase":              {[]func(*facts){alone(corev1.PodRunning)}, stepWait, v1alpha1.ReasonRunning, "Run 1 of 2"},
		"it has done the first run":             {[]func(*facts){alone(corev1.PodRunning, "r1-p1")}, stepConcludeRun, "", ""},
		"a tool that failed is the end":         {[]func(*facts){alone(corev1.PodRunning, "!r1-p1")}, stepConcludeRun, v1alpha1.ReasonPhaseFailed, "exit code 1"},
		"it is being ended":                     {[]func(*facts){alone(corev1.PodRunning), deletedPod}, stepWait, v1alpha1.ReasonRunning, ""},
		"it has done all":                       {[]func(*facts){alone(corev1.PodSucceeded, "r1-p1", "r2-p1")}, stepConcludeRun, "", ""},
		"it has ended too early":                {[]func(*facts){alone(corev1.PodFailed, "r1-p1")}, stepConcludeRun, "", ""},
		"it has ended, and its log has a gap":   {[]func(*facts){alone(corev1.PodSucceeded, "r2-p1")}, stepConcludeRun, "", ""},
		"it has ended without a word":           {[]func(*facts){alone(corev1.PodFailed)}, stepFail, v1alpha1.ReasonClientsLost, ""},
		"it has ended before the first request": {[]func(*facts){alone(corev1.PodFailed), pendingLog}, stepWait, v1alpha1.ReasonRunning, ""},
		"it is at work in another run than the manager": {
			[]func(*facts){alone(corev1.PodRunning), firstRunEnded}, stepWait, v1alpha1.ReasonRunning, "Run 2 of 2",
		},
		"its Job was deleted": {
			[]func(*facts){alone(corev1.PodRunning), func(f *facts) { f.job.DeletionTimestamp = &metav1.Time{Time: today()} }},
			stepFail, v1alpha1.ReasonClientsLost, "",
		},
		"no node takes it": {
			[]func(*facts){alone(corev1.PodPending), func(f *facts) { f.tasks = nil }}, stepWait, v1alpha1.ReasonPreparing, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(atWork(tc.change...))
			if got.step != tc.want || got.outcome.Reason != tc.wantReason || !strings.Contains(got.outcome.Message, tc.wantMessage) {
				t.Errorf("decided %s (%s: %s), want %s (%s) and %q", got.step, got.outcome.Reason, got.outcome.Message, tc.want, tc.wantReason, tc.wantMessage)
			}
		})
	}
}

func deletedPod(f *facts) { f.pods[0].DeletionTimestamp = &metav1.Time{Time: today()} }

func pendingLog(f *facts) { f.logs[0].Final = false }

func firstRunEnded(f *facts) {
	f.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunInvalid}}
}

// Several clients of a session have left reports in their logs when their pods ended.
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
		"the run was done":               {[]func(*facts){left(true, "r1-p1")}, stepConcludeRun, ""},
		"it was not":                     {[]func(*facts){left(true)}, stepFail, v1alpha1.ReasonClientsLost},
		"its phase failed":               {[]func(*facts){left(true, "!r1-p1")}, stepFail, v1alpha1.ReasonClientsLost},
		"the one before was":             {[]func(*facts){left(true, "r1-p1"), firstRunEnded}, stepFail, v1alpha1.ReasonClientsLost},
		"the last one was":               {[]func(*facts){left(true, "r1-p1", "r2-p1"), firstRunEnded}, stepConcludeRun, ""},
		"the log cannot be read yet":     {[]func(*facts){left(false)}, stepWait, v1alpha1.ReasonRunning},
		"another client has not spoken":  {[]func(*facts){left(true, "r1-p1"), func(f *facts) { f.tasks, f.runners[1] = nil, clientview.View{} }}, stepWait, v1alpha1.ReasonRunning},
		"another client does not answer": {[]func(*facts){left(true, "r1-p1"), func(f *facts) { f.tasks, f.runners[1] = nil, clientview.View{Err: errors.New("x")} }}, stepFail, v1alpha1.ReasonClientsLost},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := decide(atWork(tc.change...)); got.step != tc.want || got.outcome.Reason != tc.wantReason {
				t.Errorf("decided %s (%s: %s), want %s (%s)", got.step, got.outcome.Reason, got.outcome.Message, tc.want, tc.wantReason)
			}
		})
	}
}
