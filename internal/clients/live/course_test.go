package live

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// charging is a runner whose courses take memory.
type charging struct {
	*runnertest.Runner

	account *limits.Account
}

func (c charging) Course(ctx context.Context, id string, from int) (runner.Course, error) {
	course, err := c.Runner.Course(ctx, id, from)
	if err != nil {
		return course, err
	}
	course.Held = c.account.Hold()
	return course, course.Held.Resize(1 << 10)
}

func TestCourseIsThatOfAllClients(t *testing.T) {
	key := types.NamespacedName{Namespace: "bench", Name: "b"}
	rows := []result.Second{{ToNanoseconds: 1e9, Done: result.Done{Operations: 7}}, {FromNanoseconds: 1e9, ToNanoseconds: 2e9}}
	runners := map[string]*runnertest.Runner{}
	for i, address := range []string{"one:1", "two:1"} {
		runners[address] = runnertest.New(i)
		runners[address].Script("r1-write", runnertest.Script{Course: rows})
	}
	courses := limits.NewBudget(1 << 20)
	account := courses.Open()
	dial := func(address string, _ []byte, _ *limits.Account) (runner.Client, error) {
		return charging{runners[address], account}, nil
	}
	l := New(dial, nil, time.Now, func(types.NamespacedName) {})
	asks := func(want error, from ...int) []runner.Course {
		t.Helper()
		all := make([]runner.Course, len(from))
		err := l.Course(t.Context(), key, "write", from, func(client int, c runner.Course) error {
			if courses.Free() > 1<<20-1<<10 {
				t.Errorf("%d bytes are free while the course of client %d is used", courses.Free(), client)
			}
			all[client] = c
			return nil
		})
		if courses.Free() != 1<<20 {
			t.Errorf("%d bytes are free afterwards", courses.Free())
		}
		if !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		return all
	}
	asks(ErrNotMeasuring, 0, 0) // The manager follows no client.
	s := l.Of(key, "1")
	t.Cleanup(func() { l.Forget(key) })
	s.Runners.Follow(map[int]string{0: "one:1"}, nil)
	asks(ErrNotMeasuring, 0, 0) // The manager follows one of two clients.
	s.Runners.Follow(map[int]string{0: "one:1", 1: "two:1"}, nil)
	asks(ErrNotMeasuring, 0, 0) // The clients have no such task.
	for _, c := range runners {
		if _, err := c.Put(t.Context(), task.Task{ID: "r1-write", Measure: &task.Measurement{RequestedSeconds: 10}, MeasureTimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range runners {
		await(t, c)
	}
	got := asks(nil, 0, 1)
	if len(got) != 2 || len(got[0].Rows) != 2 || len(got[1].Rows) != 1 || got[0].Rows[0].Operations != 7 {
		t.Errorf("courses %+v", got)
	}
}

// await starts the task of a runner as soon as it is ready to start.
func await(t *testing.T, c *runnertest.Runner) {
	t.Helper()
	for version := int64(-1); ; {
		seen, err := c.Snapshot(t.Context(), version, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		version = seen.Version
		if len(seen.Tasks) == 1 && seen.Tasks[0].State == task.Ready {
			break
		}
	}
	if _, err := c.Start(t.Context(), "r1-write"); err != nil {
		t.Fatal(err)
	}
}
