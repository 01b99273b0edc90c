package clientview

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/runner"
)

// RequestTimeout is the timeout of one request to a runner.
const RequestTimeout = 10 * time.Second

// Each calls the given runners concurrently.
func Each(ctx context.Context, runners map[int]View, ask func(ctx context.Context, client int, c runner.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var group errgroup.Group // No shared context: one failure must not cancel the other calls.
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

// Start gives all runners the signal to measure. It returns an upper bound of the time between
// their starts.
func Start(ctx context.Context, runners map[int]View, id string) (spread time.Duration, err error) {
	starts := make([]runner.Started, len(runners))
	err = Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
		started, err := c.Start(ctx, id)
		starts[i] = started
		return err
	})
	return spreadOf(starts), err
}

// spreadOf returns an upper bound of the time between the clients' starts: the time from the
// earliest possible start to the latest.
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
