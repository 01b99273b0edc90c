package cephbenchmark

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/leftovers"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of the scratch pool that benchmarks of a sweep share.
func sharedStories() map[string]story {
	return map[string]story{
		"one pool for the runs of a block":    onePoolForABlock,
		"one dataset for the runs of a block": oneDatasetForABlock,
		"leftovers of a run are removed":      whatASharedRunLeaves,
		"deleted in mid-run":                  aSharedRunIsDeleted,
		"the manager is killed in mid-run":    theManagerOfASharedRunIsKilled,
		"the pool is deleted in between":      theSharedPoolIsDeleted,
		"one that goes on makes no pool":      aRunThatContinuesMakesNoPool,
		"its PGs are counted once":            sharedPGsAreCountedOnce,
		"a copy of a sweep's benchmark waits": aCopyDoesNotShare,
		"a copy after the pool is gone":       aCopyHasItsOwnPool,
	}
}

// sharing makes a benchmark one of a sweep. It shares a pool with the benchmarks that have the same
// key.
func sharing(w *world, key string) func(*v1alpha1.CephBenchmark) {
	return w.sharing(scratchpool.Use{Key: key})
}

// continuing does the same for a benchmark that must not create the pool.
func continuing(w *world, key string) func(*v1alpha1.CephBenchmark) {
	return w.sharing(scratchpool.Use{Key: key, Continues: true})
}

func (w *world) sharing(use scratchpool.Use) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) {
		ofSweep(b)
		if err := scratchpool.Share(make([]byte, 32), b, use); err != nil {
			w.t.Fatal(err)
		}
	}
}

// ofSweep sets a sweep as the owner of a benchmark. Everyone who may create a benchmark can do
// that.
func ofSweep(b *v1alpha1.CephBenchmark) {
	sweep := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Name: "sweep", UID: stranger}}
	b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(sweep, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
}

// untilMeasured waits until a benchmark of a sweep has its results and its Job is gone.
func (w *world) untilMeasured(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.until(b, "Complete and torn down", func() bool {
		return isTrue(b, v1alpha1.ConditionComplete) && isTrue(b, v1alpha1.ConditionReady)
	})
}

// wantShared checks the owner of the scratch pool, how often one was created, and that it is empty.
func (w *world) wantShared(made int) {
	w.t.Helper()
	w.rook.set(func(f *fakeRook) {
		if f.owner.UID != stranger || f.owner.Kind != "CephTuningSweep" || f.made != made {
			w.t.Errorf("the scratch pool is that of %q, and %d were made, want %d of the sweep's", f.owner, f.made, made)
		}
	})
	w.ceph.Change(func(a *cephtest.Answers) {
		if n := len(a.Images[settings.ScratchPool]); n > 0 {
			w.t.Errorf("%d images are left", n)
		}
		for place, objects := range a.Objects {
			if strings.HasPrefix(place, settings.ScratchPool+"/cephtune") && len(objects) > 0 {
				w.t.Errorf("%v are left in %s", objects, place)
			}
		}
	})
}

func onePoolForABlock(w *world) {
	for i, run := range []struct {
		key  string
		made int
	}{{"1/1/1", 1}, {"1/1/1", 1}, {"1/2/1", 2}, {"1/2/1", 2}, {"1/2/2", 3}} {
		b := w.benchmark(fmt.Sprintf("b%d", i), oneWrite, sharing(w, run.key))
		w.untilMeasured(b)
		w.wantShared(run.made)
	}
	if steps := strings.Join(w.stepsOf(0, leftovers.TaskID), "\n"); !strings.Contains(steps, "rados") {
		w.t.Errorf("the clients left their objects in the pool: %q", steps)
	}
}

// oneOverwrite overwrites an image, and then writes objects.
const oneOverwrite = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: over, fio: {pattern: RandWrite, ramp: 0s, duration: 30s}}
  - {name: new, radosBench: {mode: Write, ramp: 0s, duration: 30s}}
`

// The first run prefills an image, and later runs overwrite it. All other data of a run is removed
// with the run.
func oneDatasetForABlock(w *world) {
	image := settings.ScratchPool + "/" + blockDataset + "-0-w1x64m-0"
	use := scratchpool.Use{Key: "1/1/1", Data: true}
	first := w.benchmark("b1", oneOverwrite, w.sharing(use))
	w.untilMeasured(first)
	w.wantTasks(0, "data-image-w1x64m", "r1-over", "r1-new")
	w.wantWords(w.stepsOf(0, "data-image-w1x64m"), "--image="+blockDataset+"-0-w1x64m-0", "--rbdname="+blockDataset+"-0-w1x64m-0")
	w.wantWords(w.stepsOf(0, leftovers.TaskID), "cleanup") // of objects

	w.ceph.Change(func(a *cephtest.Answers) { a.Images[settings.ScratchPool] = []string{path.Base(image)} })
	use.Continues = true
	second := w.benchmark("b2", oneOverwrite, w.sharing(use))
	w.untilMeasured(second)
	w.wantTasks(1, "r1-over", "r1-new")
	w.wantWords(w.stepsOf(1, leftovers.TaskID), "cleanup")
	for b, want := range map[*v1alpha1.CephBenchmark]v1alpha1.DataState{first: v1alpha1.DataPrefilled, second: v1alpha1.DataUsed} {
		if got := b.Status.Runs[0].InitialState; got != want {
			w.t.Errorf("%s found its data %q, want %q", b.Name, got, want)
		}
	}
	w.ceph.Change(func(a *cephtest.Answers) {
		if left := a.Images[settings.ScratchPool]; len(left) != 1 {
			w.t.Errorf("images %q are left, want that of the block", left)
		}
	})
}

// leaves adds an image and objects of the running benchmark to the scratch pool. Its clients do not
// remove them.
func (w *world) leaves(b *v1alpha1.CephBenchmark) {
	name := clientjob.SessionOf(b.UID, "1").Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images[settings.ScratchPool] = []string{name + "-0-w1x64m-0"}
		a.Objects[settings.ScratchPool+"/"+name+"-0-run"] = slices.Repeat([]string{"benchmark_data_x"}, 2*leftovers.ObjectsAtOnce)
	})
}

// atWorkInShared returns a benchmark that is measuring in its sweep's pool, and has left data
// there.
func (w *world) atWorkInShared(measuring time.Duration) *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.script("r1-", runnertest.Script{Measuring: measuring})
	b := w.benchmark("b", endlessWrite, sharing(w, "1/1/1"))
	w.untilTask(0, "r1-write", task.Measuring)
	w.leaves(b)
	return b
}

func whatASharedRunLeaves(w *world) {
	w.untilMeasured(w.atWorkInShared(time.Second))
	w.wantShared(1)
}

func aSharedRunIsDeleted(w *world) {
	b := w.atWorkInShared(time.Hour)
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Sprintf("it is still there, %v: %+v", err, b.Status.Conditions)
		}
		return ""
	})
	w.wantShared(1)
}

func theManagerOfASharedRunIsKilled(w *world) {
	b := w.atWorkInShared(2 * time.Second)
	w.restart()
	w.untilMeasured(b)
	w.wantShared(1)
}

// A run that does not find the pool creates it again, as a run without sharing would.
func theSharedPoolIsDeleted(w *world) {
	w.untilMeasured(w.benchmark("b1", oneWrite, sharing(w, "1/1/1")))
	w.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{} })
	w.untilMeasured(w.benchmark("b2", oneWrite, sharing(w, "1/1/1")))
	w.wantShared(2)
}

// The existing pool must not count twice against the limit of PGs.
func sharedPGsAreCountedOnce(w *world) {
	w.untilMeasured(w.benchmark("b1", oneWrite, sharing(w, "1/1/1")))
	w.ceph.Change(func(a *cephtest.Answers) {
		for i := range a.OSDs {
			a.OSDs[i].PGs = 195 // of 200, which are 80 % of the limit
		}
	})
	w.untilMeasured(w.benchmark("b2", oneWrite, sharing(w, "1/1/1")))
	b := w.benchmark("b3", oneWrite, ofSweep)
	w.untilReason(b, "TooManyPGs", "203 PGs")
}

// A run that continues on the earlier runs' pool must not use another pool instead.
func aRunThatContinuesMakesNoPool(w *world) {
	w.untilMeasured(w.benchmark("b1", oneWrite, sharing(w, "1/1/1")))
	w.untilMeasured(w.benchmark("b2", oneWrite, continuing(w, "1/1/1")))
	w.wantShared(1)
	w.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{} })
	b := w.benchmark("b3", oneWrite, continuing(w, "1/1/1"))
	w.until(b, "failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) && isTrue(b, v1alpha1.ConditionStalled) })
	w.untilReason(b, v1alpha1.ReasonScratchPoolGone, "gone")
	w.rook.set(func(f *fakeRook) {
		if f.made != 1 {
			w.t.Errorf("%d pools were made, want none in the place of the first", f.made)
		}
	})
}

// Annotations and owners can be copied from a sweep's benchmark by anyone, so they must not give
// access to the sweep's pool.
func aCopyDoesNotShare(w *world) {
	b := w.benchmark("b", oneWrite, sharing(w, "1/1/1"))
	w.untilMeasured(b)
	w.leaves(b)
	copied := w.benchmark("copy", oneWrite, func(c *v1alpha1.CephBenchmark) {
		c.Annotations, c.OwnerReferences = b.Annotations, b.OwnerReferences
	})
	w.untilReason(copied, v1alpha1.ReasonPreparing, "CephTuningSweep")
	if err := w.Delete(w.t.Context(), copied); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(copied), copied); err == nil {
			return "the copy is still there"
		}
		return ""
	})
	w.rook.set(func(f *fakeRook) {
		if f.owner.UID != stranger || f.made != 1 {
			w.t.Errorf("the scratch pool is that of %q, and %d were made", f.owner, f.made)
		}
	})
	w.ceph.Change(func(a *cephtest.Answers) {
		if n := len(a.Images[settings.ScratchPool]); n != 1 {
			w.t.Errorf("%d images are in the sweep's pool, want 1", n)
		}
	})
}

func aCopyHasItsOwnPool(w *world) {
	copied := w.benchmark("copy", oneWrite, sharing(w, "1/1/1"), func(c *v1alpha1.CephBenchmark) { c.Name = "other" })
	w.untilMeasured(copied)
	w.eventually(func() string {
		var jobs batchv1.JobList
		if err := w.List(w.t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) > 0 {
			return fmt.Sprintf("%d Jobs are left, %v", len(jobs.Items), err)
		}
		if owner := w.rook.poolOwner(); owner.UID != "" {
			return fmt.Sprintf("the scratch pool of %s is left", owner)
		}
		return ""
	})
}
