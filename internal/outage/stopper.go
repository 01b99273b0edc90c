package outage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Rook is the part of package rook that an Operator needs.
type Rook interface {
	Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error)
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
}

// Operator has what a process needs to stop OSDs and to bring them back.
type Operator struct {
	Ceph tuning.Ceph
	Rook Rook
	// Store keeps the journals of outages in Kubernetes. Each outage has its own journal. A new holder of
	// the lock that finds a journal brings that journal's OSDs back before anything else. An execution that
	// ends brings back its own OSDs.
	Store tuning.Store
	// Writer names this process in journals. No earlier or later process has the same name.
	Writer string
	Doubts *tuning.Doubts
	Now    func() time.Time
	// Reached is called at each step of setting or unsetting noup. It may be nil.
	Reached func(tuning.Step) error
}

// journals returns the store of journals in Kubernetes and in Ceph.
func (o Operator) journals(observer ceph.Connection) *tuning.Mirrored {
	return tuning.NewMirrored(o.Store, tuning.NewConfigKey(o.Ceph, observer).ForOutages())
}

// Execution has what this process knows about the current outage of an execution.
type Execution struct {
	State

	// engine sets and unsets noup, and keeps the journal. connected has the connections that the engine
	// uses.
	engine    *tuning.Engine
	connected tuning.Cluster
	closed    bool // the journal is closed
	// noupUnsetAt is when Ceph had accepted the last request to unset noup.
	noupUnsetAt time.Time
}

// Stopper stops the OSDs of an execution and brings them back.
type Stopper struct {
	Operator
	*Execution

	Cluster settings.Cluster
	FSID    string
	// Holder holds the lock of the Ceph cluster, and Guard verifies that.
	Holder objectref.Ref
	Guard  tuning.Guard
}

func (s Stopper) owner() tuning.Sweep { return tuning.SweepOf(s.Holder) }

func (s Stopper) observer(ctx context.Context) (ceph.Connection, error) {
	return s.Rook.Connection(ctx, s.Cluster, s.Cluster.Identities.Observer)
}

// Moves reports whether [Stopper.Look] may find something new: OSDs are going down, or noup was unset,
// so that OSDs come up and data recovers.
func (s State) Moves() bool { return !s.Stop.IsZero() && (s.Down.IsZero() || !s.NoupUnset.IsZero()) }

// Look observes the outage. Until the OSDs are up, it reads the OSD map. Then it closes the journal. After
// that, it reads the number of recovered objects if the parameter clean says that all placement groups are
// clean. Each call does only one of these things, because queries cost processor time on a node that may also
// serve clients.
func (s Stopper) Look(ctx context.Context, clean bool) error {
	connection, err := s.observer(ctx)
	if err != nil {
		return err
	}
	switch {
	case s.Up.IsZero():
		asked := s.Now()
		if s.osdMap, err = s.Ceph.OSDMap(ctx, connection); err == nil {
			s.osdMapAt = asked
		}
		return err
	case !s.closed:
		err = s.engine.Close(ctx)
		s.closed = err == nil
		return err
	case clean:
		s.recoveredLast, _ = s.Ceph.Recovered(ctx, connection) // If this fails, the number of recovered objects is unknown.
	}
	return nil
}

// StopOSDs stops the OSDs, unless the state of the cluster forbids it: then it sets Failed and Refused. It
// reads the state of Ceph, and takes only RemovesOSDs and TargetPools from its last argument. An error means
// that nothing was stopped, and that the caller may retry. If the stop itself fails, StopOSDs sets Failed
// instead of returning an error, because a stop must not be retried.
func (s Stopper) StopOSDs(ctx context.Context, p Plan, known Cluster) error {
	reason, err := s.whyNot(ctx, p, known)
	if err != nil {
		return err
	}
	if reason != "" {
		s.Failed, s.Refused = reason, true
		return nil
	}
	if err := s.markDown(ctx, p); err != nil {
		s.Failed = "the OSDs could not be stopped: " + err.Error()
	}
	return nil
}

// whyNot reads the state of the cluster right before the stop, and returns a reason against the
// stop, or "".
func (s Stopper) whyNot(ctx context.Context, p Plan, c Cluster) (string, error) {
	connection, err := s.observer(ctx)
	if err != nil {
		return "", err
	}
	if c.OSDMap, err = s.Ceph.OSDMap(ctx, connection); err != nil {
		return "", err
	}
	if c.PGs, err = s.Ceph.PGsOn(ctx, connection, p.OSDs...); err != nil {
		return "", err
	}
	if c.Config, err = s.Ceph.ConfigDump(ctx, connection); err != nil {
		return "", err
	}
	if c.Stop, err = s.Ceph.OKToStop(ctx, connection, p.OSDs...); err != nil {
		return "", err
	}
	if c.Status, err = s.Ceph.Status(ctx, connection); err != nil {
		return "", err
	}
	s.status = c.Status
	s.recovered, _ = s.Ceph.Recovered(ctx, connection) // If this fails, the number of recovered objects is unknown.
	return p.Refuse(c, s.Now()), nil
}

// markDown enters the outage into the journal, sets noup, and marks the OSDs down.
func (s Stopper) markDown(ctx context.Context, p Plan) error {
	if err := s.connect(ctx, p.Until(s.Now())); err != nil {
		return err
	}
	s.noupUnsetAt = time.Time{}
	s.Begin = s.Now()
	s.Stop = s.Begin // From now on noup may be set, even if the next call fails.
	applied, err := s.engine.Apply(ctx, s.owner(), p.Changes())
	if err != nil {
		return err
	}
	if len(applied.NotTaken) > 0 {
		return errors.New("something unset noup right after Ceph had set it")
	}
	fence, err := s.Guard(ctx)
	if err != nil {
		return err
	}
	s.Stop = s.Now()
	return s.Ceph.MarkOSDsDown(ctx, s.connected.Tuner, fence, p.OSDs)
}

// UnsetNoup ends the outage, so that the OSDs come back. Normally, the phase continues meanwhile. If noup cannot
// be unset yet, the caller repeats the call after the returned time. The parameter abort is the reason why
// the run must not continue; "" if it may.
func (s Stopper) UnsetNoup(ctx context.Context, p Plan, abort string) (again time.Duration, err error) {
	if err := s.connect(ctx, time.Time{}); err != nil {
		return 0, err
	}
	before := s.Now()
	report, err := s.engine.Restore(ctx)
	if wait, ok := errors.AsType[*tuning.WaitError](err); ok {
		return max(wait.Until.Sub(before), reconcile.AtOnce), nil // Wait, because a change that is still in flight could undo the restore.
	}
	if err != nil {
		return 0, fmt.Errorf("unset noup of %s: %w", ceph.OSDNames(p.OSDs), err)
	}
	if !report.Done {
		return time.Second, nil
	}
	s.NoupUnset = cmp.Or(s.noupUnsetAt, before)
	s.Failed = cmp.Or(s.Failed, abort) // Keep the reason of the abort: later passes would take the disturbance that caused it for an effect of the returning OSDs.
	return reconcile.AtOnce, nil
}

// RestoreOrphaned brings back orphaned OSDs, such as those that an earlier manager or a deleted object has
// stopped. The holder of the lock calls it before anything else. If newHolder is set and the operator config
// names an identity for stopping OSDs, it reads the journal in Ceph too: that journal may belong to another
// Kubernetes cluster, or its copy in Kubernetes may have been deleted. It leaves an outage alone if
// [Stopper.endsItself] is true, and does nothing while noup may be set for this execution's own outage.
func (s Stopper) RestoreOrphaned(ctx context.Context, newHolder bool) (reconcile.Wait, error) {
	if s.Outstanding() {
		return reconcile.Done, nil
	}
	return s.restoreExcept(ctx, newHolder, s.endsItself)
}

// RestoreForeign is RestoreOrphaned for a sweep. If hasBenchmark says that a benchmark of the sweep exists,
// RestoreForeign leaves that benchmark's outage alone, because the benchmark ends it.
func (s Stopper) RestoreForeign(ctx context.Context, newHolder, hasBenchmark bool) (reconcile.Wait, error) {
	return s.restoreExcept(ctx, newHolder, func(left *tuning.Journal) bool {
		return hasBenchmark && left.Sweep.UID == s.owner().UID
	})
}

// restoreExcept brings back the OSDs of a journal, unless the function leave returns true for the journal.
func (s Stopper) restoreExcept(ctx context.Context, newHolder bool, leave func(*tuning.Journal) bool) (reconcile.Wait, error) {
	left, err := s.left(ctx, newHolder && s.Cluster.Identities.OSDStopper != "")
	if err != nil || left == nil || leave(left) {
		return reconcile.Done, err
	}
	if s.Cluster.Identities.OSDStopper == "" {
		return "", fmt.Errorf("%s %s has stopped %s, and %w", left.Sweep.KindOrSweep(), left.Sweep, ceph.OSDNames(OSDsOf(left)), errNoStopper)
	}
	return s.restore(ctx)
}

// endsItself reports whether this process has already unset noup for an outage of the same holder, so that the
// execution only waits until the OSDs are up. A done journal, for whose OSDs noup was unset, does not count if it
// is from another process or holder: it is restored again, because its OSDs may still be down.
func (s Stopper) endsItself(left *tuning.Journal) bool {
	return left.Done() && left.Writer == s.Writer && left.Sweep == s.owner()
}

// RestoreOwn brings back the OSDs that were stopped for the holder. If inCeph is set, it also finds a journal
// that exists only in Ceph.
func (s Stopper) RestoreOwn(ctx context.Context, inCeph bool) (reconcile.Wait, error) {
	left, err := s.left(ctx, inCeph)
	if err != nil || left == nil || left.Sweep != s.owner() {
		return reconcile.Done, err
	}
	return s.restore(ctx)
}

// left returns the journal of an outage, even if noup was already unset for all of its OSDs; nil if no journal
// exists. It reads the copy in Ceph only if inCeph is set, because that starts a process.
func (s Stopper) left(ctx context.Context, inCeph bool) (*tuning.Journal, error) {
	if !inCeph {
		return s.Store.Load(ctx, s.FSID)
	}
	connection, err := s.observer(ctx)
	if err != nil {
		return nil, err
	}
	return s.journals(connection).Load(ctx, s.FSID)
}

func (s Stopper) restore(ctx context.Context) (reconcile.Wait, error) {
	if err := s.connect(ctx, time.Time{}); err != nil {
		return "", err
	}
	waits, err := Restore(ctx, s.engine, s.Ceph, s.connected.Observer)
	if err == nil && waits.IsDone() && s.Outstanding() {
		s.NoupUnset = s.Now()
	}
	return waits, err
}

var errNoStopper = errors.New("the operator has no identity that may unset noup: ask the administrator to name one in identities.osdStopper of the cluster")

// connect makes the tuning.Engine that sets and unsets noup. The parameter until is the deadline of an outage
// that begins now; zero if none begins. An existing engine is replaced if keys or monitors have changed, or if
// an outage begins.
func (s Stopper) connect(ctx context.Context, until time.Time) error {
	if s.Cluster.Identities.OSDStopper == "" {
		return errNoStopper
	}
	observer, err := s.observer(ctx)
	if err != nil {
		return err
	}
	stopper, err := s.Rook.Connection(ctx, s.Cluster, s.Cluster.Identities.OSDStopper)
	if err != nil {
		return err
	}
	cluster := tuning.Cluster{FSID: s.FSID, Observer: observer, Tuner: stopper}
	if s.engine != nil && s.connected == cluster && until.IsZero() {
		return nil
	}
	s.connected, s.closed = cluster, false
	execution := s.Execution
	s.engine = s.newEngine(cluster, s.Guard, until, func(step tuning.Step) error {
		if step == tuning.StepOriginalSent {
			execution.noupUnsetAt = s.Now()
		}
		if s.Reached == nil {
			return nil
		}
		return s.Reached(step)
	})
	return nil
}

// newEngine returns the tuning.Engine that sets and unsets noup in a cluster.
func (o Operator) newEngine(cluster tuning.Cluster, guard tuning.Guard, until time.Time, reached func(tuning.Step) error) *tuning.Engine {
	return tuning.NewEngine(o.Ceph, cluster, tuning.Options{
		Store: o.journals(cluster.Observer), Guard: guard,
		Writer: o.Writer, Doubts: o.Doubts, Now: o.Now, Until: until, Reached: reached,
	})
}
