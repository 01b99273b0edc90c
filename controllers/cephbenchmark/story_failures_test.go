package cephbenchmark

import (
	"context"
	"errors"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/loadtarget/claims"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

func failureStories() map[string]story {
	return map[string]story{
		"a tool that fails":                     aToolThatFails,
		"a prefill that fails":                  aPrefillThatFails,
		"a tool that ends early":                aToolThatEndsEarly,
		"a client fails, the others are ended":  oneClientFails,
		"no node takes a pod":                   noNodeTakesAPod,
		"an image cannot be pulled":             anImageCannotBePulled,
		"a quota refuses pods":                  aQuotaRefusesPods,
		"a volume cannot be mounted":            aVolumeCannotBeMounted,
		"a client is killed for its memory":     aClientIsKilled,
		"a client is evicted":                   aClientIsEvicted,
		"another client deletes the Job":        somebodyDeletesTheJob,
		"another client changes the Job":        somebodyChangesTheJob,
		"a foreign Job has that name":           somebodyHasAJobOfThatName,
		"a runner is out of reach for a while":  aRunnerIsOutOfReachForAWhile,
		"a runner is out of reach for good":     aRunnerIsOutOfReachForGood,
		"the signal to start does not get over": theSignalDoesNotGetOver,
		"a task reaches one client only":        aTaskReachesOneClientOnly,
		"the claim is not there":                theClaimIsNotThere,
		"the claim has data":                    theClaimHasData,
		"the claim changes in the queue":        theClaimChangesInTheQueue,
		"the class is of another cluster":       theClassIsOfAnotherCluster,
	}
}

// oneRead needs a prefilled dataset, because no earlier phase writes one.
const oneRead = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: read, radosBench: {mode: Rand, ramp: 0s, duration: 30s}}
`

func aToolThatFails(w *world) {
	w.kubelet.script("r2-", runnertest.Script{Output: "all it said", Failure: &task.Failure{
		Reason: task.ToolFailed, Message: "the tool ended with exit code 2", Command: []string{"fio", strings.Repeat("x", 2000)},
		Tail: "engine rados not loadable\n",
	}})
	b := w.benchmark("b", oneWrite, runs(3))
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "exit code 2", "engine rados not loadable")
	if states(b) != "Valid, Failed" || b.Status.Headline != "" {
		w.t.Errorf("runs %s, headline %q", states(b), b.Status.Headline)
	}
	for _, cm := range w.results() {
		run, err := archive.FromConfigMap(&cm)
		if err != nil {
			w.t.Fatal(err)
		}
		if run.Number == 2 && (run.State != v1alpha1.RunFailed || run.Phases[0].Clients[0].Output != "all it said") {
			w.t.Errorf("the archive does not tell why: %+v", run)
		}
	}
	if n := len(w.results()); n != 2 {
		w.t.Errorf("%d results", n)
	}
}

func aPrefillThatFails(w *world) {
	w.kubelet.script("data-", runnertest.Script{StepsFailure: &task.Failure{Reason: task.StepFailed, Message: "no space", Tail: "ENOSPC"}})
	b := w.benchmark("b", oneRead)
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "no space", "ENOSPC")
}

func aToolThatEndsEarly(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Failure: &task.Failure{Reason: "EndedEarly", Message: "it ran out of objects"}})
	b := w.benchmark("b", oneWrite, runs(2))
	w.untilComplete(b)
	if states(b) != "Invalid, Valid" || !strings.Contains(b.Status.Runs[0].Reason, "EndedEarly") || b.Status.Phases[0].ValidRuns != 1 {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func oneClientFails(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	w.kubelet.script("data-", runnertest.Script{Preparing: held})
	b := w.benchmark("b", oneRead, clients(2))
	w.untilTask(1, "data-", task.Preparing)
	w.kubelet.client(1).Script("r1-", runnertest.Script{Failure: &task.Failure{Reason: task.ToolKilled, Message: "by a signal"}})
	w.kubelet.proceed("data-")
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "by a signal", "client")
	w.untilTask(0, "r1-read", task.Cancelled)
}

func noNodeTakesAPod(w *world) {
	w.kubelet.become = func(s *corev1.PodStatus) {
		*s = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available",
		}}}
	}
	b := w.benchmark("b", oneWrite)
	w.wait(scheduleWithin)
	w.untilReason(b, v1alpha1.ReasonUnschedulable, "0/3 nodes")
	w.wait(6 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonUnschedulable, "within 5m0s", "0/3 nodes")
}

// pending is the status of a pod whose container waits on its node.
func pending(reason, message string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		*s = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
			Name: "install", Image: "tools", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
}

func anImageCannotBePulled(w *world) {
	w.kubelet.become = pending("ImagePullBackOff", "manifest unknown")
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonImagePullFailed, "image tools", "manifest unknown")
	w.wait(6 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonImagePullFailed, "manifest unknown")
}

func aQuotaRefusesPods(w *world) {
	w.kubelet.refuse = "exceeded quota: small"
	b := w.benchmark("b", oneWrite)
	w.eventually(func() string {
		w.wait(time.Second)
		if w.until(b, "there", func() bool { return true }); reasonOf(b) == v1alpha1.ReasonPreparing {
			return "nobody says why there are no pods"
		}
		return ""
	})
	w.untilReason(b, v1alpha1.ReasonClientsRefused, "exceeded quota: small")
	w.kubelet.set(func(k *kubelet) { k.refuse = "" })
	w.untilComplete(b)
}

func aVolumeCannotBeMounted(w *world) {
	w.kubelet.become = pending("ContainerCreating", "")
	b := w.benchmark("b", oneWrite)
	w.untilReason(b, v1alpha1.ReasonPreparing, "0 of 1 clients run")
	if err := w.kubelet.warn(w.t.Context(), w.podOf(0), "Pod", "FailedMount", "the volume is elsewhere"); err != nil {
		w.t.Fatal(err)
	}
	w.wait(10 * time.Second)
	w.untilReason(b, v1alpha1.ReasonClientsNotStarted, "the volume is elsewhere")
	w.wait(6 * time.Minute)
	w.untilFailed(b, v1alpha1.ReasonClientsNotStarted, "the volume is elsewhere")
}

// measuring returns a benchmark that is measuring, for an hour.
func (w *world) measuring(change ...func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	w.t.Helper()
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", oneWrite, change...)
	for i := range int(max(1, b.Spec.Template.Clients.Count)) {
		w.untilTask(i, "r1-write", task.Measuring)
	}
	return b
}

func aClientIsKilled(w *world) {
	b := w.measuring()
	w.podBecomes(0, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "client", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
		}}}
	})
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "OOMKilled", "clients.resources.memory")
	if states(b) != "Failed" {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

func aClientIsEvicted(w *world) {
	b := w.measuring(clients(2))
	w.podBecomes(1, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "the node is drained",
		}}
	})
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "EvictionByEvictionAPI", "drained")
}

func somebodyDeletesTheJob(w *world) {
	b := w.measuring()
	w.deleteJob(b)
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "not by the operator")
}

// A Job's annotations describe its execution. Here they are changed to so many clients that they
// would take all memory.
func somebodyChangesTheJob(w *world) {
	b := w.measuring()
	job := w.job(b)
	before := job.DeepCopy()
	job.Annotations[clientjob.AnnotationSpec] = strings.Replace(job.Annotations[clientjob.AnnotationSpec], `"count":1`, `"count":2147483647`, 1)
	if job.Annotations[clientjob.AnnotationSpec] == before.Annotations[clientjob.AnnotationSpec] {
		w.t.Fatalf("nothing to change in %s", job.Annotations[clientjob.AnnotationSpec])
	}
	if err := w.Patch(w.t.Context(), job, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "not by the operator")
}

// The name of a Job follows from the benchmark, so another user can create it first.
func somebodyHasAJobOfThatName(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	next := clientjob.ExecutionOf(b.UID, "2")
	theirs := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: next.Name, Labels: clientjob.Labels(next), Annotations: map[string]string{clientjob.AnnotationSpec: "{}"},
		},
		Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}
	if err := w.Create(w.t.Context(), theirs); err != nil {
		w.t.Fatal(err)
	}
	w.edit(b, func(spec *v1alpha1.CephBenchmarkSpec) { spec.RunID = "2" })
	w.untilReason(b, v1alpha1.ReasonClientsLost, "is not the operator's")
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) && isTrue(b, v1alpha1.ConditionStalled) })
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || !theirs.DeletionTimestamp.IsZero() {
		w.t.Errorf("somebody's Job was removed: %v", err)
	}
}

// job returns the Job of a benchmark.
func (w *world) job(b *v1alpha1.CephBenchmark) *batchv1.Job {
	w.t.Helper()
	job := &batchv1.Job{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name}, job); err != nil {
		w.t.Fatal(err)
	}
	return job
}

func (w *world) deleteJob(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name}}
	if err := w.Delete(w.t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.t.Fatal(err)
	}
}

func aRunnerIsOutOfReachForAWhile(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring)
	w.kubelet.client(0).Break(errors.New("no route to host"))
	w.kubelet.proceed("r1-") // The tool continues, and ends.
	w.wait(30 * time.Second)
	w.untilReason(b, v1alpha1.ReasonClientsUnreachable, "no route to host", "7480")
	w.kubelet.client(0).Break(nil)
	w.untilComplete(b)
	if states(b) != "Valid" {
		w.t.Errorf("runs %s", states(b))
	}
}

func aRunnerIsOutOfReachForGood(w *world) {
	b := w.measuring(clients(2))
	w.kubelet.client(1).Break(errors.New("no route to host"))
	w.eventually(func() string {
		w.wait(time.Minute)
		time.Sleep(100 * time.Millisecond)
		w.until(b, "there", func() bool { return true })
		if !isTrue(b, v1alpha1.ConditionFailed) {
			return "it goes on"
		}
		return ""
	})
	w.untilFailed(b, v1alpha1.ReasonClientsUnreachable, "no route to host")
}

func theSignalDoesNotGetOver(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	w.kubelet.lose = map[string]int{"start 1": 1}
	b := w.benchmark("b", oneWrite, clients(2), runs(2))
	w.untilComplete(b)
	if states(b) != "Invalid, Valid" || !strings.Contains(b.Status.Runs[0].Reason, "signal") {
		w.t.Errorf("runs %+v", b.Status.Runs)
	}
}

// The task fails on the client that has it, before the other client gets it.
func aTaskReachesOneClientOnly(w *world) {
	w.kubelet.script("data-", runnertest.Script{StepsFailure: &task.Failure{Reason: task.StepFailed, Message: "no space"}})
	w.kubelet.lose = map[string]int{"put 1": 1}
	b := w.benchmark("b", oneRead, clients(2))
	w.untilFailed(b, v1alpha1.ReasonPhaseFailed, "no space")
}

const onClaim = `
repetitions: 1
template:
  target: {persistentVolumeClaim: {claimName: data}}
  phases:
  - {name: write, fio: {engine: LibAIO, pattern: RandWrite, size: 64Mi, ramp: 0s, duration: 30s}}
`

func (w *world) createClaim(name string, mode corev1.PersistentVolumeMode) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode:  &mode,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if err := w.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

func theClaimIsNotThere(w *world) {
	b := w.benchmark("b", onClaim)
	w.untilReason(b, v1alpha1.ReasonClaimNotFound, "claimName")
	w.createClaim("data", corev1.PersistentVolumeFilesystem)
	w.look()
	w.untilComplete(b)
	if w.rook.made > 0 {
		w.t.Error("a scratch pool was made for a claim")
	}
}

// Who may create benchmarks but not write claims cannot overwrite a claim.
func theClaimHasData(w *world) {
	claim := w.createClaim("data", corev1.PersistentVolumeBlock)
	w.wantStalled(w.benchmark("b", onClaim), "kubectl annotate pvc data")
	claim.Annotations = map[string]string{claims.AnnotationOverwrite: claims.Overwrite}
	if err := w.Update(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	w.untilComplete(w.benchmark("c", onClaim))
}

// Nothing is checked again before the first execution of a run ID if only its predecessor was checked.
func theClaimChangesInTheQueue(w *world) {
	w.createClaim("data", corev1.PersistentVolumeFilesystem)
	w.createClaim("device", corev1.PersistentVolumeBlock)
	w.lockElsewhere()
	b := w.benchmark("b", onClaim)
	w.untilReason(b, v1alpha1.ReasonQueued)
	w.edit(b, func(spec *v1alpha1.CephBenchmarkSpec) {
		spec.RunID, spec.Template.Target.PersistentVolumeClaim.ClaimName = "2", "device"
	})
	w.untilFailed(b, v1alpha1.ReasonNotAllowed, "kubectl annotate pvc device")
	w.wantClean()
}

func theClassIsOfAnotherCluster(w *world) {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "of-" + w.namespace}, Provisioner: "rook-ceph.rbd.csi.ceph.com",
		Parameters: map[string]string{"clusterID": "another"},
	}
	if err := w.Create(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if err := w.Delete(context.WithoutCancel(w.t.Context()), class); err != nil {
			w.t.Error(err)
		}
	}()
	fromClass := strings.Replace(onClaim, "claimName: data", "template: {storageClassName: "+class.Name+", size: 1Gi}", 1)
	w.wantStalled(w.benchmark("b", fromClass), "storageClasses: [{name: "+class.Name+", maxTotal: 1Gi}]")
}
