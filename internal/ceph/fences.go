package ceph

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// fences let one change at a time be made to a Ceph cluster, and none with an epoch
// below one that was seen. What they know ends with the process. That is enough: a
// change that another process was asked for ends before its lock does, because of the
// deadline, and who takes the lock waits for LongestChange.
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
	ctx, cancel := context.WithTimeout(ctx, LongestChange)
	cluster, err := f.see(fence)
	if err == nil {
		err = inTime(ctx, fence)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	select {
	case cluster.turn <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return nil, nil, fmt.Errorf("another change to the Ceph cluster %s was being made: %w", fence.FSID, ctx.Err())
	}
	leave = func() { <-cluster.turn; cancel() }
	// A higher epoch may have come while this one waited.
	if _, err := f.see(fence); err != nil {
		leave()
		return nil, nil, err
	}
	return ctx, leave, nil
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

// inTime refuses a change whose deadline is after the end of the lock.
func inTime(ctx context.Context, fence Fence) error {
	deadline, _ := ctx.Deadline()
	if !deadline.After(fence.Until) {
		return nil
	}
	return &FencedError{fmt.Sprintf("the lock of the Ceph cluster %s ends in %s, before the %s that this change may take: renew it first",
		fence.FSID, time.Until(fence.Until).Round(time.Second), time.Until(deadline).Round(time.Second))}
}
