// Package wallclock makes times that a program read before its system clock was set. A time from [time.Now] has a
// reading of the monotonic clock too, which nobody sets, so a test cannot make such times by arithmetic.
package wallclock

import (
	"time"
	"unsafe"
)

// Before returns t as it was read before the system clock was set forward by whole seconds; backward, if they are
// negative. Its distance from other times of this process stays the same. t has to come from [time.Now].
func Before(t time.Time, step time.Duration) time.Time {
	fields := (*struct { // of time.Time: bits 30 to 62 of wall are seconds, and ext is the monotonic reading.
		wall uint64
		ext  int64
	})(unsafe.Pointer(&t)) //nolint:gosec // The test of this package checks the fields.
	fields.wall -= uint64(step/time.Second) << 30 //nolint:gosec // A negative step adds.
	return t
}
