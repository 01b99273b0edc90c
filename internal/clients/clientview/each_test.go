package clientview

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// oneRunner notes which tasks it was asked to cancel.
type oneRunner struct {
	runner.Client // panics: the tests call only the methods below

	started   time.Time // the time of its starts
	refuses   error
	cancelled []string
}

func (r *oneRunner) Start(context.Context, string) (runner.Started, error) {
	return runner.Started{NotBefore: r.started, NotAfter: r.started}, r.refuses
}

func (r *oneRunner) Cancel(_ context.Context, id string) error {
	r.cancelled = append(r.cancelled, id)
	return nil
}

func TestStartIsForAllOrNone(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	a, b := &oneRunner{started: now}, &oneRunner{started: now.Add(time.Millisecond)}
	runners, notes := map[int]View{0: {Client: a}, 1: {Client: b}}, workload.NewNotes()
	if err := Start(t.Context(), runners, "r1-p1", notes, now); err != nil {
		t.Fatal(err)
	}
	if notes.StartedAt["r1-p1"] != now || notes.Spread["r1-p1"] != time.Millisecond || len(a.cancelled) > 0 {
		t.Errorf("%+v, cancelled %v: want a start, and a spread of 1 ms", notes, a.cancelled)
	}
	b.refuses = errors.New("refused")
	if err := Start(t.Context(), runners, "r2-p1", notes, now); err == nil {
		t.Error("no error, although a client did not start")
	}
	if _, started := notes.StartedAt["r2-p1"]; started || notes.NotStarted["r2-p1"] == "" || !slices.Contains(a.cancelled, "r2-p1") {
		t.Errorf("%+v, cancelled %v: want that the other client is cancelled", notes, a.cancelled)
	}
}

func TestCancelOnlyUnfinishedTasks(t *testing.T) {
	a, b := &oneRunner{}, &oneRunner{}
	runners := map[int]View{0: {Client: a}, 1: {Client: b}}
	tasks := workload.Tasks{
		{"r1-p1": {ID: "r1-p1", State: task.Done}},
		{"r1-p1": {ID: "r1-p1", State: task.Measuring}},
	}
	if err := errors.Join(Cancel(t.Context(), runners, tasks, "r1-p1"), CancelAll(t.Context(), runners, tasks), Cancel(t.Context(), runners, tasks, "unknown")); err != nil {
		t.Fatal(err)
	}
	if len(a.cancelled) > 0 || len(b.cancelled) != 2 {
		t.Errorf("cancelled %v and %v: want only the task that still runs, by each call", a.cancelled, b.cancelled)
	}
}
