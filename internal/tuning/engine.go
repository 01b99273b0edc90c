package tuning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Ceph is the interface through which an Engine reads and changes a Ceph cluster.
type Ceph interface {
	ceph.Client
	ceph.Tuner
}

// Guard verifies that this process holds the lock of the Ceph cluster, and returns the fence to send with a
// change. The Engine calls Guard immediately before each change and each write of the journal. All changes of
// one switch share one call, and so do all changes of one configuration in Try.
type Guard func(ctx context.Context) (ceph.Fence, error)

// Cluster is a Ceph cluster whose settings an Engine changes.
type Cluster struct {
	FSID string
	// Observer is the connection for reading, and Tuner is the connection for changes.
	Observer, Tuner ceph.Connection
}

// Engine changes the settings of one Ceph cluster and restores them. Its methods are safe for concurrent use,
// and all except Switch are idempotent.
type Engine struct {
	ceph    Ceph
	cluster Cluster
	store   Store
	guard   Guard
	writer  string
	// kubernetes is the UID of the sweep's Kubernetes cluster; "" if the Engine is for an outage.
	kubernetes string

	now     func() time.Time
	until   time.Time
	reached func(Step) error
	doubts  *Doubts

	mu sync.Mutex
	// epoch is the lock's epoch at the last call of enter.
	epoch int64
	// inherited is the time at which inherit began to wait for the changes of an earlier process; zero if
	// inherit does not wait.
	inherited time.Time
	// saved reports whether this Engine's last write of the journal to the store succeeded; false before the
	// first write.
	saved bool
}

// Options are an Engine's dependencies apart from the cluster.
type Options struct {
	Store Store
	Guard Guard
	// Writer is a name that is unique to this process.
	Writer string
	// Kubernetes is the UID of the sweeps' Kubernetes cluster; "" if the Engine is for an outage.
	Kubernetes string
	Now        func() time.Time
	// Until is the deadline for restoring the changes; zero for no deadline. The journal stores the deadline,
	// because another process may have to restore the changes.
	Until time.Time
	// Reached is called at each step, unless it is nil. If Reached returns an error, the current operation
	// ends with that error; only RestoreOnce continues with the next setting. Tests use Reached to simulate a
	// crash.
	Reached func(Step) error
	// Doubts records commands with an unknown outcome. All Engines of a process share one Doubts. If the
	// process has only this Engine, Doubts may be nil.
	Doubts *Doubts
}

// NewEngine returns an Engine for a cluster.
func NewEngine(client Ceph, cluster Cluster, o Options) *Engine {
	if o.Reached == nil {
		o.Reached = func(Step) error { return nil }
	}
	if o.Doubts == nil {
		o.Doubts = &Doubts{}
	}
	return &Engine{
		ceph: client, cluster: cluster, store: o.Store, guard: o.Guard, writer: o.Writer,
		kubernetes: o.Kubernetes, now: o.Now, until: o.Until, reached: o.Reached, doubts: o.Doubts,
	}
}

// WaitError says that the operation has to be repeated at the time Until or later.
type WaitError struct {
	Until time.Time
	Why   string
}

// Error implements error.
func (e *WaitError) Error() string { return e.Why }

// OtherSweepError says that the settings that another sweep or benchmark changed have to be restored or
// abandoned first.
type OtherSweepError struct{ Sweep Sweep }

// Error implements error.
func (e *OtherSweepError) Error() string {
	return fmt.Sprintf("the settings that %s changed are not restored yet: restore or abandon them first", e.Sweep.Ref())
}

// Journal returns the stored journal, even if it has no open entries; nil if the store has no journal.
func (e *Engine) Journal(ctx context.Context) (*Journal, error) {
	return e.store.Load(ctx, e.cluster.FSID)
}

// Applied is the result of Apply.
type Applied struct {
	// Changed lists the changes that were sent to Ceph without an error. Settings that already had the wanted
	// value are not sent.
	Changed []Change
	// NotTaken lists the changes whose value Ceph did not have when the settings were read back.
	NotTaken []Inert
}

// Apply changes settings in the given order, but settings that unlock others in mClock come first. Before the
// first change, Apply writes the original values into the journal. After an *OtherSweepError or *WaitError,
// nothing has changed. After any other error, including *DeniedError, some settings may have changed.
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

// begin returns the journal for a sweep's changes: j if it is the sweep's open journal, and otherwise the
// journal in the argument next, which has no entries. A done j may remain, for example because the removal of
// a copy failed; begin ignores its entries. If a done j belongs to the same sweep, begin copies its epoch,
// writer and revision, so that the first write of the new journal supersedes every remaining copy. If j is
// open and belongs to another sweep, begin returns an *OtherSweepError.
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

// writeAhead writes the intended changes into the journal, unless this Engine's last write succeeded and
// already had them. A journal without entries is not written.
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
	// If this Engine has not saved the journal successfully, even an unchanged journal is written again,
	// because one of its copies may be outdated.
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

// restorable returns an error if the current value of a setting could not be set again, because the sidecar
// refuses such a value.
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

// maxOriginals is the number of corrections after which confirm gives up on a setting that another client
// keeps changing.
const maxOriginals = 3

// confirm reads a setting again immediately before the change. If another client has changed the setting, and
// the tuner has not changed it yet or has restored it, confirm corrects the original value in the journal. If
// the tuner has changed the setting, a value that the journal does not list is a *ForeignChangeError. Ceph has
// no compare-and-swap, so a foreign change between this read and the command is lost.
func (e *Engine) confirm(ctx context.Context, j *Journal, change Change, untouched bool) error {
	for range maxOriginals {
		entry, _ := j.Entry(change.Setting)
		setting, now, err := e.look(ctx, entry)
		if err != nil {
			return err
		}
		if setting != change.Setting {
			return fmt.Errorf("%s: the pool is %s now: %w", change.Setting, setting.Pool, ErrPoolGone)
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

// noteStored reads the values of changes back in Ceph's notation, and writes them into the journal. If Ceph
// has another value, noteStored adds the change to NotTaken instead.
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

// save writes the journal as its next revision, with this process as its writer.
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

// epochOf returns the epoch for the next write of a journal: the lock's epoch, unless the journal has a
// higher one. The guard has just verified the lock. So a higher epoch comes from another process under
// another Lease, which was deleted or is in another Kubernetes cluster. Refusing to write would strand the
// journal. Instead, this process's first write raises the journal's epoch by one, so that it counts even if
// the other process still writes with its own epoch. Further writes keep the raised epoch. If the
// other process left its journal open, inherit has waited until that process's commands ended.
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

// setVaried verifies the lock and sends a value of the sweep to Ceph.
func (e *Engine) setVaried(ctx context.Context, j *Journal, change Change) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	return e.setUnder(ctx, fence, j, change)
}

// setUnder sends a value of the sweep to Ceph under a lock that has just been verified. The
// administrator's bounds do not apply to a value that equals the original, such as a baseline's.
func (e *Engine) setUnder(ctx context.Context, fence ceph.Fence, j *Journal, change Change) error {
	entry, journalled := j.Entry(change.Setting)
	fence.Restores = journalled && entry.same(change.To, entry.Original)
	return e.send(ctx, fence, change.Setting, change.To)
}

// set verifies the lock and sends a value to Ceph. The argument `original` says that the value is the
// setting's original in the journal: no bounds apply to such a value. If the key lacks the caps, the error is
// a *DeniedError.
func (e *Engine) set(ctx context.Context, setting Setting, wanted cephvalue.Value, original bool) error {
	fence, err := e.fence(ctx)
	if err != nil {
		return err
	}
	fence.Restores = original
	return e.send(ctx, fence, setting, wanted)
}

func (e *Engine) send(ctx context.Context, fence ceph.Fence, setting Setting, wanted cephvalue.Value) error {
	err := e.sendVerb(ctx, fence, setting, wanted)
	if ceph.Unsure(err) {
		e.doubts.add(e.cluster.FSID, e.now().Add(ceph.LongestChange))
	}
	return denied(err, setting, e.cluster.Tuner)
}

func (e *Engine) sendVerb(ctx context.Context, fence ceph.Fence, setting Setting, wanted cephvalue.Value) error {
	connection, value := e.cluster.Tuner, wanted.Text
	switch {
	case setting.Kind == KindBalancer:
		return e.ceph.SetBalancer(ctx, connection, fence, wanted.Text == yes)
	case setting.Kind == KindScrubFlag:
		return e.ceph.SetFlag(ctx, connection, fence, setting.Option, wanted.Set)
	case setting.Kind == KindNoUp:
		return e.ceph.SetNoUp(ctx, connection, fence, setting.OSD, wanted.Set)
	case setting.Kind == KindAutoscaler:
		return e.ceph.SetPoolOption(ctx, connection, fence, setting.Pool, optionAutoscaler, value)
	case setting.Kind == KindPoolOption && wanted.Set:
		return e.ceph.SetPoolOption(ctx, connection, fence, setting.Pool, setting.Option, value)
	case setting.Kind == KindPoolOption:
		return e.ceph.UnsetPoolOption(ctx, connection, fence, setting.Pool, setting.Option)
	case wanted.Set:
		return e.ceph.SetConfig(ctx, connection, fence, setting.who(), setting.Option, value)
	default:
		return e.ceph.RemoveConfig(ctx, connection, fence, setting.who(), setting.Option)
	}
}

// facts reads the facts that the settings need.
func (e *Engine) facts(ctx context.Context, settings []Setting) (Facts, error) {
	return ReadFacts(ctx, e.ceph, e.cluster.Observer, settings)
}

// ReadFacts reads the facts that the settings need. It does not read other facts, because they may be
// unavailable: for example, the balancer's state cannot be read without an active ceph-mgr.
func ReadFacts(ctx context.Context, client ceph.Client, connection ceph.Connection, settings []Setting) (Facts, error) {
	var facts Facts
	var err error
	needs := func(kinds ...Kind) bool {
		return slices.ContainsFunc(settings, func(s Setting) bool { return slices.Contains(kinds, s.Kind) })
	}
	if needs(KindPoolOption, KindAutoscaler, KindScrubFlag, KindNoUp) {
		if facts.OSDMap, err = client.OSDMap(ctx, connection); err != nil {
			return Facts{}, err
		}
	}
	if needs(KindConfig) {
		if facts.Config, err = client.ConfigDump(ctx, connection); err != nil {
			return Facts{}, err
		}
	}
	if needs(KindBalancer) {
		if facts.Balancer, err = client.Balancer(ctx, connection); err != nil {
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
