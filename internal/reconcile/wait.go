package reconcile

import (
	"time"

	"github.com/cephtune/cephtune/internal/kstatus"
)

// Wait is a sentence for the user about what a step still waits for, or [Done]. Ignore it if the
// step returned an error.
type Wait string

// Done is the Wait of a step that is complete.
const Done Wait = ""

// IsDone reports whether the step is complete.
func (w Wait) IsDone() bool { return w == Done }

// AtOnce is the requeue interval for a step that need not wait. An interval of 0 would mean
// never.
const AtOnce = time.Millisecond

// Patience limits how long a plan may wait for the same event, which should happen by itself.
// The zero value waits for ever.
type Patience struct {
	For    string // identifies the wait
	Within time.Duration
	Late   kstatus.Outcome // the outcome when the wait is too long
}

// Waiting records the event for which the last pass waited, and the start of the wait.
type Waiting struct {
	For   string // identifies the wait; "" if the last pass waited for nothing
	Since time.Time
}

// Note records the current wait. It reports whether that differs from the previous one.
func (w *Waiting) Note(what string, now time.Time) bool {
	if w.For == what {
		return false
	}
	*w = Waiting{For: what, Since: now}
	return true
}

// IsOver reports whether w is the wait that the patience limits, and has lasted too long.
func (p Patience) IsOver(w Waiting, now time.Time) bool {
	return p.Within != 0 && p.For == w.For && now.Sub(w.Since) > p.Within
}

// SideBySide is the number of objects that a controller reconciles concurrently: one that waits for
// its Ceph cluster must not block the others. It matters most for OSDs that an outage keeps down.
const SideBySide = 4
