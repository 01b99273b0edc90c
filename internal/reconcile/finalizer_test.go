package reconcile

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "cephtune.dev/test"

func TestFinalizerIsAddedAndRemoved(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(object("")).Build()
	o := &corev1.ConfigMap{}
	for _, ok := range []bool{true, true, false, false} { // Each is done twice: the second time changes nothing.
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object("")), o); err != nil {
			t.Fatal(err)
		}
		change := RemoveFinalizer
		if ok {
			change = AddFinalizer
		}
		if err := change(t.Context(), c, o, finalizer); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if got := controllerutil.ContainsFinalizer(o, finalizer); got != ok {
			t.Errorf("it has the finalizer: %t, want %t", got, ok)
		}
	}
}

func TestFinalizerOfAnOldObjectConflicts(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(object("")).Build()
	old := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object("")), old); err != nil {
		t.Fatal(err)
	}
	changed := old.DeepCopy()
	changed.Finalizers = []string{"somebody/else"}
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if err := AddFinalizer(t.Context(), c, old, finalizer); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict: it would drop the other finalizer", err)
	}
}

func TestFinalizerOfAnObjectThatIsGone(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone", ResourceVersion: "1"}}
	if err := AddFinalizer(t.Context(), c, gone, finalizer); !apierrors.IsNotFound(err) {
		t.Errorf("to add: %v, want not found", err)
	}
	if err := RemoveFinalizer(t.Context(), c, gone, finalizer); err != nil {
		t.Errorf("to remove: %v, want none", err)
	}
}
