package cephbenchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// These control the reading of logs.
const (
	// logEvery is the interval between reads of a standalone client's log, and logAgain the
	// pause after a failure.
	logEvery = 30 * time.Second
	logAgain = 2 * time.Second
	// logPatience is how long the log of a pod that has ended may be unreachable.
	logPatience = 30 * time.Second
	logTimeout  = 20 * time.Second
	// maxLogBytes exceeds the output of a runner, and the size that a kubelet keeps by default.
	maxLogBytes = 16 << 20
)

// podLog is the content of a client's log so far. It keeps parts that the kubelet has since
// removed.
type podLog struct {
	reports  map[string]*task.Report
	problems map[string]string // why there is no report, by task
	ended    string            // how the pod has ended

	final   bool // the log is complete
	readAt  time.Time
	failing time.Time // time since which it cannot be read
	err     error
}

func newPodLog() *podLog {
	return &podLog{reports: map[string]*task.Report{}, problems: map[string]string{}}
}

// podEnded reports whether a pod has ended for good.
func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// readLogs adds the clients whose state only logs show: a standalone client, and clients whose
// pods have ended.
func (r *Reconciler) readLogs(ctx context.Context, seen *facts) error {
	for i := range seen.pods {
		pod := &seen.pods[i]
		index, ok := clientjob.ClientIndex(pod)
		if !ok || !seen.needsLog(pod) {
			continue
		}
		log := seen.memory.logs[pod.UID]
		if log == nil {
			log = newPodLog()
			seen.memory.logs[pod.UID] = log
		}
		if log.isDue(pod, seen.now) {
			reports, problems, err := readLog(ctx, r.logs, pod)
			log.take(reports, problems, err, pod, seen.now)
		}
		statuses, err := seen.statusesOf(log)
		if err != nil {
			return err
		}
		seen.logs[index] = log
		if log.speaks() {
			seen.runners[index] = log.view(statuses)
		}
	}
	return nil
}

// needsLog reports whether the log of a pod must be read. The teardown reads only the log of a
// client that may clean up by itself.
func (f facts) needsLog(pod *corev1.Pod) bool {
	switch {
	case f.standalone() && pod.Status.Phase == corev1.PodRunning:
		return true
	case f.tearingDown() || f.benchmark.Spec.Suspend || f.allRunsEnded():
		return false
	}
	return podEnded(pod)
}

// isDue reports whether it is time to read the log.
func (l *podLog) isDue(pod *corev1.Pod, now time.Time) bool {
	switch {
	case l.final:
		return false
	case !l.failing.IsZero():
		return now.Sub(l.readAt) >= logAgain
	}
	return podEnded(pod) || now.Sub(l.readAt) >= logEvery
}

// take adds the reports that were read.
func (l *podLog) take(reports []task.Report, problems map[string]string, err error, pod *corev1.Pod, now time.Time) {
	for i := range reports {
		if _, known := l.reports[reports[i].ID]; !known {
			l.reports[reports[i].ID] = &reports[i]
		}
	}
	l.problems, l.err, l.readAt = problems, err, now
	if podEnded(pod) {
		l.ended = howEnded(pod) + eviction(pod)
	}
	switch {
	case err == nil:
		l.final, l.failing = podEnded(pod), time.Time{}
	case l.failing.IsZero():
		l.failing = now
	default:
		l.final = podEnded(pod) && now.Sub(l.failing) > logPatience
	}
}

// readLog reads the reports in the log of a client, and the reasons why others are missing.
func readLog(ctx context.Context, logs Logs, pod *corev1.Pod) (_ []task.Report, _ map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := logs.Read(ctx, pod.Namespace, pod.Name, settings.ContainerClient)
	if err != nil {
		return nil, nil, fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	reports, err := runner.ReadFrames(io.LimitReader(stream, maxLogBytes))
	problems, err := frameProblems(err)
	return reports, problems, err
}

// frameProblems separates damaged frames, by task, from a read error.
func frameProblems(err error) (map[string]string, error) {
	type joined interface {
		error
		Unwrap() []error
	}
	all, ok := errors.AsType[joined](err)
	if !ok {
		return nil, err
	}
	problems := map[string]string{}
	var others []error
	for _, one := range all.Unwrap() {
		if frame, ok := errors.AsType[*runner.FrameError](one); ok {
			problems[frame.ID] = frame.Problem
			continue
		}
		others = append(others, one)
	}
	return problems, errors.Join(others...)
}

// statusesOf returns the statuses of a client's tasks according to its log.
func (f *facts) statusesOf(log *podLog) ([]task.Status, error) {
	from, alone := aloneFrom(f.job)
	if !alone {
		statuses := make([]task.Status, 0, len(log.reports))
		for _, report := range log.reports {
			statuses = append(statuses, report.Status)
		}
		return statuses, nil
	}
	if f.planned = f.memory.planned; f.planned == nil {
		planned, err := f.aloneTasks(from)
		if err != nil {
			return nil, err
		}
		f.planned = planned
	}
	return standaloneStatuses(f.planned, log), nil
}

// standaloneStatuses returns the statuses of a standalone client's tasks. Tasks run one after
// the other, and each leaves a report. A task without a report is running if no later task has
// one. Otherwise its report is lost. A lost report is a failure, because the outcome is unknown.
// No measurement is valid after a failed preparation. standaloneStatuses is a pure function.
func standaloneStatuses(planned []task.Task, log *podLog) []task.Status {
	last := -1
	for i, t := range planned {
		if log.reports[t.ID] != nil {
			last = i
		}
	}
	var statuses []task.Status
	var unprepared *task.Failure
	for i, t := range planned {
		if i > last+1 && !log.final {
			break // The task has not begun.
		}
		status := log.status(t, i < last || log.final)
		if unprepared != nil && t.Measure != nil {
			status = task.Status{ID: t.ID, State: task.Failed, Failure: unprepared}
		}
		if t.Measure == nil && status.State.Ended() && status.State != task.Done && unprepared == nil {
			unprepared = afterFailureOf(status)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// status returns the status of one task. over says that the task has ended, so that a missing
// report is lost.
func (l *podLog) status(t task.Task, over bool) task.Status {
	switch report := l.reports[t.ID]; {
	case report != nil:
		return report.Status
	case over:
		return task.Status{ID: t.ID, State: task.Failed, Failure: &task.Failure{Reason: workload.ReportLost, Message: l.whyLost(t.ID)}}
	case t.Measure != nil:
		return task.Status{ID: t.ID, State: task.Measuring}
	}
	return task.Status{ID: t.ID, State: task.Preparing}
}

// whyLost returns why a task has no report.
func (l *podLog) whyLost(id string) string {
	text := "its report is not in the log of the pod"
	if problem := l.problems[id]; problem != "" {
		text = "its report in the log of the pod " + problem
	}
	if l.ended != "" {
		text += "; the pod has ended: " + l.ended
	}
	if l.err != nil {
		text += "; " + l.err.Error()
	}
	return text + "."
}

// afterFailureOf returns the failure of a measurement whose preparation failed.
func afterFailureOf(status task.Status) *task.Failure {
	failure := task.Failure{Reason: workload.Cancelled, Message: "it was cancelled"}
	if status.Failure != nil {
		failure = *status.Failure
	}
	failure.Message = fmt.Sprintf("task %s failed before it: %s", status.ID, failure.Message)
	return &failure
}

// logsPending reports whether the log of a pod that has ended must still be read.
func (f facts) logsPending() bool {
	for _, log := range f.logs {
		if !log.final {
			return true
		}
	}
	return false
}

// logClient is a runner.Client that answers from a log. It can only return the reports of
// measurements.
type logClient struct {
	log      *podLog
	statuses []task.Status
}

var _ runner.Client = logClient{}

// Snapshot implements [runner.Client].
func (c logClient) Snapshot(context.Context, int64, time.Duration) (runner.Snapshot, error) {
	return runner.Snapshot{Tasks: c.statuses}, nil
}

// Put implements [runner.Client].
func (c logClient) Put(_ context.Context, t task.Task) (task.Status, error) {
	return task.Status{}, onlyLog(runner.Finished, t.ID)
}

// Start implements [runner.Client].
func (c logClient) Start(_ context.Context, id string) (runner.Started, error) {
	return runner.Started{}, onlyLog(runner.NotReady, id)
}

// Cancel implements [runner.Client]. A running client continues.
func (c logClient) Cancel(context.Context, string) error { return nil }

// Course implements [runner.Client]. A log has no time series of a running task.
func (c logClient) Course(_ context.Context, id string, _ int) (runner.Course, error) {
	return runner.Course{}, onlyLog(runner.NotFound, id)
}

// Report implements [runner.Client].
func (c logClient) Report(_ context.Context, id string) (*task.Report, error) {
	if report := c.log.reports[id]; report != nil {
		return report, nil
	}
	return nil, onlyLog(runner.NotFound, id)
}

// Finish implements [runner.Client].
func (c logClient) Finish(context.Context) error { return nil }

// speaks reports whether the log has reports, or may still get some.
func (l *podLog) speaks() bool { return len(l.reports) > 0 || !l.final }

// view returns the runnerView of a client according to its log.
func (l *podLog) view(statuses []task.Status) runnerView {
	return runnerView{client: logClient{log: l, statuses: statuses}, snapshot: &runner.Snapshot{Tasks: statuses}}
}

func onlyLog(code runner.Code, id string) error {
	return &runner.Error{Code: code, Message: fmt.Sprintf("task %s belongs to a standalone client, which reports only through its log", id)}
}
