package runner

import (
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// The clocks of nodes may be minutes apart, and may be set while a task measures. Rows and running times are durations
// of a clock that nobody sets. Only the start and the end of a task are times. The runner gives them as if its clock had
// always been what it is now, and the manager moves them to its own clock.

// byClockOf returns a status with times by the system clock as it is now. Differences between times of one process come
// from its monotonic clock.
func byClockOf(status task.Status, now time.Time) task.Status {
	restate := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		return new(now.Add(-now.Sub(*t)))
	}
	status.StartTime, status.EndTime = restate(status.StartTime), restate(status.EndTime)
	return status
}

// byOurClock returns the snapshot with times by the clock of this process, which received it now. They are late by at
// most the time that the answer took.
func (s Snapshot) byOurClock(now time.Time) Snapshot {
	if s.Now.IsZero() {
		return s
	}
	move := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		return new(t.Add(now.Sub(s.Now)))
	}
	for i := range s.Tasks {
		s.Tasks[i].StartTime, s.Tasks[i].EndTime = move(s.Tasks[i].StartTime), move(s.Tasks[i].EndTime)
	}
	s.Now = now
	return s
}
