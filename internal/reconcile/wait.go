package reconcile

import (
	"time"

	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
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

// Deadline limits how long a controller may wait for the same event, which should happen by itself. The zero
// value sets no limit.
type Deadline struct {
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
func (w *Waiting) Note(subject string, now time.Time) bool {
	if w.For == subject {
		return false
	}
	*w = Waiting{For: subject, Since: now}
	return true
}

// IsOver reports whether w is the wait that p limits, and has lasted longer than p allows.
func (p Deadline) IsOver(w Waiting, now time.Time) bool {
	return p.Within != 0 && p.For == w.For && now.Sub(w.Since) > p.Within
}

// Headway says what an object waits for, and since when its steps have failed. The loop notes it after each pass; rules
// only read it. A restart of the manager loses it, so that the waits begin again.
type Headway struct {
	// Waiting is the wait of the last pass. Passes that only take or renew the lock do not count. Message is the latest
	// error or message during that wait.
	Waiting Waiting
	Message string
	// Trouble is the latest error of a step; nil if steps succeed. No step has succeeded since TroubledSince, apart
	// from renewals of the lock.
	Trouble       error
	TroubledSince time.Time
	troubledAt    Step      // the step that failed first
	writtenAt     time.Time // when status was last written
}

// Note records a pass: its step, its wait, its message, and its error. The parameter early says that the step could not
// begin yet, so the trouble of earlier steps stays recorded.
func (h *Headway) Note(step Step, wait, message string, early bool, err error, now time.Time) {
	if !early {
		h.noteTrouble(step, err, now)
	}
	if step == StepLock {
		return // Taking or renewing the lock must not restart the clock of another wait.
	}
	if h.Waiting.Note(wait, now) {
		h.Message = ""
	}
	switch {
	case err != nil:
		h.Message = err.Error()
	case message != "":
		h.Message = message
	}
}

// noteTrouble records since when steps have failed. A step that succeeds ends the trouble. But StepLock ends only
// trouble that began with StepLock, because renewals may succeed while all other steps fail.
func (h *Headway) noteTrouble(step Step, err error, now time.Time) {
	switch {
	case err == nil && step == StepLock && h.troubledAt != StepLock:
	case err == nil:
		h.Trouble, h.troubledAt, h.TroubledSince = nil, "", time.Time{}
	case h.TroubledSince.IsZero():
		h.Trouble, h.troubledAt, h.TroubledSince = err, step, now
	default:
		h.Trouble = err
	}
}
