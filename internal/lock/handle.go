package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// Locker acquires and releases the locks of Ceph clusters.
type Locker interface {
	// Peek returns the holder. It asks only Kubernetes, not Ceph.
	Peek(ctx context.Context, fsid string, holder objectref.Ref) (Grant, error)
	Acquire(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (Grant, error)
	// Renew is like Acquire, but does not take a lock that the holder does not have.
	Renew(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (Grant, error)
	Release(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref) error
}

// Handle is the lock of one Ceph cluster, for one holder.
type Handle struct {
	Lock   Locker
	FSID   string
	Holder objectref.Ref
	// Borrows says that the holder is another object. Only that object takes and releases the lock.
	Borrows bool
	// Connect returns the connection to the cluster.
	Connect func(ctx context.Context) (ceph.Connection, error)
	Now     func() time.Time
}

// Peek returns the holder of the lock. It asks only Kubernetes, not Ceph.
func (h Handle) Peek(ctx context.Context) (Grant, error) {
	return h.Lock.Peek(ctx, h.FSID, h.Holder)
}

// Acquire takes or renews the lock, or returns the holder that has it. It only renews a borrowed lock.
func (h Handle) Acquire(ctx context.Context) (Grant, error) {
	connection, err := h.Connect(ctx)
	if err != nil {
		return Grant{}, err
	}
	if h.Borrows {
		return h.Lock.Renew(ctx, connection, h.FSID, h.Holder, h.Now())
	}
	return h.Lock.Acquire(ctx, connection, h.FSID, h.Holder, h.Now())
}

// Request acquires the lock, and checks whether the holder has lost it. The parameter held is the last
// grant of the lock; nil if the holder did not have the lock. The parameter atWork says that the holder has
// begun to use Ceph. The result lost says why the lock is lost; "" if it is not. A lost lock must not be
// requested again for the same work, because another object may have used Ceph in the meantime.
func (h Handle) Request(ctx context.Context, held *Grant, atWork bool) (grant Grant, lost string, err error) {
	grant, err = h.Acquire(ctx)
	switch {
	case Lost(held, err, h.Now()):
		return Grant{}, fmt.Sprintf("The lock of the Ceph cluster could not be renewed before it expired: %v", err), nil
	case err != nil:
		return Grant{}, "", fmt.Errorf("take the lock of the Ceph cluster: %w", err)
	case !grant.Held && grant.Holder == "" && (held != nil || atWork): // Only a borrowed lock can be free now.
		return grant, h.Holder.String() + " has released the lock of the Ceph cluster.", nil
	case !grant.Held && (held != nil || atWork):
		return grant, grant.Holder + " has taken the lock of the Ceph cluster.", nil
	}
	return grant, "", nil
}

// Renew renews the lock if the holder has it. Otherwise it only returns the other holder, if one has it.
func (h Handle) Renew(ctx context.Context) (Grant, error) {
	grant, err := h.Peek(ctx)
	if err != nil || !grant.Held {
		return grant, err
	}
	return h.Acquire(ctx)
}

// Fence acquires the lock again, and returns the fence for one change. It must be called
// immediately before each change.
func (h Handle) Fence(ctx context.Context) (ceph.Fence, error) {
	grant, err := h.Acquire(ctx)
	if err != nil {
		return ceph.Fence{}, fmt.Errorf("check the lock of the Ceph cluster: %w", err)
	}
	return grant.Fence(h.FSID)
}

// Release releases the lock for the next holder.
func (h Handle) Release(ctx context.Context) error {
	connection, err := h.Connect(ctx)
	if err != nil {
		return err
	}
	if err := h.Lock.Release(ctx, connection, h.FSID, h.Holder); err != nil {
		return fmt.Errorf("release the lock of the Ceph cluster: %w", err)
	}
	return nil
}
