package clientview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// These control the reading of logs.
const (
	// LogEvery is the interval between reads of a standalone client's log. LogAgain is the pause
	// after a failed read.
	LogEvery = 30 * time.Second
	LogAgain = 2 * time.Second
	// logPatience is how long the log of a pod that has ended may be unreachable. After that time, the
	// log counts as complete. logTimeout is the timeout of one read.
	logPatience = 30 * time.Second
	logTimeout  = 20 * time.Second
	// maxLogBytes is how much of a log is read. It exceeds the output of a runner, and the size to which a
	// kubelet lets a log file grow by default.
	maxLogBytes = 16 << 20
)

// Log holds the reports that were read from a client's log. It keeps them even after the kubelet has removed
// their lines.
type Log struct {
	Reports  map[string]*task.Report
	Problems map[string]string // why there is no report, by task
	Ended    string            // how the pod has ended

	Final   bool      // the log is complete, or can no longer be read
	readAt  time.Time // when the log was last read
	failing time.Time // time since which the log cannot be read
	err     error     // of the last read

	memory *limits.Account
	held   *limits.Holding // of the reports
	size   int64           // of the reports in bytes
}

// NewLog returns a log without reports. The reports are charged to the account; it may be nil.
func NewLog(memory *limits.Account) *Log {
	return &Log{Reports: map[string]*task.Report{}, Problems: map[string]string{}, memory: memory, held: memory.Hold()}
}

// isDue reports whether it is time to read the log.
func (l *Log) isDue(pod *corev1.Pod, now time.Time) bool {
	switch {
	case l.Final:
		return false
	case !l.failing.IsZero():
		return now.Sub(l.readAt) >= LogAgain
	}
	return PodEnded(pod) || now.Sub(l.readAt) >= LogEvery
}

// Logs reads the logs of containers.
type Logs interface {
	// Read returns the log of a container, from its beginning or as much of it as the
	// kubelet keeps, until now. The caller closes it.
	Read(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error)
}

// Read reads the log of a pod if that is due. It keeps an error for the messages about missing
// reports.
func (l *Log) Read(ctx context.Context, logs Logs, pod *corev1.Pod, now time.Time) {
	if l.isDue(pod, now) {
		reports, problems, err := readLog(ctx, logs, pod, l.memory)
		l.take(reports, problems, err, pod, now)
	}
}

// take stores the outcome of a read: new reports, problems, an error, and whether the log is final.
func (l *Log) take(reports []task.Report, problems map[string]string, err error, pod *corev1.Pod, now time.Time) {
	l.Problems, l.err, l.readAt = problems, err, now
	for i := range reports {
		l.keep(&reports[i])
	}
	if PodEnded(pod) {
		l.Ended = HowEnded(pod) + Eviction(pod)
	}
	switch {
	case err == nil:
		l.Final, l.failing = PodEnded(pod), time.Time{}
	case l.failing.IsZero():
		l.failing = now
	default:
		l.Final = PodEnded(pod) && now.Sub(l.failing) > logPatience
	}
}

// keep keeps a new report, unless the manager has no memory for it.
func (l *Log) keep(report *task.Report) {
	if _, known := l.Reports[report.ID]; known {
		return
	}
	size := l.size + limits.Size(report)
	if err := l.held.Resize(size); err != nil {
		if l.Problems == nil {
			l.Problems = map[string]string{}
		}
		l.Problems[report.ID] = "was not kept: " + err.Error()
		return
	}
	l.Reports[report.ID], l.size = report, size
}

// readLog reads the reports in the log of a client, and by task the reasons why reports are missing.
func readLog(ctx context.Context, logs Logs, pod *corev1.Pod, memory *limits.Account) (_ []task.Report, _ map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := logs.Read(ctx, pod.Namespace, pod.Name, settings.ContainerClient)
	if err != nil {
		return nil, nil, fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	reports, err := runner.ReadFrames(io.LimitReader(stream, maxLogBytes), memory)
	problems, err := frameProblems(err)
	return reports, problems, err
}

// frameProblems returns the problems of damaged frames (a frame is one report in the log), by task,
// and the other errors.
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

// Statuses returns the statuses of the tasks that the log reports.
func (l *Log) Statuses() []task.Status {
	statuses := make([]task.Status, 0, len(l.Reports))
	for _, report := range l.Reports {
		statuses = append(statuses, report.Status)
	}
	return statuses
}

// StandaloneStatuses returns the statuses of a standalone client's tasks. Tasks run one after the
// other, and each ends with a report in the log. The task after the last report is running, and later
// tasks have not begun. If a report is missing before the last report, it is lost. In a final log,
// every missing report is lost. A lost report counts as a failure of its task, because the outcome is
// unknown. After a failed preparation, all later measurements count as failed too. StandaloneStatuses
// is a pure function.
func StandaloneStatuses(planned []task.Task, log *Log) []task.Status {
	last := -1
	for i, t := range planned {
		if log.Reports[t.ID] != nil {
			last = i
		}
	}
	var statuses []task.Status
	var unprepared *task.Failure
	for i, t := range planned {
		if i > last+1 && !log.Final {
			break // The task has not begun.
		}
		status := log.status(t, i < last || log.Final)
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

// status returns the status of one task. The parameter over says that the task has ended, so a missing
// report is lost.
func (l *Log) status(t task.Task, over bool) task.Status {
	switch report := l.Reports[t.ID]; {
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
func (l *Log) whyLost(id string) string {
	text := "its report is not in the log of the pod"
	if problem := l.Problems[id]; problem != "" {
		text = "its report in the log of the pod " + problem
	}
	if l.Ended != "" {
		text += "; the pod has ended: " + l.Ended
	}
	if l.err != nil {
		text += "; " + l.err.Error()
	}
	return text + "."
}

// afterFailureOf returns the failure of a measurement whose preparation has failed.
func afterFailureOf(status task.Status) *task.Failure {
	failure := task.Failure{Reason: workload.Cancelled, Message: "it was cancelled"}
	if status.Failure != nil {
		failure = *status.Failure
	}
	failure.Message = fmt.Sprintf("task %s failed before it: %s", status.ID, failure.Message)
	return &failure
}

// logClient is a runner.Client that answers from a log. It has the statuses and reports of tasks,
// but cannot control the client.
type logClient struct {
	log      *Log
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

// Cancel implements [runner.Client]. It does nothing, so a running client continues.
func (c logClient) Cancel(context.Context, string) error { return nil }

// Course implements [runner.Client]. A log has no time series of a running task.
func (c logClient) Course(_ context.Context, id string, _ int) (runner.Course, error) {
	return runner.Course{}, onlyLog(runner.NotFound, id)
}

// Report implements [runner.Client].
func (c logClient) Report(_ context.Context, id string) (*task.Report, error) {
	if report := c.log.Reports[id]; report != nil {
		return report, nil
	}
	return nil, onlyLog(runner.NotFound, id)
}

// Finish implements [runner.Client].
func (c logClient) Finish(context.Context) error { return nil }

// Speaks reports whether the log has reports, or may still get some.
func (l *Log) Speaks() bool { return len(l.Reports) > 0 || !l.Final }

// View returns the view of a client according to its log.
func (l *Log) View(statuses []task.Status) View {
	return View{Client: logClient{log: l, statuses: statuses}, Snapshot: &runner.Snapshot{Tasks: statuses}}
}

func onlyLog(code runner.Code, id string) error {
	return &runner.Error{Code: code, Message: fmt.Sprintf("task %s belongs to a standalone client, which reports only through its log", id)}
}
