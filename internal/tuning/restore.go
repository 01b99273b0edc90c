package tuning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Report is the result of a restore.
type Report struct {
	// Done reports whether the journal has no open entry.
	Done bool
	// Entries has the journal's entries in their current state.
	Entries []Entry
	// Waiting says why entries are still open. After an error that concerns all entries, Waiting omits the
	// entries that were not tried.
	Waiting []string
}

// Kept returns the entries whose settings keep a value of the tuner on purpose.
func (r Report) Kept() []Entry {
	return slices.DeleteFunc(slices.Clone(r.Entries), func(e Entry) bool { return e.State != Kept })
}

// LeftAlone returns the entries that were closed without a restore, in the states LeftAlone, Gone
// and Abandoned.
func (r Report) LeftAlone() []Entry {
	var left []Entry
	for _, entry := range r.Entries {
		if entry.State != Open && entry.State != Restored && entry.State != Kept {
			left = append(left, entry)
		}
	}
	return left
}

// Message describes the outcome of an entry.
func (e Entry) Message() string {
	switch e.State {
	case Restored:
		return fmt.Sprintf("%s is %s again", e.Setting, e.Original)
	case LeftAlone:
		return fmt.Sprintf("%s was %s before, and something else has changed it to %s: left as it is", e.Setting, e.Original, e.Found)
	case Gone:
		kind := "pool"
		if e.Setting.Kind == KindNoUp {
			kind = "OSD"
		}
		return fmt.Sprintf("%s was %s, and the %s no longer exists", e.Setting, e.Original, kind)
	case Kept:
		return fmt.Sprintf("%s was %s before, and stays as it is now", e.Setting, e.Original)
	case Abandoned:
		return fmt.Sprintf("%s was %s before, and was not restored: check it by hand", e.Setting, e.Original)
	default:
		return fmt.Sprintf("%s is still to be restored to %s", e.Setting, e.Original)
	}
}

// Restore restores the settings that still have a value of the tuner. It leaves settings alone that another
// client has changed. After an error with one setting, Restore continues with the next, unless the error
// concerns all settings. It returns the errors with the report. Repeat Restore until the report is done; then
// call Close.
//
// A number of PGs counts as restored once the pool's target is the original number. Use Settling to wait
// until the pool has reached the target.
func (e *Engine) Restore(ctx context.Context) (Report, error) { return e.restoreAll(ctx, false) }

// RestoreOnce makes the last attempt before a person abandons the restore. It tries every setting, even one
// that should wait for another. Unlike Restore, it continues after every error with a setting.
func (e *Engine) RestoreOnce(ctx context.Context) (Report, error) { return e.restoreAll(ctx, true) }

func (e *Engine) restoreAll(ctx context.Context, last bool) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j, err := e.load(ctx)
	if err != nil {
		return Report{}, err
	}
	if j == nil {
		return Report{Done: true}, nil
	}
	var errs []error
	var waiting []string
	for _, entry := range j.ToRestore() {
		if before, waits := j.waitsFor(entry.Setting); waits && !last {
			waiting = append(waiting, fmt.Sprintf("%s waits until %s is restored", entry.Setting, before))
			continue
		}
		if err := e.restore(ctx, j, entry); err != nil {
			err = fmt.Errorf("restore %s to %s: %w", entry.Setting, entry.Original, err)
			errs, waiting = append(errs, err), append(waiting, err.Error())
			if concernsAll(entry.Setting, err) && !last {
				break
			}
		}
	}
	return Report{Done: j.Done(), Entries: j.Entries, Waiting: waiting}, errors.Join(errs...)
}

// notTakenError says that Ceph accepted a value, but had another when the setting was read back.
type notTakenError struct{ found cephvalue.Value }

// Error implements error.
func (e *notTakenError) Error() string {
	return fmt.Sprintf("Ceph accepted the value but had %s right afterwards: find out what else changes the setting", e.found)
}

// concernsAll reports whether other settings would fail with the same error, such as an error of the lock,
// the journal or the connection. A refused command concerns only one setting. A timeout concerns all
// settings, because a monitor does not answer. For the balancer, however, a missing ceph-mgr may have caused
// the timeout, and other settings need no ceph-mgr.
func concernsAll(setting Setting, err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return setting.Kind != KindBalancer
	}
	_, refused := errors.AsType[*ceph.Error](err)
	_, invalid := errors.AsType[*ceph.InvalidError](err)
	_, notTaken := errors.AsType[*notTakenError](err)
	return !refused && !invalid && !notTaken && !errors.Is(err, ErrPoolGone)
}

// restore restores one setting, if it still has a value of the tuner, and closes the entry.
func (e *Engine) restore(ctx context.Context, j *Journal, entry Entry) error {
	setting, now, err := e.look(ctx, entry)
	if errors.Is(err, ErrPoolGone) {
		return e.close(ctx, j, entry.Setting, Gone, nil)
	}
	if err != nil {
		return err
	}
	if err := e.reached(StepCompared); err != nil {
		return err
	}
	switch entry.judge(now) {
	case alreadyBack:
		return e.close(ctx, j, entry.Setting, Restored, nil)
	case leaveAlone:
		return e.close(ctx, j, entry.Setting, LeftAlone, &now)
	case restoreOriginal:
	}
	if err := e.set(ctx, setting, entry.Original, true); err != nil {
		return err
	}
	if err := e.reached(StepOriginalSent); err != nil {
		return err
	}
	if _, now, err = e.look(ctx, entry); err != nil {
		return err
	}
	if !entry.same(now, entry.Original) {
		return &notTakenError{now}
	}
	if err := e.reached(StepOriginalSeen); err != nil {
		return err
	}
	return e.close(ctx, j, entry.Setting, Restored, nil)
}

// look returns an entry's setting, with the current name of its pool, and the setting's current value.
func (e *Engine) look(ctx context.Context, entry Entry) (Setting, cephvalue.Value, error) {
	facts, err := e.facts(ctx, []Setting{entry.Setting})
	if err != nil {
		return Setting{}, cephvalue.Value{}, err
	}
	return facts.Now(entry)
}

// close records a setting's outcome in the journal. It updates j only after the write has succeeded.
func (e *Engine) close(ctx context.Context, j *Journal, setting Setting, state State, found *cephvalue.Value) error {
	next := j.clone()
	next.closeEntry(setting, state, found)
	if err := e.save(ctx, next); err != nil {
		return err
	}
	*j = *next
	return e.reached(StepRestoredWritten)
}

// Keep closes the entries of settings that keep their new values. If a setting has another value, Keep closes
// no entry and returns an error, because Restore still has to deal with that setting.
func (e *Engine) Keep(ctx context.Context, changes []Change) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	j, err := e.load(ctx)
	if err != nil || j == nil {
		return err
	}
	now, err := e.facts(ctx, SettingsOf(changes))
	if err != nil {
		return err
	}
	next := j.clone()
	for _, change := range changes {
		entry, journalled := next.Entry(change.Setting)
		if !journalled || entry.State != Open {
			continue
		}
		_, value, err := now.Now(entry)
		if err != nil {
			return err
		}
		if !entry.same(value, change.To) {
			return fmt.Errorf("%s is %s, but the value to keep is %s", change.Setting, value, change.To)
		}
		next.closeEntry(change.Setting, Kept, nil)
	}
	if err := e.save(ctx, next); err != nil {
		return err
	}
	return e.reached(StepRestoredWritten)
}

// Close removes a done journal. Save the report of the restore first, because only the journal has the
// outcomes.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	j, err := e.store.Load(ctx, e.cluster.FSID)
	if err != nil || j == nil {
		return err
	}
	if err := e.enter(ctx); err != nil {
		return err
	}
	if j.Writer != e.writer {
		return fmt.Errorf("another process wrote the journal of sweep %s: restore its settings first", j.Sweep)
	}
	if !j.Done() {
		return fmt.Errorf("the journal of sweep %s has settings that are not restored yet", j.Sweep)
	}
	for _, store := range removals(e.store) {
		if err := store.Remove(ctx, j); err != nil {
			return err
		}
		if err := e.reached(StepCopyRemoved); err != nil {
			return err
		}
	}
	return e.reached(StepClosed)
}
