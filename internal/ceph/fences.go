package ceph

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// fences admits one change at a time to a Ceph cluster. It refuses an epoch below the highest
// seen, and a change past its deadline. The epochs are lost when the process ends, and each
// manager has its own sidecar, so epochs do not protect against other processes. The deadline
// does: every change ends at most LongestChange after its process asked for the lock, and a
// process that takes the lock over waits for LongestChange before it changes anything.
type fences struct {
	mu    sync.Mutex
	known map[string]*fenced // by FSID
}

type fenced struct {
	// turn is a semaphore: it holds one item while a change is being made.
	turn chan struct{}
	// epoch is the highest epoch seen.
	epoch int64
}

func newFences() *fences { return &fences{known: map[string]*fenced{}} }

// enter waits for the turn of a change and checks its fence. The returned context is for the
// change, and leave ends it.
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
		return nil, nil, fmt.Errorf("another change to the Ceph cluster %s was under way: %w", fence.FSID, ctx.Err())
	}
	leave = func() { <-cluster.turn; cancel() }
	// While this change waited, a higher epoch may have arrived, or the deadline of the change may
	// have passed.
	if _, err = f.see(fence); err == nil {
		err = fence.inTime(time.Now())
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return ctx, leave, nil
}

// changing returns the context of a change. It ends with the fence, and after LongestChange at the
// latest, even if the caller's deadline is later.
func changing(ctx context.Context, fence Fence) (context.Context, context.CancelFunc) {
	latest := time.Now().Add(LongestChange)
	if fence.Until.Before(latest) {
		latest = fence.Until
	}
	return context.WithDeadline(ctx, latest)
}

// see records the epoch of a fence. It refuses the fence if it has seen a higher epoch.
func (f *fences) see(fence Fence) (*fenced, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster := f.known[fence.FSID]
	if cluster == nil {
		cluster = &fenced{turn: make(chan struct{}, 1)}
		f.known[fence.FSID] = cluster
	}
	if fence.Epoch < cluster.epoch {
		return nil, &FencedError{fmt.Sprintf("another process took over the lock of the Ceph cluster %s (epoch %d; this request has epoch %d). If no other process holds the lock, a wrong clock made the epoch too high: restart the manager",
			fence.FSID, cluster.epoch, fence.Epoch)}
	}
	cluster.epoch = fence.Epoch
	return cluster, nil
}
