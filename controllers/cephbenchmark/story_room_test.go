package cephbenchmark

import (
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of benchmarks that write more than the cluster has room for.
func roomStories() map[string]story {
	return map[string]story{
		"OSDs become nearfull":          osdsBecomeNearfull,
		"OSDs may become nearfull":      osdsMayBecomeNearfull,
		"no room for another object":    noRoomForAnotherObject,
		"Rook keeps a full pool":        rookKeepsAFullPool,
		"clients cannot remove a thing": clientsCannotRemoveAThing,
		"the room is that of the start": theRoomIsThatOfTheStart,
		"room that comes back":          roomThatComesBack,
	}
}

// endlessWrite writes new objects until the phase ends.
const endlessWrite = `
repetitions: 2
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  phases:
  - {name: write, radosBench: {mode: Write, ramp: 0s, duration: 30s}}
`

func (w *world) health(checks ...ceph.HealthCheck) {
	w.ceph.Change(func(a *cephtest.Answers) { a.Status.Health = ceph.Health{Status: checks[0].Severity, Checks: checks} })
}

func nearfull() ceph.HealthCheck {
	return ceph.HealthCheck{Code: "OSD_NEARFULL", Severity: "HEALTH_WARN", Summary: "1 nearfull osd(s)"}
}

// When a cluster fills up, the benchmark ends at once and removes its data.
func osdsBecomeNearfull(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", endlessWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.health(nearfull())
	w.untilFailed(b, v1alpha1.ReasonOutOfRoom, "OSD_NEARFULL (1 nearfull osd(s))", "reuseObjects")
	w.wantClean()
}

func osdsMayBecomeNearfull(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", endlessWrite, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Quiescence.AllowedWarnings = []v1alpha1.HealthCode{"OSD_NEARFULL"}
	})
	w.untilTask(0, "r1-write", task.Measuring)
	w.health(nearfull())
	w.lookAtOSDs(b, 2)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
}

// The tool stops at the number of objects that fit. Another run would stop there too.
func noRoomForAnotherObject(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Failure: &task.Failure{Reason: "EndedEarly", Message: "it had nothing left to do"}})
	b := w.benchmark("b", endlessWrite)
	w.untilFailed(b, v1alpha1.ReasonOutOfRoom, "r1-write ended early", "its limit of", "reuseObjects")
	if states(b) != "Failed" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// Rook does nothing for a cluster in HEALTH_ERR, so the manager must empty the pool first, which is
// the cause.
func rookKeepsAFullPool(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", endlessWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	objects := settings.ScratchPool + "/" + clientjob.ExecutionOf(b.UID, "1").Name + "-0-run"
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Objects[objects] = slices.Repeat([]string{"benchmark_data_x"}, 2*leftovers.ObjectsAtOnce)
	})
	w.rook.set(func(f *fakeRook) { f.removing = "Rook is removing CephBlockPool rook-ceph/cephtune-scratch" })
	w.setFull(true)
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilReason(b, v1alpha1.ReasonTearingDown, "Rook waits until Ceph leaves HEALTH_ERR")
	w.ceph.Change(func(a *cephtest.Answers) {
		if left := a.Objects[objects]; len(left) > 0 {
			w.t.Errorf("%d objects are left", len(left))
		}
	})
	w.setFull(false)
	w.rook.set(func(f *fakeRook) { f.removing = "" })
	w.wantClean()
}

// setFull sets whether Ceph refuses writes because it is full.
func (w *world) setFull(full bool) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health, a.OSDMap.Pools[0].Flags = ceph.Health{Status: "HEALTH_OK"}, nil
		if full {
			a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{{Code: "OSD_FULL", Severity: "HEALTH_ERR", Summary: "1 full osd(s)"}}}
			a.OSDMap.Pools[0].Flags = []string{"full"}
		}
	})
}

// If an OSD is full, clients cannot remove their data: they would wait for room.
func clientsCannotRemoveAThing(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	w.kubelet.script(leftovers.TaskID, runnertest.Script{Preparing: time.Hour})
	b := w.benchmark("b", strings.Replace(endlessWrite, `scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}`, "existingPool: {name: open}", 1))
	w.untilTask(0, "r1-write", task.Measuring)
	left := "open/" + clientjob.ExecutionOf(b.UID, "1").Name + "-0-run"
	w.ceph.Change(func(a *cephtest.Answers) { a.Objects[left] = []string{"benchmark_data_x"} })
	w.setFull(true)
	w.untilFailed(b, v1alpha1.ReasonOutOfRoom, "OSD_FULL")
	w.wantClean()
	w.ceph.Change(func(a *cephtest.Answers) {
		if objects := a.Objects[left]; len(objects) > 0 {
			w.t.Errorf("%v are left", objects)
		}
	})
}

// Neither data written since the start nor a restarted manager reduces the room of a running
// benchmark.
func theRoomIsThatOfTheStart(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", endlessWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	first := w.limitOf("r1-write")
	w.fill(800 << 30)
	w.restart()
	w.kubelet.proceed("r1-")
	w.untilTask(0, "r2-write", task.Done)
	if second := w.limitOf("r2-write"); first == "" || second != first {
		w.t.Errorf("the limit was %q, and %q after a restart", first, second)
	}
	w.until(b, "complete", func() bool { return isTrue(b, v1alpha1.ConditionComplete) })
}

// fill sets the used bytes of each OSD.
func (w *world) fill(bytes int64) {
	w.ceph.Change(func(a *cephtest.Answers) {
		osds := slices.Clone(a.OSDs)
		for i := range osds {
			osds[i].UsedBytes, osds[i].AvailableBytes = bytes, osds[i].TotalBytes-bytes
		}
		a.OSDs = osds
	})
}

// limitOf returns the limit of objects in a task of the first client.
func (w *world) limitOf(id string) string {
	w.t.Helper()
	for _, t := range w.kubelet.client(0).Tasks() {
		if t.ID != id {
			continue
		}
		for _, argument := range t.Measure.Argv {
			if limit, ok := strings.CutPrefix(argument, "--max-objects="); ok {
				return limit
			}
		}
	}
	return ""
}

// Space that was used when a benchmark began to wait must not keep it waiting after it was freed.
func roomThatComesBack(w *world) {
	w.fill((1<<40)/100*85 - quiescence.LeastRoom) // of 1 TiB: a little below the nearfull ratio
	b := w.benchmark("b", endlessWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "each client that writes new objects can write")
	w.fill(0)
	w.wait(clusterwatch.ExtraEvery)
	w.untilComplete(b)
}
