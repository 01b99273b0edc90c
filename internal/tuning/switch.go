package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// SwitchDeadline bounds the command of one switch. The same deadline, before that, bounds
// reading the settings.
const SwitchDeadline = 2 * time.Second

// ErrNotRehearsed says that the journal does not know a value, or how Ceph stores it.
var ErrNotRehearsed = errors.New("the journal does not have it as a value that this process has applied")

// Switched has the time of the command to Ceph, and that of its answer.
type Switched struct{ Told, Acknowledged time.Time }

// Switch changes settings under a running load, from one configuration to another. Both
// have been applied before by this engine, so the journal has all that a restore needs and is not
// written. Each setting must still have the value of the configuration before.
//
// With an *OtherSweepError, *ForeignChangeError, *WaitError or ErrNotRehearsed nothing was changed.
// After any error, no further switch may follow before a restore: what became of this one may
// not be known.
func (e *Engine) Switch(ctx context.Context, sweep Sweep, from, to []Change) (Switched, error) {
	to = unlockFirst(to, func(c Change) bool { return unlocks(c.Setting, c.To) })
	e.mu.Lock()
	defer e.mu.Unlock()
	j, err := e.readyToSwitch(ctx, sweep, from, to)
	if err != nil {
		return Switched{}, err
	}
	ctx, stop := context.WithTimeout(ctx, SwitchDeadline)
	defer stop()
	s := Switched{Told: e.now()}
	for _, change := range to {
		if slices.Contains(from, change) {
			continue
		}
		if err := e.setOurs(ctx, j, change); err != nil {
			return Switched{}, fmt.Errorf("switch %s: %w", change, err)
		}
		if err := e.reached(StepChanged); err != nil {
			return Switched{}, err
		}
	}
	s.Acknowledged = e.now()
	return s, nil
}

// readyToSwitch reads the journal and the settings under the lock. Another tuner of this process
// may have restored them meanwhile; only the journal shows that.
func (e *Engine) readyToSwitch(ctx context.Context, sweep Sweep, from, to []Change) (*Journal, error) {
	ctx, stop := context.WithTimeout(ctx, SwitchDeadline)
	defer stop()
	j, err := e.locked(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.rehearsed(j, sweep, slices.Concat(from, to)); err != nil {
		return nil, err
	}
	if !slices.Equal(settingsInOrder(from), settingsInOrder(to)) {
		return nil, fmt.Errorf("from %v to %v is no switch: they are about other settings", from, to)
	}
	facts, err := e.facts(ctx, SettingsOf(from))
	if err != nil {
		return nil, err
	}
	for _, change := range from {
		entry, _ := j.Entry(change.Setting)
		of, now, err := facts.Now(entry)
		if err != nil {
			return nil, err
		}
		if of != change.Setting {
			return nil, fmt.Errorf("%s: the pool is %s now: %w", change.Setting, of.Pool, ErrPoolGone)
		}
		if !entry.has(now, change.To) {
			return nil, &ForeignChangeError{Setting: change.Setting, Found: now}
		}
	}
	return j, nil
}

// rehearsed returns an error unless the journal has every value, as this process has applied it.
func (e *Engine) rehearsed(j *Journal, sweep Sweep, changes []Change) error {
	switch {
	case j == nil:
		return fmt.Errorf("there is no journal: %w", ErrNotRehearsed)
	case j.Sweep != sweep:
		return &OtherSweepError{Sweep: j.Sweep}
	case j.Writer != e.writer || !e.saved:
		return fmt.Errorf("the journal was written by another process: %w", ErrNotRehearsed)
	}
	for _, change := range changes {
		entry, known := j.Entry(change.Setting)
		if !known || entry.State != Open || !noted(j, []Change{change}) {
			return fmt.Errorf("%s: %w", change, ErrNotRehearsed)
		}
	}
	return nil
}

func settingsInOrder(changes []Change) []Setting {
	settings := SettingsOf(changes)
	slices.SortFunc(settings, func(a, b Setting) int { return cmp.Compare(a.String(), b.String()) })
	return settings
}

// has reports whether a setting has a value of ours, in any notation.
func (e Entry) has(now, ours Value) bool {
	return e.same(now, ours) || slices.ContainsFunc(e.Ours, func(o Ours) bool {
		return o.Intended == ours && o.Stored != nil && e.same(now, *o.Stored)
	})
}
