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

// AtOnce is the requeue interval for a step that need not wait. With an interval of 0, no next pass would
// be requested.
const AtOnce = time.Millisecond

// Patience limits how long a controller may wait for the same event, which should happen by itself. The zero
// value sets no limit.
type Patience struct {
	For    string // identifies the wait
	Within time.Duration
	Late   kstatus.Outcome // the outcome when the wait is too long
}

// Waiting records the event for which the last pass waited, and the start of the wait.
type Waiting struct {
	For   string // identifies the wait; "" if the last pass did not wait, or waited without a limit
	Since time.Time
}

// Note records the current wait. It reports whether the current wait differs from the previous wait.
func (w *Waiting) Note(what string, now time.Time) bool {
	if w.For == what {
		return false
	}
	*w = Waiting{For: what, Since: now}
	return true
}

// IsOver reports whether w is the wait that p limits, and has lasted longer than p allows.
func (p Patience) IsOver(w Waiting, now time.Time) bool {
	return p.Within != 0 && p.For == w.For && now.Sub(w.Since) > p.Within
}

// SideBySide is the number of objects that a controller reconciles concurrently. A pass that waits for one
// Ceph cluster must not delay the passes of other objects, above all a pass that ends an outage.
const SideBySide = 4
