package lock

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// leasePrefix begins the name of a Lease, which ends with the FSID.
const leasePrefix = "cephtune-"

// tries is how often a conflicting write is attempted.
const tries = 3

// annotationProcess is the annotation with the name of the process that took the Lease most recently.
const annotationProcess = "cephtune.dev/process"

// Leases gives one process access to the locks in Kubernetes. It is safe for concurrent use.
type Leases struct {
	reader    client.Reader
	writer    client.Writer
	namespace string
	process   string

	mu sync.Mutex
	// had holds the last epoch in which this process had a lock, by FSID.
	had map[string]int64
}

// NewLeases returns the locks in the manager's namespace. The reader must not have a cache: use the
// manager's API reader. The name of the process must never have been used before; a caller that only reads
// needs no name.
func NewLeases(reader client.Reader, writer client.Writer, namespace, process string) *Leases {
	return &Leases{reader: reader, writer: writer, namespace: namespace, process: process, had: map[string]int64{}}
}

// Acquire takes the lock of a Ceph cluster, or returns the holder that has it. A repeated call by the
// holder writes only if RenewAfter has passed since the last write. An expired lock goes to the first
// caller. If that caller is the process and the holder that had the lock, the epoch stays the same.
//
// If a second process asks for the lock on behalf of the same holder, it takes the lock over, in a new
// epoch. The first process then gets a *SupersededError until the lock expires.
func (l *Leases) Acquire(ctx context.Context, fsid string, holder objectref.Ref, now time.Time) (Grant, error) {
	return l.request(ctx, fsid, holder, now, true)
}

// Renew is like Acquire, but does not take a lock that the holder does not have.
func (l *Leases) Renew(ctx context.Context, fsid string, holder objectref.Ref, now time.Time) (Grant, error) {
	return l.request(ctx, fsid, holder, now, false)
}

func (l *Leases) request(ctx context.Context, fsid string, holder objectref.Ref, now time.Time, takes bool) (Grant, error) {
	for range tries {
		grant, err := l.acquire(ctx, fsid, holder, now, takes)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // another writer was faster: read again
		}
		if err != nil {
			return Grant{}, fmt.Errorf("take Lease %s/%s%s: %w", l.namespace, leasePrefix, fsid, err)
		}
		grant.Asked = now
		return grant, nil
	}
	return Grant{}, fmt.Errorf("take Lease %s/%s%s: other clients keep writing it", l.namespace, leasePrefix, fsid)
}

func (l *Leases) acquire(ctx context.Context, fsid string, holder objectref.Ref, now time.Time, takes bool) (Grant, error) {
	lease, err := l.read(ctx, fsid)
	if err != nil {
		return Grant{}, err
	}
	if l.superseded(fsid, lease) && now.Before(expires(lease)) {
		return Grant{}, &SupersededError{fmt.Sprintf("another operator process, %s, took the lock from this one, %s, which now pauses; run one operator at a time",
			lease.Annotations[annotationProcess], l.process)}
	}
	current := ptr.Deref(lease.Spec.HolderIdentity, "")
	held, sameProcess := current == holder.Identity(), lease.Annotations[annotationProcess] == l.process
	switch {
	case held && sameProcess && now.Sub(renewed(lease)) < RenewAfter:
		return l.noted(fsid, granted(lease, holder)), nil
	case held && sameProcess: // Only renew the lock.
	case !held && !takes, !held && current != "" && now.Before(expires(lease)):
		return granted(lease, holder), nil
	default:
		if !held {
			lease.Spec.HolderIdentity = new(holder.Identity())
			lease.Spec.AcquireTime = new(metav1.NewMicroTime(now))
		}
		lease.Spec.LeaseTransitions = new(nextEpoch(epoch(lease), now))
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotationProcess, l.process)
	}
	lease.Spec.RenewTime = new(metav1.NewMicroTime(now))
	lease.Spec.LeaseDurationSeconds = new(int32(Duration / time.Second))
	if err := l.write(ctx, lease); err != nil {
		return Grant{}, err
	}
	return l.noted(fsid, granted(lease, holder)), nil
}

// noted records the epoch in which this process has a lock.
func (l *Leases) noted(fsid string, grant Grant) Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.had[fsid] = grant.Epoch
	return grant
}

// superseded reports whether another process has taken the lock since this process had it. The lock's
// current holder does not matter: this process may still do work that it began while it had the lock.
func (l *Leases) superseded(fsid string, lease *coordinationv1.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, known := l.had[fsid]
	return known && epoch(lease) > had && lease.Annotations[annotationProcess] != l.process
}

// nextEpoch returns the epoch of a Lease that is taken now: the seconds since the start of 2026,
// or the last epoch plus one if that is higher.
//
// A counter would restart at 1 after a Lease was deleted, by hand or with its namespace. But the sidecar
// refuses epochs below the highest that it has seen. With seconds, a new Lease continues above the epochs
// of a deleted one. The field leaseTransitions has room until 2094.
func nextEpoch(last int64, now time.Time) int32 {
	// began is 2026-01-01 in UTC.
	const began = 1767225600
	return int32(min(max(last+1, now.Unix()-began), math.MaxInt32)) //nolint:gosec // min and max bound it.
}

// Peek returns the lock's holder; Held says whether that is the given holder. Peek writes nothing, and does
// not check whether the lock has expired.
func (l *Leases) Peek(ctx context.Context, fsid string, holder objectref.Ref) (Grant, error) {
	lease, err := l.read(ctx, fsid)
	if err != nil {
		return Grant{}, fmt.Errorf("read Lease %s/%s%s: %w", l.namespace, leasePrefix, fsid, err)
	}
	return granted(lease, holder), nil
}

// peekOwned is like Peek, but Held is false if another process has taken the lock since this process had it.
func (l *Leases) peekOwned(ctx context.Context, fsid string, holder objectref.Ref) (Grant, error) {
	lease, err := l.read(ctx, fsid)
	if err != nil {
		return Grant{}, fmt.Errorf("read Lease %s/%s%s: %w", l.namespace, leasePrefix, fsid, err)
	}
	grant := granted(lease, holder)
	grant.Held = grant.Held && !l.superseded(fsid, lease)
	return grant, nil
}

// Release releases the lock, unless another holder has it, or another process has taken it since this process
// had it. The Lease object stays, because it holds the epoch.
func (l *Leases) Release(ctx context.Context, fsid string, holder objectref.Ref) error {
	lease, err := l.read(ctx, fsid)
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == holder.Identity() && !l.superseded(fsid, lease) {
		lease.Spec.HolderIdentity = nil
		lease.Spec.AcquireTime = nil
		err = l.write(ctx, lease)
	}
	if err != nil {
		return fmt.Errorf("release Lease %s/%s%s: %w", l.namespace, leasePrefix, fsid, err)
	}
	return nil
}

// read returns the Lease, or an empty one if it does not exist.
func (l *Leases) read(ctx context.Context, fsid string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: l.namespace, Name: leasePrefix + fsid}
	err := l.reader.Get(ctx, key, lease)
	if apierrors.IsNotFound(err) {
		lease.Namespace, lease.Name = key.Namespace, key.Name
		return lease, nil
	}
	return lease, err
}

// write creates the Lease, or updates it. The update fails if the Lease has changed since it was read.
func (l *Leases) write(ctx context.Context, lease *coordinationv1.Lease) error {
	if lease.ResourceVersion == "" {
		return l.writer.Create(ctx, lease)
	}
	return l.writer.Update(ctx, lease)
}

func granted(lease *coordinationv1.Lease, holder objectref.Ref) Grant {
	current := ptr.Deref(lease.Spec.HolderIdentity, "")
	return Grant{
		Held:    current == holder.Identity(),
		Epoch:   epoch(lease),
		Holder:  current,
		Since:   ptr.Deref(lease.Spec.AcquireTime, metav1.MicroTime{}).Time,
		Expires: expires(lease),
	}
}

func epoch(lease *coordinationv1.Lease) int64 {
	return int64(ptr.Deref(lease.Spec.LeaseTransitions, 0))
}

func renewed(lease *coordinationv1.Lease) time.Time {
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
}

func expires(lease *coordinationv1.Lease) time.Time {
	return renewed(lease).Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second)
}
