package memapi

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const spec = `
clusterRef: {namespace: rook-ceph, name: my-cluster}
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, radosBench: {mode: Write}}
parameters:
- {name: cap, config: {option: osd_client_message_cap}, values: ["16"]}
objective: {phase: write, metric: IOPS}
`

// The API server must do what the controllers rely on, as a real one does.
func TestAPIServer(t *testing.T) {
	c, ctx := New(t, CompileKinds(t, "../../..")), t.Context()
	s := &v1alpha1.CephTuningSweep{}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatal(err)
	}
	s.Namespace, s.Name, s.Finalizers = "bench", "s", []string{"cephtune.dev/restore"}
	bad := s.DeepCopy()
	bad.Spec.Parameters[0].Config.Option = "Not An Option"
	if err := c.Create(ctx, bad); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid sweep: %v", err)
	}
	if err := c.Create(ctx, s); err != nil {
		t.Fatal(err)
	}
	if s.UID == "" || s.Generation != 1 || s.Spec.HistoryLimit == 0 {
		t.Errorf("created with UID %q, generation %d, historyLimit %d", s.UID, s.Generation, s.Spec.HistoryLimit)
	}
	stale := s.DeepCopy()
	patch := client.MergeFrom(s.DeepCopy())
	s.Spec.Suspend = true
	if err := c.Patch(ctx, s, patch); err != nil || s.Generation != 2 {
		t.Errorf("a new spec: %v, generation %d", err, s.Generation)
	}
	before := s.DeepCopy()
	s.Status.ObservedRunID = "1"
	if err := c.Status().Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil || s.Generation != 2 {
		t.Errorf("status: %v, generation %d", err, s.Generation)
	}
	changed := stale.DeepCopy()
	changed.Status.ObservedRunID = "2"
	if err := c.Status().Patch(ctx, changed, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("a stale status: %v", err)
	}
	testDeletion(t, c, s)
}

// testDeletion deletes an object that has a finalizer.
func testDeletion(t *testing.T, c client.Client, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	ctx, other := t.Context(), types.UID("other")
	if err := c.Delete(ctx, s, client.Preconditions{UID: &other}); !apierrors.IsConflict(err) {
		t.Errorf("deleted as another object: %v", err)
	}
	if err := c.Delete(ctx, s, client.Preconditions{UID: &s.UID}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil || s.DeletionTimestamp.IsZero() || s.Generation != 3 || s.Status.ObservedRunID != "1" {
		t.Errorf("with its finalizer: %v, %+v", err, s.ObjectMeta)
	}
}

// Objects go with their owners, and an object that is deleted in the foreground waits for those that it owns.
func TestGarbage(t *testing.T) {
	c, ctx := New(t, Kinds{}), t.Context()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "job"}}
	if err := c.Create(ctx, job); err != nil {
		t.Fatal(err)
	}
	for name, owner := range map[string]types.UID{"owned": job.UID, "orphan": "gone", "free": ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name}}
		if owner != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: owner}}
		}
		if err := c.Create(ctx, pod); err != nil {
			t.Fatal(err)
		}
	}
	collect := func(want ...string) {
		t.Helper()
		var names []string
		deleted, err := Collect(ctx, c, "bench", &batchv1.JobList{}, &corev1.PodList{})
		for _, object := range deleted {
			names = append(names, object.GetName())
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("collected %v, %v; want %v", names, err, want)
		}
	}
	collect("orphan")
	if err := c.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil || job.DeletionTimestamp.IsZero() {
		t.Errorf("in the foreground: %v, %+v", err, job.ObjectMeta)
	}
	if err := c.Delete(ctx, job); err != nil {
		t.Errorf("deleted again: %v", err)
	}
	collect()
	job.Finalizers = nil
	if err := c.Update(ctx, job); err != nil {
		t.Fatal(err)
	}
	collect("owned")
}
