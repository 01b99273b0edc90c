package cephtuningsweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/signature/trial"
)

// Stories of the scratch pool that the runs of a block share.
func poolStories() map[string]story {
	return map[string]story{
		"kept over a block, and fresh in the next":     aPoolForEachBlock,
		"the manager is killed in a block":             killedInABlock,
		"the manager is killed between blocks":         killedBetweenBlocks,
		"killed while the pool is removed in the end":  killedWhileThePoolGoes,
		"suspended, and resumed":                       aPoolSuspended,
		"deleted in mid-run":                           aPoolDeleted,
		"deleted while Rook cannot be asked":           aPoolThatCannotBeRemoved,
		"abandoned":                                    aPoolGivenUp,
		"a sweep that fails":                           aPoolOfASweepThatFails,
		"the pool is gone between two runs of a block": thePoolOfABlockIsGone,
		"the pool goes while a run measures":           thePoolGoesInMidRun,
		"a run that fails is repeated on the pool":     aRunFailsOnThePool,
		"one for each run where a pool is varied":      aPoolForEachRun,
		"the finalizer is taken off":                   aPoolOfASweepThatIsGone,
	}
}

var masterKey = make([]byte, 32)

// profileOnPools is a sweep over an option of OSDs, with a scratch pool for each block.
var profileOnPools = strings.Replace(profile, "existingPool: {name: open}", "scratchPool: {replicated: {size: 3}, image: {size: 1Gi}}", 1)

// scratch is the scratch pool of the world, and its history.
type scratch struct {
	owner    objectref.Ref
	key      string
	made     []string // keys of the pools, in order
	runs     []string // keys of the benchmarks that used one, in order
	alone    int      // benchmarks that shared no pool
	removing string   // why the deleted pool is not gone yet; "" if it goes at once
	asked    bool     // whether its removal was requested
}

func (f *fakeRook) HasScratchPool(_ context.Context, _ settings.Cluster, owner objectref.Ref) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pool.owner == owner && !f.pool.asked, nil
}

func (f *fakeRook) ScratchPoolsOf(_ context.Context, _ settings.Cluster, owner objectref.Ref) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pool.owner.UID == owner.UID && owner.UID != "" {
		return []string{settings.ScratchPool}, nil
	}
	return nil, nil
}

func (f *fakeRook) DeleteScratchPools(_ context.Context, _ settings.Cluster, owner objectref.Ref, _ *ceph.OSDMap) (bool, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pool.owner.UID != owner.UID {
		return true, "", nil
	}
	if f.pool.asked = true; f.pool.removing != "" {
		return false, f.pool.removing, nil
	}
	f.pool.owner, f.pool.asked = objectref.Ref{}, false
	return true, "", nil
}

// use sets up the pool for a benchmark that begins. It returns false if the benchmark cannot begin.
func (f *fakeRook) use(child *v1alpha1.CephBenchmark) bool {
	var use rook.ScratchUse
	if shared := child.Status.Trial.Pool; shared != nil {
		use.Owner, _ = trial.Holder(child)
		use.Key, use.Continues = shared.Key, shared.Continues
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.pool
	same := p.owner == use.Owner && p.key == use.Key && !p.asked
	switch {
	case use.Key == "":
		p.alone++
		return true
	case use.Continues && !same:
		return false
	case !same:
		*p = scratch{owner: use.Owner, key: use.Key, made: append(p.made, use.Key), runs: p.runs, alone: p.alone, removing: p.removing}
	}
	p.runs = append(p.runs, use.Key)
	return true
}

// scratchPool returns the current scratch pool.
func (w *world) scratchPool() (now scratch) {
	w.rook.set(func(f *fakeRook) { now = f.pool })
	return now
}

// wantNoPool checks that the scratch pool is gone.
func (w *world) wantNoPool() {
	w.t.Helper()
	if now := w.scratchPool(); now.owner.UID != "" {
		w.t.Errorf("the scratch pool of %s is left", now.owner)
	}
}

// wantPools checks that one pool was created for each block, and that all runs of a block shared
// it.
func (w *world) wantPools(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	now := w.scratchPool()
	if distinct := slices.Compact(slices.Sorted(slices.Values(now.made))); len(distinct) != len(now.made) || len(now.made) < 3 {
		w.t.Errorf("pools were made for %v, want at least 3, each once", now.made)
	}
	if used := slices.Compact(slices.Clone(now.runs)); !slices.Equal(used, now.made) || now.alone > 0 {
		w.t.Errorf("%d runs had pools of their own, the others %v, want those that were made: %v", now.alone, now.runs, now.made)
	}
	w.wantNoPool()
	if s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s, want Equivalent: %s", s.Status.Verdict, s.Status.Summary)
	}
}

func aPoolForEachBlock(w *world) {
	before := w.state()
	s := w.create("s", profileOnPools)
	w.await(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.wantPools(s)
	now := w.scratchPool()
	if len(now.runs) != 2*len(now.made) || len(now.runs) != len(s.Status.Trials) {
		w.t.Errorf("%d runs on %d pools for %d entries, want pairs", len(now.runs), len(now.made), len(s.Status.Trials))
	}
	w.wantState(before)
}

// inSecondRun returns a sweep whose second run measures, on the pool of the first run.
func (w *world) inSecondRun() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	return w.heldAt(2)
}

// heldAt returns a sweep in a run of that number, which does not end.
func (w *world) heldAt(run int) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.bench.set(func(b *bench) { b.holdIf = func(*v1alpha1.CephBenchmark) bool { return b.ended >= run-1 } })
	s := w.create("s", profileOnPools)
	w.await(s, "in that run", func(s *v1alpha1.CephTuningSweep) bool {
		return len(s.Status.Trials) == run-1 && len(w.scratchPool().runs) == run
	})
	return s
}

func killedInABlock(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.restart()
	w.goOn()
	w.awaitAfterCrash(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.wantPools(s)
	if now := w.scratchPool(); len(now.runs) != len(s.Status.Trials) {
		w.t.Errorf("%d runs for %d entries", len(now.runs), len(s.Status.Trials))
	}
	w.wantState(before)
}

// Rook was asked to remove the first block's pool, and has not done so yet.
func killedBetweenBlocks(w *world) {
	before := w.state()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "Rook removes it" })
	s := w.create("s", profileOnPools)
	w.awaitPool("is to be removed", func(p scratch) bool { return p.asked })
	w.bench.set(func(b *bench) { b.hold = true })
	w.restart()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "" })
	w.goOn()
	w.awaitAfterCrash(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.wantPools(s)
	w.wantState(before)
}

func (w *world) awaitPool(goal string, reached func(scratch) bool) {
	w.t.Helper()
	for end := time.Now().Add(soon); !reached(w.scratchPool()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("the scratch pool never %s: %+v", goal, w.scratchPool())
		}
	}
}

func killedWhileThePoolGoes(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "Rook removes it" })
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "waiting for Rook", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "Rook removes it") })
	w.restart()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "" })
	w.awaitAfterCrash(s, "suspended", hasReason(v1alpha1.ReasonSuspended))
	w.wantNoPool()
	w.wantState(before)
}

func aPoolSuspended(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantNoPool()
	w.wantState(before)
	w.goOn()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.wantPools(s)
	if trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 {
		w.t.Errorf("runs %v, want the first block discarded with its pool", validities(s))
	}
}

func aPoolDeleted(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "Rook removes it" })
	w.delete(s)
	w.await(s, "waiting for Rook", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "Rook removes it") })
	w.rook.set(func(f *fakeRook) { f.pool.removing = "" })
	w.awaitGone(s)
	w.wantNoPool()
	w.wantState(before)
}

// A sweep that varies only the load changes no setting of Ceph, but must still remove a pool.
func aPoolThatCannotBeRemoved(w *world) {
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.Balancer.Active = false })
	w.bench.set(func(b *bench) { b.holdIf = func(*v1alpha1.CephBenchmark) bool { return b.ended >= 1 } })
	s := w.create("s", `
template:
  target: {scratchPool: {replicated: {size: 3}, image: {size: 1Gi}}}
  phases:
  - {name: write, fio: {pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: depth, workload: {phase: write, field: ioDepth}, values: ["64"]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, seed: 11}
`)
	w.awaitPool("served two runs", func(p scratch) bool { return len(p.runs) == 2 })
	w.rook.set(func(f *fakeRook) { f.clusterIs = errors.New("the API server does not answer") })
	w.delete(s)
	w.await(s, "waiting for Rook", func(s *v1alpha1.CephTuningSweep) bool {
		return strings.Contains(messageOf(s), "scratch pool cannot be removed")
	})
	w.rook.set(func(f *fakeRook) { f.clusterIs = nil })
	w.awaitGone(s)
	w.wantNoPool()
}

func aPoolGivenUp(w *world) {
	s := w.inSecondRun()
	w.rook.set(func(f *fakeRook) { f.pool.removing = "Rook removes it" })
	w.delete(s)
	w.await(s, "waiting for Rook", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "Rook removes it") })
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
	})
	w.awaitGone(s)
	w.awaitEvent(v1alpha1.ReasonAbandoned, settings.ScratchPool)
	if !w.scratchPool().asked {
		w.t.Error("nobody asked for the removal of the pool")
	}
}

func aPoolOfASweepThatFails(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunInvalid, Reason: "The clients were ended."}
		}
	})
	s := w.create("s", profileOnPools)
	w.await(s, "over", func(s *v1alpha1.CephTuningSweep) bool { return (facts{sweep: s}).ended() })
	if now := w.scratchPool(); len(now.made) == 0 {
		w.t.Error("no pool was made")
	}
	w.wantNoPool()
	w.wantState(before)
}

// The pool is removed between two runs of a block. The first run must not be compared with a run on
// other OSDs.
func thePoolOfABlockIsGone(w *world) {
	before := w.state()
	s := w.heldAt(1)
	w.stop()
	ended := w.bench.count()
	w.goOn()
	for end := time.Now().Add(soon); w.bench.count() == ended && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	w.rook.set(func(f *fakeRook) { f.pool.owner = objectref.Ref{} })
	w.start()
	w.awaitAfterCrash(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.awaitEvent(v1alpha1.ReasonScratchPoolGone, "scratch pool of block 1 disappeared")
	w.wantPools(s)
	if trialsThatAre(s, v1alpha1.TrialInterrupted) != 2 {
		w.t.Errorf("runs %v, want the first and its place in the block discarded", validities(s))
	}
	w.wantState(before)
}

func thePoolGoesInMidRun(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.rook.set(func(f *fakeRook) { f.pool.owner = objectref.Ref{} })
	w.bench.set(func(b *bench) {
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			b.spoil = nil
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunInvalid, Reason: "rados bench: no such pool."}
		}
	})
	w.goOn()
	w.await(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.awaitEvent(v1alpha1.ReasonScratchPoolGone, "scratch pool of block 1 disappeared")
	w.wantPools(s)
	w.wantState(before)
}

func aRunFailsOnThePool(w *world) {
	before := w.state()
	s := w.inSecondRun()
	w.bench.set(func(b *bench) {
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			b.spoil = nil
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunInvalid, Reason: "The clients were ended."}
		}
	})
	w.goOn()
	w.await(s, "complete and at rest", conditionTrue(v1alpha1.ConditionReady))
	w.wantPools(s)
	if first := w.scratchPool().runs[:3]; first[0] != first[1] || first[1] != first[2] {
		w.t.Errorf("the first runs were on the pools %v, want one", first)
	}
	if trialsThatAre(s, v1alpha1.TrialInterrupted) > 0 {
		w.t.Errorf("runs %v, want none discarded", validities(s))
	}
	w.wantState(before)
}

func aPoolForEachRun(w *world) {
	s := w.create("s", scratchPGs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if now := w.scratchPool(); len(now.runs) > 0 || now.alone != len(s.Status.Trials) {
		w.t.Errorf("%d runs shared a pool, and %d did not, want all %d", len(now.runs), now.alone, len(s.Status.Trials))
	}
}

func aPoolOfASweepThatIsGone(w *world) {
	w.withRestorer()
	before := w.state()
	s := w.inSecondRun()
	w.stop()
	w.orphan(s)
	w.removeChildren()
	w.start()
	w.untilRestored()
	w.wantNoPool()
	w.wantState(before)
}
