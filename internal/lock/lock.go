// Package lock lets one benchmark or sweep at a time work on a Ceph cluster.
//
// There are two locks, taken in this order and given back in the other one:
//
//   - Leases: a Lease for each Ceph cluster, in the manager's namespace. The holder is a CephBenchmark or CephTuningSweep, not a process, so that a restarted manager continues with the locks of its predecessor. An annotation names the process that took it last. Taking it is atomic: if two try, the API server refuses one.
//   - Records: a record in Ceph itself, for managers in other Kubernetes clusters that
//     use the same Ceph cluster and know nothing of the Lease.
//
// Every holding by a process has an epoch, which is above those of all earlier ones: a process
// that works with a lower one has been superseded. A process that asks for the same object
// takes the lock over, in a new epoch; a sweep's benchmarks have the lock of their sweep, in
// the same process and so in the same epoch. Epochs grow with the clock, so they also rise
// after a Lease was deleted, and mostly between two Kubernetes clusters. No restore may depend
// on it there: their clocks differ.
//
// The lock separates objects of one Kubernetes cluster always, and those of two once each has
// claimed again after the other's first claim, because Ceph has no compare-and-swap. So a
// holder claims again right before it begins, and from time to time, and stops when it is
// refused.
//
// Two managers that both believe to lead, at work for one and the same object, are kept apart
// in three ways. The second one to ask has a new epoch, and the first one is refused when it
// verifies the lock next, as it does before each change. It does not take the lock back, or
// they would take turns: it waits until the other has not renewed the lock for Duration, and
// then begins a new holding. Most likely it ends before that, since leader election ends a
// manager that has lost it. And a change for which the first one has already verified the lock
// ends within [ceph.LongestChange]. The second one waits that long before it compares anything
// (Grant.Fence and package tuning).
//
// Neither lock stops people with a key, or software other than cephtune. And a lock expires: a
// holder that was cut off from the API server for longer than Duration must not act. The times
// that are compared were written by other machines, whose clocks may be off by a fraction of
// Duration and no more. A virtual machine that is stopped together with its clock, and goes on
// before that is set right, takes a lock for as young as it was.
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
	// RenewAfter is how old a lock may become before it is written again, so that
	// asking for it often costs few writes.
	RenewAfter = Duration / 3
)

// Grant is the answer to a request for a lock.
type Grant struct {
	// Held reports whether the lock was granted.
	Held bool
	// Epoch is that of the current holding. It only rises.
	Epoch int64
	// Holder is the lock's holder, as objectref.Ref.Identity writes it, with its Kubernetes
	// cluster if that is a different one.
	Holder string
	// Since is when it was taken, Expires when it is lost unless it is renewed.
	Since, Expires time.Time
	// Asked is the time of the request. Any other process takes the lock over later than that.
	Asked time.Time
}

// SupersededError says that another process has taken a lock that this one had. As long as
// that one renews it, this one must not act.
type SupersededError struct{ message string }

// Error implements error.
func (e *SupersededError) Error() string { return e.message }

// Lost reports whether a lock has expired because errors prevented its renewal. A lock that
// another process has taken over is not lost: its object is at work there.
func Lost(held *Grant, err error, now time.Time) bool {
	_, superseded := errors.AsType[*SupersededError](err)
	return held != nil && err != nil && !superseded && now.After(held.Expires)
}

// Fence returns the epoch and deadline for the next change of the Ceph cluster. The deadline
// counts from the request for the lock, so get a new Fence for each change. The error names
// another holder of the lock, or says that the lock expires too soon.
func (g Grant) Fence(fsid string) (ceph.Fence, error) {
	if !g.Held {
		return ceph.Fence{}, fmt.Errorf("%s has the lock of the Ceph cluster", g.Holder)
	}
	if g.Expires.Before(g.Asked.Add(ceph.LongestChange)) {
		return ceph.Fence{}, fmt.Errorf("the lock of the Ceph cluster expires before a change under it could end, %s after it was asked for: renew it first", ceph.LongestChange)
	}
	return ceph.Fence{FSID: fsid, Epoch: g.Epoch, Until: g.Asked.Add(ceph.ChangeTime)}, nil
}
