// Package turn gives a benchmark its turn at a Ceph cluster. The benchmark waits until no object is ahead in
// the queue and all settings of sweeps are restored. Then it takes the cluster's lock, and keeps the lock
// until its teardown is complete. Right after it has taken the lock, it also searches Ceph for the journal of a
// sweep with unrestored settings. If it finds one, it releases the lock and waits again. A sweep's benchmark
// does not wait. It uses and renews the lock of its sweep, but never takes or releases that lock.
package turn

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// searchAgain is how long a benchmark waits after it has found the open journal of a sweep in Ceph. Then it
// requests the lock again.
const searchAgain = 30 * time.Second

// Turn is the state of an execution's turn in this process. The zero value is an execution that has not had the
// lock in this process.
type Turn struct {
	// Grant is the grant of the cluster's lock that begin or Keep recorded last. It is nil before the first
	// record, after Release, and after Keep found that the execution does not have the lock. askedAt is when
	// begin or Keep last set Grant, even to nil.
	Grant   *lock.Grant
	askedAt time.Time
	// Had says that begin or Keep has recorded a grant, even if Grant is nil now.
	Had bool
	// inCeph is a sweep's open journal that exists only in Ceph. inCephAt is when the journal was found.
	inCeph   *tuning.Journal
	inCephAt time.Time
}

// IsRenewed reports whether the execution has the lock and need not renew it yet.
func (t *Turn) IsRenewed(now time.Time) bool {
	return t.Grant != nil && now.Sub(t.askedAt) < lock.RenewAfter
}

// Taker takes, renews and releases the lock for an execution, and records the result in Turn.
type Taker struct {
	*Turn
	Lock      lock.Handle
	Benchmark *v1alpha1.CephBenchmark
	// Queue reads the objects that may be ahead.
	Queue client.Reader
	// Journals has the settings that sweeps still have to restore. Ceph has copies of the journals.
	Journals tuning.Store
	Ceph     ceph.Client
	// HasClients says that the execution has clients already.
	HasClients bool
	// RestoreOSDs brings up orphaned OSDs. If its parameter inCeph is true, it also searches Ceph for the
	// journal of an outage.
	RestoreOSDs func(ctx context.Context, inCeph bool) (reconcile.Wait, error)
	Now         time.Time
}

// Answer is the answer to a request for the lock. The zero value means that the execution has the lock.
type Answer struct {
	// Waits says what the execution waits for. Line is what is ahead of it in the queue, if it waits for that. ForOSDs says that the execution's turn has come, and that it waits
	// only for orphaned OSDs.
	Waits   reconcile.Wait
	Line    queue.Line
	ForOSDs bool
	// Lost says why the execution has lost the lock; "" if it has not lost it.
	Lost string
}

// Take takes the lock if it is the execution's turn, or renews it.
func (t Taker) Take(ctx context.Context) (Answer, error) {
	line, err := t.ahead(ctx)
	if err != nil {
		return Answer{}, err
	}
	if line.Length > 0 {
		return Answer{Waits: reconcile.Wait(line.String()), Line: line}, nil
	}
	if waits, err := t.unrestored(ctx); err != nil || !waits.IsDone() {
		return Answer{Waits: waits}, err
	}
	grant, lost, err := t.Lock.Request(ctx, t.Grant, t.HasClients)
	switch {
	case err != nil || lost != "":
		return Answer{Lost: lost}, err
	case !grant.Held && grant.Holder == "": // Only a borrowed lock can be free now.
		return Answer{Waits: reconcile.Wait(t.Lock.Holder.String() + " does not have the lock of the Ceph cluster; this run waits for that.")}, nil
	case !grant.Held:
		return Answer{Waits: reconcile.Wait(grant.Holder + " has the lock of the Ceph cluster; this run is next.")}, nil
	}
	return t.begin(ctx, grant)
}

// begin brings up orphaned OSDs before the execution uses the lock. For a new holder, it also searches Ceph for
// unrestored settings. Then it records the grant.
func (t Taker) begin(ctx context.Context, grant lock.Grant) (Answer, error) {
	waits, err := t.RestoreOSDs(ctx, t.Grant == nil && t.isOwn())
	if err != nil || !waits.IsDone() {
		return Answer{Waits: waits, ForOSDs: true}, err
	}
	if waits, err := t.unrestoredInCeph(ctx); err != nil || !waits.IsDone() {
		return Answer{Waits: waits}, err
	}
	t.Grant, t.askedAt, t.Had = &grant, t.Now, true
	return Answer{}, nil
}

// isOwn reports whether the benchmark itself is the holder of the lock, instead of its sweep.
func (t Taker) isOwn() bool { return !t.Lock.Borrows }

// ahead returns what comes before the benchmark in the queue of the same cluster.
func (t Taker) ahead(ctx context.Context) (queue.Line, error) {
	place, waits := queue.OfBenchmark(t.Benchmark)
	if !waits || t.Grant != nil {
		return queue.Line{}, nil // The execution has the lock, or its sweep has waited for it.
	}
	return queue.Ahead(ctx, t.Queue, place, func() (bool, error) {
		grant, err := t.Lock.Peek(ctx)
		return grant.Held, err
	})
}

// unrestored waits for the sweep that still has settings to restore, because a measurement now would run with
// that sweep's values. The benchmark does not take the lock, because that sweep needs it for the restore. A
// sweep's own benchmark does not wait, because it has to run with the sweep's values.
func (t Taker) unrestored(ctx context.Context) (reconcile.Wait, error) {
	if !t.isOwn() {
		return reconcile.Done, nil
	}
	left, err := t.Journals.Load(ctx, t.Lock.FSID)
	if err != nil {
		return "", err
	}
	if left == nil && t.Now.Sub(t.inCephAt) < searchAgain {
		left = t.inCeph
	}
	return unrestoredBy(left), nil
}

// unrestoredInCeph waits like unrestored, but for a journal that exists only in Ceph. Such a journal belongs
// to another Kubernetes cluster, or its copy in Kubernetes was deleted. Only a new holder of the lock
// searches for it: while another object has the lock, the journal's sweep may be running. If unrestoredInCeph
// finds an open journal, it releases the lock, and the benchmark requests the lock again after searchAgain.
func (t Taker) unrestoredInCeph(ctx context.Context) (reconcile.Wait, error) {
	if t.Grant != nil || t.HasClients || !t.isOwn() {
		return reconcile.Done, nil
	}
	connection, err := t.Lock.Connect(ctx)
	if err != nil {
		return "", err
	}
	left, err := tuning.NewMirrored(t.Journals, tuning.NewConfigKey(t.Ceph, connection)).Load(ctx, t.Lock.FSID)
	if err != nil || unrestoredBy(left).IsDone() {
		return reconcile.Done, err
	}
	if err := t.Release(ctx); err != nil {
		return "", err
	}
	t.inCeph, t.inCephAt = left, t.Now
	return unrestoredBy(left), nil
}

// unrestoredBy returns the wait for the sweep of an open journal; Done without an open journal.
func unrestoredBy(left *tuning.Journal) reconcile.Wait {
	if left == nil || left.Done() {
		return reconcile.Done
	}
	return reconcile.Wait(fmt.Sprintf("Sweep %s has not restored all its changes to the Ceph cluster yet. If it was deleted, its operator restores them, or the next sweep here does.", left.Sweep))
}

// renewWithin limits how long a teardown waits for a renewal of the lock.
const renewWithin = 10 * time.Second

// Keep renews a held lock during the teardown, which may take longer than the lock lasts. Otherwise, the next
// holder would measure during the teardown. The teardown does not require the lock: an execution that has lost
// the lock still removes its own objects.
func (t Taker) Keep(ctx context.Context) error {
	if t.Lock.FSID == "" || t.Now.Sub(t.askedAt) < lock.RenewAfter {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	grant, err := t.Lock.Renew(ctx)
	if err != nil {
		return fmt.Errorf("renew the lock of the Ceph cluster: %w", err)
	}
	t.askedAt, t.Grant = t.Now, nil
	if grant.Held {
		t.Grant, t.Had = &grant, true
	}
	return nil
}

// Release releases the benchmark's own lock for the next holder. It does not release the lock of a sweep.
func (t Taker) Release(ctx context.Context) error {
	if !t.isOwn() {
		return nil
	}
	if err := t.Lock.Release(ctx); err != nil {
		return err
	}
	t.Grant = nil
	return nil
}
