package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/task"
)

// carryOut executes a task: the preparation steps, the wait for the start signal, and the engine. It makes
// the report before other goroutines can see that the task has ended.
func (s *execution) carryOut(ctx context.Context, e *entry) {
	r := &running{execution: s, entry: e, report: task.Report{Client: s.client}, output: newStreams()}
	r.report.ID = e.task.ID
	dir, err := r.folder()
	if err == nil {
		defer r.removeFolder()
		err = r.run(ctx, dir)
	}
	r.end(err)
}

// running is one running task. An error that its methods return is a [*failure], or the cause of the context
// if the task was cancelled.
type running struct {
	*execution
	entry  *entry
	report task.Report
	output *streams // of the engine
}

type failure struct{ task.Failure }

// Error implements error.
func (f *failure) Error() string { return f.Message }

// base returns the task's folder. It contains the working directory of the commands and, outside that
// directory, the engine's standard output.
func (r *running) base() string { return filepath.Join(r.execution.folder, r.entry.task.ID) }

func (r *running) folder() (string, error) {
	dir := filepath.Join(r.base(), "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &failure{task.Failure{Reason: task.NotStarted, Message: "the working directory cannot be created: " + err.Error()}}
	}
	return dir, nil
}

func (r *running) removeFolder() {
	if err := os.RemoveAll(r.base()); err != nil {
		r.note("task %s: cannot remove its working directory: %v", r.entry.task.ID, err)
	}
}

func (r *running) run(ctx context.Context, dir string) error {
	if err := r.steps(ctx, dir); err != nil || r.entry.task.Measure == nil {
		return err
	}
	r.update(func(status *task.Status) { status.State = task.Ready })
	select {
	case <-r.entry.start:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.measure(ctx, dir)
}

func (r *running) update(change func(*task.Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched = time.Now()
	change(&r.entry.status)
	r.change()
}

// steps runs the commands before the measurement, all within one deadline.
func (r *running) steps(ctx context.Context, dir string) error {
	t := &r.entry.task
	ctx, stop := withDeadline(ctx, t.StepsTimeoutSeconds)
	defer stop()
	for _, step := range t.Steps {
		output := newCapture(task.MaxOutputBytes)
		p, err := r.start(ctx, step, dir, output, output)
		if err != nil {
			return err
		}
		exit := p.wait(ctx, r.grace)
		if err := r.judge(step, p, exit, output, task.StepFailed); err != nil {
			r.report.Output = output.text()
			return err
		}
	}
	return nil
}

func withDeadline(ctx context.Context, seconds float64) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(seconds*float64(time.Second)), errDeadline)
}

// start starts a command, unless the deadline has passed or the task was cancelled.
func (r *running) start(ctx context.Context, c task.Command, dir string, stdout, stderr io.Writer) (*process, error) {
	if ctx.Err() != nil {
		return nil, tooLate(ctx, c)
	}
	r.note("task %s: run %s", r.entry.task.ID, quoted(c.Argv))
	p, err := startProcess(c, dir, stdout, stderr)
	if err != nil {
		return nil, notStarted(c, err)
	}
	return p, nil
}

func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = strconv.Quote(word)
	}
	return ellipsis.Cut(strings.Join(words, " "), maxStatusBytes)
}

func notStarted(c task.Command, err error) error {
	return &failure{task.Failure{Reason: task.NotStarted, Message: fmt.Sprintf("%s could not be started: %v", c.Argv[0], err), Command: c.Argv}}
}

// tooLate returns the error for a command that was not started, because ctx was done.
func tooLate(ctx context.Context, c task.Command) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errDeadline) {
		return cause
	}
	return &failure{task.Failure{Reason: task.DeadlineExceeded, Message: fmt.Sprintf("%s was not run: %v", c.Argv[0], cause), Command: c.Argv}}
}

// judge returns an error unless the command succeeded. The parameter code is the failure's reason if the
// command ended by itself with an exit code that is not accepted.
func (r *running) judge(c task.Command, p *process, e exit, output interface{ lastLines(limit int) string }, code task.FailureReason) error {
	took := e.ended.Sub(p.since).Round(time.Millisecond)
	r.note("task %s: %s %s, after %v", r.entry.task.ID, c.Argv[0], e, took)
	switch {
	case e.accepted(c):
		return nil
	case errors.Is(e.stopped, errDeadline):
		code = task.DeadlineExceeded
	case e.stopped != nil:
		return e.stopped
	case e.signal != 0:
		code = task.ToolKilled
	}
	return &failure{task.Failure{
		Reason: code, Message: fmt.Sprintf("%s %s, after %v", c.Argv[0], e, took),
		Command: c.Argv, Tail: output.lastLines(maxTailBytes),
	}}
}

// measure runs the engine and parses its results. If the measurement is aimed at another target, it runs the engine of
// that one, and so on. The results are those of the last engine.
func (r *running) measure(ctx context.Context, dir string) (err error) {
	m := r.entry.task.Measure
	ctx, stop := withDeadline(ctx, r.entry.task.MeasureTimeoutSeconds)
	defer stop()
	stdout, err := os.OpenFile(filepath.Join(r.base(), "stdout"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return notStarted(m.Command, err)
	}
	defer stdout.Close() //nolint:errcheck // The file was read already, and is removed next.
	cpu := newMeter(r.cgroup, r.proc)
	err = r.runInto(ctx, dir, m.Command, cpu, stdout)
	for errors.Is(err, errAimed) {
		err = r.runInto(ctx, dir, r.aimedCommand(), cpu, stdout)
	}
	if err != nil {
		return err
	}
	r.report.Result, err = readMeasured(dir, m, stdout, r.output.stderr.text())
	if f, ok := errors.AsType[*failure](err); ok {
		f.Command, f.Tail = m.Argv, r.output.lastLines(maxTailBytes)
	}
	return err
}

// runInto runs an engine, and stores its output in a file, from which it removes that of the engine before.
func (r *running) runInto(ctx context.Context, dir string, c task.Command, cpu *meter, stdout *os.File) error {
	m := r.entry.task.Measure
	_, err := stdout.Seek(0, io.SeekStart)
	if err := errors.Join(err, stdout.Truncate(0)); err != nil {
		return notStarted(c, err)
	}
	bounded := &boundedWriter{w: stdout, left: parse.MaxDocument}
	var restorer parse.Restorer
	writer := io.MultiWriter(bounded, r.output.stdout)
	if format, _ := engine.Lookup(m.Format); m.Snapshots && format.NewRestorer != nil {
		restorer = format.NewRestorer(writer)
		writer = restorer
	}
	if err := r.runTool(ctx, dir, c, cpu, writer); err != nil {
		return err
	}
	if restorer != nil {
		_, _ = bounded.Write(restorer.Last()) // Write never fails.
	}
	if err := bounded.complete(); err != nil && m.OutputFile == "" {
		return badOutput("the output of %s could not be stored: %v", c.Argv[0], err)
	}
	return nil
}

// runTool runs an engine and records its times, its resource usage and its output. It returns errAimed if the
// measurement continues with another engine.
func (r *running) runTool(ctx context.Context, dir string, c task.Command, cpu *meter, stdout io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	writers := []io.Writer{stdout}
	if watched := r.watched(); watched != nil {
		writers = append(writers, watched)
	}
	r.noteStart()
	p, err := r.start(ctx, c, dir, io.MultiWriter(writers...), r.output.stderr)
	if err != nil {
		return err
	}
	r.noteRunning(p.since, cpu, stop)
	ended := make(chan struct{})
	r.work.Go(func() { cpu.run(ended) })
	connecting, disconnect := context.WithCancel(ctx)
	trips := make(chan []task.RoundTrip, 1)
	r.work.Go(func() { trips <- roundTrips(connecting, r.entry.task.Measure.Peers, connectEvery) })
	exit := p.wait(ctx, r.grace)
	close(ended)
	disconnect()
	cpu.sample(time.Now())
	r.noteEnd(exit, cpu)
	r.report.Usage.RoundTrips = <-trips
	if err := stoppedForAim(c, exit); err != nil {
		return err
	}
	if r.entry.task.Measure.UntilCancelled && !exit.abandoned {
		if errors.Is(exit.stopped, errCancelled) {
			r.note("task %s: %s was stopped as planned: %s", r.entry.task.ID, c.Argv[0], exit)
			return nil
		}
		if exit.stopped == nil && exit.accepted(c) {
			return endedByItself(c, exit.ended.Sub(p.since), r.output)
		}
	}
	return r.judge(c, p, exit, r.output, task.ToolFailed)
}

// noteRunning notes that an engine runs. The function stop stops it.
func (r *running) noteRunning(since time.Time, cpu *meter, stop context.CancelCauseFunc) {
	r.update(func(status *task.Status) {
		r.entry.stopEngine = stop
		if !r.entry.since.IsZero() {
			r.entry.answerAim(true)
			return
		}
		status.State, status.StartTime = task.Measuring, &since
		r.entry.since, r.entry.cpu, r.report.StartTime = since, cpu, &since
		close(r.entry.began)
	})
}

// noteEnd records the time and the resource usage of a measurement after the end of an engine.
func (r *running) noteEnd(e exit, cpu *meter) {
	before := r.report.Usage
	r.report.EndTime, r.report.Usage = &e.ended, usageOf(e.usage)
	r.report.Usage.CPUSeconds += before.CPUSeconds
	r.report.Usage.MaxResidentBytes = max(r.report.Usage.MaxResidentBytes, before.MaxResidentBytes)
	cpu.addTo(&r.report.Usage)
	r.report.Usage.HostPower = readPower(r.cpus)
	r.report.Output = r.output.text()
}

// endedByItself returns the failure of an engine that ended although it had to run until it was stopped.
func endedByItself(c task.Command, took time.Duration, output *streams) error {
	return &failure{task.Failure{
		Reason:  task.FailureReason(parse.EndedEarly),
		Message: fmt.Sprintf("%s ended by itself after %v, but must run until it is stopped", c.Argv[0], took.Round(time.Millisecond)),
		Command: c.Argv, Tail: output.lastLines(maxTailBytes),
	}}
}

// end makes the report, publishes the end of the task, and writes the report to the log. It leaves out of the
// log the report of a task that succeeded without a measurement.
func (r *running) end(err error) {
	r.report.State, r.report.Failure = task.Done, nil
	if f, ok := errors.AsType[*failure](err); ok {
		r.report.State, r.report.Failure = task.Failed, &f.Failure
		boundFailure(r.report.Failure)
	} else if err != nil {
		r.report.State = task.Cancelled
	}
	encoded, err := encodeReport(&r.report)
	if err != nil { // Only a number that JSON cannot represent causes this.
		r.report.Result, r.report.State = nil, task.Failed
		r.report.Failure = &task.Failure{Reason: task.BadOutput, Message: err.Error()}
		encoded, _ = encodeReport(&r.report)
	}
	r.publish(encoded)
	r.note("task %s: %s", r.report.ID, r.report.State)
	if r.entry.task.Measure == nil && r.report.State == task.Done {
		return // The manager can fetch this report, so the log keeps its room for other reports.
	}
	if err := r.frames.write(r.report.ID, encoded); err != nil {
		r.note("task %s: its report cannot be written to the log: %v", r.report.ID, err)
	}
}

// publish makes the end of the task and its report visible to other goroutines.
func (r *running) publish(encoded []byte) {
	r.update(func(status *task.Status) {
		*status = r.report.Status
		r.entry.report = encoded
		r.kept += len(encoded)
		r.entry.answerAim(false)
		if r.entry.since.IsZero() {
			close(r.entry.began) // The engine will never begin.
		}
	})
}
