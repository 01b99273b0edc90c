package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// A tool that has to run until it is cancelled has succeeded then.
func TestAToolThatRunsUntilItIsStopped(t *testing.T) {
	rows := captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	endless := func(id string, change func(*task.Measurement)) task.Task {
		tk := rados(id)
		tk.Measure.UntilCancelled, tk.Measure.RequestedSeconds, tk.Measure.OperationBytes = true, 0, 4<<20
		change(tk.Measure)
		return tk
	}
	cases := map[string]struct {
		task task.Task
		want task.FailureReason // "" for a result
	}{
		"with a summary": {task: endless("t", func(m *task.Measurement) { m.Argv = append(m.Argv, "term-exit="+rows) })},
		"by the signal":  {task: endless("t", func(m *task.Measurement) { m.Argv = append(m.Argv, "print="+rows, "write=said:"+rows, "sleep=1m") })},
		"fio, stopped": {task: endless("t", func(m *task.Measurement) {
			m.Argv = []string{"fio", "write=out.json:" + captured(t, "fio/testdata/fio-3.33/killed-sigterm-output-file.json"), "term-128"}
			m.Format, m.OutputFile = "fio-json", "out.json"
		})},
		"killed, since it did not listen": {task: endless("t", func(m *task.Measurement) {
			m.Argv = append(m.Argv, "ignore-term", "print="+rows, "write=said:"+rows, "sleep=1m")
		})},
		"without a word": {want: "Truncated", task: endless("t", func(m *task.Measurement) { m.Argv = append(m.Argv, "write=said:"+rows, "sleep=1m") })},
		"with garbage": {want: task.BadOutput, task: endless("t", func(m *task.Measurement) {
			m.Argv = append(m.Argv, "say=garbage", "write=said:"+rows, "sleep=1m")
			m.Format = "fio-json"
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(t, options(t))
			r.put(t, tc.task)
			r.until(t, equals(task.Ready))
			if _, err := r.Start(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the tool to have said what it says", func() bool {
				_, err := os.Stat(filepath.Join(r.options.WorkDir, "t", "work", "said"))
				return err == nil
			})
			if err := r.Cancel(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			status := r.until(t, task.State.Ended)
			report, err := r.Report(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && (status.State != task.Done || report.Result == nil || report.EndTime == nil):
				t.Errorf("got %+v, %+v: want a result", status, report)
			case tc.want != "" && (status.State != task.Failed || report.Failure.Reason != tc.want):
				t.Errorf("got %+v, want %s", status, tc.want)
			}
		})
	}
}

// If such a tool ends by itself, the task has failed, even with exit code 0.
func TestAToolThatWasToRunAndEndedByItself(t *testing.T) {
	good := "print=" + captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	for name, tc := range map[string]struct {
		argv []string
		want task.FailureReason
	}{
		"well":      {[]string{good}, "EndedEarly"},
		"badly":     {[]string{good, "exit=3"}, task.ToolFailed},
		"by itself": {[]string{good, "kill=9"}, task.ToolKilled},
	} {
		t.Run(name, func(t *testing.T) {
			tk := rados("t", tc.argv...)
			tk.Measure.UntilCancelled, tk.Measure.RequestedSeconds = true, 0
			report := run(t, options(t)).measure(t, tk)
			if report.State != task.Failed || report.Failure.Reason != tc.want || report.Result != nil {
				t.Errorf("got %+v (%+v), want %s", report, report.Failure, tc.want)
			}
		})
	}
}

// Without its manager, such a tool would never be stopped.
func TestAnEndlessToolDoesNotOutliveItsManager(t *testing.T) {
	o := options(t)
	o.IdleTimeout = time.Second
	r := run(t, o)
	tk := rados("t", "sleep=1m")
	tk.Measure.UntilCancelled, tk.Measure.RequestedSeconds = true, 0
	r.put(t, tk)
	r.until(t, equals(task.Ready))
	if _, err := r.Start(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-r.ended:
		if err == nil || !strings.Contains(err.Error(), ErrIdle.Error()) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on")
	}
}
