package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// SwitchDeadline limits the time of all commands of one switch together, and of one configuration in Try. If
// the deadline ends a switch, the settings are unknown and the whole session is invalid. A slow switch within
// the deadline invalidates only its block of windows (switchback.Timing). In the lab, monitors take 0.3 to 1.4 s
// for an option of a pool, and sometimes more than 2 s.
const SwitchDeadline = 5 * time.Second

// lookDeadline limits the time for reading the lock, the journal and the settings before a switch. Meanwhile
// the load continues with the previous configuration, so a slow answer costs only time.
const lookDeadline = 20 * time.Second

// ErrNotApplied says that the journal does not prove that this process has applied both configurations of a
// switch before. Possible causes: this Engine has saved no journal or its last save failed, the journal is
// missing or was written by another process, or it lacks one of the values in Ceph's notation, or has it only
// in a closed entry.
var ErrNotApplied = errors.New("the journal does not list the value as applied by this process")

// OwnPool is the scratch pool of a session. The pool is removed after the session, so its options need no
// journal and no restore. The zero value means that the session has no scratch pool.
type OwnPool struct {
	Name string
	// ID distinguishes the pool from the scratch pools of other sessions, which have the same name.
	ID int64
}

// owns reports whether a change sets an option of the pool.
func (p OwnPool) owns(c Change) bool {
	return p.Name != "" && c.Setting.Kind == KindPoolOption && c.Setting.Pool == p.Name
}

// verify returns an error unless the pool still exists and has the value of each change. Without changes, it
// checks nothing.
func (p OwnPool) verify(facts Facts, changes []Change) error {
	for _, change := range changes {
		if pool, found := facts.Pool(p.Name); !found || pool.ID != p.ID {
			return fmt.Errorf("%s: the session's pool is gone: %w", change.Setting, ErrPoolGone)
		}
		now, err := facts.Value(change.Setting)
		if err != nil {
			return err
		}
		if !same(change.Setting, change.Type, now, change.To) {
			return &ForeignChangeError{Setting: change.Setting, Found: now}
		}
	}
	return nil
}

// split separates the changes of the pool from the changes that the journal lists.
func (p OwnPool) split(changes []Change) (owned, journalled []Change) {
	for _, c := range changes {
		if p.owns(c) {
			owned = append(owned, c)
		} else {
			journalled = append(journalled, c)
		}
	}
	return owned, journalled
}

// Switched has the times before the first command to Ceph and after the last answer. Both are wall-clock
// times, because they are compared with times from clients.
type Switched struct{ Started, Acknowledged time.Time }

// Switch changes settings under a running load, from one configuration to another. This Engine must have
// applied both configurations before. So the journal already has everything that a restore needs, and Switch
// does not write it. For options of the session's scratch pool, Try must have applied the configurations.
// Each setting must still have the value of the previous configuration.
//
// After an *OtherSweepError, *ForeignChangeError, *WaitError or ErrNotApplied, nothing has changed. After
// any other error, the settings may have changed. After every error, call Restore before the next switch.
func (e *Engine) Switch(ctx context.Context, sweep Sweep, pool OwnPool, from, to []Change) (Switched, error) {
	to = unlockFirst(to, func(c Change) bool { return unlocks(c.Setting, c.To) })
	e.mu.Lock()
	defer e.mu.Unlock()
	looks, stopLooking := context.WithTimeout(ctx, lookDeadline)
	defer stopLooking()
	j, fence, err := e.readyToSwitch(looks, sweep, pool, from, to)
	if err != nil {
		return Switched{}, err
	}
	ctx, stop := context.WithTimeout(ctx, SwitchDeadline)
	defer stop()
	s := Switched{Started: time.Now()}
	for _, change := range to {
		if slices.Contains(from, change) {
			continue
		}
		set := e.setUnder
		if pool.owns(change) {
			set = e.setOwn
		}
		if err := set(ctx, fence, j, change); err != nil {
			return Switched{}, fmt.Errorf("switch %s: %w", change, err)
		}
		if err := e.reached(StepChanged); err != nil {
			return Switched{}, err
		}
	}
	s.Acknowledged = time.Now()
	return s, nil
}

// Try applies the options of the session's scratch pool, one configuration after another, and reads them
// back. The last configuration stays. Call Apply before each session: it records the lock's epoch, and
// returns a *WaitError while Ceph may still execute a command with an unknown outcome. Without that wait, a
// late command of an earlier session could change this pool, because both pools have the same name.
func (e *Engine) Try(ctx context.Context, pool OwnPool, configurations [][]Change) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, changes := range configurations {
		changed, _ := pool.split(changes)
		if len(changed) == 0 {
			continue
		}
		if err := e.tryOwn(ctx, pool, changed); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) tryOwn(ctx context.Context, pool OwnPool, changes []Change) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	within, stop := context.WithTimeout(ctx, SwitchDeadline)
	defer stop()
	for _, change := range changes {
		if err := e.setOwn(within, fence, nil, change); err != nil {
			return fmt.Errorf("set %s: %w", change, err)
		}
	}
	facts, err := e.facts(ctx, SettingsOf(changes))
	if err != nil {
		return err
	}
	return pool.verify(facts, changes)
}

// setOwn sends a value for the session's scratch pool to Ceph. It does not need the journal, which has no
// entry for such a value.
func (e *Engine) setOwn(ctx context.Context, fence ceph.Fence, _ *Journal, change Change) error {
	return e.send(ctx, fence, change.Setting, change.To)
}

// readyToSwitch verifies the lock, and simultaneously reads the journal and the settings. The reads need not
// wait for the lock: if it still has the same epoch, no other process has held it since the configurations
// were applied. The journal shows whether another Engine of this process has restored the settings since
// then.
func (e *Engine) readyToSwitch(ctx context.Context, sweep Sweep, pool OwnPool, from, to []Change) (j *Journal, fence ceph.Fence, err error) {
	changes, journalled := pool.split(from)
	_, next := pool.split(to)
	if !e.saved && len(journalled) > 0 {
		return nil, fence, fmt.Errorf("this process has written no journal: %w", ErrNotApplied)
	}
	if until := e.doubts.end(e.cluster.FSID); e.now().Before(until) {
		return nil, fence, &WaitError{Until: until, Why: "Ceph did not acknowledge a change, which may still be under way"}
	}
	if !slices.Equal(settingsInOrder(from), settingsInOrder(to)) {
		return nil, fence, fmt.Errorf("cannot switch from %v to %v: they change different settings", from, to)
	}
	var facts Facts
	reads, ctx := errgroup.WithContext(ctx)
	reads.Go(func() (err error) { fence, err = e.fence(ctx); return err })
	reads.Go(func() (err error) { j, err = e.store.Load(ctx, e.cluster.FSID); return err })
	reads.Go(func() (err error) { facts, err = e.facts(ctx, SettingsOf(from)); return err })
	if err := reads.Wait(); err != nil {
		return nil, fence, err
	}
	if err := pool.verify(facts, changes); err != nil || len(journalled) == 0 {
		return nil, fence, err
	}
	if err := e.hasApplied(j, sweep, slices.Concat(journalled, next)); err != nil {
		return nil, fence, err
	}
	return j, fence, unchanged(j, facts, journalled)
}

// unchanged returns an error unless each setting still has its value from the previous configuration.
func unchanged(j *Journal, facts Facts, from []Change) error {
	for _, change := range from {
		entry, _ := j.Entry(change.Setting)
		setting, now, err := facts.Now(entry)
		if err != nil {
			return err
		}
		if setting != change.Setting {
			return fmt.Errorf("%s: the pool is %s now: %w", change.Setting, setting.Pool, ErrPoolGone)
		}
		if !entry.matches(now, change.To) {
			return &ForeignChangeError{Setting: change.Setting, Found: now}
		}
	}
	return nil
}

// hasApplied returns an error unless the journal shows that this process has applied every value.
func (e *Engine) hasApplied(j *Journal, sweep Sweep, changes []Change) error {
	switch {
	case j == nil:
		return fmt.Errorf("there is no journal: %w", ErrNotApplied)
	case j.Sweep != sweep:
		return &OtherSweepError{Sweep: j.Sweep}
	case j.Writer != e.writer:
		return fmt.Errorf("the journal was written by another process: %w", ErrNotApplied)
	}
	for _, change := range changes {
		entry, known := j.Entry(change.Setting)
		if !known || entry.State != Open || !noted(j, []Change{change}) {
			return fmt.Errorf("%s: %w", change, ErrNotApplied)
		}
	}
	return nil
}

func settingsInOrder(changes []Change) []Setting {
	settings := SettingsOf(changes)
	slices.SortFunc(settings, func(a, b Setting) int { return cmp.Compare(a.String(), b.String()) })
	return settings
}

// matches reports whether a setting's current value is the given one, as intended or in Ceph's notation.
func (e Entry) matches(now, ours cephvalue.Value) bool {
	return e.same(now, ours) || slices.ContainsFunc(e.Applied, func(o AppliedValue) bool {
		return o.Intended == ours && o.Stored != nil && e.same(now, *o.Stored)
	})
}
