package ceph

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// fences admit one change at a time to a Ceph cluster, none with an epoch below the highest
// seen, and none past its deadline. Epochs are forgotten when the process ends, and each
// manager has its own sidecar. The deadline protects against other processes: their changes
// have ended LongestChange after they verified their lock, and a process that takes the lock
// waits as long.
type fences struct {
	mu    sync.Mutex
	known map[string]*fenced // by FSID
}

type fenced struct {
	// turn has room for the change that is being made.
	turn chan struct{}
	// epoch is the highest that was seen.
	epoch int64
}

func newFences() *fences { return &fences{known: map[string]*fenced{}} }

// enter waits for the turn of a change and checks its fence. The context that it
// returns is for the change, and leave ends it.
func (f *fences) enter(ctx context.Context, fence Fence) (_ context.Context, leave func(), err error) {
	if err := fence.valid(); err != nil {
		return nil, nil, err
	}
	if err := fence.inTime(time.Now()); err != nil {
		return nil, nil, err
	}
	cluster, err := f.see(fence)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := changing(ctx, fence)
	select {
	case cluster.turn <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return nil, nil, fmt.Errorf("another change to the Ceph cluster %s was being made: %w", fence.FSID, ctx.Err())
	}
	leave = func() { <-cluster.turn; cancel() }
	// A higher epoch may have come while this one waited, and time has passed.
	if _, err = f.see(fence); err == nil {
		err = fence.inTime(time.Now())
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return ctx, leave, nil
}

// changing is the context of a change. It ends when the fence does, whatever time the
// caller has.
func changing(ctx context.Context, fence Fence) (context.Context, context.CancelFunc) {
	latest := time.Now().Add(LongestChange)
	if fence.Until.Before(latest) {
		latest = fence.Until
	}
	return context.WithDeadline(ctx, latest)
}

// see remembers an epoch, or refuses it.
func (f *fences) see(fence Fence) (*fenced, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster := f.known[fence.FSID]
	if cluster == nil {
		cluster = &fenced{turn: make(chan struct{}, 1)}
		f.known[fence.FSID] = cluster
	}
	if fence.Epoch < cluster.epoch {
		return nil, &FencedError{fmt.Sprintf("the lock of the Ceph cluster %s was taken over: the epoch is %d, and this is %d; should its Lease have been deleted while a clock was wrong, restart the manager",
			fence.FSID, cluster.epoch, fence.Epoch)}
	}
	cluster.epoch = fence.Epoch
	return cluster, nil
}
