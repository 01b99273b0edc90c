package cephbenchmark

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/workload/turn"
)

// Package turn decides when it is a benchmark's turn, and takes the lock. This file provides the
// facts and the functions that package turn needs.

// queueAgain is the interval between requests for the lock while the benchmark waits for it.
const queueAgain = 2 * time.Second

// holder returns the object that holds the lock for this benchmark: its sweep, or else the benchmark itself. An owner
// reference does not count, because users can write it.
func (f facts) holder() objectref.Ref {
	if sweep, found := trial.Holder(f.benchmark); found {
		return sweep
	}
	return objectref.To(v1alpha1.KindCephBenchmark, f.benchmark)
}

// borrowsLock reports whether the sweep of the benchmark holds the lock. Only the sweep takes and releases it.
func (f facts) borrowsLock() bool { return f.benchmark.Status.Trial != nil }

// takeLock takes or renews the lock of the Ceph cluster, if it is this benchmark's turn.
func (r *Reconciler) takeLock(ctx context.Context, seen pass) (effect, error) {
	answer, err := r.taker(seen).Take(ctx)
	o := kstatus.Outcome{Reason: v1alpha1.ReasonQueued, Message: string(answer.Waits)}
	switch {
	case err != nil:
		return effect{}, err
	case answer.Lost != "":
		return failed(seen, kstatus.Outcome{Reason: v1alpha1.ReasonLockLost, Message: answer.Lost}), nil
	case answer.Waits.IsDone():
		return now(), nil
	case answer.ForOSDs:
		o.Reason = v1alpha1.ReasonRestoringOSDs
	}
	return effect{Again: queueAgain, Outcome: o}, nil
}

// taker returns the Taker, which takes, renews and releases the lock for this benchmark.
func (r *Reconciler) taker(seen pass) turn.Taker {
	return turn.Taker{
		Turn: &seen.memory.turn, Lock: r.lockOf(seen.facts), Benchmark: seen.benchmark, Queue: r.Client, Journals: r.Journals,
		Ceph: r.Ceph, HasClients: seen.job != nil, RestoreOSDs: r.stopper(seen).RestoreOrphaned, Now: seen.now,
	}
}

// lockOf returns the lock of the benchmark's Ceph cluster.
func (r *Reconciler) lockOf(seen facts) lock.Handle {
	return lock.Handle{
		Lock: r.Lock, FSID: seen.fsid(), Holder: seen.holder(), Borrows: seen.borrowsLock(), Now: r.Now,
		Connect: r.connection(seen.cluster, seen.cluster.Identities.Observer),
	}
}

// fsid returns the FSID of the cluster; "" if unknown.
func (f facts) fsid() string {
	switch {
	case f.Survey != nil:
		return f.Survey.OSDMap.FSID
	case f.rook != nil:
		return f.rook.FSID
	}
	return ""
}
