package clientview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

func TestStatusesOfAStandaloneClient(t *testing.T) {
	planned := []task.Task{
		{ID: "data-d"},
		{ID: "r1-p1", Measure: &task.Measurement{}},
		{ID: "tidy-r1-p1"},
		{ID: "r2-p1", Measure: &task.Measurement{}},
		{ID: "cleanup"},
	}
	cases := map[string]struct {
		log   *Log
		final bool
		want  []string
	}{
		"it has just begun": {logWith(), false, []string{"data-d Preparing"}},
		"it measures":       {logWith("data-d"), false, []string{"data-d Done", "r1-p1 Measuring"}},
		"it is done": {
			logWith("data-d", "r1-p1", "tidy-r1-p1", "r2-p1", "cleanup"), true,
			[]string{"data-d Done", "r1-p1 Done", "tidy-r1-p1 Done", "r2-p1 Done", "cleanup Done"},
		},
		"a report in the middle is lost": {
			logWith("data-d", "tidy-r1-p1"), false,
			[]string{"data-d Done", "r1-p1 Failed ReportLost", "tidy-r1-p1 Done", "r2-p1 Measuring"},
		},
		"a measurement failed": {
			logWith("data-d", "!r1-p1", "tidy-r1-p1"), false,
			[]string{"data-d Done", "r1-p1 Failed ToolFailed", "tidy-r1-p1 Done", "r2-p1 Measuring"},
		},
		// A measurement after a failed dataset is not the requested one.
		"the dataset failed": {
			logWith("!data-d", "r1-p1"), false,
			[]string{"data-d Failed ToolFailed", "r1-p1 Failed ToolFailed", "tidy-r1-p1 Preparing"},
		},
		"it is unknown whether tidying ended": {
			logWith("data-d", "r1-p1", "r2-p1"), false,
			[]string{"data-d Done", "r1-p1 Done", "tidy-r1-p1 Failed ReportLost", "r2-p1 Failed ReportLost", "cleanup Preparing"},
		},
		"it ended in the middle": {
			logWith("data-d", "r1-p1"), true,
			[]string{"data-d Done", "r1-p1 Done", "tidy-r1-p1 Failed ReportLost", "r2-p1 Failed ReportLost", "cleanup Failed ReportLost"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.log.Final = tc.final
			var got []string
			for _, status := range StandaloneStatuses(planned, tc.log) {
				text := status.ID + " " + string(status.State)
				if status.Failure != nil {
					text += " " + string(status.Failure.Reason)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The user must learn why a report is missing: its problem, and how the pod ended.
func TestWhyAReportIsLost(t *testing.T) {
	log := logWith()
	log.Final, log.Ended = true, "container client, OOMKilled, exit code 137"
	log.Problems["r1-p1"] = "was left out: the log had no room for its 9 bytes"
	log.err = errors.New("connection refused")
	status := StandaloneStatuses([]task.Task{{ID: "r1-p1", Measure: &task.Measurement{}}}, log)[0]
	for _, want := range []string{"was left out", "OOMKilled", "connection refused"} {
		if !strings.Contains(status.Failure.Message, want) {
			t.Errorf("%q does not tell %q", status.Failure.Message, want)
		}
	}
}

// fakeLogs has the log of each pod by name, or an error if the log cannot be read.
type fakeLogs map[string]any

func (f fakeLogs) Read(_ context.Context, _, pod, container string) (io.ReadCloser, error) {
	switch log := f[pod].(type) {
	case string:
		return io.NopCloser(strings.NewReader(log)), nil
	case error:
		return nil, log
	}
	return nil, errors.New("there is no container " + container)
}

func framesOf(t *testing.T, reports ...*task.Report) string {
	t.Helper()
	var log bytes.Buffer
	for _, report := range reports {
		if err := runner.WriteFrame(&log, report); err != nil {
			t.Fatal(err)
		}
	}
	return log.String()
}

func TestALogIsReadUntilAllIsKnown(t *testing.T) {
	a := &task.Report{Status: task.Status{ID: "a", State: task.Cancelled}}
	b := &task.Report{Status: task.Status{ID: "b", State: task.Cancelled}}
	whole := framesOf(t, a, b)
	logs := fakeLogs{}
	pod := &corev1.Pod{}
	pod.Name, pod.Status.Phase = "b-0", corev1.PodRunning
	log, now := logWith(), time.Unix(1000, 0)
	read := func(text any, after time.Duration) {
		t.Helper()
		logs["b-0"] = text
		now = now.Add(after)
		if !log.isDue(pod, now) {
			t.Fatalf("it is not read after %v", after)
		}
		reports, problems, err := readLog(t.Context(), logs, pod, nil)
		log.take(reports, problems, err, pod, now)
	}
	has := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			if log.Reports[id] == nil {
				t.Errorf("%s is not known", id)
			}
		}
		if len(log.Reports) != len(ids) {
			t.Errorf("%d reports are known, want %d", len(log.Reports), len(ids))
		}
	}
	read("text\n"+whole[:len(whole)-20], 0)
	has("a")
	if log.Problems["b"] == "" || log.err != nil || log.Final {
		t.Errorf("got %+v, want b's frame to be half, and more to come", log)
	}
	if log.isDue(pod, now.Add(LogEvery-time.Second)) {
		t.Error("it is read all the time")
	}
	read(framesOf(t, b), LogEvery) // The kubelet has begun a new log file.
	has("a", "b")
	pod.Status.Phase = corev1.PodSucceeded
	read(errors.New("connection refused"), time.Second)
	has("a", "b")
	if log.Final || log.err == nil {
		t.Errorf("got %+v, want another try", log)
	}
	read(errors.New("connection refused"), logPatience+time.Second)
	if !log.Final {
		t.Error("it is tried for ever")
	}
}

// The manager keeps only as many reports as its memory allows, and says so.
func TestALogHasABudget(t *testing.T) {
	long := &task.Report{Status: task.Status{ID: "long", State: task.Cancelled}, Output: strings.Repeat("x", 60_000)}
	short := &task.Report{Status: task.Status{ID: "short", State: task.Cancelled}}
	budget := limits.NewBudget(110_000)
	account := budget.Open()
	log, pod := NewLog(account), &corev1.Pod{}
	log.take([]task.Report{*short, *long, *long}, nil, nil, pod, time.Unix(1, 0))
	long.ID = "longer"
	log.take([]task.Report{*long}, nil, nil, pod, time.Unix(2, 0))
	if log.Reports["short"] == nil || log.Reports["long"] == nil || log.Reports["longer"] != nil || !strings.Contains(log.whyLost("longer"), "was not kept: its clients' figures take more than") {
		t.Errorf("%d reports, %q", len(log.Reports), log.Problems)
	}
	account.Close()
	if budget.Free() != 110_000 {
		t.Errorf("%d bytes are free afterwards", budget.Free())
	}
}

// logWith returns a log with the reports of tasks. A "!" before an ID marks a failed task.
func logWith(ids ...string) *Log {
	log := &Log{Reports: map[string]*task.Report{}, Problems: map[string]string{}}
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
