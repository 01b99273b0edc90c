package cephbenchmark

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/workload/turn"
)

// Package turn decides when it is a benchmark's turn, and takes the lock. This file provides the
// facts and the functions that package turn needs.

// queued returns the facts of a benchmark that has found nothing to prevent it, and waits while others are ahead in the
// queue. It reads only the cache, and ends the watch on Ceph: a thousand benchmarks may wait.
func (r *Reconciler) queued(ctx context.Context, b *v1alpha1.CephBenchmark, p reconcile.Pass[memory]) (facts, bool, error) {
	seen := facts{now: p.Now, settings: r.Settings, benchmark: b, spec: b.Spec, memory: p.Memory, headway: p.Headway, schedule: p.Schedule}
	place, waits := queue.OfBenchmark(b)
	if !waits || !place.Still || !seen.hasNothing() {
		return facts{}, false, nil
	}
	var err error
	if seen.line, err = queue.LineOf(ctx, r.Client, place); err != nil || seen.line.Length == 0 {
		return facts{}, false, err
	}
	r.live.Forget(client.ObjectKeyFromObject(b))
	return seen, true, nil
}

// hasNothing reports whether the execution has never had the lock or clients.
func (f facts) hasNothing() bool {
	return !f.memory.turn.Had && f.recorded().JobUID == "" && len(f.benchmark.Status.Runs) == 0
}

// waitInLine waits while others are ahead in the queue.
func waitInLine(seen facts) (plan, bool) {
	return waiting(v1alpha1.ReasonQueued, seen.line.String(), seen.line.Again()), seen.line.Length > 0
}

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

// takeLock takes or renews the lock of the Ceph cluster, if it is this benchmark's turn. A benchmark is in the queue only
// once it has looked at Ceph, because one that can never run need not wait.
func (r *Reconciler) takeLock(ctx context.Context, seen pass) (effect, error) {
	answer, err := r.taker(seen).Take(ctx)
	o := kstatus.Outcome{Reason: v1alpha1.ReasonQueued, Message: string(answer.Waits)}
	switch {
	case err != nil:
		return effect{}, err
	case answer.Lost != "":
		return failed(seen, kstatus.Outcome{Reason: v1alpha1.ReasonLockLost, Message: answer.Lost}), nil
	case answer.Waits.IsDone() && reasonOf(seen.benchmark) == v1alpha1.ReasonQueued: // After a restart, a queued benchmark has no lock.
		return effect{Again: reconcile.AtOnce, Outcome: lookingAtCluster()}, nil
	case answer.Waits.IsDone():
		return now(), nil
	case answer.ForOSDs:
		o.Reason = v1alpha1.ReasonRestoringOSDs
	case seen.Survey == nil && answer.Line.Length > 0:
		o = kstatus.Outcome{}
	case answer.Line.Length > 0 && seen.hasNothing():
		r.live.Forget(client.ObjectKeyFromObject(seen.benchmark)) // Its watch would take one more sample.
	}
	return effect{Again: max(answer.Line.Again(), queue.LookEvery), Outcome: o}, nil
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
