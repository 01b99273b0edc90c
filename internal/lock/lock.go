// Package lock lets one benchmark or sweep at a time work on a Ceph cluster.
//
// There are two locks, taken in this order and given back in the other one:
//
//   - Leases: a Lease for each Ceph cluster, in the manager's namespace. Who has it is
//     a CephBenchmark or CephTuningSweep, not a process, so that a manager that was
//     restarted goes on with what its predecessor held. Which process took it last is in
//     an annotation. Taking it is atomic: of two that try, the API server refuses one.
//   - Records: a record in Ceph itself, for managers in other Kubernetes clusters that
//     use the same Ceph cluster and know nothing of the Lease.
//
// Every holding by a process has an epoch, which is above those of all earlier ones: who still
// works with a lower one has been superseded. A process that asks for the same object takes
// the lock over, in a new epoch; a sweep's benchmarks have the lock of their sweep, in the
// same process and so in the same epoch. It goes with the time, so that this holds across a
// Lease that was deleted, too, and mostly for those of two Kubernetes clusters. No restore may
// depend on it there: their clocks differ.
//
// The lock separates objects of one Kubernetes cluster always, and those of two once each has
// claimed again after the other's first claim, because Ceph has no compare-and-swap. So a
// holder claims again right before it begins, and from time to time, and stops when it is
// refused.
//
// Two managers that both believe to lead, at work for one and the same object, are kept
// apart in three ways. The second one to ask has a new epoch, and the first one is refused
// when it makes sure of the lock next, as it does before each change. It does not take the
// lock back, or they would take turns: it waits until the other has not renewed the lock
// for Duration, and then begins a new holding. Most likely it ends before that, since
// leader election ends a manager that has lost it. And a change that the first one had made
// sure of already ends within [ceph.LongestChange] of that, for which the second one waits
// before it compares anything (Grant.Fence and package tuning).
//
// What they do not keep apart: people with a key, and everything that is not cephtune, know
// nothing of either. And a lock expires: a holder that was cut off from the API server for
// longer than Duration must do nothing any more. The times that are compared were written
// by other machines, whose clocks may be off by a fraction of Duration and no more. A virtual
// machine that is stopped together with its clock, and goes on before that is set right,
// takes a lock for as young as it was.
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

// Grant is the answer to who asked for a lock.
type Grant struct {
	// Held reports whether the lock was granted.
	Held bool
	// Epoch is that of the current holding. It only rises.
	Epoch int64
	// Holder is who has it, as objectref.Ref.Identity writes it, with the Kubernetes cluster
	// where that is another one.
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

// Lost reports whether a lock that was held is so no more, because an error has kept it from
// being renewed until it expired. One that another process has taken over is not lost: the
// object that it is for is at work there.
func Lost(held *Grant, err error, now time.Time) bool {
	_, superseded := errors.AsType[*SupersededError](err)
	return held != nil && err != nil && !superseded && now.After(held.Expires)
}

// Fence is what a change of a Ceph cluster is asked for with under this grant. It is for the
// change that comes next, because its time counts from when the lock was asked for. The error
// says who else has the lock.
func (g Grant) Fence(fsid string) (ceph.Fence, error) {
	if !g.Held {
		return ceph.Fence{}, fmt.Errorf("%s has the lock of the Ceph cluster", g.Holder)
	}
	if g.Expires.Before(g.Asked.Add(ceph.LongestChange)) {
		return ceph.Fence{}, fmt.Errorf("the lock of the Ceph cluster expires before a change under it could end, %s after it was asked for: renew it first", ceph.LongestChange)
	}
	return ceph.Fence{FSID: fsid, Epoch: g.Epoch, Until: g.Asked.Add(ceph.ChangeTime)}, nil
}
