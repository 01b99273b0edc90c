package clientview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// RequestTimeout is the timeout of one request to a runner.
const RequestTimeout = 10 * time.Second

// Each calls the function ask for all given runners concurrently, with RequestTimeout. When all calls have
// ended, it returns the error that occurred first.
func Each(ctx context.Context, runners map[int]View, ask func(ctx context.Context, client int, c runner.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var group errgroup.Group // Not errgroup.WithContext: one failure must not cancel the other calls.
	for i, view := range runners {
		group.Go(func() error {
			if err := ask(ctx, i, view.Client); err != nil {
				return fmt.Errorf("client %d: %w", i, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Start signals all runners to measure. It notes the time of the signal, and the longest possible time
// between the runners' starts. If a signal fails, the run is invalid. Start then cancels the task on
// all runners, because some may have started it.
func Start(ctx context.Context, runners map[int]View, id string, notes *workload.Notes, now time.Time) error {
	notes.StartedAt[id] = now
	starts := make([]runner.Started, len(runners))
	err := Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
		started, err := c.Start(ctx, id)
		starts[i] = started
		return err
	})
	if err != nil {
		delete(notes.StartedAt, id)
		notes.NotStarted[id] = err.Error()
		cancelled := Each(ctx, runners, func(ctx context.Context, _ int, c runner.Client) error { return c.Cancel(ctx, id) })
		return errors.Join(fmt.Errorf("start %s on all clients: %w", id, err), cancelled)
	}
	notes.Spread[id] = spreadOf(starts)
	return nil
}

// Cancel cancels a task on the runners that have it and have not ended it.
func Cancel(ctx context.Context, runners map[int]View, tasks workload.Tasks, id string) error {
	return Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
		if status, there := tasks[i][id]; !there || status.State.Ended() {
			return nil
		}
		return c.Cancel(ctx, id)
	})
}

// CancelAll cancels the unfinished task of each runner.
func CancelAll(ctx context.Context, runners map[int]View, tasks workload.Tasks) error {
	return Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
		for id, status := range tasks[i] {
			if !status.State.Ended() {
				return c.Cancel(ctx, id)
			}
		}
		return nil
	})
}

// spreadOf returns an upper bound of the time between the clients' starts: the time from the earliest
// possible start to the latest possible one.
func spreadOf(starts []runner.Started) time.Duration {
	if len(starts) < 2 {
		return 0
	}
	first, last := starts[0].NotBefore, starts[0].NotAfter
	for _, s := range starts[1:] {
		if s.NotBefore.Before(first) {
			first = s.NotBefore
		}
		if s.NotAfter.After(last) {
			last = s.NotAfter
		}
	}
	return last.Sub(first)
}
