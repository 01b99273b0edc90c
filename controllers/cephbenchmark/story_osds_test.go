package cephbenchmark

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of scratch pools that are confined to some OSDs.
func osdStories() map[string]story {
	return map[string]story{
		"on two of three OSDs":                      onTwoOSDs,
		"the manager is restarted on the way":       onOneOSDRestarted,
		"another client changes their annotation":   somebodyNotesOtherOSDs,
		"another client removes their annotation":   somebodyRemovesTheNote,
		"a placement group leaves its OSDs":         aPlacementGroupLeaves,
		"on OSDs of a device class":                 onADeviceClass,
		"a placement group leaves its device class": aPlacementGroupLeavesItsClass,
		"more OSDs than there are":                  moreOSDsThanThereAre,
		"no identity may place PGs":                 nobodyMayPlace,
		"clients that do not understand it":         clientsThatDoNotUnderstand,
		"another holds the lock when it is due":     placedWithoutTheLock,
		"one is slower than its peers":              oneIsSlowerThanItsPeers,
		"their work is unknown":                     nobodyTellsWhatOSDsDo,
	}
}

// confinedTo returns a benchmark on a number of OSDs.
func confinedTo(count int32) func(*v1alpha1.CephBenchmark) {
	return func(b *v1alpha1.CephBenchmark) {
		pool := b.Spec.Template.Target.ScratchPool
		pool.Replicated.Size, pool.OSDSelection = 1, &v1alpha1.OSDSelection{Count: count, Seed: new(int64(5))}
	}
}

// spreadOut sets up three hosts with one OSD each, and pools of one copy on all OSDs.
func (w *world) spreadOut() {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.PGs = nil
		for i := range a.OSDMap.Pools {
			pool := &a.OSDMap.Pools[i]
			pool.Size = 1
			for number := range pool.PGNum {
				osds := []int{number % 3}
				a.PGs = append(a.PGs, ceph.PG{ID: ceph.PGPlacement{Number: number}.ID(pool.ID), PoolID: pool.ID, Acting: osds, Primary: osds[0]})
			}
		}
	})
}

// places returns the OSDs of each placement group of a pool as text.
func (w *world) places(pool int64) string {
	var words []string
	w.ceph.Change(func(a *cephtest.Answers) {
		for _, pg := range a.PGs {
			if pg.PoolID == pool {
				words = append(words, fmt.Sprint(pg.Acting))
			}
		}
	})
	return strings.Join(words, " ")
}

func onTwoOSDs(w *world) {
	w.spreadOut()
	others := w.places(3)
	b := w.benchmark("b", oneWrite, confinedTo(2))
	w.untilComplete(b)
	osds := b.Status.PoolOSDs
	if len(osds) != 2 || states(b) != "Valid" {
		w.t.Fatalf("runs %+v on OSDs %v, want a valid one on two", b.Status.Runs, osds)
	}
	first, second := fmt.Sprintf("[%d]", osds[0]), fmt.Sprintf("[%d]", osds[1])
	if places := w.places(2); strings.Count(places, first) != 4 || strings.Count(places, second) != 4 {
		w.t.Errorf("the scratch pool is on %s, want four placement groups on each of %v", places, osds)
	}
	if now := w.places(3); now != others {
		w.t.Errorf("another pool was at %s and is at %s", others, now)
	}
	for _, call := range w.ceph.Calls("PlacePGs") {
		if call.At.User != "tuner" || !strings.HasPrefix(call.Args, "cephtune-scratch ") {
			w.t.Errorf("%+v, want the tuner to be asked, and for the scratch pool", call)
		}
	}
	run := w.archived(b)
	index := slices.IndexFunc(run.Placement, func(p archive.Placement) bool { return p.Pool == "cephtune-scratch" })
	if index < 0 || len(run.Placement[index].OSDs) != 2 || !strings.Contains(string(run.Environment), `"confinedTo":[`) {
		w.t.Errorf("the archive has the placement %+v and the environment %s", run.Placement, run.Environment)
	}
	w.delete(b)
}

func (w *world) archived(b *v1alpha1.CephBenchmark) *archive.Run {
	w.t.Helper()
	maps := w.results()
	if len(maps) != 1 {
		w.t.Fatalf("%d archives of %s, want one", len(maps), b.Name)
	}
	run, err := archive.FromConfigMap(&maps[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// The next manager must take the OSDs from the Job, although it would draw other ones.
func onOneOSDRestarted(w *world) {
	w.spreadOut()
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, confinedTo(1))
	w.untilTask(0, "r1-write", task.Measuring)
	w.restart()
	w.ceph.Change(func(a *cephtest.Answers) { a.OSDTree = a.OSDTree[:0] })
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if states(b) != "Valid" || len(b.Status.PoolOSDs) != 1 {
		w.t.Errorf("runs %+v on OSDs %v", b.Status.Runs, b.Status.PoolOSDs)
	}
}

func somebodyNotesOtherOSDs(w *world) {
	w.noteIsChanged(func(annotations map[string]string) { annotations[clientjob.AnnotationOSDs] = "0,1,2,7" })
}

func somebodyRemovesTheNote(w *world) {
	w.noteIsChanged(func(annotations map[string]string) { delete(annotations, clientjob.AnnotationOSDs) })
}

// noteIsChanged changes the Job's note about the OSDs while no manager runs.
func (w *world) noteIsChanged(change func(map[string]string)) {
	w.t.Helper()
	w.spreadOut()
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, confinedTo(1))
	w.untilTask(0, "r1-write", task.Measuring)
	w.until(b, "on its OSDs", func() bool { return len(b.Status.PoolOSDs) > 0 })
	w.stop()
	noted, job, count := b.Status.PoolOSDs, w.job(b), len(w.ceph.Calls("PlacePGs"))
	before := job.DeepCopy()
	change(job.Annotations)
	if err := w.Patch(w.t.Context(), job, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "not by the operator")
	if !slices.Equal(b.Status.PoolOSDs, noted) || len(w.ceph.Calls("PlacePGs")) != count {
		w.t.Errorf("status has OSDs %v, had %v, and Ceph was told of %d placements after %d", b.Status.PoolOSDs, noted, len(w.ceph.Calls("PlacePGs")), count)
	}
}

// ofClass returns a benchmark on OSDs of a device class.
func ofClass(b *v1alpha1.CephBenchmark) {
	pool := b.Spec.Template.Target.ScratchPool
	pool.Replicated.Size, pool.DeviceClass = 1, "ssd"
}

func onADeviceClass(w *world) {
	w.spreadOut()
	b := w.benchmark("b", oneWrite, ofClass)
	w.untilComplete(b)
	if states(b) != "Valid" || len(w.ceph.Calls("PlacePGs")) > 0 {
		w.t.Errorf("runs %+v after %v, want a valid one and CRUSH to place it", b.Status.Runs, w.ceph.Calls("PlacePGs"))
	}
}

func aPlacementGroupLeavesItsClass(w *world) {
	w.spreadOut()
	w.ceph.Change(func(a *cephtest.Answers) { // One of the three OSDs is of another class. It has no placement group yet.
		a.OSDs = slices.Clone(a.OSDs)
		a.OSDs[2].DeviceClass = "hdd"
		a.ConfigShow = map[string]string{"osd.0 osd_memory_target": "4294967296", "osd.2 osd_memory_target": "4294967296"}
		for i := range a.PGs {
			a.PGs[i].Acting = []int{i % 2}
		}
	})
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, ofClass)
	w.untilTask(0, "r1-write", task.Measuring)
	w.ceph.Change(func(a *cephtest.Answers) {
		pgs := slices.Clone(a.PGs)
		for i := range pgs {
			if pgs[i].ID == "2.3" {
				pgs[i].Acting = []int{2}
			}
		}
		a.PGs = pgs
	})
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonNoValidRun)
	if run := b.Status.Runs[0]; run.State != v1alpha1.RunInvalid || !strings.Contains(run.Reason, "is on osd.2, but may use only OSDs of device class ssd") {
		w.t.Errorf("the run is %+v, want it Invalid", run)
	}
}

func aPlacementGroupLeaves(w *world) {
	w.spreadOut()
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, confinedTo(1))
	w.untilTask(0, "r1-write", task.Measuring)
	w.ceph.Change(func(a *cephtest.Answers) {
		pgs := slices.Clone(a.PGs)
		for i := range pgs {
			if pgs[i].ID == "2.3" {
				pgs[i].Acting = []int{(pgs[i].Acting[0] + 1) % 3}
			}
		}
		a.PGs = pgs
	})
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonNoValidRun)
	if run := b.Status.Runs[0]; run.State != v1alpha1.RunInvalid || !strings.Contains(run.Reason, "OSDs: placement group 2.3 is on osd.") {
		w.t.Errorf("the run is %+v, want it Invalid, naming the placement group", run)
	}
	w.wantClean()
}

func moreOSDsThanThereAre(w *world) {
	w.spreadOut()
	b := w.benchmark("b", oneWrite, confinedTo(4))
	w.untilFailed(b, v1alpha1.ReasonNotPossible, "OSDs requested for the pool: 4; OSDs that are up and in: 3")
	if w.rook.made != 0 || len(w.ceph.Calls("PlacePGs")) > 0 {
		w.t.Errorf("%d pools were made, and %v was asked", w.rook.made, w.ceph.Calls("PlacePGs"))
	}
}

func nobodyMayPlace(w *world) {
	w.wantStalled(w.benchmark("b", oneWrite, confinedTo(1), on("powerless")), "identities.tuner")
}

func clientsThatDoNotUnderstand(w *world) {
	w.spreadOut()
	w.ceph.Change(func(a *cephtest.Answers) { a.OSDMap.MinCompatClient = "jewel" })
	b := w.benchmark("b", oneWrite, confinedTo(1))
	w.untilFailed(b, v1alpha1.ReasonNotPossible, "set-require-min-compat-client luminous")
}

// The manager checks the lock right before it places placement groups.
func placedWithoutTheLock(w *world) {
	w.spreadOut()
	w.rook.making = "Rook is slow"
	b := w.benchmark("b", oneWrite, confinedTo(1))
	w.untilReason(b, v1alpha1.ReasonPreparing, "slow")
	w.lockElsewhere()
	w.rook.set(func(f *fakeRook) { f.making = "" })
	w.until(b, "told who has the lock", func() bool { return strings.Contains(messageOf(b), "has the lock of the Ceph cluster") })
	if calls := w.ceph.Calls("PlacePGs"); len(calls) > 0 {
		w.t.Errorf("%v was asked without the lock", calls)
	}
	w.delete(b)
}

// An OSD that is slower than its peers is named in status, in the summary and in the archive, from
// which the next manager knows it.
func oneIsSlowerThanItsPeers(w *world) {
	w.spreadOut()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OSDPerf = []ceph.OSDLatency{{ID: 0, CommitSeconds: 0.003}, {ID: 1, CommitSeconds: 0.024}, {ID: 2, CommitSeconds: 0.0032}}
		a.OSDIO = []ceph.OSDIO{
			{ID: 0, WriteOperationsPerSecond: 40, WriteBytesPerSecond: 40 << 20},
			{ID: 1, WriteOperationsPerSecond: 60, WriteBytesPerSecond: 60 << 20, ReadOperationsPerSecond: 20, ReadBytesPerSecond: 1 << 20},
			{ID: 2, WriteOperationsPerSecond: 30, WriteBytesPerSecond: 30 << 20},
		}
	})
	for _, run := range []string{"r1-", "r2-"} {
		w.kubelet.script(run, runnertest.Script{Measuring: held})
	}
	b := w.benchmark("b", oneWrite, runs(2), func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Target.ScratchPool.Replicated.Size = 1 })
	w.untilTask(0, "r1-write", task.Measuring)
	w.lookAtOSDs(b, 3)
	w.kubelet.proceed("r1-")
	w.until(b, "through its first run", func() bool { return strings.HasPrefix(states(b), "Valid") })
	w.restart()
	w.untilTask(0, "r2-write", task.Measuring)
	w.lookAtOSDs(b, 3)
	w.kubelet.proceed("r2-")
	w.untilComplete(b)
	want := []v1alpha1.SlowOSD{{OSD: 1, Phase: "write", CommitLatency: "0.024", PeersCommitLatency: "0.0032", RelativeWork: "2", Runs: 2}}
	if diff := cmp.Diff(want, b.Status.SlowOSDs); diff != "" {
		w.t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(b.Status.Summary, "osd.1 was slower than its peers") || !strings.Contains(b.Status.Summary, "while it served 2 times their operations") {
		w.t.Errorf("the summary is %q", b.Status.Summary)
	}
	w.wantWorkArchived(2, ceph.OSDIO{
		ID: 1, WriteOperationsPerSecond: 60, WriteBytesPerSecond: 60 << 20, ReadOperationsPerSecond: 20, ReadBytesPerSecond: 1 << 20,
	})
}

// wantWorkArchived checks the archived work of an OSD in each run.
func (w *world) wantWorkArchived(runs int, want ceph.OSDIO) {
	w.t.Helper()
	maps := w.results()
	if len(maps) != runs {
		w.t.Fatalf("%d archives, want %d", len(maps), runs)
	}
	for i := range maps {
		run, err := archive.FromConfigMap(&maps[i])
		if err != nil {
			w.t.Fatal(err)
		}
		if io := run.Phases[0].OSDIO; !slices.Contains(io, want) || len(io) != 3 {
			w.t.Errorf("run %d has the work of OSDs %+v, want three of which one is %+v", run.Number, io, want)
		}
	}
}

// If ceph-mgr does not report the I/O of OSDs, a run lacks only these figures, and not every sample
// asks again.
func nobodyTellsWhatOSDsDo(w *world) {
	w.spreadOut()
	w.ceph.Change(func(a *cephtest.Answers) { a.Errors["OSDIO"] = errors.New("no valid command found") })
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Template.Target.ScratchPool.Replicated.Size = 1 })
	w.untilTask(0, "r1-write", task.Measuring)
	w.lookAtOSDs(b, 3)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	run := w.archived(b)
	if phase := run.Phases[0]; states(b) != "Valid" || len(phase.OSDLatencies) < 3 || len(phase.OSDIO) > 0 {
		w.t.Errorf("runs %+v with %d looks at latencies and the work %+v, want a valid run, three looks and no work", b.Status.Runs, len(phase.OSDLatencies), phase.OSDIO)
	}
	if calls := w.ceph.Calls("OSDIO"); len(calls) != 1 {
		w.t.Errorf("it was asked %d times in half a minute, want once", len(calls))
	}
}

// lookAtOSDs puts the clock forward so many times, and each time waits until the execution of a benchmark has the
// latencies of OSDs.
func (w *world) lookAtOSDs(b *v1alpha1.CephBenchmark, times int) {
	w.t.Helper()
	looks := func() (n int) {
		if execution, ok := w.reconciler.live.Followed(client.ObjectKeyFromObject(b)); ok {
			execution.Hurry()
			n = len(execution.LastView().Extras)
		}
		return n
	}
	for range times {
		before := looks()
		w.wait(11 * time.Second)
		w.eventually(func() string {
			if looks() <= before {
				return "nobody asks OSDs for their latencies"
			}
			return ""
		})
	}
}
