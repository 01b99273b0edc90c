package tuning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// Ceph is the interface through which an Engine reads and changes a Ceph cluster.
type Ceph interface {
	ceph.Client
	ceph.Tuner
}

// Guard verifies that this process holds the lock of the Ceph cluster, and returns the fence to
// send with a change. The engine calls Guard immediately before each change. Only the changes of one
// switch, or of one configuration that Try applies, share a call.
type Guard func(ctx context.Context) (ceph.Fence, error)

// Cluster is a Ceph cluster whose settings an Engine changes.
type Cluster struct {
	FSID string
	// Observer is the connection for reading, Tuner the one for changes.
	Observer, Tuner ceph.Connection
}

// Engine changes the settings of one Ceph cluster and restores them. Its methods are safe for
// concurrent use, and all except Switch are idempotent.
type Engine struct {
	ceph    Ceph
	cluster Cluster
	store   Store
	guard   Guard
	writer  string
	// kubernetes is the UID of the sweep's Kubernetes cluster.
	kubernetes string

	now     func() time.Time
	until   time.Time
	reached func(Step) error
	doubts  *Doubts

	mu sync.Mutex
	// epoch is the lock's epoch at the last call of enter.
	epoch int64
	// inherited is the time at which this engine began to wait for the changes of an earlier process,
	// whose journal it takes over; zero without such a wait.
	inherited time.Time
	// saved reports whether this engine has saved the journal, and its last save succeeded.
	saved bool
}

// Options are an Engine's dependencies apart from the cluster.
type Options struct {
	Store Store
	Guard Guard
	// Writer is a name that is unique to this process.
	Writer string
	// Kubernetes is the UID of the sweeps' Kubernetes cluster.
	Kubernetes string
	Now        func() time.Time
	// Until is the deadline for restoring the changes; zero for none. The journal stores it for
	// a process that takes over.
	Until time.Time
	// Reached is called at each step. If it returns an error, the current operation ends with that
	// error. Tests use it to simulate a crash; nil does nothing.
	Reached func(Step) error
	// Doubts records commands with an unknown outcome. All engines of the process share it; nil if
	// there is only this engine.
	Doubts *Doubts
}

// NewEngine returns an engine for a cluster.
func NewEngine(to Ceph, cluster Cluster, o Options) *Engine {
	if o.Reached == nil {
		o.Reached = func(Step) error { return nil }
	}
	if o.Doubts == nil {
		o.Doubts = &Doubts{}
	}
	return &Engine{
		ceph: to, cluster: cluster, store: o.Store, guard: o.Guard, writer: o.Writer,
		kubernetes: o.Kubernetes, now: o.Now, until: o.Until, reached: o.Reached, doubts: o.Doubts,
	}
}

// WaitError says that the operation has to wait until a given time.
type WaitError struct {
	Until time.Time
	Why   string
}

// Error implements error.
func (e *WaitError) Error() string { return e.Why }

// OtherSweepError says that another sweep's settings have to be restored first.
type OtherSweepError struct{ Sweep Sweep }

// Error implements error.
func (e *OtherSweepError) Error() string {
	return fmt.Sprintf("the settings that %s changed are not restored yet: restore or abandon them first", e.Sweep.Ref())
}

// Journal returns the kept journal, which may be done; nil if none is kept.
func (e *Engine) Journal(ctx context.Context) (*Journal, error) {
	return e.store.Load(ctx, e.cluster.FSID)
}

// Applied is the result of Apply.
type Applied struct {
	// Changed lists the changes that were sent to Ceph. The other settings had their values
	// already.
	Changed []Change
	// NotTaken lists the changes whose value Ceph did not have when the settings were read back.
	NotTaken []Inert
}

// Apply changes settings in the given order, except that settings which unlock others in mClock
// come first. Before the first change, it writes the original values into the journal. After an
// *OtherSweepError or *WaitError nothing has changed. After any other error, including
// *DeniedError, some settings may have changed.
func (e *Engine) Apply(ctx context.Context, sweep Sweep, changes []Change) (Applied, error) {
	changes = unlockFirst(changes, func(c Change) bool { return unlocks(c.Setting, c.To) })
	e.mu.Lock()
	defer e.mu.Unlock()
	j, err := e.locked(ctx)
	if err == nil && j != nil && !j.Done() {
		err = e.inherit(ctx, j)
	}
	if err != nil {
		return Applied{}, err
	}
	if j, err = begin(j, e.newJournal(sweep)); err != nil {
		return Applied{}, err
	}
	before, err := e.facts(ctx, SettingsOf(changes))
	if err != nil {
		return Applied{}, err
	}
	untouched := j.untouched(changes)
	if err := e.writeAhead(ctx, j, changes, before); err != nil {
		return Applied{}, err
	}
	return e.apply(ctx, j, changes, before, untouched)
}

// newJournal returns a journal without entries.
func (e *Engine) newJournal(sweep Sweep) *Journal {
	next := newJournal(e.cluster.FSID, sweep)
	next.Cluster = e.kubernetes
	return next
}

// begin returns the journal for a sweep's changes: the open journal of the sweep, or else next,
// which is empty. A done journal may remain, for example because the removal of a copy failed, so
// begin ignores its entries. If the done journal is the sweep's own, next continues its epoch and revision, so
// that the next write supersedes every remaining copy. An open journal of another sweep is an
// error.
func begin(j, next *Journal) (*Journal, error) {
	switch {
	case j == nil:
		return next, nil
	case !j.Done() && j.Sweep != next.Sweep:
		return nil, &OtherSweepError{Sweep: j.Sweep}
	case !j.Done():
		return j, nil
	}
	if j.Sweep == next.Sweep {
		next.Epoch, next.Writer, next.Revision = j.Epoch, j.Writer, j.Revision
	}
	return next, nil
}

// writeAhead writes the intended changes into the journal, unless the journal has them already.
func (e *Engine) writeAhead(ctx context.Context, j *Journal, changes []Change, before Facts) error {
	known := j.clone()
	j.Until = e.until
	for _, change := range changes {
		now, err := before.Value(change.Setting)
		if err != nil {
			return err
		}
		if err := restorable(change, now); err != nil {
			return err
		}
		if err := j.intend(change, now); err != nil {
			return err
		}
		if err := j.identify(change.Setting, before.poolID(change.Setting)); err != nil {
			return err
		}
	}
	if err := j.closable(); err != nil {
		return err
	}
	// Without a successful save by this engine, even an unchanged journal is written again: one of
	// its copies may be outdated.
	if len(j.Entries) == 0 || known.equal(j) && j.Writer == e.writer && e.saved {
		return nil
	}
	return e.persist(ctx, j)
}

// persist writes the journal and reads it back.
func (e *Engine) persist(ctx context.Context, j *Journal) error {
	if err := e.save(ctx, j); err != nil {
		return err
	}
	if err := e.reached(StepIntentWritten); err != nil {
		return err
	}
	written, err := e.store.Load(ctx, e.cluster.FSID)
	if err != nil {
		return err
	}
	if written == nil || !written.equal(j) {
		return errors.New("the journal read back differs from the written one: another process writes it or blocks writes to it")
	}
	return e.reached(StepIntentReadBack)
}

// restorable returns an error for a change that could not be restored.
func restorable(change Change, now cephvalue.Value) error {
	if !now.Set {
		return nil
	}
	if err := ceph.ValidValue(now.Text); err != nil {
		return fmt.Errorf("%s is %q, which could not be restored: %w", change.Setting, now.Text, err)
	}
	return nil
}

func (e *Engine) apply(ctx context.Context, j *Journal, changes []Change, before Facts, untouched map[Setting]bool) (Applied, error) {
	var applied Applied
	for _, change := range changes {
		now, err := before.Value(change.Setting)
		if err != nil {
			return applied, err
		}
		if same(change.Setting, change.Type, now, change.To) {
			continue
		}
		if err := e.confirm(ctx, j, change, untouched[change.Setting]); err != nil {
			return applied, err
		}
		delete(untouched, change.Setting)
		if err := e.setVaried(ctx, j, change); err != nil {
			return applied, fmt.Errorf("set %s: %w", change, err)
		}
		applied.Changed = append(applied.Changed, change)
		if err := e.reached(StepChanged); err != nil {
			return applied, err
		}
	}
	if len(applied.Changed) == 0 && noted(j, changes) {
		return applied, nil
	}
	return e.noteStored(ctx, j, changes, applied)
}

// maxOriginals bounds how often a setting's original value is rewritten because another client
// changed it meanwhile.
const maxOriginals = 3

// confirm reads a setting once more right before it is changed, and corrects its original in the
// journal: another client may change it while the journal is written. Ceph has no compare-and-swap,
// so a change between this read and the command is still lost.
func (e *Engine) confirm(ctx context.Context, j *Journal, change Change, untouched bool) error {
	for range maxOriginals {
		entry, _ := j.Entry(change.Setting)
		of, now, err := e.look(ctx, entry)
		if err != nil {
			return err
		}
		if of != change.Setting {
			return fmt.Errorf("%s: the pool is %s now: %w", change.Setting, of.Pool, ErrPoolGone)
		}
		changed, err := j.confirm(change.Setting, now, untouched)
		if err != nil || !changed {
			return err
		}
		if err := errors.Join(restorable(change, now), j.closable()); err != nil {
			return err
		}
		if err := e.persist(ctx, j); err != nil {
			return err
		}
	}
	return fmt.Errorf("something else keeps changing %s: find out what changes it", change.Setting)
}

// noted reports whether the journal has the values of all changes in Ceph's notation.
func noted(j *Journal, changes []Change) bool {
	return !slices.ContainsFunc(changes, func(c Change) bool {
		entry, _ := j.Entry(c.Setting)
		return !slices.ContainsFunc(entry.Applied, func(o AppliedValue) bool { return o.Intended == c.To && o.Stored != nil })
	})
}

// noteStored reads the values back in Ceph's notation, and writes them into the journal. It adds
// values that Ceph does not have to NotTaken.
func (e *Engine) noteStored(ctx context.Context, j *Journal, changes []Change, applied Applied) (Applied, error) {
	after, err := e.facts(ctx, SettingsOf(changes))
	if err != nil {
		return applied, err
	}
	if err := e.reached(StepStoredSeen); err != nil {
		return applied, err
	}
	known := j.clone()
	for _, change := range changes {
		entry, _ := j.Entry(change.Setting)
		_, now, err := after.Now(entry)
		if err != nil {
			return applied, err
		}
		if !j.stored(change, now) {
			applied.NotTaken = append(applied.NotTaken, notKept(change, now, Known{Facts: after}))
		}
	}
	if known.equal(j) {
		return applied, nil
	}
	if err := e.save(ctx, j); err != nil {
		return applied, err
	}
	return applied, e.reached(StepStoredWritten)
}

// save writes the journal with this process as its writer.
func (e *Engine) save(ctx context.Context, j *Journal) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	j.Epoch, j.Writer = e.epochOf(j, fence), e.writer
	j.Revision++
	err = e.store.Save(ctx, j)
	e.saved = err == nil
	return err
}

// epochOf returns the epoch for the next write of a journal. The guard has just verified the lock.
// So if the journal has a higher epoch than the lock, another process wrote it under another Lease,
// which was deleted or is in another Kubernetes cluster. If the journal is open, the engine has
// already waited until the commands of that process ended. Refusing to write would strand the
// journal. The engine's first write uses the next epoch, which supersedes anything that the other
// process may still write, and its further writes use the same epoch.
func (e *Engine) epochOf(j *Journal, fence ceph.Fence) int64 {
	switch {
	case j.Epoch <= fence.Epoch:
		return fence.Epoch
	case j.Writer != e.writer:
		return j.Epoch + 1
	default:
		return j.Epoch
	}
}

// setVaried sends a value of the sweep to Ceph. A baseline's value may be the original, which is
// exempt from bounds.
func (e *Engine) setVaried(ctx context.Context, j *Journal, change Change) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	return e.setUnder(ctx, fence, j, change)
}

// setUnder changes a setting under a lock that has just been verified.
func (e *Engine) setUnder(ctx context.Context, fence ceph.Fence, j *Journal, change Change) error {
	entry, journalled := j.Entry(change.Setting)
	fence.Restores = journalled && entry.same(change.To, entry.Original)
	return e.send(ctx, fence, change.Setting, change.To)
}

// set sends a value to Ceph. The caller sets original if the value is the setting's original in the
// journal, to which no bounds apply. If the key lacks the caps, the error is a *DeniedError.
func (e *Engine) set(ctx context.Context, of Setting, to cephvalue.Value, original bool) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	fence.Restores = original
	return e.send(ctx, fence, of, to)
}

func (e *Engine) send(ctx context.Context, fence ceph.Fence, of Setting, to cephvalue.Value) error {
	err := e.sendVerb(ctx, fence, of, to)
	if ceph.Unsure(err) {
		e.doubts.add(e.cluster.FSID, e.now().Add(ceph.LongestChange))
	}
	return denied(err, of, e.cluster.Tuner)
}

func (e *Engine) sendVerb(ctx context.Context, fence ceph.Fence, of Setting, to cephvalue.Value) error {
	at, value := e.cluster.Tuner, to.Text
	switch {
	case of.Kind == KindBalancer:
		return e.ceph.SetBalancer(ctx, at, fence, to.Text == yes)
	case of.Kind == KindScrubFlag:
		return e.ceph.SetFlag(ctx, at, fence, of.Option, to.Set)
	case of.Kind == KindNoUp:
		return e.ceph.SetNoUp(ctx, at, fence, of.OSD, to.Set)
	case of.Kind == KindAutoscaler:
		return e.ceph.SetPoolOption(ctx, at, fence, of.Pool, optionAutoscaler, value)
	case of.Kind == KindPoolOption && to.Set:
		return e.ceph.SetPoolOption(ctx, at, fence, of.Pool, of.Option, value)
	case of.Kind == KindPoolOption:
		return e.ceph.UnsetPoolOption(ctx, at, fence, of.Pool, of.Option)
	case to.Set:
		return e.ceph.SetConfig(ctx, at, fence, of.who(), of.Option, value)
	default:
		return e.ceph.RemoveConfig(ctx, at, fence, of.who(), of.Option)
	}
}

// facts reads the facts that these settings need.
func (e *Engine) facts(ctx context.Context, settings []Setting) (Facts, error) {
	return ReadFacts(ctx, e.ceph, e.cluster.Observer, settings)
}

// ReadFacts reads the facts that the settings need. It reads no others, because they may be
// unavailable: the balancer's state, for example, cannot be read without a manager.
func ReadFacts(ctx context.Context, from ceph.Client, at ceph.Connection, settings []Setting) (Facts, error) {
	var facts Facts
	var err error
	needs := func(kinds ...Kind) bool {
		return slices.ContainsFunc(settings, func(s Setting) bool { return slices.Contains(kinds, s.Kind) })
	}
	if needs(KindPoolOption, KindAutoscaler, KindScrubFlag, KindNoUp) {
		if facts.OSDMap, err = from.OSDMap(ctx, at); err != nil {
			return Facts{}, err
		}
	}
	if needs(KindConfig) {
		if facts.Config, err = from.ConfigDump(ctx, at); err != nil {
			return Facts{}, err
		}
	}
	if needs(KindBalancer) {
		if facts.Balancer, err = from.Balancer(ctx, at); err != nil {
			return Facts{}, err
		}
	}
	return facts, nil
}

// SettingsOf returns the settings of changes, in their order.
func SettingsOf(changes []Change) []Setting {
	settings := make([]Setting, 0, len(changes))
	for _, change := range changes {
		settings = append(settings, change.Setting)
	}
	return settings
}
