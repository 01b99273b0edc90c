package cephbenchmark

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/rights"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// Stories of clusters with problems.
func clusterStories() map[string]story {
	return map[string]story{
		"a cluster that is not allowed":            aClusterThatNobodyAllows,
		"a pool that is not open":                  aPoolThatIsNotOpen,
		"caches that no identity may drop":         cachesThatNobodyMayDrop,
		"a namespace that is none of benchmarks":   aNamespaceThatIsNoneOfBenchmarks,
		"there is no CephCluster":                  thereIsNoCephCluster,
		"the CephCluster goes away":                theCephClusterGoesAway,
		"the CephCluster cannot be read":           theCephClusterCannotBeRead,
		"another Kubernetes cluster has the lock":  anotherClusterHasTheLock,
		"the lock is taken away":                   theLockIsTakenAway,
		"the lock is lost while all is removed":    itsLockIsLostInALongTeardown,
		"a sweep has not restored everything":      aSweepHasNotRestored,
		"only Ceph has the journal of one":         onlyCephTellsOfASweep,
		"the lock cannot be renewed":               theLockCannotBeRenewed,
		"it is not quiet":                          itIsNotQuiet,
		"a deleted pool is still removed":          aDeletedPoolIsStillRemoved,
		"a deleted pool is removed for too long":   aDeletedPoolIsRemovedForTooLong,
		"a deleted pool may be removed meanwhile":  aDeletedPoolMayBeRemovedMeanwhile,
		"data that was moved is still removed":     dataThatWasMovedIsStillRemoved,
		"moved data is removed before each run":    movedDataIsRemovedBeforeEachRun,
		"it does not become quiet":                 itDoesNotBecomeQuiet,
		"a flag is set, and unset again":           aFlagIsUnsetAgain,
		"a disturbance spoils a run":               aDisturbanceSpoilsARun,
		"Ceph warns of the scratch pool":           cephWarnsOfTheScratchPool,
		"Ceph warns of another pool too":           cephWarnsOfAnotherPoolToo,
		"the scratch pool is foreign":              theScratchPoolIsSomebodyElses,
		"the scratch pool is not as it was wanted": theScratchPoolIsNotAsWanted,
		"the autoscaler was quicker":               theAutoscalerWasQuicker,
		"an unset number of PGs":                   aNumberOfPGsThatNobodyGave,
		"copies that cannot be kept apart":         copiesThatCannotBeKeptApart,
		"Ceph is out of reach at the beginning":    cephIsOutOfReachAtTheBeginning,
		"Ceph is out of reach for good":            cephIsOutOfReachForGood,
		"the tools cannot read the key":            theToolsCannotReadTheKey,
		"Ceph is out of reach from the middle on":  cephIsOutOfReachFromTheMiddleOn,
		"a pool that is there is left as it was":   aPoolThatIsThere,
	}
}

func on(cluster string) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) { b.Spec.ClusterRef.Name = cluster }
}

func (w *world) wantStalled(b *v1alpha1.CephBenchmark, message string) {
	w.t.Helper()
	w.untilReason(b, v1alpha1.ReasonNotAllowed, message)
	if !isTrue(b, v1alpha1.ConditionStalled) || isTrue(b, v1alpha1.ConditionFailed) || len(b.Finalizers) > 0 {
		w.t.Errorf("%+v", b)
	}
	w.delete(b)
}

func aClusterThatNobodyAllows(w *world) {
	w.wantStalled(w.benchmark("b", oneWrite, on("other")), "add it to clusters")
}

const onPool = `
repetitions: 1
template:
  target: {existingPool: {name: open}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, radosBench: {mode: Write, ramp: 0s, duration: 30s}}
`

// In a namespace where benchmarks may not run, the manager takes no lock and creates nothing.
func aNamespaceThatIsNoneOfBenchmarks(w *world) {
	giveBack := rights.Take(w.t, w.Client, w.server, w.namespace)
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonNotAllowed, "config/bench")
	if !isTrue(b, v1alpha1.ConditionStalled) || len(b.Finalizers) > 0 || w.lockInCeph() != "" || w.rook.poolOwner().UID != "" {
		w.t.Errorf("%+v; the lock is %q, the scratch pool that of %s", b, w.lockInCeph(), w.rook.poolOwner())
	}
	giveBack()
	w.look()
	w.untilComplete(b)
}

func aPoolThatIsNotOpen(w *world) {
	w.wantStalled(w.benchmark("b", onPool, func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Target.ExistingPool.Name = "prod" }), "pool prod")
}

func cachesThatNobodyMayDrop(w *world) {
	w.wantStalled(w.benchmark("b", oneWrite, on("powerless"), func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.OSDCaches = v1alpha1.OSDCachesDropBeforePhase
	}), "template.osdCaches to Keep")
}

func thereIsNoCephCluster(w *world) {
	w.rook.clusterIs = &rook.Error{Reason: rook.ReasonClusterMissing, Message: "there is no CephCluster"}
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable, "no CephCluster")
	w.wait(31 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonClusterUnreachable, "no CephCluster")
	w.delete(b)
}

// A deleted benchmark must not remain forever because its cluster is gone.
func theCephClusterGoesAway(w *world) {
	b := w.measuring()
	w.cutCeph()
	w.rook.set(func(f *fakeRook) {
		f.clusterIs = &rook.Error{Reason: rook.ReasonClusterMissing, Message: "there is no CephCluster"}
		f.owner = objectref.Ref{}
	})
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilGone(b)
}

// Without the CephCluster, the lock is not renewed. When it expires, another object may measure, so
// the clients have to end before.
func theCephClusterCannotBeRead(w *world) {
	b := w.measuring()
	w.rook.set(func(f *fakeRook) { f.clusterIs = errors.New("forbidden") })
	w.wait(time.Minute)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable, "forbidden")
	w.wait(7 * time.Minute)
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.eventually(func() string {
		if !w.kubelet.client(0).Finished() {
			return "the client goes on"
		}
		return ""
	})
	w.rook.set(func(f *fakeRook) { f.clusterIs = nil })
	w.untilFailed(b, v1alpha1.ReasonClusterUnreachable, "forbidden")
	w.wantClean()
}

func (w *world) unlockElsewhere() {
	w.ceph.Change(func(a *cephtest.Answers) { delete(a.Keys, lockKey) })
}

func anotherClusterHasTheLock(w *world) {
	w.lockElsewhere()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonQueued, "CephTuningSweep/far/away", "other")
	if w.rook.made > 0 {
		w.t.Error("a pool was made without the lock")
	}
	w.unlockElsewhere()
	w.untilComplete(b)
}

func aSweepHasNotRestored(w *world) {
	w.waitsForTheSweepOf(journals.New(w, w, w.namespace))
}

func onlyCephTellsOfASweep(w *world) {
	w.waitsForTheSweepOf(tuning.NewConfigKey(w.ceph, ceph.Connection{}))
}

// waitsForTheSweepOf lets a benchmark wait for a sweep whose journal exists only in this store.
func (w *world) waitsForTheSweepOf(kept tuning.Store) {
	journal := &tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: fsid, Sweep: tuning.Sweep{Namespace: "far", Name: "away", UID: "u"},
		Epoch: 1, Writer: "an earlier manager", Revision: 1,
		Entries: []tuning.Entry{{
			Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_mclock_profile"}, Type: "str", State: tuning.Open,
			Applied: []tuning.AppliedValue{{Intended: cephvalue.Of("custom")}},
		}},
	}
	if err := kept.Save(w.t.Context(), journal); err != nil {
		w.t.Fatal(err)
	}
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonQueued, "far/away", "has not restored all its changes")
	if w.rook.made > 0 {
		w.t.Error("a pool was made")
	}
	w.eventually(func() string {
		if w.lockInCeph() != "" {
			return "the lock is taken, which the sweep needs"
		}
		return ""
	})
	if n := len(w.ceph.Calls("RemoveKey")); n > 1 {
		w.t.Errorf("the lock was given back %d times, want it to be left alone for a while", n)
	}
	journal.Entries[0].State = tuning.Restored
	journal.Revision++
	if err := kept.Save(w.t.Context(), journal); err != nil {
		w.t.Fatal(err)
	}
	w.wait(time.Minute)
	w.untilComplete(b)
}

func theLockIsTakenAway(w *world) {
	b := w.measuring()
	w.lockElsewhere()
	w.wait(4 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonLockLost, "CephTuningSweep/far/away")
}

func theLockCannotBeRenewed(w *world) {
	b := w.measuring()
	mend := w.cutCeph()
	w.wait(4 * time.Minute)
	w.until(b, "in trouble", func() bool { return strings.Contains(messageOf(b), "no monitor answers") })
	w.wait(7 * time.Minute)
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	mend()
	w.look()
	w.untilFailed(b, v1alpha1.ReasonLockLost, "no monitor answers")
}

func (w *world) warn() {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{{Code: "SLOW_OPS", Severity: "HEALTH_WARN", Summary: "really"}}}
	})
}

func (w *world) heal() {
	w.ceph.Change(func(a *cephtest.Answers) { a.Status.Health = ceph.Health{Status: "HEALTH_OK"} })
}

func itIsNotQuiet(w *world) {
	w.warn()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "SLOW_OPS")
	w.heal()
	w.untilComplete(b)
}

// Samples do not show flags, so the cluster is surveyed again.
func aFlagIsUnsetAgain(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.OSDMap.Flags = append(a.OSDMap.Flags, "noout") })
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "the flags noout are set")
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OSDMap.Flags = slices.DeleteFunc(a.OSDMap.Flags, func(flag string) bool { return flag == "noout" })
	})
	w.wait(20 * time.Second)
	w.look()
	w.untilComplete(b)
}

func itDoesNotBecomeQuiet(w *world) {
	w.warn()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "SLOW_OPS")
	w.wait(31 * time.Minute)
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	w.until(b, "Stalled", func() bool {
		return isTrue(b, v1alpha1.ConditionStalled) && strings.Contains(messageOf(b), "within 30m")
	})
	w.wantClean()
}

// By default, a warning that appears makes the run invalid.
func aDisturbanceSpoilsARun(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.warn()
	w.untilSampled(b)
	w.kubelet.proceed("r1-")
	w.untilFailed(b, v1alpha1.ReasonNoValidRun, "HealthWarning", "SLOW_OPS")
	w.untilCounted(1, metrics.InvalidRuns, "CephBenchmark", "HealthWarning")
	w.untilCounted(1, metrics.InvalidRuns)
	if states(b) != "Invalid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// oddPools makes Ceph warn of pools whose pg_num is not a power of two.
func (w *world) oddPools(count int) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{{
			Code: "POOL_PG_NUM_NOT_POWER_OF_TWO", Severity: "HEALTH_WARN", Count: count,
			Summary: fmt.Sprintf("%d pool(s) have non-power-of-two pg_num", count),
		}}}
	})
}

// onTwentyPGs returns a benchmark on twenty placement groups, which is not a power of two.
func (w *world) onTwentyPGs() *v1alpha1.CephBenchmark {
	w.ceph.Change(func(a *cephtest.Answers) {
		p := &a.OSDMap.Pools[0]
		p.PGNum, p.PGNumTarget, p.PGNumPending, p.PGPlacementNum, p.PGPlacementTarget = 20, 20, 20, 20, 20
	})
	return w.benchmark("b", strings.Replace(oneWrite, `"8"`, `"20"`, 1))
}

// Ceph's warnings about the requested pool are expected.
func cephWarnsOfTheScratchPool(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.onTwentyPGs()
	w.untilTask(0, "r1-write", task.Measuring)
	w.oddPools(1)
	w.untilSampled(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if states(b) != "Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func cephWarnsOfAnotherPoolToo(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.onTwentyPGs()
	w.untilTask(0, "r1-write", task.Measuring)
	w.oddPools(2)
	w.untilSampled(b)
	w.kubelet.proceed("r1-")
	w.untilFailed(b, v1alpha1.ReasonNoValidRun, "HealthWarning", "POOL_PG_NUM_NOT_POWER_OF_TWO")
}

func theScratchPoolIsSomebodyElses(w *world) {
	w.rook.owner = objectref.Ref{Kind: "CephTuningSweep", Namespace: "far", Name: "away", UID: stranger}
	w.ceph.Change(func(a *cephtest.Answers) { a.Images[settings.ScratchPool] = []string{"cephtune-0123456789-0-w1x64m-0"} })
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonPreparing, "CephTuningSweep far/away")
	w.wait(16 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonNotPrepared, "CephTuningSweep far/away")
	if w.rook.poolOwner().UID != stranger {
		w.t.Error("the pool of somebody else is gone")
	}
	if calls := w.ceph.Calls("RemoveImage"); len(calls) > 0 {
		w.t.Errorf("images in the pool of somebody else were removed: %+v", calls)
	}
}

func theScratchPoolIsNotAsWanted(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.OSDMap.Pools[0].PGNum = 4 })
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonPreparing, "pg_num")
	w.wait(16 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonNotPrepared, settings.ScratchPool, "pg_num")
}

// The pool is quiescent with a wrong number of PGs, which Ceph does not correct.
func theAutoscalerWasQuicker(w *world) {
	resize := func(pgs int) {
		w.ceph.Change(func(a *cephtest.Answers) {
			p := &a.OSDMap.Pools[0]
			p.PGNum, p.PGNumTarget, p.PGNumPending, p.PGPlacementNum, p.PGPlacementTarget = pgs, pgs, pgs, pgs, pgs
		})
	}
	resize(32)
	b := w.benchmark("b", oneWrite)
	w.until(b, "making the pool anew", func() bool {
		made := 0
		w.rook.set(func(f *fakeRook) { made = f.made })
		return made > 1
	})
	resize(8)
	w.untilComplete(b)
}

// The number is set explicitly, so that neither Ceph nor its autoscaler chooses it.
func aNumberOfPGsThatNobodyGave(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		p := &a.OSDMap.Pools[0]
		p.PGNum, p.PGNumTarget, p.PGNumPending, p.PGPlacementNum, p.PGPlacementTarget = 32, 32, 32, 32, 32
		a.OSDDevices = []ceph.OSDDevice{{ID: 0, Kernel: "6.8.0-45-generic"}}
	})
	b := w.benchmark("b", strings.Replace(oneWrite, `, parameters: {pg_num: "8"}`, "", 1))
	w.untilComplete(b)
	w.rook.set(func(f *fakeRook) {
		if pgs := f.asked[0].Parameters["pg_num"]; pgs != "32" {
			w.t.Errorf("Rook was asked for %q PGs, want 32 on three OSDs", pgs)
		}
	})
	run := w.archived(b)
	for _, part := range []string{`"pgNum":32`, `"kubernetesVersion":"v1.36.3"`, `"kernels":["6.8.0-45-generic"]`} {
		if !strings.Contains(string(run.Environment), part) {
			w.t.Errorf("no %s in the environment %s", part, run.Environment)
		}
	}
	w.delete(b)
}

// Such a pool would never become clean, so the manager takes no lock and creates nothing.
func copiesThatCannotBeKeptApart(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		for i := range a.OSDTree {
			a.OSDTree[i].Buckets = map[string]string{"host": "node-0", "root": "default"}
		}
	})
	b := w.benchmark("b", oneWrite)
	w.untilFailed(b, v1alpha1.ReasonNotPossible, "failure domains of type host", "in only 1:", "scratchPool.failureDomain")
	if w.rook.made > 0 {
		w.t.Error("a pool was made")
	}
	b = w.benchmark("c", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Target.ScratchPool.FailureDomain = "osd" })
	w.untilComplete(b)
}

func cephIsOutOfReachAtTheBeginning(w *world) {
	mend := w.cutCeph()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable, "no monitor answers")
	mend()
	w.look()
	w.untilComplete(b)
}

// The manager detects tools that are too old for the cluster's keys before it creates anything.
func theToolsCannotReadTheKey(w *world) {
	mend := w.breakCeph(&ceph.UnreadableKeyError{User: "cephtune-observer", Version: "18.2.7", Image: "quay.io/ceph/ceph:v20.2.4"})
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable, "the tools image has Ceph 18.2.7", "use a tools image built from quay.io/ceph/ceph:v20.2.4")
	if w.rook.made > 0 {
		w.t.Error("a pool was made")
	}
	mend()
	w.look()
	w.untilComplete(b)
}

// If nothing was created, removing the benchmark does not need Ceph.
func cephIsOutOfReachForGood(w *world) {
	w.cutCeph()
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonClusterUnreachable, "no monitor answers")
	w.wait(31 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonClusterUnreachable, "no monitor answers")
	w.delete(b)
}

// Clients may reach Ceph while the manager does not. The archive records that the manager could not
// observe the cluster, and the teardown waits.
func cephIsOutOfReachFromTheMiddleOn(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	mend := w.cutCeph()
	w.wait(time.Minute)
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonTearingDown, "no monitor answers")
	if !isTrue(b, v1alpha1.ConditionComplete) {
		w.t.Errorf("the results are not there: %+v", b.Status)
	}
	mend()
	w.look()
	w.untilComplete(b)
	if marks := b.Status.Phases[0].Marks; len(marks) == 0 || marks[len(marks)-1] != v1alpha1.MarkDisturbed {
		w.t.Errorf("marks %v", marks)
	}
	run, err := archive.FromConfigMap(&w.results()[0])
	if err != nil {
		w.t.Fatal(err)
	}
	var seen []quiescence.Disturbance
	if err := json.Unmarshal(run.Phases[0].Disturbances, &seen); err != nil || len(seen) != 1 || seen[0].Kind != quiescence.KindUnobserved {
		w.t.Errorf("disturbances %+v, %v", seen, err)
	}
}

// The clients remove their data, and the manager checks that.
func aPoolThatIsThere(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", onPool)
	w.untilTask(0, "r1-write", task.Measuring)
	left := clientjob.ExecutionOf(b.UID, "1").Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images["open"] = []string{"precious", left + "-image-0"}
		a.Objects["open/"] = []string{"precious", "benchmark_data_" + left}
	})
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if w.untilTask(0, leftovers.TaskID, task.Done); w.rook.made > 0 {
		w.t.Error("a scratch pool was made")
	}
	w.ceph.Change(func(a *cephtest.Answers) {
		if images := a.Images["open"]; len(images) != 1 || images[0] != "precious" {
			w.t.Errorf("images %v", images)
		}
		if objects := a.Objects["open/"]; len(objects) == 0 || objects[0] != "precious" {
			w.t.Errorf("objects %v", objects)
		}
	})
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
}
