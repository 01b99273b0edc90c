package cephbenchmark

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of another user of the namespace, who creates objects with the names that a benchmark needs, or replaces
// the benchmark's objects. Each name is combined with each step of a benchmark. Whatever the stranger does, the
// benchmark can be suspended or deleted within a bound, no forged figure counts, and the stranger's objects stay.
func strangerStories() map[string]story {
	all := map[string]story{
		"a crash before the UID of a Job is recorded": crashedBeforeTheRecord,
		"a copy of a Job whose UID is not recorded":   copiedBeforeTheRecord,
		"results with the name of a run":              resultsAreForged,
		"results of a run are replaced":               resultsAreReplaced,
		"a reference whose results are replaced":      aReferenceIsForged,
		"results of the version before":               resultsOfTheVersionBefore,
		"a new master key while clients measure":      aNewMasterKey,
	}
	for i, step := range slices.Sorted(maps.Keys(strangersSteps())) {
		for j, name := range slices.Sorted(maps.Keys(strangersObjects())) {
			ending := []string{"suspended", "deleted"}[(i+j)%2]
			all[fmt.Sprintf("the %s, %s, then %s", name, step, ending)] = aStranger(step, name, ending)
		}
	}
	return all
}

// strangersSteps brings a benchmark to a step, and returns how it goes on.
func strangersSteps() map[string]func(*world) (b *v1alpha1.CephBenchmark, goOn func()) {
	create := func(w *world) *v1alpha1.CephBenchmark {
		return w.benchmark("b", backgroundOfOne, runs(1), atLeast("2k"))
	}
	return map[string]func(*world) (*v1alpha1.CephBenchmark, func()){
		"1 in the queue": func(w *world) (*v1alpha1.CephBenchmark, func()) {
			w.lockElsewhere()
			b := create(w)
			w.untilReason(b, v1alpha1.ReasonQueued)
			return b, w.unlockElsewhere
		},
		"2 while the pool is made": func(w *world) (*v1alpha1.CephBenchmark, func()) {
			w.rook.making = "Rook is slow"
			b := create(w)
			w.untilReason(b, v1alpha1.ReasonPreparing, "slow")
			return b, func() { w.rook.set(func(f *fakeRook) { f.making = "" }) }
		},
		"3 while clients measure": func(w *world) (*v1alpha1.CephBenchmark, func()) {
			w.kubelet.script("r1-", runnertest.Script{Measuring: held})
			b := create(w)
			w.untilTask(client0, "r1-write", task.Measuring)
			return b, func() { w.kubelet.proceed("r1-") }
		},
		"4 in the teardown": func(w *world) (*v1alpha1.CephBenchmark, func()) {
			w.rook.removing = "Rook is slow"
			b := create(w)
			w.untilReason(b, v1alpha1.ReasonTearingDown, "slow")
			return b, func() { w.rook.set(func(f *fakeRook) { f.removing = "" }) }
		},
	}
}

// strangersObjects returns the stranger's objects, by what they replace. The function gets the object of the
// operator with that name; it is empty if there is none.
func strangersObjects() map[string]func(w *world, b *v1alpha1.CephBenchmark) client.Object {
	jobNamed := func(w *world, b *v1alpha1.CephBenchmark, name string) client.Object {
		theirs := &batchv1.Job{}
		err := w.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, theirs)
		if client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		if err != nil {
			theirs.Namespace, theirs.Name, theirs.Labels = w.namespace, name, clientjob.Labels(clientjob.ExecutionOf(b.UID, b.Spec.RunID))
			theirs.Annotations = map[string]string{clientjob.AnnotationSpec: "{}"}
			theirs.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
		}
		copied := copyOf(theirs)
		copied.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("CephBenchmark"))}
		copied.Spec.Suspend = new(true)
		return copied
	}
	return map[string]func(*world, *v1alpha1.CephBenchmark) client.Object{
		"Job of the clients": func(w *world, b *v1alpha1.CephBenchmark) client.Object {
			return jobNamed(w, b, clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name)
		},
		"Job of the background load": func(w *world, b *v1alpha1.CephBenchmark) client.Object {
			return jobNamed(w, b, clientjob.ExecutionOf(b.UID, b.Spec.RunID).Background().Name)
		},
		"Secret": func(_ *world, b *v1alpha1.CephBenchmark) client.Object {
			return &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: clientjob.SecretName(clientjob.ExecutionOf(b.UID, b.Spec.RunID), b.Status.Clients.Nonce)},
				Data:       map[string][]byte{clientjob.ExecutionKey: make([]byte, 32)},
			}
		},
		"results": func(w *world, b *v1alpha1.CephBenchmark) client.Object { return forgedResults(w, b) },
		"claim": func(_ *world, b *v1alpha1.CephBenchmark) client.Object {
			return &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: clientjob.ExecutionOf(b.UID, b.Spec.RunID).Name + "-0-claim", Labels: clientjob.Labels(clientjob.ExecutionOf(b.UID, b.Spec.RunID))},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}
		},
	}
}

// copyOf returns a Job that a user makes of another: it has the same metadata, annotations included, and another pod.
func copyOf(job *batchv1.Job) *batchv1.Job {
	copied := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: job.Name, Labels: job.Labels, Annotations: job.Annotations, OwnerReferences: job.OwnerReferences,
		},
		Spec: *job.Spec.DeepCopy(),
	}
	copied.Spec.Selector = nil
	for _, label := range []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"} {
		delete(copied.Spec.Template.Labels, label)
	}
	copied.Spec.Template.Spec.Containers[0].Image = "forged"
	return copied
}

// forgedResults returns results of the first run that meet every expectation, with the benchmark as their owner.
func forgedResults(w *world, b *v1alpha1.CephBenchmark) *corev1.ConfigMap {
	w.t.Helper()
	forged, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, Phases: []archive.Phase{{Name: "write", Observation: &figure.Observation{
			Figures: []figure.Figure{{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionWrite, Value: 9e11}},
		}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return forged
}

// replace deletes the object with a name, if there is one, and creates another.
func (w *world) replace(theirs client.Object) {
	w.t.Helper()
	theirs.SetNamespace(w.namespace)
	ours, ok := theirs.DeepCopyObject().(client.Object)
	if !ok {
		w.t.Fatalf("%T is not an object", theirs)
	}
	w.eventually(func() string {
		err := w.Delete(w.t.Context(), ours, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return err.Error()
		}
		if err := w.Create(w.t.Context(), theirs); err != nil {
			return err.Error()
		}
		return ""
	})
}

func aStranger(step, name, ending string) story {
	return func(w *world) {
		b, goOn := strangersSteps()[step](w)
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			w.t.Fatal(err)
		}
		theirs := strangersObjects()[name](w, b)
		w.replace(theirs)
		goOn()
		if ending == "deleted" {
			w.wait(time.Second)
			if err := w.Delete(w.t.Context(), b); err != nil {
				w.t.Fatal(err)
			}
		} else {
			w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
		}
		// Five minutes of the world's clock bound each wait for something that a stranger may withhold.
		for passed := time.Duration(0); ; passed += 5 * time.Second {
			err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b)
			if apierrors.IsNotFound(err) || err == nil && ending == "suspended" && !isTrue(b, v1alpha1.ConditionReconciling) {
				break
			}
			if err != nil || passed > 5*time.Minute {
				w.t.Fatalf("the teardown takes longer than %v, %v: %+v", passed, err, b.Status)
			}
			w.wait(5 * time.Second)
			time.Sleep(300 * time.Millisecond)
		}
		w.wantNothingOfABenchmark(theirs)
		if b.Status.Verdict == v1alpha1.BenchmarkPassed || strings.Contains(b.Status.Headline, "G") {
			w.t.Errorf("a stranger's figure counts: %+v", b.Status)
		}
	}
}

// wantNothingOfABenchmark checks that all is removed but the stranger's object.
func (w *world) wantNothingOfABenchmark(theirs client.Object) {
	w.t.Helper()
	now, ok := theirs.DeepCopyObject().(client.Object)
	if !ok {
		w.t.Fatalf("%T is not an object", theirs)
	}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(theirs), now); err != nil || now.GetUID() != theirs.GetUID() || !now.GetDeletionTimestamp().IsZero() {
		w.t.Errorf("the stranger's %T %s is gone: %v", theirs, theirs.GetName(), err)
	}
	w.eventually(func() string {
		var jobs batchv1.JobList
		if err := w.List(w.t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		for _, job := range jobs.Items {
			if job.UID != theirs.GetUID() {
				return fmt.Sprintf("Job %s is left", job.Name)
			}
		}
		if owner := w.rook.poolOwner(); owner.UID != "" {
			return fmt.Sprintf("the scratch pool of %s is left", owner)
		}
		if left := w.lockInCeph(); strings.Contains(left, "this-cluster") {
			return "the lock is left: " + left
		}
		return ""
	})
}

func crashedBeforeTheRecord(w *world) {
	b := w.crashedAfter("create Job")
	unrecorded := w.job(b).UID
	w.start()
	w.until(b, "recorded", func() bool { return b.Status.Clients.JobUID != "" })
	if b.Status.Clients.JobUID == unrecorded {
		w.t.Error("a Job counts whose UID was not recorded")
	}
	w.untilComplete(b)
}

func copiedBeforeTheRecord(w *world) {
	b := w.crashedAfter("create Job")
	w.replace(copyOf(w.job(b)))
	w.start()
	w.until(b, "recorded", func() bool { return b.Status.Clients.JobUID != "" })
	if image := w.job(b).Spec.Template.Spec.Containers[0].Image; image == "forged" {
		w.t.Errorf("a copy counts: its pods have the image %s", image)
	}
	w.untilComplete(b)
}

// resultsAreForged puts forged results where those of the run belong, before the run has ended.
func resultsAreForged(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, atLeast("2k"))
	w.untilTask(0, "r1-write", task.Measuring)
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
	forged := forgedResults(w, b)
	w.replace(forged)
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	if run := b.Status.Runs[0]; b.Status.Verdict != v1alpha1.BenchmarkFailed || b.Status.Headline != "write 1k IOPS, not at least 2k" || run.Results == forged.Name || run.ResultsDigest == "" {
		w.t.Errorf("%s, verdict %s, runs %+v", b.Status.Headline, b.Status.Verdict, b.Status.Runs)
	}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(forged), forged); err != nil {
		w.t.Errorf("the stranger's ConfigMap is gone: %v", err)
	}
}

// resultsAreReplaced replaces the results of a run that has ended by a copy with other figures, while no manager runs.
func resultsAreReplaced(w *world) {
	w.kubelet.script("r2-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, runs(2))
	w.untilTask(0, "r2-write", task.Measuring)
	w.stop()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		w.t.Fatal(err)
	}
	genuine := w.results()[0]
	forged := forgedResults(w, b)
	forged.Annotations, forged.Labels = genuine.Annotations, genuine.Labels
	w.replace(forged)
	w.start()
	w.kubelet.proceed("r2-")
	w.untilComplete(b)
	if b.Status.Phases[0].ValidRuns != 1 || b.Status.Headline != "write 1k IOPS" {
		w.t.Errorf("%s, phase %+v: the forged run counts", b.Status.Headline, b.Status.Phases[0])
	}
}

// aReferenceIsForged adds slow executions of other days to a reference, and replaces its own results by slow ones.
func aReferenceIsForged(w *world) {
	measuring(w, 30000, 1)
	reference := w.benchmark("reference", oneWrite, runs(3))
	w.untilComplete(reference)
	for _, genuine := range w.results() {
		run, err := archive.FromConfigMap(&genuine)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range run.Phases[0].Observation.Figures {
			run.Phases[0].Observation.Figures[i].Value /= 10
		}
		for day := range 3 {
			b := reference.DeepCopy()
			b.Status.StartTime.Time = b.Status.StartTime.AddDate(0, 0, -day)
			forged, err := archive.ConfigMap(b, run)
			if err != nil {
				w.t.Fatal(err)
			}
			forged.Annotations = genuine.Annotations
			w.replace(forged)
		}
	}
	measuring(w, 20000, 1)
	w.wantJudged(w.benchmark("slower", oneWrite, runs(3), noWorseThisHour), v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive,
		"of reference were deleted or changed")
}

// resultsOfTheVersionBefore are still a reference, and the summary says that they are unsigned.
func resultsOfTheVersionBefore(w *world) {
	measuring(w, 30000, 1)
	reference := w.benchmark("reference", oneWrite, runs(3))
	w.untilComplete(reference)
	for _, cm := range w.results() {
		before := cm.DeepCopy()
		cm.Annotations = nil
		if err := w.Patch(w.t.Context(), &cm, client.MergeFrom(before)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.editStatus(reference, unsign)
	w.restart()
	w.wantJudged(w.benchmark("same", oneWrite, runs(3), noWorseThisHour), v1alpha1.ExpectationMet, v1alpha1.BenchmarkPassed, "results of reference are unsigned")
}

// With another key, no signature of the execution is genuine. The execution fails, and its teardown needs no key.
func aNewMasterKey(w *world) {
	b := w.measuring()
	w.stop()
	w.masterKey = append(make([]byte, 31), 1)
	w.start()
	w.untilFailed(b, v1alpha1.ReasonClientsLost, "its signature does not match")
}
