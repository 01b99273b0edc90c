package tuning

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Doubts records commands with an unknown outcome: for each Ceph cluster, the time until which Ceph may still
// execute such a command of this process. All Engines of a process share one Doubts, because a late command of
// one Engine could revert a change of another. The zero value is ready for use. Doubts is safe
// for concurrent use.
//
// The records are lost when the process ends. So inherit waits before it takes over the journal of an earlier
// process.
type Doubts struct {
	mu    sync.Mutex
	until map[string]time.Time // by FSID
}

func (d *Doubts) add(fsid string, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = map[string]time.Time{}
	}
	if until.After(d.until[fsid]) {
		d.until[fsid] = until
	}
}

func (d *Doubts) end(fsid string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until[fsid]
}

// enter verifies the lock and records its epoch. If the epoch has changed, the wait of inherit starts over.
func (e *Engine) enter(ctx context.Context) error {
	fence, err := e.guard(ctx)
	if err != nil {
		return err
	}
	if fence.Epoch != e.epoch {
		e.epoch, e.inherited = fence.Epoch, time.Time{} // Another holder may have changed settings since the last wait.
	}
	return nil
}

// fence verifies the lock before a change of Ceph or a write of the journal. The lock must still have the
// epoch that enter recorded. Otherwise the journal and the settings may have changed since they were read.
// Before it runs a command that changes a setting, the sidecar checks the fence again.
func (e *Engine) fence(ctx context.Context) (ceph.Fence, error) {
	fence, err := e.guard(ctx)
	if err != nil {
		return ceph.Fence{}, err
	}
	if fence.Epoch != e.epoch {
		return ceph.Fence{}, fmt.Errorf("the lock of the Ceph cluster was lost and taken again during a change (epoch %d, now %d); the change starts over", e.epoch, fence.Epoch)
	}
	return fence, nil
}

// load reads the journal in order to restore or keep settings. A done journal of this process needs no lock.
// Any other journal is read again under the lock, and taken over if another process wrote it.
func (e *Engine) load(ctx context.Context) (*Journal, error) {
	j, err := e.store.Load(ctx, e.cluster.FSID)
	if err != nil || j == nil || j.Writer == e.writer && j.Done() {
		return j, err
	}
	if j, err = e.locked(ctx); err != nil || j == nil {
		return nil, err
	}
	return j, e.inherit(ctx, j)
}

// locked verifies the lock and reads the journal. It returns a *WaitError while Ceph may still execute a
// command of this process with an unknown outcome.
func (e *Engine) locked(ctx context.Context) (*Journal, error) {
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	if until := e.doubts.end(e.cluster.FSID); e.now().Before(until) {
		return nil, &WaitError{Until: until, Why: "Ceph did not acknowledge a change, which may still be under way"}
	}
	return e.store.Load(ctx, e.cluster.FSID)
}

// inherit takes over the journal of an earlier process. It returns a *WaitError until Ceph can no longer
// execute a command of that process. Then it compares the entries in the states Restored and LeftAlone with
// Ceph again, and reopens those whose setting has a value of the tuner. If this process ends before the
// journal names it as the writer, the next process repeats the wait and the comparison.
func (e *Engine) inherit(ctx context.Context, j *Journal) error {
	if j.Writer == e.writer {
		return nil
	}
	if e.inherited.IsZero() {
		e.inherited = e.now()
	}
	if until := e.inherited.Add(ceph.LongestChange); e.now().Before(until) {
		return &WaitError{Until: until, Why: fmt.Sprintf("changes that an earlier manager requested for %s may still be under way", j.Sweep)}
	}
	closed := j.comparable()
	facts, err := e.facts(ctx, closed)
	if err != nil {
		return err
	}
	for _, setting := range closed {
		now, err := facts.Value(setting)
		if errors.Is(err, ErrPoolGone) {
			continue
		}
		if err != nil {
			return err
		}
		j.reopen(setting, now)
	}
	if err := e.save(ctx, j); err != nil {
		return err
	}
	e.inherited = time.Time{}
	return nil
}
