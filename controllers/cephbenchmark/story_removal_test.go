package cephbenchmark

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// strays sets the number of OSDs with PGs that they still have to remove, and the number of those
// PGs.
func (w *world) strays(osds, pgs int) {
	w.ceph.Change(func(a *cephtest.Answers) { a.Strays = ceph.Strays{OSDs: osds, PGs: pgs} })
}

// Before it creates anything, a benchmark waits until OSDs have removed another benchmark's pool.
func aDeletedPoolIsStillRemoved(w *world) {
	w.strays(3, 48)
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 48, OSDs: 3)")
	if w.rook.poolOwner().UID != "" {
		w.t.Error("a pool was made beside one that is still removed")
	}
	w.strays(0, 0)
	w.untilComplete(b)
}

// OSDs that need too long to remove PGs continue during the run, which says so.
func aDeletedPoolIsRemovedForTooLong(w *world) {
	w.strays(3, 48)
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 48, OSDs: 3)", "after 2m0s")
	w.wait(quiescence.RemovalWait)
	w.untilComplete(b)
	w.wantMarkedWithRemoval(b, 1, "(PGs: 48, OSDs: 3)")
}

// wantMarkedWithRemoval checks that all runs are valid, and that the last run reports the PGs that
// OSDs were removing when it began.
func (w *world) wantMarkedWithRemoval(b *v1alpha1.CephBenchmark, runs int, message string) {
	w.t.Helper()
	if want := strings.TrimSuffix(strings.Repeat("Valid, ", runs), ", "); states(b) != want {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
	if !slices.Contains(b.Status.Phases[0].Marks, v1alpha1.MarkDisturbed) || !strings.Contains(b.Status.Summary, string(v1alpha1.MarkDisturbed)) {
		w.t.Errorf("marks %v, summary %q", b.Status.Phases[0].Marks, b.Status.Summary)
	}
	if left := w.removalOf(int32(runs)); left == nil || left.Action != v1alpha1.DisturbanceRecord || !strings.Contains(left.Message, message) {
		w.t.Errorf("run %d tells %+v of PGs that were removed, want %q", runs, left, message)
	}
}

// removalOf returns the archived PGs that OSDs were removing when the first phase of a run began;
// nil if there were none.
func (w *world) removalOf(number int32) *quiescence.Disturbance {
	w.t.Helper()
	results := w.results()
	for i := range results {
		run, err := archive.FromConfigMap(&results[i])
		if err != nil {
			w.t.Fatal(err)
		}
		if run.Number != number || len(run.Phases[0].Disturbances) == 0 {
			continue
		}
		var seen []quiescence.Disturbance
		if err := json.Unmarshal(run.Phases[0].Disturbances, &seen); err != nil {
			w.t.Fatal(err)
		}
		if index := slices.IndexFunc(seen, func(d quiescence.Disturbance) bool { return d.Kind == quiescence.KindStrayPGs }); index >= 0 {
			return &seen[index]
		}
	}
	return nil
}

// If the warning is allowed, the benchmark neither waits nor reports it.
func aDeletedPoolMayBeRemovedMeanwhile(w *world) {
	w.strays(3, 48)
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) {
		b.Spec.Quiescence.AllowedWarnings = []v1alpha1.HealthCode{"STRAY_PGS"}
	})
	w.untilComplete(b)
	if left := w.removalOf(1); left != nil {
		w.t.Errorf("run 1 tells %+v", left)
	}
}

// The manager asks OSDs for their PGs before each run and not during one, because that needs a list
// of all PGs.
func dataThatWasMovedIsStillRemoved(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, runs(2))
	w.untilTask(0, "r1-write", task.Measuring)
	w.strays(1, 5)
	w.eventually(func() string {
		before := len(w.ceph.Calls("Strays"))
		w.lookAtOSDs(b, 2)
		if len(w.ceph.Calls("Strays")) > before {
			return "what OSDs hold is asked for while a phase is measured"
		}
		return ""
	})
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 5, OSDs: 1)")
	w.strays(0, 0)
	w.untilComplete(b)
	if states(b) != "Valid, Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// Both the first and the second run wait, each for the full limit and not longer.
func movedDataIsRemovedBeforeEachRun(w *world) {
	w.strays(1, 5)
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, runs(2))
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 5, OSDs: 1)")
	w.wait(quiescence.RemovalWait)
	w.untilTask(0, "r1-write", task.Measuring)
	w.strays(2, 7)
	w.kubelet.proceed("r1-")
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence, "(PGs: 7, OSDs: 2)")
	w.wait(quiescence.RemovalWait)
	w.untilComplete(b)
	w.wantMarkedWithRemoval(b, 2, "(PGs: 7, OSDs: 2)")
	if left := w.removalOf(1); left == nil || !strings.Contains(left.Message, "(PGs: 5, OSDs: 1)") {
		w.t.Errorf("run 1 tells %+v", left)
	}
}
