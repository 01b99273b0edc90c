package cephbenchmark

import (
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/signature/trial"
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
	}
}

// sweepAtWork returns the sweep of the world, which holds the lock.
func (w *world) sweepAtWork() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	s := &v1alpha1.CephTuningSweep{}
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "sweep"}, s)
	if err == nil {
		return s
	}
	if err := yaml.UnmarshalStrict([]byte(`
clusterRef: {namespace: rook-ceph, name: my-cluster}
template:
  target: {scratchPool: {replicated: {size: 3}}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
objective: {phase: write, metric: IOPS}
`), &s.Spec); err != nil {
		w.t.Fatal(err)
	}
	s.Namespace, s.Name = w.namespace, "sweep"
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.lockOfSweep(s)
	return s
}

// locks returns the locks as the controller of sweeps uses them, in the same process.
func (w *world) locks() *lock.Both {
	return lock.NewBoth(lock.NewLeases(w, w, w.namespace, fmt.Sprintf("manager-%d", w.started)), lock.NewRecords(w.ceph, "this-cluster"))
}

// lockOfSweep takes the lock for a sweep.
func (w *world) lockOfSweep(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	grant, err := w.locks().Acquire(w.t.Context(), ceph.Connection{}, fsid, objectref.To("CephTuningSweep", s), w.now())
	if err != nil || !grant.Held {
		w.t.Fatalf("%+v, %v: want the lock", grant, err)
	}
}

// run creates the benchmark of a sweep's next run, and records its UID.
func (w *world) run(name, spec string, pool *v1alpha1.SharedPool) *v1alpha1.CephBenchmark {
	w.t.Helper()
	s, b := w.signed(name, spec, pool)
	if err := w.Create(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.recordUID(s, b)
	return b
}

// signed returns the signed benchmark of a sweep's next run. The name and the nonce are in the status of the sweep.
func (w *world) signed(name, spec string, pool *v1alpha1.SharedPool) (*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark) {
	w.t.Helper()
	s, number := w.sweepAtWork(), 1
	if s.Status.Trial != nil {
		number = int(s.Status.Trial.Number) + 1
	}
	s.Status.ObservedRunID, s.Status.Trial = s.Spec.RunID, trial.Next(s, number, pool)
	s.Status.Trial.Name = name
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	b := w.parse(name, spec)
	b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
	if err := w.Create(w.t.Context(), b, client.DryRunAll); err != nil { // The defaults of the API server are signed, too.
		w.t.Fatal(err)
	}
	b.ResourceVersion, b.UID = "", ""
	if err := trial.Sign(make([]byte, 32), s, b); err != nil {
		w.t.Fatal(err)
	}
	return s, b
}

// recordUID records the UID of the sweep's benchmark.
func (w *world) recordUID(s *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	s.Status.Trial.UID = b.UID
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
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
	sweep := w.sweepAtWork().UID
	w.rook.set(func(f *fakeRook) {
		if f.owner.UID != sweep || f.owner.Kind != "CephTuningSweep" || f.made != made {
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
		b := w.run(fmt.Sprintf("b%d", i), oneWrite, &v1alpha1.SharedPool{Key: run.key})
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
	use := v1alpha1.SharedPool{Key: "1/1/1", Dataset: true}
	first := w.run("b1", oneOverwrite, &use)
	w.untilMeasured(first)
	w.wantTasks(0, "data-image-w1x64m", "r1-over", "r1-new")
	w.wantWords(w.stepsOf(0, "data-image-w1x64m"), "--image="+blockDataset+"-0-w1x64m-0", "--rbdname="+blockDataset+"-0-w1x64m-0")
	w.wantWords(w.stepsOf(0, leftovers.TaskID), "cleanup") // of objects

	w.ceph.Change(func(a *cephtest.Answers) { a.Images[settings.ScratchPool] = []string{path.Base(image)} })
	use.Continues = true
	second := w.run("b2", oneOverwrite, &use)
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
	name := clientjob.ExecutionOf(b.UID, "1").Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images[settings.ScratchPool] = []string{name + "-0-w1x64m-0"}
		a.Objects[settings.ScratchPool+"/"+name+"-0-run"] = slices.Repeat([]string{"benchmark_data_x"}, 2*leftovers.ObjectsAtOnce)
	})
}

// atWorkInShared returns a benchmark that is measuring in its sweep's pool, and has left data
// there.
func (w *world) atWorkInShared() *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.run("b", endlessWrite, &v1alpha1.SharedPool{Key: "1/1/1"})
	w.untilTask(0, "r1-write", task.Measuring)
	w.leaves(b)
	return b
}

func whatASharedRunLeaves(w *world) {
	b := w.atWorkInShared()
	w.kubelet.proceed("r1-")
	w.untilMeasured(b)
	w.wantShared(1)
}

func aSharedRunIsDeleted(w *world) {
	b := w.atWorkInShared()
	w.delete(b)
	w.wantShared(1)
}

func theManagerOfASharedRunIsKilled(w *world) {
	b := w.atWorkInShared()
	w.restart()
	w.kubelet.proceed("r1-")
	w.untilMeasured(b)
	w.wantShared(1)
}

// A run that does not find the pool creates it again, as a run without sharing would.
func theSharedPoolIsDeleted(w *world) {
	w.untilMeasured(w.run("b1", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1"}))
	w.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{} })
	w.untilMeasured(w.run("b2", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1"}))
	w.wantShared(2)
}

// The existing pool must not count twice against the limit of PGs.
func sharedPGsAreCountedOnce(w *world) {
	w.untilMeasured(w.run("b1", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1"}))
	w.ceph.Change(func(a *cephtest.Answers) {
		for i := range a.OSDs {
			a.OSDs[i].PGs = 195 // of 200, which are 80 % of the limit
		}
	})
	w.untilMeasured(w.run("b2", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1"}))
	b := w.run("b3", oneWrite, nil)
	w.untilReason(b, "TooManyPGs", "203 PGs")
}

// A run that continues on the earlier runs' pool must not use another pool instead.
func aRunThatContinuesMakesNoPool(w *world) {
	w.untilMeasured(w.run("b1", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1"}))
	w.untilMeasured(w.run("b2", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1", Continues: true}))
	w.wantShared(1)
	w.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{} })
	b := w.run("b3", oneWrite, &v1alpha1.SharedPool{Key: "1/1/1", Continues: true})
	w.until(b, "failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) && isTrue(b, v1alpha1.ConditionStalled) })
	w.untilReason(b, v1alpha1.ReasonScratchPoolGone, "gone")
	w.rook.set(func(f *fakeRook) {
		if f.made != 1 {
			w.t.Errorf("%d pools were made, want none in the place of the first", f.made)
		}
	})
}
