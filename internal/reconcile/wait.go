package reconcile

import (
	"time"

	"github.com/cephtune/cephtune/internal/kstatus"
)

// AtOnce is the interval after which the next step is taken where nothing has to be waited for.
// 0 would be never.
const AtOnce = time.Millisecond

// Patience is how long a plan may wait for the same thing, which is expected to come by itself.
// The zero value is for ever.
type Patience struct {
	For    string // identifies the wait
	Within time.Duration
	Late   kstatus.Outcome // what is said when it has not come
}

// Waiting is what the last pass waited for, and since when.
type Waiting struct {
	For   string // empty for nothing
	Since time.Time
}

// Note keeps what is waited for now. It reports whether that is something else than before.
func (w *Waiting) Note(what string, now time.Time) bool {
	if w.For == what {
		return false
	}
	*w = Waiting{For: what, Since: now}
	return true
}

// IsOver reports whether what the patience is for has been waited for longer than that.
func (p Patience) IsOver(w Waiting, now time.Time) bool {
	return p.Within != 0 && p.For == w.For && now.Sub(w.Since) > p.Within
}
