// Package lock lets one benchmark or sweep at a time work on a Ceph cluster.
//
// There are two locks, acquired in this order and released in reverse order:
//
//   - Leases: a Lease for each Ceph cluster, in the manager's namespace. The holder is a
//     CephBenchmark or CephTuningSweep, not a process, so that a restarted manager continues
//     with the locks of its predecessor. An annotation names the process that took the Lease
//     most recently. If two processes try to take a Lease at the same time, the API server
//     refuses one of them.
//   - Records: a record in Ceph itself. It is for managers in other Kubernetes clusters, which use
//     the same Ceph cluster but cannot see the Lease.
//
// Every time a process takes the lock, it gets an epoch above all earlier ones. A process with a lower
// epoch has been superseded. If another process asks for the lock on behalf of the same object, it takes
// the lock over, in a new epoch. The benchmarks of a sweep use the sweep's lock, in the same process and so
// in the same epoch. Epochs are derived from the clock, so they also rise after a Lease was deleted. Across
// two Kubernetes clusters, epochs usually rise too. But no restore may depend on that, because the
// clusters' clocks differ.
//
// Within one Kubernetes cluster, only one object has the lock. Objects in two Kubernetes clusters may both
// have it for a short time, because Ceph has no compare-and-swap. The object whose record was overwritten
// is refused when it claims the record again. So a holder claims the record again right before it begins,
// and then periodically. It stops when it is refused.
//
// Two managers may both believe that they lead, and work for the same object. Three rules keep them
// apart:
//
//   - The second manager gets a new epoch. The first manager verifies the lock before each change,
//     and is refused from then on.
//   - The first manager does not take the lock back, because the two would then alternate. It may
//     acquire the lock again when the second has not renewed it for Duration. By then, leader
//     election has most likely ended the first manager's process.
//   - A change for which the first manager has already verified the lock ends within
//     [ceph.LongestChange]. The second manager waits that long before it changes anything
//     (Grant.Fence and package tuning).
//
// Neither lock stops people with a Ceph key, or software other than cephtune. A lock expires: a holder that was
// cut off from the API server for longer than Duration must not act. Processes compare times that other
// machines wrote, so clocks may differ by only a fraction of Duration. A trap remains: a virtual machine
// may be paused together with its clock. Until the clock is corrected, its processes underestimate the age
// of their locks.
package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// Duration is how long a lock stays valid after its last renewal.
	Duration = 10 * time.Minute
	// RenewAfter is the age at which a lock is written again. Earlier requests by the same process and holder
	// write nothing.
	RenewAfter = Duration / 3
)

// Grant is the answer to a request for a lock.
type Grant struct {
	// Held reports whether the object that asked has the lock. After Peek, that lock may have
	// expired.
	Held bool
	// Epoch is the epoch in which the lock was taken most recently. Within one Kubernetes cluster, it only
	// rises.
	Epoch int64
	// Holder is the lock's holder in the form of objectref.Ref.Identity, followed by the holder's Kubernetes
	// cluster if that is not this one; empty if the lock was released or never taken.
	Holder string
	// Since is when the lock was taken. In a Grant from Leases, Since stays the same if another process takes
	// the lock over for the same holder. Expires is when the lock expires if it is not renewed.
	Since, Expires time.Time
	// Asked is the time of the request; zero after Peek. Another process can take the lock over only after
	// Asked.
	Asked time.Time
}

// SupersededError says that another process has taken a lock that this process had. This process must not
// act while the other process renews the lock.
type SupersededError struct{ message string }

// Error implements error.
func (e *SupersededError) Error() string { return e.message }

// Lost reports whether a lock has expired because errors prevented its renewal. A lock that another
// process has taken over is not lost: that process decides how the work continues.
func Lost(held *Grant, err error, now time.Time) bool {
	_, superseded := errors.AsType[*SupersededError](err)
	return held != nil && err != nil && !superseded && now.After(held.Expires)
}

// Fence returns the epoch and deadline for the next change of the Ceph cluster. The deadline counts from
// the request for the lock, so request the lock again for each change. The error names another holder of
// the lock, or says that the lock expires before a change could end.
func (g Grant) Fence(fsid string) (ceph.Fence, error) {
	if !g.Held {
		return ceph.Fence{}, fmt.Errorf("%s has the lock of the Ceph cluster", g.Holder)
	}
	if g.Expires.Before(g.Asked.Add(ceph.LongestChange)) {
		return ceph.Fence{}, fmt.Errorf("the lock of the Ceph cluster expires less than %s after it was requested, before a change could end: renew it first", ceph.LongestChange)
	}
	return ceph.Fence{FSID: fsid, Epoch: g.Epoch, Until: g.Asked.Add(ceph.ChangeTime)}, nil
}
