// Package lock lets one benchmark or sweep at a time work on a Ceph cluster.
//
// There are two locks, acquired in this order and released in reverse order:
//
//   - Leases: a Lease for each Ceph cluster, in the manager's namespace. The holder is a
//     CephBenchmark or CephTuningSweep, not a process, so that a restarted manager continues
//     with the locks of its predecessor. An annotation names the process that took the Lease
//     last. If two processes try to take it at once, the API server refuses one.
//   - Records: a record in Ceph itself, for managers in other Kubernetes clusters that
//     use the same Ceph cluster and know nothing of the Lease.
//
// Every time a process takes the lock, it gets an epoch above all earlier ones. A process with a
// lower epoch has been superseded. If another process asks for the lock on behalf of the same
// object, it takes the lock over, in a new epoch. The benchmarks of a sweep use the lock of
// their sweep, in the same process and so in the same epoch. Epochs are derived from the clock,
// so they also rise after a Lease was deleted. Between two Kubernetes clusters they mostly rise,
// but no restore may depend on that, because the clusters' clocks differ.
//
// Within one Kubernetes cluster, the lock always excludes other objects. Between two clusters,
// Ceph has no compare-and-swap: both may hold the lock until each has claimed it again after the
// other's first claim. So a holder claims again right before it begins, and periodically, and
// stops when it is refused.
//
// Two managers may both believe that they lead, and work for the same object. Three rules keep them
// apart. First, the second manager gets a new epoch, and the first is refused the next time it
// verifies the lock, which it does before each change. Second, the first manager does not take the
// lock back, because they would then alternate. It waits until the other has not renewed the lock
// for Duration, and then acquires it again. Leader election most likely ends its process before
// that. Third, a change for which the first manager has already verified the lock ends within
// [ceph.LongestChange], and the second waits that long before it compares anything (Grant.Fence and
// package tuning).
//
// Neither lock stops people with a key, or software other than cephtune. A lock expires: a
// holder that was cut off from the API server for longer than Duration must not act. Processes
// compare times that other machines wrote, so clocks may differ by only a fraction of Duration.
// A trap remains: if a virtual machine is paused together with its clock, and resumes before its
// clock is corrected, it underestimates the age of its lock.
package lock

import (
	"errors"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// Duration is how long a lock outlives its last renewal.
	Duration = 10 * time.Minute
	// RenewAfter is the age at which a lock is written again. It keeps frequent requests for the
	// lock from causing many writes.
	RenewAfter = Duration / 3
)

// Grant is the answer to a request for a lock.
type Grant struct {
	// Held reports whether the object that asked has the lock. After Peek, that lock may have
	// expired.
	Held bool
	// Epoch is the epoch in which the lock is held now. It only rises.
	Epoch int64
	// Holder is the lock's holder in the form of objectref.Ref.Identity, with its Kubernetes
	// cluster if that is a different one.
	Holder string
	// Since is when the lock was taken, Expires when it expires unless renewed.
	Since, Expires time.Time
	// Asked is the time of the request. Another process can take the lock over only after Asked.
	Asked time.Time
}

// SupersededError says that another process has taken a lock that this one had. This process
// must not act as long as the other one renews the lock.
type SupersededError struct{ message string }

// Error implements error.
func (e *SupersededError) Error() string { return e.message }

// Lost reports whether a lock has expired because errors prevented its renewal. A lock that another
// process has taken over is not lost: that process decides how the work continues.
func Lost(held *Grant, err error, now time.Time) bool {
	_, superseded := errors.AsType[*SupersededError](err)
	return held != nil && err != nil && !superseded && now.After(held.Expires)
}

// Fence returns the epoch and deadline for the next change of the Ceph cluster. The deadline
// counts from the request for the lock, so request the lock again for each change. The error
// names another holder of the lock, or says that the lock expires too soon.
func (g Grant) Fence(fsid string) (ceph.Fence, error) {
	if !g.Held {
		return ceph.Fence{}, fmt.Errorf("%s has the lock of the Ceph cluster", g.Holder)
	}
	if g.Expires.Before(g.Asked.Add(ceph.LongestChange)) {
		return ceph.Fence{}, fmt.Errorf("the lock of the Ceph cluster expires less than %s after it was requested, before a change could end: renew it first", ceph.LongestChange)
	}
	return ceph.Fence{FSID: fsid, Epoch: g.Epoch, Until: g.Asked.Add(ceph.ChangeTime)}, nil
}
