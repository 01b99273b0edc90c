package lock

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// Both combines the Lease and the record in Ceph into one lock.
type Both struct {
	leases  *Leases
	records *Records
}

// NewBoth returns the combined lock.
func NewBoth(leases *Leases, records *Records) *Both { return &Both{leases: leases, records: records} }

// Acquire takes the Lease and then the record. If another holder has one of them, the Grant names that
// holder. Acquire is idempotent.
//
// A caller that gets the Lease but not the record keeps the Lease. The caller is then next in line in its
// Kubernetes cluster, and must call Acquire again.
func (b *Both) Acquire(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (Grant, error) {
	grant, err := b.leases.Acquire(ctx, fsid, holder, now)
	return b.claim(ctx, connection, grant, now, err)
}

// Renew is like Acquire, but does not take a lock that the holder does not have.
func (b *Both) Renew(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (Grant, error) {
	grant, err := b.leases.Renew(ctx, fsid, holder, now)
	return b.claim(ctx, connection, grant, now, err)
}

// claim claims the record for a request for the Lease.
func (b *Both) claim(ctx context.Context, connection ceph.Connection, lease Grant, now time.Time, failure error) (Grant, error) {
	if failure != nil || !lease.Held {
		return lease, failure
	}
	grant, err := b.records.Claim(ctx, connection, lease, now)
	grant.Asked = now
	return grant, err
}

// Peek returns the holder of the Lease. It writes nothing, and does not need Ceph.
func (b *Both) Peek(ctx context.Context, fsid string, holder objectref.Ref) (Grant, error) {
	return b.leases.Peek(ctx, fsid, holder)
}

// Release releases the record and the Lease, if the holder has them. If the holder has lost the Lease,
// Release leaves the holder's old record, which expires by itself. If another process has taken the lock
// over for the same holder, the Lease and the record belong to that process, and Release leaves them.
func (b *Both) Release(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref) error {
	grant, err := b.leases.peekOwned(ctx, fsid, holder)
	if err != nil || !grant.Held {
		return err
	}
	if err := b.records.Drop(ctx, connection, grant); err != nil {
		return err
	}
	return b.leases.Release(ctx, fsid, holder)
}
