package ceph

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// fences admits one change at a time to each Ceph cluster. It refuses a change whose epoch is below the
// highest seen, or whose deadline has passed. Each manager has its own sidecar, and a sidecar that ends
// loses the epochs. So epochs do not protect against changes through another sidecar, but deadlines do.
// Every change ends at most LongestChange after its process requested the lock. A process that takes over
// the lock waits that long before it changes anything.
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

// enter checks a fence, and waits until no other change to the cluster is under way. The change must use the
// returned context. Call leave after the change: it ends the context and admits the next change.
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

// changing returns the context of a change. The context ends with ctx, at the deadline of the fence, or
// after LongestChange, whichever comes first.
func changing(ctx context.Context, fence Fence) (context.Context, context.CancelFunc) {
	latest := time.Now().Add(LongestChange)
	if fence.Until.Before(latest) {
		latest = fence.Until
	}
	return context.WithDeadline(urgent(ctx), latest)
}

// see records the epoch of a fence. It refuses the fence if a higher epoch was recorded.
func (f *fences) see(fence Fence) (*fenced, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster := f.known[fence.FSID]
	if cluster == nil {
		cluster = &fenced{turn: make(chan struct{}, 1)}
		f.known[fence.FSID] = cluster
	}
	if fence.Epoch < cluster.epoch {
		return nil, &FencedError{fmt.Sprintf("another process took over the lock of the Ceph cluster %s (epoch %d; this request has epoch %d). If no other process holds the lock, a wrong "+
			"clock made the epoch too high: restart the manager",
			fence.FSID, cluster.epoch, fence.Epoch)}
	}
	cluster.epoch = fence.Epoch
	return cluster, nil
}
