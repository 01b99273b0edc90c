package cephbenchmark

import (
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

func lifeStories() map[string]story {
	return map[string]story{
		"from apply to numbers":                          fromApplyToNumbers,
		"nothing is written when nothing changes":        nothingIsWrittenWhenNothingChanges,
		"a change that asks for no run is noted":         aChangeThatAsksForNoRunIsNoted,
		"a new run ID runs again":                        aNewRunIDRunsAgain,
		"a new run ID waits for the run at work":         aNewRunIDWaitsForTheRunAtWork,
		"a new run ID replaces one without clients":      aNewRunIDReplacesOneWithoutClients,
		"a new run ID, and clients are gone":             aNewRunIDAndClientsAreGone,
		"the same where only objects are left":           aNewRunIDAndObjectsAreLeft,
		"the same in another target":                     aNewRunIDInAnotherTarget,
		"the same in a scratch pool":                     aNewRunIDAndImagesAreLeft,
		"images of long ago in the scratch pool":         imagesOfLongAgo,
		"suspended from the beginning":                   suspendedFromTheBeginning,
		"suspended while measuring, and resumed":         suspendedWhileMeasuring,
		"suspended in the last phase of a run":           suspendedInTheLastPhase,
		"suspended before clients, and resumed too soon": resumedTooSoon,
		"one after the other":                            oneAfterTheOther,
		"caches are dropped before each phase":           cachesAreDropped,
		"clients are aimed at another load":              aimedAtAnotherLoad,
	}
}

// maxWrites is the largest number of API writes of a benchmark of one run.
const maxWrites = 13

// wantFewWrites checks the number of API writes of a benchmark. It allows more for a longer time,
// because status says what the benchmark waits for, and on a busy machine it waits more.
func (w *world) wantFewWrites(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	counts, sum := w.writes.counted()
	took := b.Status.CompletionTime.Sub(b.CreationTimestamp.Time)
	w.t.Logf("API writes in %v: %v, in all %d, and 2 to make and remove the scratch pool", took, counts, sum)
	if most := maxWrites + int(took/reconcile.MessageInterval); sum > most {
		w.t.Errorf("%d API writes in %v, more than %d", sum, took, most)
	}
}

func fromApplyToNumbers(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	if b.Status.Headline != "write 1k IOPS" {
		w.t.Errorf("headline %q", b.Status.Headline)
	}
	if n := len(w.results()); n != 1 || b.Status.Runs[0].Results != w.results()[0].Name {
		w.t.Errorf("%d results, and runs %+v", n, b.Status.Runs)
	}
	if p := b.Status.Progress; p == nil || p.Summary != "write 1k IOPS" || p.EstimatedCompletionTime != nil {
		w.t.Errorf("progress %+v", p)
	}
	w.wantFewWrites(b)
}

func nothingIsWrittenWhenNothingChanges(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	_, before := w.writes.counted()
	for range 3 {
		w.wait(time.Hour)
	}
	time.Sleep(200 * time.Millisecond)
	if counts, after := w.writes.counted(); after != before {
		w.t.Errorf("%d writes afterwards, in all %v", after-before, counts)
	}
}

func aChangeThatAsksForNoRunIsNoted(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RawOutput = v1alpha1.RawOutputAlways })
	w.untilObserved(b)
	if !isTrue(b, v1alpha1.ConditionReady) || w.kubelet.client(1) != nil {
		w.t.Errorf("it did more than that: %+v", b.Status)
	}
}

func aNewRunIDRunsAgain(w *world) {
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.HistoryLimit = 2 })
	for _, id := range []v1alpha1.RunID{"1", "2", "3"} {
		w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = id })
		w.until(b, "about run "+string(id), func() bool { return b.Status.ObservedRunID == id })
		w.untilComplete(b)
		time.Sleep(time.Second) // Names of results have a resolution of a second.
	}
	if n := len(w.results()); n != 2 {
		w.t.Errorf("the results of %d runs are kept, want 2", n)
	}
	if w.rook.made != 3 {
		w.t.Errorf("the scratch pool was made %d times", w.rook.made)
	}
}

func aNewRunIDWaitsForTheRunAtWork(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	w.rook.removing = "Rook is slow" // The next run begins after the teardown.
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) {
		s.RunID, s.Template.Phases[0].Name = "next", "other"
	})
	w.untilObserved(b)
	w.kubelet.proceed("r1-")
	w.until(b, "finished with the spec it was started with", func() bool {
		return b.Status.ObservedRunID == "1" && b.Status.Headline == "write 1k IOPS"
	})
	w.rook.set(func(f *fakeRook) { f.removing = "" })
	w.until(b, "run again", func() bool {
		return b.Status.ObservedRunID == "next" && isTrue(b, v1alpha1.ConditionReady)
	})
	if b.Status.Headline != "other 1k IOPS" {
		w.t.Errorf("headline %q", b.Status.Headline)
	}
	w.wantClean()
}

func aNewRunIDReplacesOneWithoutClients(w *world) {
	w.rook.making = "Rook is slow"
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonPreparing, "slow")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) {
		s.RunID, s.Template.Phases[0].Name = "next", "other"
	})
	w.until(b, "about the next run", func() bool { return b.Status.ObservedRunID == "next" })
	w.rook.set(func(f *fakeRook) { f.making = "" })
	w.untilComplete(b)
	if b.Status.Headline != "other 1k IOPS" {
		w.t.Errorf("headline %q", b.Status.Headline)
	}
}

// lostWithItsJob returns a benchmark whose client and Job disappear while no manager runs. Its
// prefilled data is still in the pool: an image, an object, and objects in a namespace of their
// own, whose name is returned.
func (w *world) lostWithItsJob(spec, pool string) (b *v1alpha1.CephBenchmark, namespace string) {
	w.t.Helper()
	w.kubelet.script("data-", runnertest.Script{Preparing: time.Hour})
	b = w.benchmark("b", spec)
	w.untilTask(0, "data-", task.Preparing)
	namespace = w.namespaceOf(0)
	w.stop()
	w.deleteJob(b)
	left := clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images[pool] = append(a.Images[pool], left+"-0-w1x64m-0")
		a.Objects[pool+"/"] = []string{"precious", "benchmark_data_" + left + "-0-fio"}
		a.Objects[pool+"/"+namespace] = []string{"benchmark_data_x"}
	})
	w.kubelet.script("data-", runnertest.Script{})
	return b, namespace
}

// namespaceOf returns the first RADOS namespace in the tasks of a client.
func (w *world) namespaceOf(n int) string {
	w.t.Helper()
	for _, t := range w.kubelet.client(n).Tasks() {
		for _, step := range t.Steps {
			for _, argument := range step.Argv {
				if namespace, ok := strings.CutPrefix(argument, "--namespace="); ok {
					return namespace
				}
			}
		}
	}
	w.t.Fatalf("client %d writes to no namespace", n)
	return ""
}

// wantOnlyPrecious checks that the other user's pool contains exactly that user's data.
func (w *world) wantOnlyPrecious(namespace string) {
	w.t.Helper()
	w.ceph.Change(func(a *cephtest.Answers) {
		images, objects, namespaced := a.Images["open"], a.Objects["open/"], a.Objects["open/"+namespace]
		if diff := cmp.Diff([]string{"precious"}, images); diff != "" {
			w.t.Errorf("images (-want +got):\n%s", diff)
		}
		if namespace == "" {
			return
		}
		if diff := cmp.Diff([]string{"precious"}, objects); diff != "" || len(namespaced) > 0 {
			w.t.Errorf("objects, and %v in namespace %s (-want +got):\n%s", namespaced, namespace, diff)
		}
	})
}

// readOfOpenPool is oneRead on an existing pool.
func readOfOpenPool() string {
	return strings.Replace(oneRead, `scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}`, "existingPool: {name: open}", 1)
}

// The lost run's data is removed before the next run begins, because after that its names would be
// unknown.
func aNewRunIDAndClientsAreGone(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.Images["open"] = []string{"precious"} })
	b, namespace := w.lostWithItsJob(readOfOpenPool(), "open")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = "2" })
	w.ceph.Change(func(a *cephtest.Answers) { a.Errors["RemoveImage"] = errors.New("it has a watcher") })
	w.start()
	w.untilReason(b, v1alpha1.ReasonTearingDown, "it has a watcher")
	if b.Status.ObservedRunID != "1" {
		w.t.Errorf("run %s has begun", b.Status.ObservedRunID)
	}
	w.ceph.Change(func(a *cephtest.Answers) { clear(a.Errors) })
	w.until(b, "about run 2", func() bool { return b.Status.ObservedRunID == "2" })
	w.wantOnlyPrecious(namespace)
	w.untilComplete(b)
}

// Nothing has to be removed here, so the next run begins at once.
func aNewRunIDAndObjectsAreLeft(w *world) {
	b, namespace := w.lostWithItsJob(readOfOpenPool(), "open")
	w.ceph.Change(func(a *cephtest.Answers) { a.Images["open"] = []string{"precious"} })
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = "2" })
	w.start()
	w.until(b, "about run 2", func() bool { return b.Status.ObservedRunID == "2" })
	w.wantOnlyPrecious(namespace)
	w.untilComplete(b)
}

// The next run uses another target, so its spec does not say where the previous run has left data.
func aNewRunIDInAnotherTarget(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) { a.Images["open"] = []string{"precious"} })
	b, _ := w.lostWithItsJob(readOfOpenPool(), "open")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) {
		s.RunID = "2"
		s.Template.Target = v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
			Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Parameters: map[string]v1alpha1.ParameterValue{"pg_num": "8"},
		}}
	})
	w.start()
	w.until(b, "about run 2", func() bool { return b.Status.ObservedRunID == "2" })
	w.wantOnlyPrecious("")
	w.untilComplete(b)
}

// Rook does not remove a pool that has images.
func aNewRunIDAndImagesAreLeft(w *world) {
	b, _ := w.lostWithItsJob(oneRead, settings.ScratchPool)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = "2" })
	w.start()
	w.until(b, "about run 2", func() bool { return b.Status.ObservedRunID == "2" })
	w.untilComplete(b)
	if w.rook.made != 2 {
		w.t.Errorf("the scratch pool was made %d times, want one for each run", w.rook.made)
	}
}

// The pool belongs to this benchmark, so it removes images of any execution. Otherwise the pool would
// remain forever.
func imagesOfLongAgo(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Done)
	w.ceph.Change(func(a *cephtest.Answers) { a.Images[settings.ScratchPool] = []string{"cephtune-0123456789-0-w1x64m-0"} })
	w.untilComplete(b)
}

func suspendedFromTheBeginning(w *world) {
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true })
	w.untilReason(b, v1alpha1.ReasonSuspended, "spec.suspend")
	if isTrue(b, v1alpha1.ConditionReconciling) || len(b.Finalizers) > 0 || w.rook.made > 0 {
		w.t.Errorf("it has begun: %+v", b)
	}
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.untilComplete(b)
}

const twoPhases = `
repetitions: 2
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: first, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
  - {name: second, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
`

func suspendedWhileMeasuring(w *world) {
	w.kubelet.script("r2-first", runnertest.Script{Measuring: held})
	b := w.benchmark("b", twoPhases)
	w.untilTask(0, "r2-first", task.Measuring)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilObserved(b)
	w.kubelet.proceed("r2-")
	w.until(b, "suspended and idle", func() bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended && !isTrue(b, v1alpha1.ConditionReconciling)
	})
	w.wantClean()
	w.untilTask(0, "r2-first", task.Done) // It was not interrupted.
	if runs := states(b); !cmp.Equal(runs, "Valid") {
		w.t.Errorf("runs %s, want the first one alone", runs)
	}
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.untilComplete(b)
	if runs := states(b); runs != "Valid, Valid" {
		w.t.Errorf("runs %s", runs)
	}
	w.untilTask(1, "r2-second", task.Done)
	for _, t := range w.kubelet.client(1).Tasks() {
		if strings.HasPrefix(t.ID, "r1-") {
			w.t.Errorf("%s was run again", t.ID)
		}
	}
}

// states lists the states of runs.
func states(b *v1alpha1.CephBenchmark) string {
	var all []string
	for _, run := range b.Status.Runs {
		all = append(all, string(run.State))
	}
	return strings.Join(all, ", ")
}

// A completed measurement counts: nothing is left to resume.
func suspendedInTheLastPhase(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilObserved(b)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
}

func resumedTooSoon(w *world) {
	w.kubelet.script("data-", runnertest.Script{Preparing: time.Hour})
	w.rook.removing = "Rook is slow"
	b := w.benchmark("b", oneRead)
	w.untilTask(0, "data-", task.Preparing)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilReason(b, v1alpha1.ReasonSuspended, "slow")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.kubelet.script("data-", runnertest.Script{})
	w.rook.set(func(f *fakeRook) { f.removing = "" })
	w.untilComplete(b)
}

func oneAfterTheOther(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	first := w.benchmark("z-first", oneWrite)
	w.untilReason(first, v1alpha1.ReasonRunning)
	second := w.benchmark("b-second", oneWrite)
	w.untilReason(second, v1alpha1.ReasonQueued, w.namespace+"/z-first")
	time.Sleep(time.Second) // The queue's times have a resolution of a second.
	third := w.benchmark("a-third", oneWrite)
	w.untilReason(third, v1alpha1.ReasonQueued, "/b-second")
	w.kubelet.script("r1-", runnertest.Script{Measuring: 1200 * time.Millisecond}) // So do completion times.
	w.kubelet.client(0).Proceed("r1-")
	for _, b := range []*v1alpha1.CephBenchmark{first, second, third} {
		w.until(b, "Ready", func() bool { return isTrue(b, v1alpha1.ConditionReady) })
	}
	if !first.Status.CompletionTime.Before(second.Status.CompletionTime) || !second.Status.CompletionTime.Before(third.Status.CompletionTime) {
		w.t.Errorf("they ended at %v, %v, %v", first.Status.CompletionTime, second.Status.CompletionTime, third.Status.CompletionTime)
	}
	w.wantClean()
}

func cachesAreDropped(w *world) {
	b := w.benchmark("b", twoPhases, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.OSDCaches = v1alpha1.OSDCachesDropBeforePhase
		b.Spec.Template.Rest = &metav1.Duration{Duration: 100 * time.Millisecond}
	})
	w.ceph.Change(func(a *cephtest.Answers) { a.Errors["DropOSDCaches"] = errors.New("osd.1 is busy") })
	w.untilReason(b, v1alpha1.ReasonRunning, "osd.1 is busy")
	w.ceph.Change(func(a *cephtest.Answers) { clear(a.Errors) })
	failed := len(w.ceph.Calls("DropOSDCaches"))
	w.untilComplete(b)
	calls := w.ceph.Calls("DropOSDCaches")
	if n := len(calls); n < 4 || n > failed+5 || calls[0].At.User != "dropper" {
		w.t.Errorf("caches were dropped %d times in 4 phases, %d in vain: %+v", n, failed, calls)
	}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil || len(b.Status.Runs) != 2 {
		w.t.Errorf("%v, %+v", err, b.Status.Runs)
	}
}
