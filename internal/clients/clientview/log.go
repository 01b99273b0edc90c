package clientview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// These control the reading of logs.
const (
	// LogAgain is the pause after a failed read.
	LogAgain = 2 * time.Second
	// logDeadline is how long the log of a pod that has ended may be unreachable. After that time, the
	// log counts as complete. logTimeout is the timeout of one read.
	logDeadline = 30 * time.Second
	logTimeout  = 20 * time.Second
	// maxLogBytes is how much of a log is read. It exceeds the output of a runner, and the size to which a
	// kubelet lets a log file grow by default.
	maxLogBytes = 16 << 20
)

// Log holds the reports that were read from the log of a client whose pod has ended. It keeps them even after the kubelet has removed
// their lines.
type Log struct {
	Reports map[string]*task.Report

	Final   bool      // the log is complete, or can no longer be read
	readAt  time.Time // when the log was last read
	failing time.Time // time since which the log cannot be read

	memory *limits.Account
	held   *limits.Holding // of the reports
	size   int64           // of the reports in bytes
}

// NewLog returns a log without reports. The reports are charged to the account; it may be nil.
func NewLog(memory *limits.Account) *Log {
	return &Log{Reports: map[string]*task.Report{}, memory: memory, held: memory.Hold()}
}

// Logs reads the logs of containers.
type Logs interface {
	// Read returns the log of a container, from its beginning or as much of it as the
	// kubelet keeps, until now. The caller closes it.
	Read(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error)
}

// Read reads the log of a pod that has ended, unless the log is final or a read has just failed.
func (l *Log) Read(ctx context.Context, logs Logs, pod *corev1.Pod, now time.Time) {
	if l.Final || now.Sub(l.readAt) < LogAgain {
		return
	}
	reports, err := readLog(ctx, logs, pod, l.memory)
	l.readAt = now
	for i := range reports {
		l.keep(&reports[i])
	}
	switch {
	case err == nil:
		l.Final = true
	case l.failing.IsZero():
		l.failing = now
	default:
		l.Final = now.Sub(l.failing) > logDeadline
	}
}

// keep keeps a new report, unless the manager has no memory for it.
func (l *Log) keep(report *task.Report) {
	if _, known := l.Reports[report.ID]; known {
		return
	}
	size := l.size + limits.Size(report)
	if l.held.Resize(size) == nil {
		l.Reports[report.ID], l.size = report, size
	}
}

// readLog reads the reports in the log of a client. It leaves out damaged reports.
func readLog(ctx context.Context, logs Logs, pod *corev1.Pod, memory *limits.Account) (_ []task.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := logs.Read(ctx, pod.Namespace, pod.Name, settings.ContainerClient)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	reports, err := runner.ReadFrames(io.LimitReader(stream, maxLogBytes), memory)
	return reports, withoutDamage(err)
}

// withoutDamage returns the errors of a read without those of damaged frames, which another read would find again. A
// frame is one report in the log.
func withoutDamage(err error) error {
	type joined interface {
		error
		Unwrap() []error
	}
	all, ok := errors.AsType[joined](err)
	if !ok {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(all.Unwrap()), func(one error) bool {
		_, damaged := errors.AsType[*runner.FrameError](one)
		return damaged
	})...)
}

// Statuses returns the statuses of the tasks that the log reports.
func (l *Log) Statuses() []task.Status {
	statuses := make([]task.Status, 0, len(l.Reports))
	for _, report := range l.Reports {
		statuses = append(statuses, report.Status)
	}
	return statuses
}

// logClient is a runner.Client that answers from a log. It has the statuses and reports of tasks,
// but cannot control the client.
type logClient struct {
	log      *Log
	statuses []task.Status
}

var _ runner.Client = logClient{}

func (c logClient) Snapshot(context.Context, int64, time.Duration) (runner.Snapshot, error) {
	return runner.Snapshot{Tasks: c.statuses}, nil
}

func (c logClient) Put(_ context.Context, t task.Task) (task.Status, error) {
	return task.Status{}, onlyLog(runner.Finished, t.ID)
}

func (c logClient) Start(_ context.Context, id string) (runner.Started, error) {
	return runner.Started{}, onlyLog(runner.NotReady, id)
}

func (c logClient) Aim(_ context.Context, id string, _ runner.Aim) error {
	return onlyLog(runner.NotReady, id)
}

// Cancel implements [runner.Client]. It does nothing, so a running client continues.
func (c logClient) Cancel(context.Context, string) error { return nil }

// Course implements [runner.Client]. A log has no time series of a running task.
func (c logClient) Course(_ context.Context, id string, _ int) (runner.Course, error) {
	return runner.Course{}, onlyLog(runner.NotFound, id)
}

func (c logClient) Report(_ context.Context, id string) (*task.Report, error) {
	if report := c.log.Reports[id]; report != nil {
		return report, nil
	}
	return nil, onlyLog(runner.NotFound, id)
}

func (c logClient) Finish(context.Context) error { return nil }

// Speaks reports whether the log has reports, or may still get some.
func (l *Log) Speaks() bool { return len(l.Reports) > 0 || !l.Final }

// View returns the view of a client according to its log.
func (l *Log) View() View {
	statuses := l.Statuses()
	return View{Client: logClient{log: l, statuses: statuses}, Snapshot: &runner.Snapshot{Tasks: statuses}}
}

func onlyLog(code runner.Code, id string) error {
	return &runner.Error{Code: code, Message: fmt.Sprintf("task %s: the client's pod has ended, so only the reports in its log are known", id)}
}
