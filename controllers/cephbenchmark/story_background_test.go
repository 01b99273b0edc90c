package cephbenchmark

import (
	"errors"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of benchmarks with a background load.
func backgroundStories() map[string]story {
	return map[string]story{
		"measured with it to the end":           measuredWithABackground,
		"it dies in mid-run":                    theBackgroundDies,
		"its prefill fails":                     theBackgroundCannotBePrefilled,
		"its pod is lost":                       thePodOfTheBackgroundIsLost,
		"another client deletes its Job":        theJobOfTheBackgroundIsDeleted,
		"the manager is restarted in mid-run":   restartedUnderBackgroundLoad,
		"and before it was made":                restartedBeforeTheBackground,
		"suspended in mid-run, and resumed":     suspendedUnderBackgroundLoad,
		"deleted in mid-run":                    deletedUnderBackgroundLoad,
		"the cluster is aborted in mid-run":     abortedUnderBackgroundLoad,
		"a phase fails, and that is the reason": aPhaseFailsUnderBackgroundLoad,
		"in a pool that is there":               aBackgroundInAPoolThatIsThere,
	}
}

// backgroundOfOne has a background load during two repetitions of one phase.
const backgroundOfOne = `
repetitions: 2
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
  - {name: other-users, fio: {pattern: RandWrite, rateIOPS: 1000}}
  backgroundLoad: {phase: other-users, ramp: 0s}
`

var errNoMoreJobs = errors.New("exceeded quota: one Job")

// The pods of the clients come first, and the background load's pod follows.
const (
	client0 = 0
	aside   = 1
)

func measuredWithABackground(w *world) {
	// The background load does I/O in the benchmark's own pool, so it does not count as foreign
	// I/O.
	w.ceph.Change(func(a *cephtest.Answers) {
		a.PoolIO = []ceph.PoolIO{{Name: settings.ScratchPool, WriteOperationsPerSecond: 5000}}
	})
	b := w.benchmark("b", backgroundOfOne, runs(1))
	w.untilComplete(b)
	w.wantFewWrites(b)
	phase := b.Status.Phases[0]
	if states(b) != "Valid" || !isThousand(phase.BackgroundIOPS) || len(phase.Marks) != 1 {
		w.t.Errorf("runs %s, phase %+v", states(b), phase)
	}
	w.wantOrder("data-image-", "background-r1", leftovers.TaskID)
	run, err := archive.FromConfigMap(&w.results()[0])
	if err != nil {
		w.t.Fatal(err)
	}
	if run.Background == nil || run.Background.Observation == nil || run.Background.StartTime.After(*run.Phases[0].StartTime) ||
		run.Background.EndTime.Before(*run.Phases[0].EndTime) || run.Background.WholeRun {
		w.t.Errorf("the archive has the background load %+v, beside %+v", run.Background, run.Phases[0])
	}
	if len(run.Phases[0].Background) == 0 || len(run.Phases[0].Disturbances) > 0 {
		w.t.Errorf("the phase has the background load %+v, and disturbances %s", run.Phases[0].Background, run.Phases[0].Disturbances)
	}
	if !strings.Contains(string(run.Environment), `"rateIOPS":1000`) && !strings.Contains(string(run.Environment), `\"rateIOPS\":1000`) {
		w.t.Errorf("the environment does not have the background load: %s", run.Environment)
	}
}

// isThousand reports whether a rate is that of the fake's results. It allows a small difference,
// because operations are whole and times vary a little.
func isThousand(d v1alpha1.Decimal) bool {
	rate, err := figure.ParseDecimal(d)
	return err == nil && rate > 990 && rate < 1010
}

// wantOrder checks the order of the background load's tasks, by the beginnings of their IDs.
func (w *world) wantOrder(prefixes ...string) {
	w.t.Helper()
	var ids []string
	for _, t := range w.kubelet.client(aside).Tasks() {
		ids = append(ids, t.ID)
	}
	if len(ids) != len(prefixes) {
		w.t.Fatalf("it was told %v, want %v", ids, prefixes)
	}
	for i, prefix := range prefixes {
		if !strings.HasPrefix(ids[i], prefix) {
			w.t.Errorf("it was told %v, want %v", ids, prefixes)
		}
	}
}

func theBackgroundDies(w *world) {
	b := w.backgroundAtWork()
	w.kubelet.client(aside).Fail("background-r1", &task.Failure{Reason: task.ToolKilled, Message: "fio was killed by a signal"})
	w.untilTask(client0, "r1-write", task.Cancelled) // The rest of the measurement would be useless.
	w.untilComplete(b)
	if reason := b.Status.Runs[0].Reason; states(b) != "Invalid, Valid" || !strings.HasPrefix(reason, "BackgroundLoadFailed: ") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
	w.untilCounted(1, metrics.InvalidRuns, "CephBenchmark", v1alpha1.ReasonBackgroundLoadFailed)
}

func theBackgroundCannotBePrefilled(w *world) {
	w.kubelet.script("data-image", runnertest.Script{StepsFailure: &task.Failure{Reason: task.StepFailed, Message: "no space"}})
	b := w.benchmark("b", backgroundOfOne)
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "in the background", "no space")
}

// backgroundAtWork returns a benchmark whose phase and background load are running.
func (w *world) backgroundAtWork() *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", backgroundOfOne)
	w.untilTask(client0, "r1-write", task.Measuring)
	w.untilTask(aside, "background-r1", task.Measuring)
	return b
}

// podAside returns the pod of the background load.
func (w *world) podAside() *corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	if err := w.List(w.t.Context(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{settings.LabelRole: settings.RoleBackground}); err != nil {
		w.t.Fatal(err)
	}
	if len(pods.Items) != 1 {
		w.t.Fatalf("%d pods of the background load", len(pods.Items))
	}
	return &pods.Items[0]
}

func thePodOfTheBackgroundIsLost(w *world) {
	b := w.backgroundAtWork()
	pod := w.podAside()
	pod.Status.Phase, pod.Status.Message = corev1.PodFailed, "The node was low on resource: memory"
	if err := w.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	w.untilFailed(b, v1alpha1.ReasonBackgroundLoadLost, "low on resource")
	if states(b) != "Failed" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func theJobOfTheBackgroundIsDeleted(w *world) {
	b := w.backgroundAtWork()
	job := &batchv1.Job{}
	job.Namespace, job.Name = w.namespace, w.podAside().Labels[clientjob.LabelExecution]
	if err := w.Delete(w.t.Context(), job, client.PropagationPolicy("Background")); err != nil {
		w.t.Fatal(err)
	}
	w.look()
	w.untilFailed(b, v1alpha1.ReasonBackgroundLoadLost, "not by the operator")
}

func restartedUnderBackgroundLoad(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", backgroundOfOne, runs(1))
	w.untilTask(client0, "r1-write", task.Measuring)
	w.restart()
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if states(b) != "Valid" || !isThousand(b.Status.Phases[0].BackgroundIOPS) {
		w.t.Errorf("runs %+v, phases %+v", b.Status.Runs, b.Status.Phases)
	}
	w.wantOrder("data-image-", "background-r1", leftovers.TaskID)
}

// The manager ends after it has created the clients' Job, and before that of the background load.
func restartedBeforeTheBackground(w *world) {
	b := w.backgroundNotMade()
	w.restart()
	w.writes.refuseIf(nil)
	w.untilComplete(b)
	if states(b) != "Valid, Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// backgroundNotMade returns a benchmark that has clients and no background load yet.
func (w *world) backgroundNotMade() *v1alpha1.CephBenchmark {
	w.t.Helper()
	jobs := 0
	w.writes.refuseIf(func(request string) error {
		if request == "create Job" {
			jobs++
		}
		if request == "create Job" && jobs > 1 {
			return errNoMoreJobs
		}
		return nil
	})
	b := w.benchmark("b", backgroundOfOne)
	w.untilReason(b, v1alpha1.ReasonPreparing, errNoMoreJobs.Error())
	return b
}

func suspendedUnderBackgroundLoad(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", backgroundOfOne)
	w.untilTask(client0, "r1-write", task.Measuring)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilObserved(b)
	w.kubelet.proceed("r1-")
	w.until(b, "suspended and idle", func() bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended && !isTrue(b, v1alpha1.ConditionReconciling)
	})
	w.wantClean()
	if states(b) != "Valid" { // Its only phase has ended normally.
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
	w.untilTask(aside, "background-r1", task.Done)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.untilComplete(b)
	if states(b) != "Valid, Valid" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func deletedUnderBackgroundLoad(w *world) {
	b := w.backgroundAtWork()
	w.delete(b)
	w.wantClean()
	if !w.kubelet.client(aside).Finished() {
		w.t.Error("the background load was not told to end")
	}
	w.untilTask(aside, leftovers.TaskID, task.Done)
}

// HEALTH_ERR stops a run at once, together with its background load.
func abortedUnderBackgroundLoad(w *world) {
	b := w.backgroundAtWork()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{{Code: "PG_DAMAGED", Severity: "HEALTH_ERR", Summary: "1 pg inconsistent"}}}
	})
	w.untilTask(aside, "background-r1", task.Done)
	w.heal()
	w.kubelet.client(client0).Script("r2-", runnertest.Script{})
	w.untilComplete(b)
	if states(b) != "Invalid, Valid" || !strings.HasPrefix(b.Status.Runs[0].Reason, "HealthError") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func aPhaseFailsUnderBackgroundLoad(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: 200 * time.Millisecond, Failure: &task.Failure{Reason: "EndedEarly", Message: "it ran out of objects"}})
	b := w.benchmark("b", backgroundOfOne)
	w.untilComplete(b)
	if states(b) != "Invalid, Valid" || !strings.Contains(b.Status.Runs[0].Reason, "r1-write") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// The manager also looks for data that the background load has left.
func aBackgroundInAPoolThatIsThere(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", strings.Replace(backgroundOfOne, `scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}`, "existingPool: {name: open}", 1))
	w.untilTask(client0, "r1-write", task.Measuring)
	left := clientjob.ExecutionOf(b.UID, "1").Background().Name
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images["open"] = []string{"precious", left + "-0-image"}
	})
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	w.ceph.Change(func(a *cephtest.Answers) {
		if images := a.Images["open"]; len(images) != 1 || images[0] != "precious" {
			w.t.Errorf("images %v", images)
		}
	})
}
