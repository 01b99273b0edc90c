package clientview

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

// talkative is a runner with many tasks.
type talkative struct {
	runner.Client // panics: the test calls only Snapshot

	tasks int
}

func (r talkative) Snapshot(ctx context.Context, after int64, _ time.Duration) (runner.Snapshot, error) {
	if after >= 1 {
		<-ctx.Done()
		return runner.Snapshot{}, ctx.Err()
	}
	s := runner.Snapshot{Version: 1}
	for range r.tasks {
		s.Tasks = append(s.Tasks, task.Status{ID: strings.Repeat("a", 100)})
	}
	return s, nil
}

// A client whose snapshot takes too much memory counts as one that does not answer. The clients of other objects are
// followed.
func TestSnapshotsHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := limits.NewBudget(100_000)
		views := map[string]View{}
		ctx, stop := context.WithCancel(t.Context())
		for name, tasks := range map[string]int{"many": 1000, "few": 10} {
			dial := func(string, []byte, *limits.Account) (runner.Client, error) { return talkative{tasks: tasks}, nil }
			f := NewFollowers(ctx, dial, budget.Open(), time.Now, func() {})
			f.Follow(map[int]string{0: "one:1"}, nil)
			time.Sleep(time.Second)
			views[name] = f.Views()[0]
			f.Follow(nil, nil)
		}
		if _, exhausted := errors.AsType[*limits.BudgetError](views["many"].Err); !exhausted || views["many"].Snapshot != nil {
			t.Errorf("many tasks: %v", views["many"].Err)
		}
		if views["few"].Err != nil || views["few"].Snapshot == nil || budget.Free() != 100_000 {
			t.Errorf("few tasks: %v, and %d bytes are free afterwards", views["few"].Err, budget.Free())
		}
		stop()
		synctest.Wait()
	})
}
