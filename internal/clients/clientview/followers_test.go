package clientview

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
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

// restless is a runner that always has news. Its polls are counted; after the limit it falls silent, so that a test ends.
type restless struct {
	runner.Client // panics: the test calls only Snapshot

	polls *atomic.Int64
	limit int64
}

func (r restless) Snapshot(ctx context.Context, after int64, _ time.Duration) (runner.Snapshot, error) {
	if r.polls.Add(1) > r.limit {
		<-ctx.Done()
	}
	return runner.Snapshot{Version: after + 1}, nil
}

// Hostile runners cannot keep the manager busy. The last news arrives all the same.
func TestPollsAndNewsHaveARate(t *testing.T) {
	const (
		clients = 64
		seconds = 10
	)
	synctest.Test(t, func(t *testing.T) {
		var polls, news, known atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		dial := func(string, []byte, *limits.Account) (runner.Client, error) {
			return restless{polls: &polls, limit: 100_000}, nil
		}
		var f *Followers
		f = NewFollowers(ctx, dial, nil, time.Now, func() {
			news.Add(1)
			if last := f.Views()[0].Snapshot; last != nil {
				known.Store(last.Version)
			}
		})
		addresses := map[int]string{}
		for i := range clients {
			addresses[i] = "one:1"
		}
		f.Follow(addresses, nil)
		time.Sleep(seconds * time.Second)
		synctest.Wait()
		if got, most := polls.Load(), int64(clients*(burst+1+seconds*time.Second/pollEvery)); got > most || got < most/2 {
			t.Errorf("%d polls, want at most %d, and at least half of them", got, most)
		}
		if got, most := news.Load(), int64(burst+1+seconds*time.Second/newsEvery); got > most || got < most/2 {
			t.Errorf("%d calls of news, want at most %d, and at least half of them", got, most)
		}
		time.Sleep(newsEvery)
		synctest.Wait()
		if last := f.Views()[0].Snapshot.Version; known.Load() < last-1 {
			t.Errorf("news of version %d, but the view has version %d", known.Load(), last)
		}
		stop()
		synctest.Wait()
	})
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
