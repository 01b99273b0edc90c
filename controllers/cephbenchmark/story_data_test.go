package cephbenchmark

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories about the state of the data at the start of each run.
func dataStories() map[string]story {
	return map[string]story{
		"rolled back before each run":           rolledBackBeforeEachRun,
		"fresh before each run, of two clients": freshBeforeEachRun,
		"caches that are warm":                  cachesAreWarm,
		"a new manager, in the midst of it":     restartedWhileRollingBack,
		"suspended in the midst of it":          suspendedWhileRollingBack,
		"deleted in the midst of it":            deletedWhileRollingBack,
		"it fails":                              rollingBackFails,
		"a client is lost, and leaves an image": lostWhileRollingBack,
		"the cluster is not quiet after it":     notQuietAfterRollingBack,
	}
}

// twoOverwrites overwrites one image, and reads another.
const twoOverwrites = `
repetitions: 2
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  initialState: Rollback
  phases:
  - {name: over, fio: {pattern: RandWrite, ramp: 0s, duration: 30s}}
  - {name: read, fio: {pattern: RandRead, ramp: 0s, duration: 30s}}
`

// wantTasks checks the tasks of a client, except its cleanup.
func (w *world) wantTasks(n int, want ...string) {
	w.t.Helper()
	var got []string
	for _, t := range w.kubelet.client(n).Tasks() {
		if t.ID != leftovers.TaskID {
			got = append(got, t.ID)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("client %d had the tasks %q, want %q", n, got, want)
	}
}

// stepsOf returns the commands of a client's task, one per line.
func (w *world) stepsOf(n int, id string) []string {
	w.t.Helper()
	for _, t := range w.kubelet.client(n).Tasks() {
		if t.ID != id {
			continue
		}
		var lines []string
		for _, step := range t.Steps {
			lines = append(lines, strings.Join(step.Argv, " "))
		}
		return lines
	}
	w.t.Errorf("client %d had no task %s", n, id)
	return nil
}

// wantWords checks that each step contains the words for it.
func (w *world) wantWords(steps []string, words ...string) {
	w.t.Helper()
	if len(steps) != len(words) {
		w.t.Fatalf("steps %q, want %d: %q", steps, len(words), words)
	}
	for i, step := range steps {
		if !strings.Contains(step, words[i]) {
			w.t.Errorf("step %d is %q, want %q in it", i, step, words[i])
		}
	}
}

// wantFound checks, in status and archive, in which state runs have found their data.
func (w *world) wantFound(b *v1alpha1.CephBenchmark, want ...v1alpha1.DataState) {
	w.t.Helper()
	var inStatus, archived []v1alpha1.DataState
	for _, run := range b.Status.Runs {
		inStatus = append(inStatus, run.InitialState)
	}
	maps := w.results()
	for i := range maps {
		run, err := archive.FromConfigMap(&maps[i])
		if err != nil {
			w.t.Fatal(err)
		}
		archived = append(archived, run.InitialState)
		if detail := string(run.Environment); !strings.Contains(detail, string(b.Spec.Template.InitialState)) {
			w.t.Errorf("the environment does not tell the initial state: %s", detail)
		}
	}
	if !slices.Equal(inStatus, want) || !slices.Equal(archived, want) {
		w.t.Errorf("runs have found their data %q by status, and %q by the archive, want %q", inStatus, archived, want)
	}
}

func rolledBackBeforeEachRun(w *world) {
	b := w.benchmark("b", twoOverwrites)
	w.untilComplete(b)
	w.wantFound(b, v1alpha1.DataRolledBack, v1alpha1.DataRolledBack)
	w.wantTasks(0, "data-image-w1x64m", "data-image-r1x64m", "r1-over", "r1-read", "initial-2-image-w1x64m", "r2-over", "r2-read")
	w.wantWords(w.stepsOf(0, "data-image-w1x64m"), "create", "--rw=write", "snap create", "--rw=write", "snap rollback")
	w.wantWords(w.stepsOf(0, "data-image-r1x64m"), "create", "--rw=write")
	w.wantWords(w.stepsOf(0, "initial-2-image-w1x64m"), "image-meta set", "snap rollback")
	w.wantWords(w.stepsOf(0, leftovers.TaskID), "image-meta set", "snap rm", "rm", "rm")
}

func freshBeforeEachRun(w *world) {
	b := w.benchmark("b", twoOverwrites, clients(2), func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.InitialState = v1alpha1.InitialStateFresh
	})
	w.untilComplete(b)
	w.wantFound(b, v1alpha1.DataPrefilled, v1alpha1.DataPrefilled)
	for n := range 2 {
		w.wantTasks(n, "data-image-w1x64m", "data-image-r1x64m", "r1-over", "r1-read", "initial-2-image-w1x64m", "initial-2-image-r1x64m", "r2-over", "r2-read")
		w.wantWords(w.stepsOf(n, "initial-2-image-w1x64m"), "image-meta set", "rm", "create", "--rw=write")
	}
}

func cachesAreWarm(w *world) {
	b := w.benchmark("b", twoOverwrites, runs(1), func(b *v1alpha1.CephBenchmark) {
		b.Spec.Template.InitialState, b.Spec.Template.OSDCaches = v1alpha1.InitialStateKeep, v1alpha1.OSDCachesWarmBeforePhase
	})
	w.untilComplete(b)
	w.wantTasks(0, "data-image-w1x64m", "data-image-r1x64m", "warm-r1-over", "r1-over", "warm-r1-read", "r1-read")
	w.wantWords(w.stepsOf(0, "warm-r1-read"), "--rw=read")
	for i, want := range []bool{false, true} { // Caches do not serve writes.
		if phase := b.Status.Phases[i]; slices.Contains(phase.Marks, v1alpha1.MarkWarmed) != want {
			w.t.Errorf("phase %s has the marks %q", phase.Name, phase.Marks)
		}
	}
	if len(w.ceph.Calls("DropOSDCaches")) > 0 {
		w.t.Error("the caches were dropped")
	}
}

// whileRollingBack returns a benchmark whose client is rolling its image back before the second
// run.
func (w *world) whileRollingBack() *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.script("initial-", runnertest.Script{Preparing: held})
	b := w.benchmark("b", twoOverwrites)
	w.untilTask(0, "initial-2-", task.Preparing)
	return b
}

func restartedWhileRollingBack(w *world) {
	b := w.whileRollingBack()
	w.restart()
	w.kubelet.proceed("initial-")
	w.untilComplete(b)
	w.wantFound(b, v1alpha1.DataRolledBack, v1alpha1.DataRolledBack)
	w.wantTasks(0, "data-image-w1x64m", "data-image-r1x64m", "r1-over", "r1-read", "initial-2-image-w1x64m", "r2-over", "r2-read")
}

func suspendedWhileRollingBack(w *world) {
	b := w.whileRollingBack()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.until(b, "suspended and idle", func() bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended && !isTrue(b, v1alpha1.ConditionReconciling)
	})
	w.wantClean()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.untilComplete(b)
	// The new client's image was just prefilled, so its state is that after a rollback.
	w.wantTasks(1, "data-image-w1x64m", "data-image-r1x64m", "r2-over", "r2-read")
	w.wantFound(b, v1alpha1.DataRolledBack, v1alpha1.DataRolledBack)
}

func deletedWhileRollingBack(w *world) {
	b := w.whileRollingBack()
	w.delete(b)
	w.wantClean()
	w.wantWords(w.stepsOf(0, leftovers.TaskID), "image-meta set", "snap rm", "rm", "rm")
}

func rollingBackFails(w *world) {
	w.kubelet.script("initial-", runnertest.Script{StepsFailure: &task.Failure{
		Reason: task.StepFailed, Message: "it ended with exit code 16", Command: []string{"rbd", "snap", "rollback"}, Tail: "rbd: rollback failed",
	}})
	b := w.benchmark("b", twoOverwrites)
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "initial-2-image-w1x64m", "rollback failed")
	if states(b) != "Valid" {
		w.t.Errorf("runs %s, want the first one, whose results are kept", states(b))
	}
}

// The client is gone, so the manager has to remove its image and the snapshot.
func lostWhileRollingBack(w *world) {
	b := w.whileRollingBack()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images[settings.ScratchPool] = []string{clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name + "-0-w1x64m-0"}
	})
	w.podBecomes(0, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	w.untilFailed(b, v1alpha1.ReasonClientsLost)
	if calls := w.ceph.Calls("RemoveImage"); len(calls) != 1 {
		w.t.Errorf("images were removed %d times: %+v", len(calls), calls)
	}
}

// Activity in the cluster after a rollback must end before the measurement.
func notQuietAfterRollingBack(w *world) {
	b := w.whileRollingBack()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.PGsByState = map[string]int{"active+clean": 32, "active+recovering": 1}
	})
	w.untilSampled(b)
	w.kubelet.proceed("initial-")
	w.untilTask(0, "initial-2-", task.Done)
	w.untilReason(b, v1alpha1.ReasonWaitingForQuiescence)
	for _, t := range w.kubelet.client(0).Tasks() {
		if t.ID == "r2-over" {
			w.t.Error("the second run has begun")
		}
	}
	w.ceph.Change(func(a *cephtest.Answers) { a.Status.PGsByState = map[string]int{"active+clean": 33} })
	w.untilComplete(b)
	if states(b) != "Valid, Valid" {
		w.t.Errorf("runs %s", states(b))
	}
}
