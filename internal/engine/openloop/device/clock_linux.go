// Package device connects the generator of package openloop to Linux and Ceph.
package device

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the monotonic clock, counted from its creation.
type Clock struct{ start time.Time }

// NewClock returns a clock that starts now.
func NewClock() *Clock { return &Clock{time.Now()} }

// Now implements openloop.Clock.
func (c *Clock) Now() time.Duration { return time.Since(c.start) }

// shortestSleep is about the time that a system call takes. A thread that sleeps for less wakes up late.
const shortestSleep = 5 * time.Microsecond

// SleepUntil implements openloop.Clock. The timers of the Go runtime have a resolution of a millisecond, so it uses
// the kernel's.
func (c *Clock) SleepUntil(t time.Duration) {
	if left := t - c.Now(); left > shortestSleep {
		pause := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&pause, nil) // A signal ends the sleep, and the caller then calls again.
	}
}

// Busy implements openloop.Clock.
func (*Clock) Busy() time.Duration {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &usage) // It cannot fail with these arguments.
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// timerSlack, in nanoseconds, is by how much the kernel may delay a wake-up. The default is 50 µs.
const timerSlack = 1000

// Pin implements openloop.Clock.
func (*Clock) Pin() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) // Without it, operations are some 50 µs late, which is measured.
}
